//! Regions: what their bounds ask of the domain, and which of them have no points.

use super::access::Place;
use super::{Access, FieldInfo, NEVER_REACHED};
use crate::diagnostic::{Category, Diagnostic, Severity};
use crate::grid::{Area, Axis, Bound, Extent, Level, Range};
use crate::ir::{Stencil, Stmt, StmtKind, Target};

/// Bounds further outside than this are meant to be nowhere.
const NOWHERE: u32 = 1000;

/// The reach along an axis, where an end that depends on the size of the domain counts as 0.
pub(super) fn at_its_end((lower, upper): (i32, i32)) -> (i32, i32) {
    let far = |reach: i32| reach < -(1 << 23);
    let own = |reach: i32| if far(reach) { 0 } else { reach };
    (own(lower), own(upper))
}

/// Points along I and J a domain must have, see [`Analysis::min_points`](super::Analysis::min_points).
pub(super) fn min_points(
    fields: &[FieldInfo],
    places: &[Place],
    extents: &[Vec<Vec<Extent>>],
) -> [usize; 2] {
    let mut least = [0; 2];
    for place in places.iter().filter(|place| !place.write) {
        let extent = place.computed_on(extents);
        for axis in [Axis::I, Axis::J] {
            let reach = extent.along(axis);
            let allowed = match place.target {
                Target::Field(id) if fields[id.0 as usize].access == Access::Read => {
                    let (lower, upper) = fields[id.0 as usize].extent.along(axis);
                    (lower.max(0), upper.max(0))
                }
                // What the stencil computes is there on the domain; how far around it differs from statement to statement.
                _ => (0, 0),
            };
            let needed = for_read(
                place.area.along(axis),
                reach,
                place.offset.along(axis),
                allowed,
            );
            let least = &mut least[axis.index()];
            *least = needed.max(*least);
        }
    }
    least.map(|points| points.max(0) as usize)
}

/// Points for which a read from a range does not leave what it may reach at the end from which the range does not count.
fn for_read(range: Range, reach: (i32, i32), offset: i32, allowed: (i32, i32)) -> i32 {
    let mut least = 0;
    if let Some(Bound { level, offset: at }) = range.start
        && level == Level::End
        && reach.0 - offset > allowed.0
    {
        least = least.max(-(at + offset + allowed.0));
    }
    if let Some(Bound { level, offset: at }) = range.end
        && level == Level::Start
        && reach.1 + offset > allowed.1
    {
        least = least.max(at + offset - allowed.1);
    }
    least
}

/// Warnings for regions that have no point where their statements are computed.
pub(super) fn never_reached(stencil: &Stencil, extents: &[Vec<Vec<Extent>>]) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for (computation, extents) in stencil.computations.iter().zip(extents) {
        for (section, extents) in computation.sections.iter().zip(extents) {
            for (stmt, extent) in section.body.iter().zip(extents) {
                inside(stmt, Area::FULL, *extent, &mut warnings);
            }
        }
    }
    warnings
}

fn inside(stmt: &Stmt, outer: Area, extent: Extent, warnings: &mut Vec<Diagnostic>) {
    let mut area = outer;
    if let StmtKind::Region { area: own, .. } = &stmt.kind {
        area = own.within(outer);
        if area.clip(extent).is_none() && !own.0.iter().any(is_nowhere) {
            warnings.push(Diagnostic {
                severity: Severity::Warning,
                ..Diagnostic::error(
                    NEVER_REACHED,
                    Category::Definition,
                    stmt.span,
                    "this region has no point",
                )
                .with_label("what is assigned here is not needed that far outside of the domain")
            });
            return;
        }
    }
    for inner in stmt.inner() {
        inside(inner, area, extent, warnings);
    }
}

fn is_nowhere(range: &Range) -> bool {
    [range.start, range.end]
        .into_iter()
        .flatten()
        .any(|bound| bound.offset.unsigned_abs() > NOWHERE)
}
