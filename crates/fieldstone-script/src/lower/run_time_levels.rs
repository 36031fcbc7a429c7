//! Intervals whose bounds show at run time.

use std::collections::{BTreeSet, HashMap, HashSet};

use fieldstone_stencil::bounds::{self, Covered};
use fieldstone_stencil::ir::{
    self, BinaryOp, Computation, ExprKind, LevelIndex, Order, Section, Target, TempId,
};
use fieldstone_stencil::visit::{accesses, reads};
use fieldstone_stencil::{Axes, Axis, Bound, DType, Interval, Offset, Span};

use super::interval::{Levels, first_level};
use super::{Lowering, read};

/// An interval of the computation that is lowered now.
#[derive(Debug)]
pub(super) struct Entered {
    /// Computations of the stencil before it.
    at: usize,
    covered: Covered,
    /// Whether its bounds show at run time.
    computed: bool,
}

impl Lowering<'_> {
    /// Adds the statements of an interval to its computation.
    pub(super) fn enter(
        &mut self,
        computation: &mut Computation,
        levels: Levels,
        span: Span,
        body: Vec<ir::Stmt>,
        first: usize,
    ) {
        let Levels {
            interval,
            guard,
            covered,
        } = levels;
        let mut entered = Entered {
            at: self.stencil.computations.len(),
            covered,
            computed: guard.is_some(),
        };
        let section = |body| Section {
            interval,
            body,
            span,
        };
        let Some(guard) = guard else {
            computation.sections.push(section(body));
            self.entered.push(entered);
            return;
        };
        // Which intervals have a level in common shows at run time only, so each is a computation of its own.
        let alone = |order: Order, body: Vec<ir::Stmt>| Computation {
            order,
            sections: vec![section(body)],
            span: computation.span,
        };
        let order = computation.order;
        let mut before = Vec::new();
        let body = match reads_any(&guard) {
            false => (body.into_iter())
                .map(|statement| bounds::guarded(&guard, statement))
                .collect(),
            true => {
                // The body may change what the bounds are read from.
                self.calls += 1;
                let name = format!("levels@{}", self.calls);
                let temp = self.temporary(&name, None, span);
                let kept = ir::Stmt::assign(Target::Temp(temp), span, guard, span);
                before.push(alone(Order::Parallel, vec![kept]));
                self.guarded_by_column(temp, body, first, span)
            }
        };
        before.push(alone(order, body));
        let sections = std::mem::take(&mut computation.sections);
        if !sections.is_empty() {
            self.stencil.computations.push(Computation {
                sections,
                ..computation.clone()
            });
        }
        entered.at = self.stencil.computations.len();
        self.entered.push(entered);
        self.stencil.computations.extend(before);
    }

    /// Statements of an interval that differs from column to column; `inside` says where it is. What functions compute is
    /// there for the columns beside as well, whose intervals may be others.
    fn guarded_by_column(
        &self,
        inside: ir::TempId,
        body: Vec<ir::Stmt>,
        first: usize,
        span: Span,
    ) -> Vec<ir::Stmt> {
        let private = |target: Target| match target {
            Target::Temp(TempId(id)) if id as usize >= first => {
                self.stencil.temporaries[id as usize].is_inlined()
            }
            _ => false,
        };
        // Where the interval has the level, seen from the points at which a statement runs.
        let mut needed: HashMap<Target, BTreeSet<[i32; 2]>> = HashMap::new();
        let mut guarded = Vec::with_capacity(body.len());
        for statement in body.into_iter().rev() {
            let mut places = BTreeSet::new();
            let mut others = false;
            let mut levels = false;
            accesses(std::slice::from_ref(&statement), &mut |access| {
                levels |= access.level != LevelIndex::Constant || access.offset.along(Axis::K) != 0;
                if access.write {
                    others |= !private(access.target);
                    places.extend(needed.get(&access.target).into_iter().flatten());
                }
            });
            if others || places.is_empty() {
                places = BTreeSet::from([[0, 0]]);
            }
            accesses(std::slice::from_ref(&statement), &mut |access| {
                if !access.write && private(access.target) {
                    let [i, j, _] = access.offset.0;
                    let from = needed.entry(access.target).or_default();
                    from.extend(places.iter().map(|at| [at[0] - i, at[1] - j]));
                }
            });
            // Without reads at other levels, which may not exist, there is no harm in computing it everywhere.
            let everywhere = !levels && places.iter().any(|at| *at != [0, 0]);
            guarded.push(match everywhere {
                true => statement,
                false => {
                    let here = |at: &[i32; 2]| {
                        let offset = Offset([at[0], at[1], 0]);
                        ir::Expr::untyped(ExprKind::read(Target::Temp(inside), offset), span)
                    };
                    let any = places.iter().map(here).reduce(|a, b| {
                        let any = ExprKind::Binary(BinaryOp::Or, Box::new(a), Box::new(b));
                        ir::Expr::untyped(any, span)
                    });
                    bounds::guarded(&any.unwrap_or_else(|| read(inside, span)), statement)
                }
            });
        }
        guarded.reverse();
        guarded
    }

    /// Requires of intervals whose bounds show at run time what is checked of others when a stencil is made: that they are
    /// inside of the domain, and have no level in common.
    pub(super) fn require_levels(&mut self) {
        let mut entered = std::mem::take(&mut self.entered);
        if !entered.iter().any(|interval| interval.computed) {
            return;
        }
        let mut written = HashSet::new();
        for computation in &self.stencil.computations[entered[0].at..] {
            let bodies = computation.sections.iter().map(|section| &section.body);
            bodies.for_each(|body| {
                accesses(body, &mut |access| {
                    if access.write {
                        written.insert(access.target);
                    }
                });
            });
        }
        let mut checks = Vec::with_capacity(entered.len());
        for n in 0..entered.len() {
            let mut body = Vec::new();
            if entered[n].computed {
                let covered = &mut entered[n].covered;
                for bound in [&mut covered.start, &mut covered.end] {
                    self.keep_bound(bound, &written, &mut body);
                }
                body.push(covered.inside());
            }
            let earlier = entered[..n].iter().map(|earlier| &earlier.covered);
            body.extend(earlier.map(|earlier| entered[n].covered.apart(earlier)));
            checks.push(body);
        }
        for (interval, body) in entered.iter().zip(checks).rev() {
            if body.is_empty() {
                continue;
            }
            let span = interval.covered.span;
            let one_level = section_of_one_level(body, span);
            self.stencil.computations.insert(
                interval.at,
                Computation {
                    order: Order::Parallel,
                    sections: vec![one_level],
                    span,
                },
            );
        }
    }

    /// Keeps a bound as it is where an interval begins, if the computation may change it.
    fn keep_bound(
        &mut self,
        bound: &mut ir::Expr,
        written: &HashSet<Target>,
        body: &mut Vec<ir::Stmt>,
    ) {
        let mut changes = false;
        reads(bound, &mut |access| {
            changes |= written.contains(&access.target)
        });
        if !changes {
            return;
        }
        let span = bound.span;
        let temp = self.fresh("bound", span);
        self.unshaped.remove(&temp);
        let temporary = &mut self.stencil.temporaries[temp.0 as usize];
        temporary.axes = Axes([true, true, false]);
        temporary.dtype = Some(DType::Int64);
        let value = std::mem::replace(bound, read(temp, span));
        body.push(ir::Stmt::assign(Target::Temp(temp), span, value, span));
    }
}

/// Statements that run once for each column.
fn section_of_one_level(body: Vec<ir::Stmt>, span: Span) -> Section {
    let (start, end) = (Bound::START, first_level());
    Section {
        interval: Interval { start, end },
        body,
        span,
    }
}

fn reads_any(expr: &ir::Expr) -> bool {
    let mut found = false;
    reads(expr, &mut |_| found = true);
    found
}
