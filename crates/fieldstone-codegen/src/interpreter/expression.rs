//! Expressions as closures over the points of a block.

use fieldstone_stencil::ir::{BinaryOp, Builtin, CompareOp, Expr, ExprKind, Stencil, UnaryOp};

use super::access::Access;
use super::element::{Element, Map, Wide, Zip, dispatch};
use super::state::Values;
use super::subscript::{Indices, Level};
use crate::error::{RunError, place};
use crate::power::{self, Plan};

/// Translates a typed expression, whose type must be that of `T`.
pub(super) fn values<T: Element>(expr: &Expr, stencil: &Stencil) -> Result<Values<T>, RunError> {
    debug_assert_eq!(expr.dtype(), T::DTYPE);
    let supported = |what: &str| RunError::Unsupported {
        place: place(stencil, expr.span),
        what: format!("{what} has no meaning on {}", T::DTYPE),
    };
    Ok(match &expr.kind {
        ExprKind::Literal(literal) => {
            let value = T::from_literal(*literal);
            Box::new(move |_, _, _, values| {
                values.fill(value);
                Ok(())
            })
        }
        ExprKind::Scalar(id) => {
            let scalar = id.0 as usize;
            Box::new(move |state, _, _, values| {
                values.fill(T::from_bits(state.scalars[scalar]));
                Ok(())
            })
        }
        ExprKind::Position(axis) => {
            let axis = axis.index();
            Box::new(move |_, region, _, values| {
                for (value, point) in values.iter_mut().zip(region.points()) {
                    *value = T::narrow(Wide::Integer(point[axis].into()));
                }
                Ok(())
            })
        }
        ExprKind::Size(axis) => {
            let axis = axis.index();
            Box::new(move |state, _, _, values| {
                values.fill(T::narrow(Wide::Integer(state.domain[axis] as i128)));
                Ok(())
            })
        }
        ExprKind::Access {
            target,
            offset,
            subscript,
        } => {
            let (access, offset) = (Access::new(stencil, *target, expr.span), *offset);
            let indices = Indices::new(subscript.as_deref(), stencil)?;
            if let Some(level) = Level::of(subscript.as_deref(), stencil)? {
                return Ok(Box::new(move |state, region, active, values| {
                    let (here, region) = (region, region.shifted(offset));
                    let levels = level.evaluate(state, &region, offset, active)?;
                    let array = state.array(access.target);
                    let elements = indices.locate(state, here, active, array, &access)?;
                    let elements = elements.as_deref();
                    array.gather_levels(&region, &levels, elements, &access, active, values)
                }));
            }
            Box::new(move |state, region, active, values| {
                let array = state.array(access.target);
                let elements = indices.locate(state, region, active, array, &access)?;
                let elements = elements.as_deref();
                array.gather(&region.shifted(offset), &access, active, elements, values)
            })
        }
        ExprKind::Unary(operation, operand) => {
            let map = T::unary(*operation).ok_or_else(|| supported(unary_name(*operation)))?;
            mapped(map, values(operand, stencil)?)
        }
        ExprKind::Binary(operation, left, right) => {
            let plan = power::plan_of(right).filter(|_| *operation == BinaryOp::Pow);
            if let Some(plan) = plan {
                let values = power_of(plan, values(left, stencil)?);
                return values.ok_or_else(|| supported("'**'"));
            }
            let zip = T::binary(*operation).ok_or_else(|| supported(binary_name(*operation)))?;
            let wanted = match operation {
                BinaryOp::And => Some(true),
                BinaryOp::Or => Some(false),
                _ => None,
            };
            if let Some(wanted) = wanted.filter(|_| right.may_miss()) {
                return Ok(decided(
                    zip,
                    wanted,
                    values(left, stencil)?,
                    values(right, stencil)?,
                ));
            }
            zipped(zip, values(left, stencil)?, values(right, stencil)?)
        }
        ExprKind::Compare(operation, left, right) => dispatch!(left.dtype(), U => {
            compared::<U, T>(*operation, values(left, stencil)?, values(right, stencil)?)
        }),
        ExprKind::Select(condition, then, orelse) => selected(
            values(condition, stencil)?,
            values(then, stencil)?,
            values(orelse, stencil)?,
            then.may_miss() || orelse.may_miss(),
        ),
        ExprKind::Call(builtin, operands) => call(*builtin, operands, stencil)
            .transpose()
            .unwrap_or_else(|| Err(supported(&format!("{}()", builtin.name()))))?,
        ExprKind::Checked(index, _) => values(index, stencil)?,
        ExprKind::Cast(operand) => dispatch!(operand.dtype(), U => {
            converted::<U, T>(values(operand, stencil)?, |value| T::narrow(value.widen()))
        }),
    })
}

/// `None` where the function has no meaning on the type.
fn call<T: Element>(
    builtin: Builtin,
    operands: &[Expr],
    stencil: &Stencil,
) -> Result<Option<Values<T>>, RunError> {
    match operands {
        [operand] => dispatch!(operand.dtype(), U => {
            if let Some(test) = U::test(builtin) {
                let truth = move |value| T::narrow(Wide::Integer(test(value).into()));
                return Ok(Some(converted::<U, T>(values(operand, stencil)?, truth)));
            }
        }),
        [base, exponent] if builtin == Builtin::Pow => {
            if let Some(plan) = power::plan_of(exponent) {
                return Ok(power_of(plan, values(base, stencil)?));
            }
        }
        _ => {}
    }
    match operands {
        [operand] => match T::function(builtin) {
            Some(map) => Ok(Some(mapped(map, values(operand, stencil)?))),
            None => Ok(None),
        },
        [left, right] => match T::function_of_two(builtin) {
            Some(zip) => {
                let (left, right) = (values(left, stencil)?, values(right, stencil)?);
                Ok(Some(zipped(zip, left, right)))
            }
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

fn mapped<T: Element>(map: Map<T>, operand: Values<T>) -> Values<T> {
    Box::new(move |state, region, active, values| {
        operand(state, region, active, values)?;
        map(values);
        Ok(())
    })
}

fn zipped<T: Element>(zip: Zip<T>, left: Values<T>, right: Values<T>) -> Values<T> {
    Box::new(move |state, region, active, values| {
        left(state, region, active, values)?;
        let mut others = vec![T::default(); values.len()];
        right(state, region, active, &mut others)?;
        zip(values, &others);
        Ok(())
    })
}

fn converted<T: Element, U: Element>(
    operand: Values<T>,
    convert: impl Fn(T) -> U + Send + Sync + 'static,
) -> Values<U> {
    Box::new(move |state, region, active, values| {
        let mut operands = vec![T::default(); values.len()];
        operand(state, region, active, &mut operands)?;
        for (value, operand) in values.iter_mut().zip(operands) {
            *value = convert(operand);
        }
        Ok(())
    })
}

fn compared<T: Element, U: Element>(
    operation: CompareOp,
    left: Values<T>,
    right: Values<T>,
) -> Values<U> {
    let compare = T::compare(operation);
    Box::new(move |state, region, active, values| {
        let mut lefts = vec![T::default(); values.len()];
        let mut rights = lefts.clone();
        left(state, region, active, &mut lefts)?;
        right(state, region, active, &mut rights)?;
        for (value, (left, right)) in values.iter_mut().zip(lefts.into_iter().zip(rights)) {
            *value = U::narrow(Wide::Integer(compare(left, right).into()));
        }
        Ok(())
    })
}

/// `and` and `or` whose right side may only be evaluated where the left side does not decide.
fn decided<T: Element>(zip: Zip<T>, wanted: bool, left: Values<T>, right: Values<T>) -> Values<T> {
    Box::new(move |state, region, active, values| {
        left(state, region, active, values)?;
        let open = values
            .iter()
            .map(|value| (*value != T::default()) == wanted);
        let open = within(active, open);
        let mut others = vec![T::default(); values.len()];
        right(state, region, Some(&open), &mut others)?;
        for (other, open) in others.iter_mut().zip(&open) {
            if !open {
                *other = T::narrow(Wide::Integer(i128::from(!wanted)));
            }
        }
        zip(values, &others);
        Ok(())
    })
}

/// Active points at which something holds as well.
fn within(active: Option<&[bool]>, holds: impl Iterator<Item = bool>) -> Vec<bool> {
    let is_active = |point: usize| active.is_none_or(|active| active[point]);
    (holds.enumerate())
        .map(|(point, holds)| holds && is_active(point))
        .collect()
}

/// A value where a condition holds, another elsewhere; each evaluated only where it is wanted if it is `partial`.
fn selected<T: Element>(
    condition: Values<bool>,
    then: Values<T>,
    orelse: Values<T>,
    partial: bool,
) -> Values<T> {
    Box::new(move |state, region, active, values| {
        let mut holds = vec![false; values.len()];
        let mut others = vec![T::default(); values.len()];
        condition(state, region, active, &mut holds)?;
        let masks = partial.then(|| {
            let fails = holds.iter().map(|holds| !holds);
            (within(active, holds.iter().copied()), within(active, fails))
        });
        let (first, second) = match &masks {
            Some((first, second)) => (Some(first.as_slice()), Some(second.as_slice())),
            None => (active, active),
        };
        then(state, region, first, values)?;
        orelse(state, region, second, &mut others)?;
        for (value, (holds, other)) in values.iter_mut().zip(holds.into_iter().zip(others)) {
            if !holds {
                *value = other;
            }
        }
        Ok(())
    })
}

/// `None` where the type has no powers.
fn power_of<T: Element>(plan: Plan, base: Values<T>) -> Option<Values<T>> {
    let multiply = T::binary(BinaryOp::Mul)?;
    let reciprocal = T::reciprocal()?;
    Some(Box::new(move |state, region, active, values| {
        base(state, region, active, values)?;
        let mut powers = vec![values.to_vec()];
        for (left, right) in &plan.products {
            let mut product = powers[*left].clone();
            multiply(&mut product, &powers[*right]);
            powers.push(product);
        }
        match plan.result {
            Some(power) => values.copy_from_slice(&powers[power]),
            None => values.fill(T::narrow(Wide::Integer(1))),
        }
        if plan.reciprocal {
            reciprocal(values);
        }
        Ok(())
    }))
}

fn unary_name(operation: UnaryOp) -> &'static str {
    match operation {
        UnaryOp::Neg => "'-'",
        UnaryOp::Not => "'not'",
        UnaryOp::Invert => "'~'",
    }
}

fn binary_name(operation: BinaryOp) -> &'static str {
    match operation {
        BinaryOp::Add => "'+'",
        BinaryOp::Sub => "'-'",
        BinaryOp::Mul => "'*'",
        BinaryOp::Div => "'/'",
        BinaryOp::FloorDiv => "'//'",
        BinaryOp::Mod => "'%'",
        BinaryOp::Pow => "'**'",
        BinaryOp::And => "'and'",
        BinaryOp::Or => "'or'",
        BinaryOp::BitAnd => "'&'",
        BinaryOp::BitOr => "'|'",
        BinaryOp::BitXor => "'^'",
        BinaryOp::ShiftLeft => "'<<'",
        BinaryOp::ShiftRight => "'>>'",
    }
}
