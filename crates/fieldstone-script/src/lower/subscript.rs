//! Offsets: `field[1, 0, 0]`, `field[K - 1]`, `field[...]`.

use fieldstone_stencil::ir::{self, BinaryOp, ExprKind, LevelIndex, Literal, Subscript, Target};
use fieldstone_stencil::{Axes, Axis, Offset, Span};
use ruff_python_ast::{Expr, ExprCall, ExprSubscript, Operator};
use ruff_text_size::Ranged;

use super::data::Parts;
use super::expression::literal;
use super::name::Meaning;
use super::{Binding, Lowering, Reported, read};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::{constant, rule};

/// The largest distance an offset or a bound may have; far beyond every grid, far from overflow.
pub(super) const FARTHEST: u64 = 1_000_000;

impl Lowering<'_> {
    /// Lowers a read at an offset.
    pub(super) fn subscript(&mut self, subscript: &ExprSubscript) -> Result<ir::Expr, Reported> {
        let span = self.span(subscript);
        let parts = Parts::of(subscript);
        let binding = self.subscripted(&parts)?;
        let value = match binding {
            Binding::Field(id) => self.access(Target::Field(id), &parts, span)?,
            Binding::Temp(id) => self.access(Target::Temp(id), &parts, span)?,
            Binding::Argument { value, stored } => match parts.offset {
                Some(offset) => self.argument_at(value, stored, offset, span)?,
                None => stored.map_or(value, |temp| read(temp, span)),
            },
            Binding::Scalar(_) | Binding::Value(_) | Binding::Broken => {
                return Err(self.offset_on_scalar(parts.base, span));
            }
        };
        if parts.indices.is_empty() {
            return Ok(value);
        }
        let sizes = self.shape(&value)?;
        let name = self.text_of(parts.base);
        let indices = self.indices(&name, &sizes, &parts.indices, span)?;
        Ok(self.element_at(value, indices, span))
    }

    /// What stands left of the bracket.
    pub(super) fn subscripted(&mut self, parts: &Parts<'_>) -> Result<Binding, Reported> {
        match parts.base {
            value @ (Expr::Name(_) | Expr::Attribute(_)) => match self.resolve(value)? {
                Meaning::Local(binding) => Ok(binding),
                Meaning::Value(found) => Err(self.no_field(value, &found, parts)),
            },
            other => {
                let span = self.span(other);
                let level = match other {
                    Expr::Call(call) => match call.func.as_ref() {
                        Expr::Attribute(attribute) => attribute.attr.as_str() == "at",
                        _ => false,
                    },
                    _ => false,
                };
                let help = match level {
                    true => {
                        "`at` reads the same column; assign it to a temporary, then read that at an offset"
                    }
                    false => "assign the expression to a temporary, then read that at an offset",
                };
                Err(self.report(
                    rule::OFFSET_ON_SCALAR
                        .at(span, "only a field can be read at an offset")
                        .with_help(help),
                ))
            }
        }
    }

    /// Reports brackets behind something from outside that is no field.
    fn no_field(&mut self, base: &Expr, found: &Value, parts: &Parts<'_>) -> Reported {
        let span = self.span(base);
        let name = self.text()[base.range()].to_string();
        let key = parts
            .offset
            .and_then(|offset| offset.slice.as_string_literal_expr());
        match (found, key) {
            (Value::Namespace { description, .. }, Some(key)) => {
                let help = format!("write `{name}.{}`", key.value.to_str());
                self.report(
                    rule::WRONG_KIND
                        .at(
                            span,
                            format!("{description} is read by attributes in a stencil"),
                        )
                        .with_help(help),
                )
            }
            (Value::Literal(_) | Value::Typed(..), _) => self.offset_on_scalar(base, span),
            (Value::Function(_) | Value::Keyword(_), _) => {
                let diagnostic = rule::OFFSET_ON_SCALAR.at(span, format!("`{name}` is no field"));
                self.report(match found {
                    Value::Function(_) | Value::Keyword(Keyword::Builtin(_) | Keyword::Type(_)) => {
                        diagnostic.with_help(format!("call it: `{name}(…)`"))
                    }
                    _ => diagnostic,
                })
            }
            // What it is, is the mistake.
            _ => match self.value(base, found, span) {
                Ok(_) => Reported,
                Err(reported) => reported,
            },
        }
    }

    fn offset_on_scalar(&mut self, base: &Expr, span: Span) -> Reported {
        let name = match base {
            Expr::Name(name) => name.id.to_string(),
            _ => "this".to_string(),
        };
        self.report(
            rule::OFFSET_ON_SCALAR
                .at(span, format!("`{name}` is a number, it has no neighbours"))
                .with_help(format!("write `{name}` without an offset")),
        )
    }

    fn access(
        &mut self,
        target: Target,
        parts: &Parts<'_>,
        span: Span,
    ) -> Result<ir::Expr, Reported> {
        let axes = self.stencil.target_axes(target);
        let (offset, computed) = match parts.offset {
            Some(subscript) => {
                self.index_in_place(target, subscript)?;
                self.offset(axes, subscript)?
            }
            None => (Offset::ZERO, None),
        };
        let kind = ExprKind::Access {
            target,
            offset,
            subscript: computed.map(level),
        };
        Ok(ir::Expr::untyped(kind, span))
    }

    /// `field.at(K=level)`; `None` where the call is of something else.
    pub(super) fn at_level(&mut self, call: &ExprCall) -> Option<Result<ir::Expr, Reported>> {
        let Expr::Attribute(attribute) = call.func.as_ref() else {
            return None;
        };
        let Expr::Name(name) = attribute.value.as_ref() else {
            return None;
        };
        let binding = self.frame().locals.get(name.id.as_str())?;
        let value = match binding {
            Binding::Field(id) => ExprKind::read(Target::Field(*id), Offset::ZERO),
            Binding::Temp(id) => ExprKind::read(Target::Temp(*id), Offset::ZERO),
            Binding::Argument { value, .. } => value.kind.clone(),
            Binding::Scalar(_) | Binding::Value(_) | Binding::Broken => return None,
        };
        if attribute.attr.as_str() != "at" {
            return None;
        }
        Some(self.absolute(&name.id, value, call))
    }

    fn absolute(
        &mut self,
        name: &str,
        value: ExprKind,
        call: &ExprCall,
    ) -> Result<ir::Expr, Reported> {
        let span = self.span(call);
        let help = format!("write `{name}.at(K=level)`, where 0 is the first level of the domain");
        let keywords = &call.arguments.keywords;
        let (keyword, indices) = match keywords.as_ref() {
            [keyword] => (keyword, None),
            [keyword, indices] if indices.arg.as_ref().is_some_and(|arg| arg == "ddim") => {
                (keyword, Some(&indices.value))
            }
            _ => {
                return Err(self.report(
                    rule::ABSOLUTE_LEVEL
                        .at(span, "`at` takes one level")
                        .with_help(help),
                ));
            }
        };
        let is_k = keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == "K");
        if !is_k || !call.arguments.args.is_empty() {
            return Err(self.report(
                rule::ABSOLUTE_LEVEL
                    .at(span, "`at` takes a level by the name `K`")
                    .with_help(help),
            ));
        }
        let ExprKind::Access {
            target,
            offset,
            subscript: None,
        } = value
        else {
            return Err(self.report(
                rule::ABSOLUTE_LEVEL
                    .at(span, format!("`{name}` is no field, it has no levels"))
                    .with_help("assign the expression to a temporary, then read that"),
            ));
        };
        let axes = self.stencil.target_axes(target);
        if !axes.contains(Axis::K) {
            return Err(self.report(
                rule::OFFSET_AXIS
                    .at(span, "the field does not extend along K")
                    .with_help(format!("its axes are {axes}")),
            ));
        }
        let operand = self.expression(&keyword.value)?;
        let mut offset = offset;
        offset.0[Axis::K.index()] = 0;
        let subscript = Subscript {
            level: LevelIndex::Absolute,
            operands: vec![operand],
        };
        let kind = ExprKind::Access {
            target,
            offset,
            subscript: Some(Box::new(subscript)),
        };
        let value = ir::Expr::untyped(kind, span);
        let Some(indices) = indices else {
            return Ok(value);
        };
        let indices: Vec<&Expr> = match indices {
            Expr::List(list) => list.elts.iter().collect(),
            Expr::Tuple(tuple) => tuple.elts.iter().collect(),
            single => vec![single],
        };
        let sizes = self.stencil.data_dims(target).to_vec();
        let indices = self.indices(name, &sizes, &indices, span)?;
        Ok(self.element_at(value, indices, span))
    }

    /// An argument of an inlined function at an offset: offsets compose; the value of an expression is read where it is
    /// stored. Along K nothing is stored beyond the level that is computed, so there the expression itself is shifted.
    fn argument_at(
        &mut self,
        value: ir::Expr,
        stored: Option<ir::TempId>,
        subscript: &ExprSubscript,
        span: Span,
    ) -> Result<ir::Expr, Reported> {
        let axes = match value.kind {
            ExprKind::Access { target, .. } => self.stencil.target_axes(target),
            ExprKind::Scalar(_) => return Err(self.offset_on_scalar(&subscript.value, span)),
            _ => Axes::IJK,
        };
        let (offset, computed) = self.offset(axes, subscript)?;
        Ok(match stored {
            Some(temp) if offset.along(Axis::K) == 0 && computed.is_none() => {
                let mut access = read(temp, span);
                if let ExprKind::Access { offset: place, .. } = &mut access.kind {
                    *place = offset;
                }
                access
            }
            _ => {
                let mut value = value;
                self.inlined.count(&value);
                shift(&mut value, offset, &self.stencil);
                if let Some(level) = computed {
                    shift_level(&mut value, &level, &self.stencil);
                }
                value.span = span;
                value
            }
        })
    }

    /// Refuses the index of an element where offsets are expected, and any bracket behind a table.
    pub(super) fn index_in_place(
        &mut self,
        target: Target,
        subscript: &ExprSubscript,
    ) -> Result<(), Reported> {
        let elements = elements(subscript);
        let axes = self.stencil.target_axes(target).len();
        let dims = self.stencil.data_dims(target).len();
        let plain = !elements.iter().any(|element| {
            element.is_slice_expr()
                || element.is_ellipsis_literal_expr()
                || self.axis_form(element).is_some()
        });
        let indices = match elements.len() {
            count if axes == 0 && count > 0 => 0..count,
            count if dims > 0 && plain && count == dims && count != axes => 0..count,
            count if dims > 0 && plain && count == axes + dims => axes..count,
            _ => return Ok(()),
        };
        let text = self.text();
        let name = text[subscript.value.range()].to_string();
        let indices: Vec<&str> = (elements[indices].iter())
            .map(|index| &text[index.range()])
            .collect();
        let indices = indices.join(", ");
        let offsets = match elements.len() > axes && axes > 0 {
            true => elements[..axes]
                .iter()
                .map(|offset| &text[offset.range()])
                .collect(),
            false => vec!["0"; axes],
        };
        let (what, help) = match axes {
            0 => (
                "a table has no offsets".to_string(),
                format!("write `{name}.A[{indices}]`"),
            ),
            _ => (
                format!("an element of `{name}` is at an index behind the offsets"),
                format!("write `{name}[{}][{indices}]`", offsets.join(", ")),
            ),
        };
        let span = self.span(subscript.slice.range());
        Err(self.report(rule::OFFSET_COUNT.at(span, what).with_help(help)))
    }

    /// Refuses the notation of loops over a grid, `field[i + 1, j, k]`: offsets count from the point itself.
    fn no_loop_index(&mut self, axes: Axes, subscript: &ExprSubscript) -> Result<(), Reported> {
        let elements = elements(subscript);
        let Some(index) = elements.iter().find_map(|element| self.loop_index(element)) else {
            return Ok(());
        };
        let (name, span) = (index.id.to_string(), self.span(index));
        let text = self.text();
        let field = &text[subscript.value.range()];
        let steps: Option<Vec<String>> = (elements.iter())
            .map(|element| match element {
                Expr::Name(_) => Some("0".to_string()),
                Expr::BinOp(operation) => {
                    let step = &text[operation.right.range()];
                    match (operation.op, operation.right.as_ref()) {
                        (Operator::Add, Expr::NumberLiteral(_)) => Some(step.to_string()),
                        (Operator::Sub, Expr::NumberLiteral(_)) => Some(format!("-{step}")),
                        _ => None,
                    }
                }
                _ => None,
            })
            .collect();
        let example = match (steps, elements) {
            (Some(steps), _) if steps.len() == axes.len() => {
                format!("`{field}[{}]`", steps.join(", "))
            }
            (_, [single]) => {
                let step = text[single.range()].replacen(&name, &name.to_uppercase(), 1);
                format!("`{field}[{step}]`")
            }
            _ => format!("`{field}[{}]`", vec!["0"; axes.len()].join(", ")),
        };
        let help = format!("offsets count from the point that is computed: write {example}");
        let diagnostic = rule::UNDEFINED_NAME.at(span, format!("name `{name}` is not defined"));
        Err(self.report(diagnostic.with_help(help)))
    }

    /// `i` of `i`, `i + 1`, …, where it is not defined.
    fn loop_index<'a>(&self, element: &'a Expr) -> Option<&'a ruff_python_ast::ExprName> {
        let name = match element {
            Expr::Name(name) => name,
            Expr::BinOp(operation) => operation.left.as_name_expr()?,
            _ => return None,
        };
        let (frame, word) = (self.frame(), name.id.as_str());
        let defined = frame.locals.contains_key(word)
            || frame.assigned.contains_key(word)
            || frame.environment.values.contains_key(word);
        (["i", "j", "k"].contains(&word) && !defined).then_some(name)
    }

    /// The offset in the brackets of a field with these axes, and what is added along K at run time.
    pub(super) fn offset(
        &mut self,
        axes: Axes,
        subscript: &ExprSubscript,
    ) -> Result<(Offset, Option<ir::Expr>), Reported> {
        let slice = subscript.slice.as_ref();
        if matches!(slice, Expr::EllipsisLiteral(_)) {
            return Ok((Offset::ZERO, None));
        }
        let elements = elements(subscript);
        if elements
            .iter()
            .any(|element| self.axis_form(element).is_some())
        {
            return self.axis_offsets(axes, elements);
        }
        self.no_loop_index(axes, subscript)?;
        if let [single] = elements
            && axes.len() > 1
            && let Some(axis) = self.axis_in(single)
        {
            let span = self.span(single);
            return Err(self.report(
                rule::OFFSET_VALUE
                    .at(span, "this is no offset along an axis")
                    .with_help(format!(
                        "the axis stands first, then what is added or taken away: `{axis} + 1`"
                    )),
            ));
        }
        if let Some(slice) = elements
            .iter()
            .find(|element| matches!(element, Expr::Slice(_)))
        {
            // A slice says more about the mistake than the number of offsets does.
            return Err(match self.distance(Axis::I, slice) {
                Ok(_) => Reported,
                Err(reported) => reported,
            });
        }
        if elements.len() != axes.len() {
            let span = self.span(slice.range());
            let text = &self.text()[subscript.value.range()];
            let names: Vec<String> = axes.iter().map(|axis| axis.to_string()).collect();
            let example: Vec<&str> = axes.iter().map(|_| "0").collect();
            let diagnostic = rule::OFFSET_COUNT
                .at(
                    span,
                    format!(
                        "`{text}` has {} {}, but {} {} given",
                        axes.len(),
                        if axes.len() == 1 { "axis" } else { "axes" },
                        elements.len(),
                        if elements.len() == 1 {
                            "offset is"
                        } else {
                            "offsets are"
                        },
                    ),
                )
                .with_help(format!(
                    "give one offset for each of {}, as in `{text}[{}]`",
                    names.join(", "),
                    example.join(", ")
                ));
            return Err(self.report(diagnostic));
        }
        let mut offset = Offset::ZERO;
        let mut level = None;
        let mut failed = None;
        for (axis, element) in axes.iter().zip(elements) {
            match self.distance(axis, element) {
                Ok(Distance::Constant(distance)) => offset.0[axis.index()] = distance,
                Ok(Distance::Computed(value)) => level = Some(value),
                Err(reported) => failed = Some(reported),
            }
        }
        failed.map_or(Ok((offset, level)), Err)
    }

    /// `[K - 1]`, `[I + 1, J]`: offsets of the named axes, zero along the others.
    fn axis_offsets(
        &mut self,
        axes: Axes,
        elements: &[Expr],
    ) -> Result<(Offset, Option<ir::Expr>), Reported> {
        let mut offset = Offset::ZERO;
        let mut level = None;
        let mut seen: Vec<Axis> = Vec::new();
        for element in elements {
            let span = self.span(element.range());
            let Some((axis, distance)) = self.axis_form(element) else {
                return Err(self.report(
                    rule::OFFSET_VALUE
                        .at(span, "offsets with and without the name of the axis are mixed")
                        .with_help("name the axis in every offset, `[I + 1, J, K - 1]`, or in none, `[1, 0, -1]`"),
                ));
            };
            if seen.contains(&axis) {
                return Err(self.report(
                    rule::OFFSET_VALUE
                        .at(span, format!("two offsets along {axis}"))
                        .with_help(format!("a field is read at one point: `[{axis} + 1]`")),
                ));
            }
            if !axes.contains(axis) {
                return Err(self.report(
                    rule::OFFSET_AXIS
                        .at(span, format!("the field does not extend along {axis}"))
                        .with_help(format!("its axes are {axes}")),
                ));
            }
            seen.push(axis);
            for (negative, distance) in distance {
                match self.distance(axis, distance)? {
                    Distance::Constant(distance) => {
                        offset.0[axis.index()] += if negative { -distance } else { distance };
                    }
                    Distance::Computed(value) => {
                        let (sign, first) = match (negative, level.take()) {
                            (false, None) => {
                                level = Some(value);
                                continue;
                            }
                            (true, None) => (BinaryOp::Sub, literal(Literal::Int(0), span)),
                            (false, Some(first)) => (BinaryOp::Add, first),
                            (true, Some(first)) => (BinaryOp::Sub, first),
                        };
                        let kind = ExprKind::Binary(sign, Box::new(first), Box::new(value));
                        level = Some(ir::Expr::untyped(kind, span));
                    }
                }
            }
        }
        Ok((offset, level))
    }

    /// `K`, `K + n`, `K - n`, `K + n - m`: the axis, and what is added to it or, where true, taken from it.
    fn axis_form<'a>(&self, element: &'a Expr) -> Option<(Axis, Vec<(bool, &'a Expr)>)> {
        let mut steps = Vec::new();
        let mut rest = element;
        while let Expr::BinOp(operation) = rest {
            let negative = match operation.op {
                Operator::Add => false,
                Operator::Sub => true,
                _ => return None,
            };
            steps.push((negative, operation.right.as_ref()));
            rest = &operation.left;
        }
        steps.reverse();
        Some((self.axis_name(rest)?, steps))
    }

    /// The first axis that an expression of operators names.
    fn axis_in(&self, element: &Expr) -> Option<Axis> {
        match element {
            Expr::BinOp(operation) => self
                .axis_in(&operation.left)
                .or_else(|| self.axis_in(&operation.right)),
            Expr::UnaryOp(operation) => self.axis_in(&operation.operand),
            other => self.axis_name(other),
        }
    }

    /// The axis a name stands for, where it is not hidden by another meaning.
    pub(super) fn axis_name(&self, expression: &Expr) -> Option<Axis> {
        let (path, root) = crate::names::path(expression)?;
        let frame = self.frame();
        if frame.locals.contains_key(root) || frame.assigned.contains_key(root) {
            return None;
        }
        let keyword = match frame.environment.values.get(&path) {
            Some(Value::Keyword(keyword)) => *keyword,
            Some(_) => return None,
            None => Keyword::from_name(&path)?,
        };
        match keyword {
            Keyword::Axis(axis) => Some(axis),
            _ => None,
        }
    }

    /// An offset along one axis.
    fn distance(&mut self, axis: Axis, element: &Expr) -> Result<Distance, Reported> {
        let span = self.span(element.range());
        if matches!(
            element,
            Expr::Slice(_) | Expr::EllipsisLiteral(_) | Expr::NoneLiteral(_)
        ) {
            let all = element.as_slice_expr().is_some_and(|slice| {
                slice.lower.is_none() && slice.upper.is_none() && slice.step.is_none()
            });
            let help = match all {
                true => {
                    "a stencil computes every point by itself: write the name without brackets, or offsets of neighbours"
                }
                false => "a stencil reads single neighbours, never slices",
            };
            return Err(self.report(
                rule::OFFSET_VALUE
                    .at(span, "an offset is one integer")
                    .with_help(help),
            ));
        }
        let value = self.expression(element)?;
        match constant::known(&value) {
            Some(Literal::Int(distance)) if distance.unsigned_abs() <= FARTHEST => {
                Ok(Distance::Constant(distance as i32))
            }
            Some(Literal::Int(_)) => {
                Err(self.report(rule::OFFSET_VALUE.at(span, "the offset is too far")))
            }
            Some(value) => Err(self.report(
                rule::OFFSET_VALUE
                    .at(span, format!("the offset along {axis} is no integer"))
                    .with_label(format!("this is {}", constant::text(value)))
                    .with_help("use an integer or an external"),
            )),
            None if axis == Axis::K => Ok(Distance::Computed(value)),
            None => Err(self.report(
                rule::OFFSET_VALUE
                    .at(
                        span,
                        format!("the offset along {axis} must be known at compile time"),
                    )
                    .with_help("use an integer or an external"),
            )),
        }
    }

    /// The text that is lowered now.
    pub(super) fn text(&self) -> &str {
        let source = self.frame().source;
        self.stencil
            .sources
            .get(source)
            .map_or("", |source| &source.text)
    }
}

/// What stands in brackets, between commas.
fn elements(subscript: &ExprSubscript) -> &[Expr] {
    match subscript.slice.as_ref() {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        single => std::slice::from_ref(single),
    }
}

/// How far an access is from the point along an axis.
enum Distance {
    Constant(i32),
    /// Along K only.
    Computed(ir::Expr),
}

/// The subscript of an access whose K offset is computed.
pub(super) fn level(offset: ir::Expr) -> Box<Subscript> {
    Box::new(Subscript {
        level: LevelIndex::Offset,
        operands: vec![offset],
    })
}

/// Moves an expression by a number of levels that is computed: every read, and the index of the level.
fn shift_level(expression: &mut ir::Expr, by: &ir::Expr, stencil: &ir::Stencil) {
    let add = |value: ir::Expr| {
        let span = value.span;
        let kind = ExprKind::Binary(BinaryOp::Add, Box::new(value), Box::new(by.clone()));
        ir::Expr::untyped(kind, span)
    };
    // What an operand reads is moved first; what moves it is not.
    expression
        .operands_mut()
        .for_each(|operand| shift_level(operand, by, stencil));
    match &mut expression.kind {
        ExprKind::Access {
            target, subscript, ..
        } if stencil.target_axes(*target).contains(Axis::K) => match subscript {
            None => *subscript = Some(level(by.clone())),
            Some(subscript) => match subscript.level {
                LevelIndex::Constant => {
                    subscript.level = LevelIndex::Offset;
                    subscript.operands.insert(0, by.clone());
                }
                LevelIndex::Offset => {
                    let first = subscript.operands.remove(0);
                    subscript.operands.insert(0, add(first));
                }
                LevelIndex::Absolute => {}
            },
        },
        ExprKind::Position(Axis::K) => {
            let here = ir::Expr::untyped(ExprKind::Position(Axis::K), expression.span);
            *expression = add(here);
        }
        _ => {}
    }
}

/// Moves an expression to another point: every read, and the index of the level.
fn shift(expression: &mut ir::Expr, by: Offset, stencil: &ir::Stencil) {
    let mut todo = vec![expression];
    while let Some(node) = todo.pop() {
        match &mut node.kind {
            ExprKind::Access {
                target,
                offset,
                subscript,
            } => {
                let axes = stencil.target_axes(*target);
                let level = (subscript.as_ref()).map_or(LevelIndex::Constant, |s| s.level);
                let moves = |axis: Axis| {
                    axes.contains(axis) && (axis != Axis::K || level != LevelIndex::Absolute)
                };
                let along = |axis: Axis| if moves(axis) { by.along(axis) } else { 0 };
                *offset = *offset + Offset(Axis::ALL.map(along));
            }
            ExprKind::Position(axis) if by.along(*axis) != 0 => {
                let distance = ExprKind::Literal(Literal::Int(by.along(*axis).into()));
                let distance = ir::Expr::untyped(distance, node.span);
                let here = ir::Expr::untyped(ExprKind::Position(*axis), node.span);
                node.kind = ExprKind::Binary(BinaryOp::Add, Box::new(here), Box::new(distance));
                continue;
            }
            _ => {}
        }
        todo.extend(node.operands_mut());
    }
}
