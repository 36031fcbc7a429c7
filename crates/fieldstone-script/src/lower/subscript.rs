//! Offsets: `field[1, 0, 0]`, `field[K - 1]`, `field[...]`.

use fieldstone_stencil::ir::{self, ExprKind, Literal, Target};
use fieldstone_stencil::{Axes, Axis, Offset, Span};
use ruff_python_ast::{Expr, ExprSubscript, Operator};
use ruff_text_size::Ranged;

use super::data::Parts;
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
                Meaning::Value(_) => {
                    let span = self.span(value);
                    Err(self.offset_on_scalar(value, span))
                }
            },
            other => {
                let span = self.span(other);
                Err(self.report(
                    rule::OFFSET_ON_SCALAR
                        .at(span, "only a field can be read at an offset")
                        .with_help(
                            "assign the expression to a temporary, then read that at an offset",
                        ),
                ))
            }
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
        let offset = match parts.offset {
            Some(subscript) => self.offset(axes, subscript)?,
            None => Offset::ZERO,
        };
        Ok(ir::Expr::untyped(ExprKind::read(target, offset), span))
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
        let offset = self.offset(axes, subscript)?;
        Ok(match stored {
            Some(temp) if offset.along(Axis::K) == 0 => {
                let mut access = read(temp, span);
                if let ExprKind::Access { offset: place, .. } = &mut access.kind {
                    *place = offset;
                }
                access
            }
            _ => {
                let mut value = value;
                shift(&mut value, offset, &self.stencil);
                value.span = span;
                value
            }
        })
    }

    /// The offset in the brackets of a field with these axes.
    pub(super) fn offset(
        &mut self,
        axes: Axes,
        subscript: &ExprSubscript,
    ) -> Result<Offset, Reported> {
        let slice = subscript.slice.as_ref();
        if matches!(slice, Expr::EllipsisLiteral(_)) {
            return Ok(Offset::ZERO);
        }
        let elements = match slice {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            single => std::slice::from_ref(single),
        };
        if elements
            .iter()
            .any(|element| self.axis_form(element).is_some())
        {
            return self.axis_offsets(axes, elements);
        }
        if let Some(slice) = elements
            .iter()
            .find(|element| matches!(element, Expr::Slice(_)))
        {
            // A slice says more about the mistake than the number of offsets does.
            return self.distance(Axis::I, slice).map(|_| Offset::ZERO);
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
        let mut failed = None;
        for (axis, element) in axes.iter().zip(elements) {
            match self.distance(axis, element) {
                Ok(distance) => offset.0[axis.index()] = distance,
                Err(reported) => failed = Some(reported),
            }
        }
        failed.map_or(Ok(offset), Err)
    }

    /// `[K - 1]`, `[I + 1, J]`: offsets of the named axes, zero along the others.
    fn axis_offsets(&mut self, axes: Axes, elements: &[Expr]) -> Result<Offset, Reported> {
        let mut offset = Offset::ZERO;
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
                return Err(
                    self.report(rule::OFFSET_VALUE.at(span, format!("two offsets along {axis}")))
                );
            }
            if !axes.contains(axis) {
                return Err(self.report(
                    rule::OFFSET_AXIS
                        .at(span, format!("the field does not extend along {axis}"))
                        .with_help(format!("its axes are {axes}")),
                ));
            }
            seen.push(axis);
            offset.0[axis.index()] = match distance {
                Some((negative, distance)) => {
                    let distance = self.distance(axis, distance)?;
                    if negative { -distance } else { distance }
                }
                None => 0,
            };
        }
        Ok(offset)
    }

    /// `K`, `K + n`, `K - n`: the axis, and whether and how far from it.
    fn axis_form<'a>(&self, element: &'a Expr) -> Option<(Axis, Option<(bool, &'a Expr)>)> {
        match element {
            Expr::BinOp(operation) => {
                let axis = self.axis_name(&operation.left)?;
                match operation.op {
                    Operator::Add => Some((axis, Some((false, &operation.right)))),
                    Operator::Sub => Some((axis, Some((true, &operation.right)))),
                    _ => None,
                }
            }
            other => Some((self.axis_name(other)?, None)),
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
    fn distance(&mut self, axis: Axis, element: &Expr) -> Result<i32, Reported> {
        let span = self.span(element.range());
        if matches!(
            element,
            Expr::Slice(_) | Expr::EllipsisLiteral(_) | Expr::NoneLiteral(_)
        ) {
            return Err(self.report(
                rule::OFFSET_VALUE
                    .at(span, "an offset is one integer")
                    .with_help("a stencil reads single neighbours, never slices"),
            ));
        }
        let value = self.expression(element)?;
        match constant::value(&value) {
            Some(Literal::Int(distance)) if distance.unsigned_abs() <= FARTHEST => {
                Ok(distance as i32)
            }
            Some(Literal::Int(_)) => {
                Err(self.report(rule::OFFSET_VALUE.at(span, "the offset is too far")))
            }
            Some(_) => Err(self.report(
                rule::OFFSET_VALUE.at(span, format!("the offset along {axis} is no integer")),
            )),
            None if axis == Axis::K => Err(self.report(
                rule::RUNTIME_OFFSET
                    .at(span, "K offsets computed at run time are not supported yet")
                    .with_help("use an integer or an external"),
            )),
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

/// Moves every read of an expression.
fn shift(expression: &mut ir::Expr, by: Offset, stencil: &ir::Stencil) {
    expression.walk_mut(|node| {
        if let ExprKind::Access { target, offset, .. } = &mut node.kind {
            let axes = stencil.target_axes(*target);
            *offset = *offset
                + Offset(Axis::ALL.map(|axis| {
                    if axes.contains(axis) {
                        by.along(axis)
                    } else {
                        0
                    }
                }));
        }
    });
}
