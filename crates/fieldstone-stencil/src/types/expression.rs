//! Writing types down in expressions.

use super::conversion::{Typed, cast, coerce, truth, typed, unify, unify_for_comparison};
use super::error::{CONDITION, INDEX, logical, misfit};
use super::inference::Types;
use super::literal::{literal_int, negated};
use super::promotion::{Common, Ty};
use super::signature::{
    Family, Misfit, Signature, as_operator, binary_signature, call_signature, family, is_rounding,
};
use crate::diagnostic::{Category, Diagnostic};
use crate::dtype::DType;
use crate::grid::Offset;
use crate::ir::{
    BinaryOp, Builtin, CompareOp, DataDimension, Expr, ExprKind, LevelIndex, Subscript, Target,
    UnaryOp,
};
use crate::source::Span;

impl Types {
    /// The typed form of an expression; with a stack of its own, for resolving needs much of it.
    pub(super) fn expr(&self, expr: Expr) -> Result<Typed, Vec<Diagnostic>> {
        let mut todo = vec![Step::Resolve(expr)];
        // Nothing stands for what has an error in it.
        let mut done: Vec<Option<Typed>> = Vec::new();
        let mut errors = Vec::new();
        while let Some(step) = todo.pop() {
            match step {
                Step::Resolve(expr) => match self.leaf(&expr) {
                    Some(leaf) => done.push(Some(leaf)),
                    None => open(expr, &mut todo),
                },
                Step::Build(operation, operands, span) => {
                    let operands: Option<Vec<Typed>> =
                        done.split_off(done.len() - operands).into_iter().collect();
                    let built = operands.map(|operands| self.build(operation, operands, span));
                    done.push(match built {
                        None => None,
                        Some(Ok(value)) => Some(value),
                        Some(Err(error)) => {
                            errors.push(*error);
                            None
                        }
                    });
                }
            }
        }
        done.pop().flatten().ok_or(errors)
    }

    fn leaf(&self, expr: &Expr) -> Option<Typed> {
        let (kind, ty) = match expr.kind {
            ExprKind::Literal(literal) => (ExprKind::Literal(literal), self.literal(literal)),
            ExprKind::Scalar(id) => {
                let ty = Ty::Strong(self.scalars[id.0 as usize]);
                (ExprKind::Scalar(id), ty)
            }
            ExprKind::Access {
                target,
                offset,
                subscript: None,
            } => (ExprKind::read(target, offset), self.target(target)),
            ExprKind::Position(axis) => (ExprKind::Position(axis), Ty::Strong(DType::Int64)),
            ExprKind::Size(axis) => (ExprKind::Size(axis), Ty::Strong(DType::Int64)),
            _ => return None,
        };
        let stored = match kind {
            ExprKind::Access { target, .. } => self.stored(target),
            _ => ty,
        };
        let value = typed(kind, stored, expr.span);
        Some((cast((value, stored), ty.dtype(), expr.span), ty))
    }
}

/// What is left to do for an expression.
enum Step {
    Resolve(Expr),
    /// Put an operation on top of so many operands.
    Build(Operation, usize, Span),
}

/// An expression without its operands.
enum Operation {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare(CompareOp),
    Select,
    Call(Builtin),
    Cast(DType),
    Checked(DataDimension),
    /// An access whose operands are a level or indices of data dimensions.
    Access(Target, Offset, LevelIndex),
}

/// Takes an expression apart: its operands are to be resolved first.
fn open(expr: Expr, todo: &mut Vec<Step>) {
    let (operation, operands) = match expr.kind {
        ExprKind::Literal(_) | ExprKind::Scalar(_) | ExprKind::Position(_) | ExprKind::Size(_) => {
            return;
        }
        ExprKind::Access {
            target,
            offset,
            subscript,
        } => {
            let Some(subscript) = subscript else { return };
            let operation = Operation::Access(target, offset, subscript.level);
            (operation, subscript.operands)
        }
        ExprKind::Unary(op, a) => (Operation::Unary(op), vec![*a]),
        ExprKind::Binary(op, a, b) => (Operation::Binary(op), vec![*a, *b]),
        ExprKind::Compare(op, a, b) => (Operation::Compare(op), vec![*a, *b]),
        ExprKind::Select(condition, a, b) => (Operation::Select, vec![*condition, *a, *b]),
        ExprKind::Call(builtin, operands) => match as_operator(builtin) {
            Some(op) => (Operation::Binary(op), operands),
            None => (Operation::Call(builtin), operands),
        },
        ExprKind::Checked(index, dimension) => (Operation::Checked(dimension), vec![*index]),
        ExprKind::Cast(a) => match expr.dtype {
            Some(dtype) => (Operation::Cast(dtype), vec![*a]),
            // A conversion to nothing in particular.
            None => return todo.push(Step::Resolve(*a)),
        },
    };
    todo.push(Step::Build(operation, operands.len(), expr.span));
    todo.extend(operands.into_iter().rev().map(Step::Resolve));
}

impl Types {
    fn build(
        &self,
        operation: Operation,
        operands: Vec<Typed>,
        span: Span,
    ) -> Result<Typed, Box<Diagnostic>> {
        let Operation::Access(target, offset, level) = operation else {
            return build(operation, operands, span);
        };
        let operands = operands.into_iter().map(index).collect::<Result<_, _>>()?;
        let kind = ExprKind::Access {
            target,
            offset,
            subscript: Some(Box::new(Subscript { level, operands })),
        };
        let (stored, ty) = (self.stored(target), self.target(target));
        let value = typed(kind, stored, span);
        Ok((cast((value, stored), ty.dtype(), span), ty))
    }
}

fn build(
    operation: Operation,
    mut operands: Vec<Typed>,
    span: Span,
) -> Result<Typed, Box<Diagnostic>> {
    let boolean = Ty::Strong(DType::Bool);
    let mut next = || operands.remove(0);
    match operation {
        Operation::Unary(op) => unary(op, next(), span),
        Operation::Binary(op) => binary(op, next(), next(), span),
        Operation::Compare(op) => {
            let (a, b, _) = unify_for_comparison(next(), next())?;
            let kind = ExprKind::Compare(op, Box::new(a), Box::new(b));
            Ok((typed(kind, boolean, span), boolean))
        }
        Operation::Select => {
            let condition = condition(next())?;
            let (a, b, ty) = unify(next(), next())?;
            let kind = ExprKind::Select(Box::new(condition), Box::new(a), Box::new(b));
            Ok((typed(kind, ty, span), ty))
        }
        Operation::Call(builtin) => call(builtin, operands, span),
        Operation::Cast(dtype) => {
            let rounded = cast(next(), dtype, span);
            let ty = Ty::Strong(dtype.in_arithmetic());
            let value = cast((rounded, Ty::Strong(dtype)), ty.dtype(), span);
            Ok((value, ty))
        }
        Operation::Checked(dimension) => {
            let ty = Ty::Strong(DType::Int64);
            let kind = ExprKind::Checked(Box::new(index(next())?), dimension);
            Ok((typed(kind, ty, span), ty))
        }
        Operation::Access(..) => unreachable!("accesses are built where targets have types"),
    }
}

/// A level, or an index of a data dimension: an integer of 64 bits.
pub(super) fn index((expr, ty): Typed) -> Result<Expr, Box<Diagnostic>> {
    if ty.is_float() || ty.is_bool() {
        return Err(Box::new(
            Diagnostic::error(
                INDEX,
                Category::DataType,
                expr.span,
                "a level or index must be an integer",
            )
            .with_label(format!("this is {}", ty.describe()))
            .with_help("convert it, as in `int(x)`"),
        ));
    }
    coerce((expr, ty), DType::Int64)
}

pub(super) fn condition(expr: Typed) -> Result<Expr, Box<Diagnostic>> {
    truth(expr, |span, ty| {
        Diagnostic::error(
            CONDITION,
            Category::DataType,
            span,
            "a condition must be a boolean",
        )
        .with_label(format!("this is {}", ty.describe()))
        .with_help("compare it with something, as in `x != 0`")
    })
}

fn unary(op: UnaryOp, (a, ty): Typed, span: Span) -> Result<Typed, Box<Diagnostic>> {
    match op {
        UnaryOp::Neg => {
            if let Some(literal) = negated(&a) {
                return Ok((typed(ExprKind::Literal(literal), ty, span), ty));
            }
            if ty.is_bool() {
                return Err(misfit(Misfit::BooleanArithmetic, "-", span, &[(&a, ty)]));
            }
        }
        UnaryOp::Not => {
            let a = truth((a, ty), |place, ty| logical("not", place, ty))?;
            let ty = Ty::Strong(DType::Bool);
            return Ok((typed(ExprKind::Unary(op, Box::new(a)), ty, span), ty));
        }
        UnaryOp::Invert => {
            if ty.is_float() {
                return Err(misfit(Misfit::Bitwise, "~", span, &[(&a, ty)]));
            }
            let a = coerce((a, ty), ty.dtype())?;
            return Ok((typed(ExprKind::Unary(op, Box::new(a)), ty, span), ty));
        }
    }
    Ok((typed(ExprKind::Unary(op, Box::new(a)), ty, span), ty))
}

fn binary(op: BinaryOp, a: Typed, b: Typed, span: Span) -> Result<Typed, Box<Diagnostic>> {
    if family(op) == Family::Logical {
        let error = |place, ty| logical(op.symbol(), place, ty);
        let (a, b) = (truth(a, error)?, truth(b, error)?);
        let ty = Ty::Strong(DType::Bool);
        let kind = ExprKind::Binary(op, Box::new(a), Box::new(b));
        return Ok((typed(kind, ty, span), ty));
    }
    let Signature { operands, result } = binary_signature(op, a.1, b.1, literal_int(&b.0))
        .map_err(|reason| misfit(reason, op.symbol(), span, &[(&a.0, a.1), (&b.0, b.1)]))?;
    let dtype = operands.dtype();
    let (a, b) = (coerce(a, dtype)?, coerce(b, dtype)?);
    let kind = ExprKind::Binary(op, Box::new(a), Box::new(b));
    Ok((typed(kind, result, span), result))
}

fn call(builtin: Builtin, operands: Vec<Typed>, span: Span) -> Result<Typed, Box<Diagnostic>> {
    let common = (operands.iter())
        .fold(Common::default(), |common, (_, ty)| common.with(*ty))
        .ty();
    let signature = call_signature(builtin, common).map_err(|reason| {
        let operands: Vec<_> = operands.iter().map(|(expr, ty)| (expr, *ty)).collect();
        misfit(reason, builtin.name(), span, &operands)
    })?;
    let dtype = signature.operands.dtype();
    let mut operands: Vec<Expr> = operands
        .into_iter()
        .map(|operand| coerce(operand, dtype))
        .collect::<Result<_, _>>()?;
    if is_rounding(builtin)
        && !dtype.is_float()
        && let Some(operand) = operands.pop()
    {
        return Ok((operand, signature.result));
    }
    let kind = ExprKind::Call(builtin, operands);
    Ok((typed(kind, signature.result, span), signature.result))
}
