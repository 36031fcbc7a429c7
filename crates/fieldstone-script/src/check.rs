//! What the text must not say although the IR could: levels of a parallel computation that wait for each other, intervals that are
//! not written in the order in which they run.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::analysis::levels::check_overlap;
use fieldstone_stencil::ir::{Computation, LevelIndex, Order, Stencil, Target};
use fieldstone_stencil::visit::accesses;
use fieldstone_stencil::{Axis, Bound, Diagnostic, Level, Span};

use crate::rule;

/// Adds every violation to `diagnostics`.
pub fn check(stencil: &Stencil, diagnostics: &mut Vec<Diagnostic>) {
    for computation in &stencil.computations {
        interval_order(computation, diagnostics);
        if computation.order == Order::Parallel {
            parallel_k(stencil, computation, diagnostics);
        }
    }
    // A text without other errors is looked through for these together with its accesses.
    if !diagnostics.is_empty() {
        diagnostics.extend(check_overlap(stencil));
    }
}

/// In a parallel computation no level waits for another.
fn parallel_k(stencil: &Stencil, computation: &Computation, diagnostics: &mut Vec<Diagnostic>) {
    let mut written: HashMap<Target, Span> = HashMap::new();
    for section in &computation.sections {
        accesses(&section.body, &mut |access| {
            if access.write {
                written.entry(access.target).or_insert(access.span);
            }
        });
    }
    let mut seen = HashSet::new();
    for section in &computation.sections {
        accesses(&section.body, &mut |access| {
            let computed = access.level != LevelIndex::Constant;
            let elsewhere = !access.write && (access.offset.along(Axis::K) != 0 || computed);
            let Some(write) = written.get(&access.target).filter(|_| elsewhere) else {
                return;
            };
            if !seen.insert(stencil.sources.place(access.span)) {
                return;
            }
            let name = stencil.source_name(access.target);
            diagnostics.push(
                rule::PARALLEL_K_RACE
                    .at(access.span, format!("`{name}` is read at another level of the parallel computation that writes it"))
                    .with_label(match computed {
                        true => format!("reads `{name}` at a level that is computed"),
                        false => format!("reads `{name}` at {}", access.offset),
                    })
                    .with_secondary(*write, format!("writes `{name}`"))
                    .with_help("where levels depend on each other, use `computation(FORWARD)` or `computation(BACKWARD)`;\nwhere they do not, read it in a second `with computation(PARALLEL), interval(...):`"),
            );
        });
    }
}

fn interval_order(computation: &Computation, diagnostics: &mut Vec<Diagnostic>) {
    let (words, way) = match computation.order {
        Order::Parallel => return,
        Order::Forward => ("FORWARD", "runs upwards, from the first level"),
        Order::Backward => ("BACKWARD", "runs downwards, from the last level"),
    };
    for pair in computation.sections.windows(2) {
        let [before, section] = pair else { continue };
        let (first, second) = (
            position(before.interval.start),
            position(section.interval.start),
        );
        let wrong = if computation.order == Order::Forward {
            second < first
        } else {
            second > first
        };
        if wrong {
            diagnostics.push(
                rule::INTERVAL_ORDER
                    .at(section.span, format!("the intervals of a {words} computation are not in the order in which they run"))
                    .with_label("this one runs first")
                    .with_secondary(before.span, "this one runs later")
                    .with_secondary(computation.span, way)
                    .with_help("swap the intervals"),
            );
        }
    }
}

/// Where a bound lies in a domain with very many levels.
fn position(bound: Bound) -> i64 {
    match bound.level {
        Level::Start => i64::from(bound.offset),
        Level::End => i64::from(u32::MAX) + i64::from(bound.offset),
    }
}
