//! `while`.

use std::collections::HashSet;

use fieldstone_stencil::Span;
use fieldstone_stencil::ir::{self, StmtKind, Target};
use fieldstone_stencil::visit::{accesses, reads};
use ruff_python_ast::StmtWhile;

use super::branch::DEEPEST;
use super::{Binding, Lowering, Reported, read};
use crate::{constant, names, rule};

impl Lowering<'_> {
    /// `while condition: body`.
    pub(super) fn repeat(&mut self, statement: &StmtWhile) -> Result<(), Reported> {
        let span = self.span(statement);
        let keyword = Span {
            end: span.start + 5,
            ..span
        };
        if let Some(clause) = &statement.orelse.first() {
            let span = self.span(*clause);
            self.report(
                rule::STATEMENT
                    .at(span, "`else` of a `while` is not part of gtscript")
                    .with_help("put the statements behind the loop"),
            );
        }
        if self.mask.depth >= DEEPEST {
            return Err(self.report(rule::TOO_DEEP.at(keyword, "loops are nested too deeply")));
        }
        let (condition, calls) = self.tested(statement);
        match condition.as_ref().map(constant::value) {
            Ok(Some(value)) if !constant::truth(value) => return Ok(()),
            Ok(Some(_)) => return Err(self.endless(statement, "its condition always holds")),
            _ => {}
        }
        let outermost = self.mask.depth == 0;
        self.place_called();
        if let Ok(condition) = &condition {
            reads(condition, &mut |access| self.check_partial(access));
        }
        // What a call inside of the loop needs, a later statement of the round before may have written.
        for (name, place) in names::assigned_in(&statement.body) {
            let target = match self.frame().locals.get(&name) {
                Some(Binding::Field(id)) => Target::Field(*id),
                Some(Binding::Temp(id)) => Target::Temp(*id),
                _ => continue,
            };
            let place = self.span(place);
            self.mask.written.entry(target).or_insert(place);
        }
        // Where functions are called, the condition is computed by statements, at the end of every round again.
        let condition = match (condition, calls) {
            (Ok(condition), true) => {
                self.calls += 1;
                let name = format!("condition@{}", self.calls);
                let temp = self.temporary(&name, None, condition.span);
                let at = condition.span;
                self.assign_temporary(temp, condition, at);
                Ok((read(temp, at), Some(temp)))
            }
            (condition, _) => condition.map(|condition| (condition, None)),
        };
        self.mask.depth += 1;
        let body = self.collect(|lowering| {
            lowering.statements(&statement.body);
            if let Ok((condition, Some(temp))) = &condition
                && let (Ok(again), _) = lowering.tested(statement)
            {
                let at = condition.span;
                lowering.assign_temporary(*temp, again, at);
            }
        });
        self.mask.depth -= 1;
        if outermost {
            let mask = std::mem::take(&mut self.mask);
            self.block.extend(mask.hoisted);
        }
        if self.frame_mut().result.take().is_some() {
            return Err(self.report(
                rule::RETURN
                    .at(keyword, "a `return` inside of a `while`")
                    .with_help("assign in the loop and return once behind it"),
            ));
        }
        let (condition, _) = condition?;
        if !depends(&condition, &body) {
            return Err(self.endless(statement, "nothing inside of it changes its condition"));
        }
        self.block.push(ir::Stmt {
            kind: StmtKind::While { condition, body },
            span,
        });
        Ok(())
    }

    /// The condition, and whether functions are called for it.
    fn tested(&mut self, statement: &StmtWhile) -> (Result<ir::Expr, Reported>, bool) {
        let before = self.block.len() + self.mask.called.len();
        let condition = self.expression(&statement.test);
        let after = self.block.len() + self.mask.called.len();
        (condition, after > before)
    }

    fn endless(&mut self, statement: &StmtWhile, why: &str) -> Reported {
        let span = self.span(statement.test.as_ref());
        self.report(
            rule::ENDLESS_LOOP
                .at(span, "a `while` that never ends once it begins")
                .with_label(why)
                .with_help("assign something in the loop that the condition reads, such as a count of rounds"),
        )
    }
}

/// Whether a condition reads something that statements write.
fn depends(condition: &ir::Expr, body: &[ir::Stmt]) -> bool {
    let mut written = HashSet::new();
    accesses(body, &mut |access| {
        if access.write {
            written.insert(access.target);
        }
    });
    let mut found = false;
    reads(condition, &mut |access| {
        found |= written.contains(&access.target)
    });
    found
}
