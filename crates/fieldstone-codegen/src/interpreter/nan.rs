//! Where the first NaN comes from.

use fieldstone_stencil::diagnostic::{Category, Diagnostic};
use fieldstone_stencil::ir::{Expr, ExprKind, Stencil, Stmt, StmtKind};
use fieldstone_stencil::{DType, Span};

use super::access::Access;
use super::element::{Element, Wide, dispatch};
use super::expression::values;
use super::region::Region;
use super::report::point;
use super::state::State;
use crate::error::{CheckError, NOT_A_NUMBER, RunError};

/// Operands whose values are told.
const SHOWN: usize = 8;

/// An error at the first active point of a region whose value is no number.
pub(super) fn none<T: Element>(
    values: &[T],
    region: &Region,
    active: Option<&[bool]>,
    access: &Access,
) -> Result<(), RunError> {
    let is_nan = |value: &T| value.partial_cmp(value).is_none();
    let is_active = |n: usize| active.is_none_or(|active| active[n]);
    let Some(found) =
        (values.iter().enumerate()).position(|(n, value)| is_nan(value) && is_active(n))
    else {
        return Ok(());
    };
    let index = region.point(found);
    let diagnostic = Diagnostic::error(
        NOT_A_NUMBER,
        Category::Run,
        access.span,
        format!("`{}` becomes NaN at {}", access.name, point(index)),
    );
    Err(CheckError::at(index, diagnostic))
}

/// The same error; if it is of a NaN, with the operation it comes from and the values that went in.
pub(super) fn explained(error: RunError, state: &State, stencil: &Stencil) -> RunError {
    let RunError::Check(mut check) = error else {
        return error;
    };
    if check.code() == Some(NOT_A_NUMBER)
        && let [diagnostic] = check.report.diagnostics.as_mut_slice()
        && let Some(value) = assigned(stencil, diagnostic.primary.span)
    {
        let at = Point {
            state,
            stencil,
            region: Region::new(check.index, [1; 3]),
        };
        at.explain(value, diagnostic);
    }
    RunError::Check(check)
}

/// What is assigned to the target at a place.
fn assigned(stencil: &Stencil, place: Span) -> Option<&Expr> {
    let mut found = None;
    let sections = stencil.computations.iter().flat_map(|c| &c.sections);
    for statement in sections.flat_map(|section| &section.body) {
        statement.walk(&mut |inner: &Stmt| {
            if let StmtKind::Assign {
                target_span, value, ..
            } = &inner.kind
                && *target_span == place
            {
                found = Some(value);
            }
        });
    }
    found
}

struct Point<'a> {
    state: &'a State,
    stencil: &'a Stencil,
    region: Region,
}

impl Point<'_> {
    /// The value of an expression at the point, and how it is written.
    fn value(&self, expr: &Expr) -> Option<(bool, String)> {
        dispatch!(expr.dtype(), T => {
            let mut value = [T::default()];
            let evaluate = values::<T>(expr, self.stencil).ok()?;
            evaluate(self.state, &self.region, None, &mut value).ok()?;
            Some(match value[0].widen() {
                Wide::Integer(value) if T::DTYPE == DType::Bool => {
                    (false, if value != 0 { "True" } else { "False" }.to_string())
                }
                Wide::Integer(value) => (false, value.to_string()),
                Wide::Real(value) if T::DTYPE == DType::Float64 => (value.is_nan(), format!("{value:?}")),
                Wide::Real(value) => (value.is_nan(), format!("{:?}", value as f32)),
            })
        })
    }

    fn is_nan(&self, expr: &Expr) -> bool {
        self.value(expr).is_some_and(|(is_nan, _)| is_nan)
    }

    /// Points at the innermost operation that gives NaN, and tells the values of its operands.
    fn explain(&self, value: &Expr, diagnostic: &mut Diagnostic) {
        let mut origin = value;
        while let Some(inner) = origin.operands().find(|operand| self.is_nan(operand)) {
            origin = inner;
        }
        if let ExprKind::Cast(_) = origin.kind {
            return;
        }
        let label = match origin.kind {
            ExprKind::Access { .. } | ExprKind::Scalar(_) => "this is NaN already",
            _ => "this gives NaN",
        };
        let target = std::mem::replace(&mut diagnostic.primary.span, origin.span);
        diagnostic.primary.text = label.to_string();
        let mut told = vec![origin.span];
        let mut todo: Vec<&Expr> = origin.operands().collect();
        todo.reverse();
        while let Some(operand) = todo.pop() {
            todo.extend(operand.operands().collect::<Vec<_>>().into_iter().rev());
            let is_given = matches!(operand.kind, ExprKind::Literal(_) | ExprKind::Cast(_));
            if is_given || told.contains(&operand.span) || told.len() > SHOWN {
                continue;
            }
            if let Some((_, value)) = self.value(operand) {
                told.push(operand.span);
                *diagnostic = diagnostic.clone().with_secondary(operand.span, value);
            }
        }
        if !origin.span.covers(target) {
            *diagnostic = diagnostic.clone().with_secondary(target, "assigned here");
        }
    }
}
