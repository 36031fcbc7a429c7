//! Offsets: `field[1, 0, 0]`, `field[K - 1]`, `field[...]`.

use fieldstone_stencil::ir::{self, BinaryOp, ExprKind, LevelIndex, Literal, Subscript, Target};
use fieldstone_stencil::{Axes, Axis, Offset, Span};
use ruff_python_ast::{Expr, ExprCall, ExprSubscript};
use ruff_text_size::Ranged;

use super::data::Parts;
use super::name::Meaning;
use super::offset::elements;
use super::{Binding, Lowering, Reported, read};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::rule;

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

    /// The text that is lowered now.
    pub(super) fn text(&self) -> &str {
        let source = self.frame().source;
        self.stencil
            .sources
            .get(source)
            .map_or("", |source| &source.text)
    }
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
