//! Tiles of vectors of levels that come from memory and whose results go there.
//!
//! What is asked for each row and each vector of such a tile elsewhere is known here: whether there is memory around it, whether later
//! rows are fetched, and whether results go past the caches. They have a function of their own, in which nothing asks for it.

use fieldstone_stencil::schedule::RowNest;

use super::order::{Place, for_places};
use super::parts::{call_part, is_one};
use super::{loops, panel};
use crate::cost::cycles_of;
use crate::llvm::builder::Builder;
use crate::llvm::entry::Context;
use crate::llvm::loops::Loops;
use crate::llvm::setting::Setting;
use crate::llvm::types::Lanes;

/// Cycles of a vector for each field with three axes, at least. What takes fewer waits for memory, and the longer the more of it is
/// asked for at once.
const FEWEST_CYCLES: f64 = 32.0;

/// Whether a tile is such, once all stages have begun; `None` where none is.
pub(super) fn is_far(setting: Setting<'_>, b: &mut Builder, tile: &Place) -> Option<String> {
    let Setting {
        context,
        entry,
        nest,
        ..
    } = setting;
    let lanes = Lanes {
        width: context.scratch.lanes?,
    };
    let may_be = is_one(nest)
        && nest.loops.iter().all(|one| one.fused)
        && !entry.streamed.is_empty()
        && takes_long(context, nest);
    if !may_be {
        return None;
    }
    // In a branch: rows of other tiles are not to keep what is computed for this.
    let near = b.not(&entry.fetches_rows);
    let far = b.choose(&near, &["i1"], vec![String::from("false")], |b| {
        let place = tile.at(&tile.slides.0, &tile.blocks);
        let mut far = String::from("true");
        for (_, stages) in nest.loops() {
            let (any, panel) = panel(entry, b, &place, stages[0].interval, lanes);
            let none = b.not(&any);
            let this = loops::are_far(setting, b, stages, (&place, &panel));
            let this = b.value(format_args!("or i1 {none}, {this}"));
            far = b.value(format_args!("and i1 {far}, {this}"));
        }
        vec![far]
    });
    far.into_iter().next()
}

/// Whether a vector takes so many cycles that it matters what is asked for each.
fn takes_long(context: &Context<'_>, nest: &RowNest) -> bool {
    let (cycles, _) = cycles_of(nest.stages.iter().flat_map(|stage| &stage.statements));
    let volumes = Loops::Rows(nest).volumes(&context.program.stencil).len();
    cycles >= FEWEST_CYCLES * volumes as f64
}

/// Computes such a tile at all steps at which all stages have begun.
pub(super) fn call(name: &str, setting: Setting<'_>, b: &mut Builder, tile: &Place) {
    let place = Place {
        far: true,
        ..tile.at(&tile.slides.0, &tile.blocks)
    };
    let body = |setting: Setting<'_>, b: &mut Builder, tile: &Place| {
        let steps = (tile.slides.0.as_str(), tile.slides.1.as_str());
        for_places(setting, b, (tile, steps), |b, place| {
            loops::loops(setting, b, place);
        });
    };
    call_part(name, setting, b, setting.nest, &place, body);
}
