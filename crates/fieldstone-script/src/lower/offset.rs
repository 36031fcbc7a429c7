//! Offsets: what stands in the brackets of a field.

use fieldstone_stencil::ir::{self, BinaryOp, ExprKind, Literal};
use fieldstone_stencil::{Axes, Axis, Offset};
use ruff_python_ast::{Expr, ExprSubscript, Operator};
use ruff_text_size::Ranged;

use super::expression::literal;
use super::{Lowering, Reported};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::{constant, rule};

/// The largest distance an offset or a bound may have; far beyond every grid, far from overflow.
pub(super) const FARTHEST: u64 = 1_000_000;

impl Lowering<'_> {
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
    pub(super) fn axis_form<'a>(&self, element: &'a Expr) -> Option<(Axis, Vec<(bool, &'a Expr)>)> {
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
}

/// What stands in brackets, between commas.
pub(super) fn elements(subscript: &ExprSubscript) -> &[Expr] {
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
