//! The types of temporaries without annotation.

use super::error::UNKNOWN_TYPE;
use super::inference::Types;
use super::promotion::{Common, Ty};
use crate::diagnostic::{Category, Diagnostic};
use crate::ir::{Expr, Stencil, Stmt, StmtKind, Target, TempId};
use crate::source::Span;

impl Types {
    /// Finds the types of temporaries without annotation.
    pub(super) fn infer_temporaries(&mut self, stencil: &Stencil, errors: &mut Vec<Diagnostic>) {
        let annotated: Vec<bool> = (stencil.temporaries.iter())
            .map(|temporary| temporary.dtype.is_some())
            .collect();
        let mut assignments = Vec::new();
        for section in stencil.computations.iter().flat_map(|c| &c.sections) {
            collect_assignments(&section.body, &annotated, &mut assignments);
        }
        let mut seeds = vec![Common::default(); annotated.len()];
        self.iterate(&assignments, &seeds);
        // Temporaries of literals only are int64 and float64, which their readers have to know.
        for (seed, ty) in seeds.iter_mut().zip(&self.temporaries) {
            if let Ty::Weak(_) = ty {
                *seed = Common::default().with(Ty::Strong(ty.dtype()));
            }
        }
        self.iterate(&assignments, &seeds);

        let mut reported = vec![false; annotated.len()];
        for (TempId(n), value) in assignments {
            let n = n as usize;
            if self.temporaries[n] == Ty::Unknown && !reported[n] && !self.has_misfit(value) {
                reported[n] = true;
                errors.push(unknown_type(stencil, n, value.span));
            }
        }
    }

    /// Repeats inference until no temporary's type changes.
    fn iterate(&mut self, assignments: &[(TempId, &Expr)], seeds: &[Common]) {
        // Types found early may be too small or, where inference went in circles, of the wrong kind; so every round starts
        // afresh. A round that keeps what was found before ends for sure, and is the last resort.
        const FRESH_ROUNDS: usize = 16;
        for (ty, seed) in self.temporaries.iter_mut().zip(seeds) {
            if *seed != Common::default() {
                *ty = seed.ty();
            }
        }
        let mut found = seeds.to_vec();
        for round in 0.. {
            let before = found.clone();
            if round < FRESH_ROUNDS {
                found.copy_from_slice(seeds);
            }
            for (TempId(n), value) in assignments {
                let n = *n as usize;
                found[n] = found[n].with(self.infer(value));
                self.temporaries[n] = found[n].join(before[n]).ty();
            }
            for (TempId(n), _) in assignments {
                self.temporaries[*n as usize] = found[*n as usize].ty();
            }
            if found == before {
                break;
            }
        }
    }

    /// Whether an expression has an error of its own, which will be reported.
    fn has_misfit(&self, expr: &Expr) -> bool {
        self.expr(expr.clone()).is_err()
    }
}

/// Every assignment to a temporary without annotation, in order.
fn collect_assignments<'a>(
    body: &'a [Stmt],
    annotated: &[bool],
    found: &mut Vec<(TempId, &'a Expr)>,
) {
    for statement in body {
        statement.walk(&mut |statement| {
            if let StmtKind::Assign {
                target: Target::Temp(id),
                value,
                ..
            } = &statement.kind
                && !annotated[id.0 as usize]
            {
                found.push((*id, value));
            }
        });
    }
}

fn unknown_type(stencil: &Stencil, n: usize, value: Span) -> Diagnostic {
    let temporary = &stencil.temporaries[n];
    Diagnostic::error(
        UNKNOWN_TYPE,
        Category::DataType,
        value,
        format!("the type of `{}` cannot be found", temporary.source_name()),
    )
    .with_label(format!(
        "this is computed from `{}` itself",
        temporary.source_name()
    ))
    .with_help(format!(
        "annotate it where it is first assigned, as in `{}: Field[float] = 0.0`",
        temporary.source_name()
    ))
}
