//! What a level of a sweep takes from the one before in registers.

use std::collections::BTreeMap;

use fieldstone_stencil::ir::{Order, Target, TempId};
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{DType, Offset};

use crate::tile::Place;

use super::super::place;
use super::super::types::Lanes;
use super::super::width;
use super::ColumnBlock;

/// A vector of a temporary that a level reads as the level before it has left it.
#[derive(Clone)]
pub(super) struct Carried {
    pub target: Target,
    pub dtype: DType,
    /// Offset of the level before.
    pub before: Offset,
    /// First column, counted from that of the block.
    pub first: usize,
    /// Lanes of all stages that access it.
    pub lanes: Lanes,
    /// Whether no level needs it in memory but the first one after those that carry it.
    pub kept: bool,
}

/// How a statement uses a temporary.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Read(Offset),
    Write {
        always: bool,
    },
    /// At levels that are computed.
    Afar,
}

/// The uses of temporaries in some stages, each with the number of its stage.
type Uses = BTreeMap<TempId, Vec<(usize, Use)>>;

impl ColumnBlock<'_> {
    /// What a section carries from level to level.
    pub(super) fn carried(&self, order: Order, stages: &[Stage]) -> Vec<Carried> {
        let before = match order {
            Order::Parallel => return Vec::new(),
            Order::Forward => Offset([0, 0, -1]),
            Order::Backward => Offset([0, 0, 1]),
        };
        let columns = self.context.scratch.vector.unwrap_or_default();
        // Found once, as that looks at all of a stage.
        let whole = |stage| width::lanes(self.context, stage, columns);
        let lanes = (stages.iter()).map(|stage| self.is_everywhere(stage).then(|| whole(stage)));
        let lanes: Vec<Option<Lanes>> = lanes.collect();
        let mut carried = Vec::new();
        for (id, uses) in uses(stages) {
            let Some(place) = self.context.scratch.places.get(&id) else {
                continue;
            };
            let target = Target::Temp(id);
            let is_read = uses.iter().any(|(_, how)| *how == Use::Read(before));
            let is_written = uses.iter().any(|(_, how)| matches!(how, Use::Write { .. }));
            let Some(lanes) = same_lanes(&lanes, &uses).filter(|_| is_read && is_written) else {
                continue;
            };
            let kept = matches!(place, Place::Window { .. }) && is_kept(&uses, before);
            carried.extend((0..columns).step_by(lanes.width).map(|first| Carried {
                target,
                dtype: place::dtype(self.context, target),
                before,
                first,
                lanes,
                kept,
            }));
        }
        carried
    }
}

fn uses(stages: &[Stage]) -> Uses {
    let mut uses = Uses::new();
    let mut note = |stage, target: Target, how| {
        if let Target::Temp(id) = target {
            uses.entry(id).or_default().push((stage, how));
        }
    };
    for (stage, statements) in stages.iter().map(|stage| &stage.statements).enumerate() {
        for accesses in statements.iter().map(Accesses::of) {
            for (target, offset) in accesses.reads {
                note(stage, target, Use::Read(offset));
            }
            for (target, conditional) in accesses.writes {
                note(
                    stage,
                    target,
                    Use::Write {
                        always: !conditional,
                    },
                );
            }
            for target in accesses.afar {
                note(stage, target, Use::Afar);
            }
        }
    }
    uses
}

/// The lanes of all stages that use a temporary, where they are computed everywhere, and know what they access.
fn same_lanes(of_stages: &[Option<Lanes>], uses: &[(usize, Use)]) -> Option<Lanes> {
    let lanes = of_stages[uses[0].0]?;
    let same = |(stage, how): &(usize, Use)| of_stages[*stage] == Some(lanes) && *how != Use::Afar;
    uses.iter().all(same).then_some(lanes)
}

/// Whether a level reads nothing of a temporary but what it has written itself, and what the level before has left.
fn is_kept(uses: &[(usize, Use)], before: Offset) -> bool {
    let mut own = uses.iter().filter(|(_, how)| *how != Use::Read(before));
    let begins = own.next().map(|(_, how)| *how) == Some(Use::Write { always: true });
    let mut reads = own.filter_map(|(_, how)| match how {
        Use::Read(offset) => Some(*offset),
        _ => None,
    });
    begins && reads.all(|offset| offset == Offset::ZERO)
}
