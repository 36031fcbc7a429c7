//! The verifier: what every later pass relies on in typed IR.
//!
//! - Ids point into their tables; the names of parameters and temporaries are unique; every field and scalar is one parameter.
//! - Offsets are zero along axes a target does not have; writes go to other levels at most. An access has one index for each
//!   data dimension, and a level that is computed only where there are levels; both are `int64`.
//! - Every expression and temporary has a type; operands of an operation have one type, and the operation has a meaning for it:
//!   arithmetic on numbers, `/` on reals, bits on integers and booleans, shifts on integers, conditions on booleans.
//! - A value has the type of the target it is assigned to. Casts change the type. `float16` is cast from and to `float32` only,
//!   there is nothing else to be done with it.
//! - A literal's value fits its type; `pow` and `mod` are operators; functions have as many operands as they take.

use std::collections::HashSet;

use crate::dtype::DType;
use crate::grid::{Axis, Offset};
use crate::ir::{
    BinaryOp, Builtin, Expr, ExprKind, LevelIndex, Literal, Param, Stencil, Stmt, StmtKind,
    Subscript, Target, UnaryOp,
};
use crate::source::Span;

/// A rule of the IR that is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct VerifyError {
    /// What is wrong.
    pub message: String,
    /// Where, if the place has one.
    pub span: Option<Span>,
}

fn error<T>(span: Option<Span>, message: impl Into<String>) -> Result<T, VerifyError> {
    Err(VerifyError {
        message: message.into(),
        span,
    })
}

/// Checks typed IR.
///
/// # Errors
///
/// The first rule that is broken.
pub fn verify(stencil: &Stencil) -> Result<(), VerifyError> {
    verify_ids(stencil)?;
    for temporary in &stencil.temporaries {
        if temporary.dtype.is_none() {
            return error(
                Some(temporary.span),
                format!("temporary `{}` has no type", temporary.name),
            );
        }
    }
    each_statement(stencil, &mut |stmt| match &stmt.kind {
        StmtKind::Assign {
            target,
            subscript,
            value,
            ..
        } => {
            each_node(value, &mut typed)?;
            for operand in subscript.iter().flat_map(|subscript| &subscript.operands) {
                each_node(operand, &mut typed)?;
                expect(operand, DType::Int64, "an index")?;
            }
            let expected = match target {
                Target::Field(id) => stencil.field(*id).dtype,
                Target::Temp(id) => stencil.temporary(*id).dtype.unwrap_or(DType::Bool),
            };
            expect(value, expected, "the value of an assignment")
        }
        StmtKind::If { condition, .. } | StmtKind::While { condition, .. } => {
            each_node(condition, &mut typed)?;
            expect(condition, DType::Bool, "a condition")
        }
        StmtKind::Require {
            condition,
            bounds,
            intervals,
        } => {
            each_node(condition, &mut typed)?;
            expect(condition, DType::Bool, "a condition")?;
            for bound in bounds {
                each_node(bound, &mut typed)?;
                expect(bound, DType::Int64, "a bound")?;
            }
            if bounds.len() != 2 * intervals.len() {
                return error(Some(stmt.span), "an interval has two bounds");
            }
            Ok(())
        }
        StmtKind::Region { .. } => Ok(()),
    })?;
    each_statement(stencil, &mut |stmt| {
        stmt.expressions()
            .try_for_each(|expr| each_node(expr, &mut |node| access_type(stencil, node)))
    })
}

/// Checks what holds before types are resolved too: ids, names and offsets.
///
/// # Errors
///
/// The first rule that is broken.
pub fn verify_ids(stencil: &Stencil) -> Result<(), VerifyError> {
    verify_names(stencil)?;
    verify_params(stencil)?;
    each_statement(stencil, &mut |stmt| {
        if let StmtKind::Assign {
            target,
            target_span,
            offset,
            subscript,
            ..
        } = &stmt.kind
        {
            verify_target(stencil, *target, *offset, *target_span)?;
            verify_subscript(stencil, *target, subscript.as_deref(), *target_span)?;
            if !offset.is_vertical() {
                return error(Some(*target_span), format!("a write at {offset}"));
            }
        }
        stmt.expressions()
            .try_for_each(|expr| each_node(expr, &mut |node| verify_node_ids(stencil, node)))
    })
}

fn verify_names(stencil: &Stencil) -> Result<(), VerifyError> {
    let mut names = HashSet::new();
    let fields = stencil.fields.iter().map(|field| (&field.name, field.span));
    let scalars = stencil
        .scalars
        .iter()
        .map(|scalar| (&scalar.name, scalar.span));
    let temporaries = (stencil.temporaries.iter()).map(|temp| (&temp.name, temp.span));
    for (name, span) in fields.chain(scalars).chain(temporaries) {
        if !names.insert(name) {
            return error(Some(span), format!("the name `{name}` is used twice"));
        }
    }
    Ok(())
}

fn verify_params(stencil: &Stencil) -> Result<(), VerifyError> {
    let mut fields = vec![0; stencil.fields.len()];
    let mut scalars = vec![0; stencil.scalars.len()];
    for param in &stencil.params {
        let count = match param {
            Param::Field(id) => fields.get_mut(id.0 as usize),
            Param::Scalar(id) => scalars.get_mut(id.0 as usize),
        };
        match count {
            Some(count) => *count += 1,
            None => return error(None, format!("the parameter {param:?} does not exist")),
        }
    }
    if fields.iter().chain(&scalars).any(|count| *count != 1) {
        return error(None, "fields and scalars must each be one parameter");
    }
    Ok(())
}

fn verify_node_ids(stencil: &Stencil, node: &Expr) -> Result<(), VerifyError> {
    match &node.kind {
        ExprKind::Scalar(id) if stencil.scalars.get(id.0 as usize).is_none() => {
            error(Some(node.span), format!("there is no scalar {}", id.0))
        }
        ExprKind::Access {
            target,
            offset,
            subscript,
        } => {
            verify_target(stencil, *target, *offset, node.span)?;
            verify_subscript(stencil, *target, subscript.as_deref(), node.span)
        }
        ExprKind::Call(builtin, operands) if operands.len() != builtin.arity() => error(
            Some(node.span),
            format!(
                "`{}` takes {} operands but has {}",
                builtin.name(),
                builtin.arity(),
                operands.len()
            ),
        ),
        _ => Ok(()),
    }
}

fn verify_target(
    stencil: &Stencil,
    target: Target,
    offset: Offset,
    span: Span,
) -> Result<(), VerifyError> {
    let exists = match target {
        Target::Field(id) => (id.0 as usize) < stencil.fields.len(),
        Target::Temp(id) => (id.0 as usize) < stencil.temporaries.len(),
    };
    if !exists {
        return error(Some(span), format!("there is no {target:?}"));
    }
    let axes = stencil.target_axes(target);
    for axis in Axis::ALL {
        if !axes.contains(axis) && offset.along(axis) != 0 {
            return error(
                Some(span),
                format!(
                    "`{}` is accessed at {offset} but has no {axis} axis",
                    stencil.target_name(target)
                ),
            );
        }
    }
    Ok(())
}

/// As many indices as there are data dimensions, and a level for targets with levels only.
fn verify_subscript(
    stencil: &Stencil,
    target: Target,
    subscript: Option<&Subscript>,
    span: Span,
) -> Result<(), VerifyError> {
    let name = stencil.target_name(target);
    let dims = stencil.data_dims(target).len();
    let level = subscript.map_or(LevelIndex::Constant, |subscript| subscript.level);
    let operands = subscript.map_or(0, |subscript| subscript.operands.len());
    let levels = usize::from(level != LevelIndex::Constant);
    if levels == 1 && !stencil.target_axes(target).contains(Axis::K) {
        return error(Some(span), format!("`{name}` has no levels"));
    }
    if operands != levels + dims {
        return error(
            Some(span),
            format!("`{name}` has {dims} data dimensions but {operands} operands"),
        );
    }
    Ok(())
}

fn access_type(stencil: &Stencil, node: &Expr) -> Result<(), VerifyError> {
    let expected = match node.kind {
        ExprKind::Scalar(id) => stencil.scalar(id).dtype,
        ExprKind::Access { target, .. } => match target {
            Target::Field(id) => stencil.field(id).dtype,
            Target::Temp(id) => stencil.temporary(id).dtype.unwrap_or(DType::Bool),
        },
        _ => return Ok(()),
    };
    expect(node, expected, "an access")
}

fn expect(expr: &Expr, expected: DType, what: &str) -> Result<(), VerifyError> {
    match expr.dtype {
        Some(dtype) if dtype == expected => Ok(()),
        Some(dtype) => error(
            Some(expr.span),
            format!("{what} must be {expected} but is {dtype}"),
        ),
        None => error(Some(expr.span), "an expression has no type"),
    }
}

/// Checks the type of one expression against those of its operands.
fn typed(node: &Expr) -> Result<(), VerifyError> {
    let Some(dtype) = node.dtype else {
        return error(Some(node.span), "an expression has no type");
    };
    let fail = |message: String| error(Some(node.span), message);
    if dtype != dtype.in_arithmetic()
        && !matches!(node.kind, ExprKind::Access { .. } | ExprKind::Cast(_))
    {
        return fail(format!("{dtype} is a type in memory only"));
    }
    let same = |operands: &[&Expr], expected: DType| {
        operands
            .iter()
            .try_for_each(|operand| expect(operand, expected, "an operand"))
    };
    match &node.kind {
        ExprKind::Literal(literal) => {
            if literal_fits(*literal, dtype) {
                Ok(())
            } else {
                fail(format!("the literal {literal:?} cannot be {dtype}"))
            }
        }
        ExprKind::Scalar(_) => Ok(()),
        ExprKind::Access { subscript, .. } => (subscript.iter())
            .flat_map(|subscript| &subscript.operands)
            .try_for_each(|operand| expect(operand, DType::Int64, "an index")),
        ExprKind::Position(_) | ExprKind::Size(_) => expect(node, DType::Int64, "an index"),
        ExprKind::Unary(op, a) => {
            same(&[a], dtype)?;
            let has_meaning = match op {
                UnaryOp::Neg => dtype != DType::Bool,
                UnaryOp::Not => dtype == DType::Bool,
                UnaryOp::Invert => !dtype.is_float(),
            };
            if has_meaning {
                Ok(())
            } else {
                fail(format!("`{}` has no meaning for {dtype}", op.symbol()))
            }
        }
        ExprKind::Binary(op, a, b) => {
            same(&[a, b], dtype)?;
            let has_meaning = match op {
                BinaryOp::And | BinaryOp::Or => dtype == DType::Bool,
                BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => !dtype.is_float(),
                BinaryOp::ShiftLeft | BinaryOp::ShiftRight => dtype.is_int(),
                BinaryOp::Div => dtype.is_float(),
                _ => dtype != DType::Bool,
            };
            if has_meaning {
                Ok(())
            } else {
                fail(format!("`{}` has no meaning for {dtype}", op.symbol()))
            }
        }
        ExprKind::Compare(_, a, b) => {
            expect(node, DType::Bool, "a comparison")?;
            match a.dtype {
                Some(operands) => same(&[b], operands),
                None => fail("an expression has no type".to_string()),
            }
        }
        ExprKind::Select(condition, a, b) => {
            expect(condition, DType::Bool, "a condition")?;
            same(&[a, b], dtype)
        }
        ExprKind::Call(builtin, operands) => {
            let operands: Vec<&Expr> = operands.iter().collect();
            verify_call(*builtin, &operands, node, dtype)
        }
        ExprKind::Checked(index, _) => {
            expect(node, DType::Int64, "an index")?;
            expect(index, DType::Int64, "an index")
        }
        ExprKind::Cast(a) if a.dtype == Some(dtype) => {
            fail(format!("a cast from {dtype} to itself"))
        }
        ExprKind::Cast(a) => {
            let in_memory = |dtype: DType| dtype != dtype.in_arithmetic();
            let from = a.dtype.unwrap_or(dtype);
            let other = if in_memory(from) { dtype } else { from };
            if (in_memory(from) || in_memory(dtype)) && other != DType::Float32 {
                return fail(format!("a cast from {from} to {dtype}"));
            }
            Ok(())
        }
    }
}

fn verify_call(
    builtin: Builtin,
    operands: &[&Expr],
    node: &Expr,
    dtype: DType,
) -> Result<(), VerifyError> {
    let name = builtin.name();
    let operand = operands.first().and_then(|operand| operand.dtype);
    let has_meaning = match builtin {
        Builtin::Pow | Builtin::Mod => {
            return error(Some(node.span), format!("`{name}` is an operator"));
        }
        Builtin::Min | Builtin::Max => true,
        Builtin::Abs => dtype != DType::Bool,
        Builtin::IsFinite | Builtin::IsInf | Builtin::IsNan => {
            expect(node, DType::Bool, "a test")?;
            return if operand.is_some_and(DType::is_float) {
                Ok(())
            } else {
                error(Some(node.span), format!("`{name}` needs a real number"))
            };
        }
        _ => dtype.is_float(),
    };
    if !has_meaning {
        return error(
            Some(node.span),
            format!("`{name}` has no meaning for {dtype}"),
        );
    }
    operands
        .iter()
        .try_for_each(|operand| expect(operand, dtype, "an operand"))
}

fn literal_fits(literal: Literal, dtype: DType) -> bool {
    match literal {
        Literal::Bool(_) => dtype == DType::Bool,
        Literal::Int(n) if dtype.is_int() => crate::types::fits(n, dtype),
        Literal::Int(_) | Literal::Float(_) => dtype.is_float(),
    }
}

/// Visits every statement, those inside others included.
fn each_statement(
    stencil: &Stencil,
    visit: &mut impl FnMut(&Stmt) -> Result<(), VerifyError>,
) -> Result<(), VerifyError> {
    let sections = stencil.computations.iter().flat_map(|c| &c.sections);
    let mut todo: Vec<&Stmt> = sections.flat_map(|section| &section.body).collect();
    todo.reverse();
    while let Some(stmt) = todo.pop() {
        visit(stmt)?;
        todo.extend(stmt.inner().rev());
    }
    Ok(())
}

/// Visits every expression, operands first.
fn each_node(
    expr: &Expr,
    visit: &mut impl FnMut(&Expr) -> Result<(), VerifyError>,
) -> Result<(), VerifyError> {
    let mut result = Ok(());
    expr.walk(|node| {
        if result.is_ok() {
            result = visit(node);
        }
    });
    result
}
