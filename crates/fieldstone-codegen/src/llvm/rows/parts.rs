//! Nests of many stages in parts that are functions of their own.

use std::collections::HashSet;

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{RowNest, Stage};
use fieldstone_stencil::visit::Accesses;

use super::order::Place;
use crate::llvm::builder::Builder;
use crate::llvm::entry;
use crate::llvm::loops::Loops;
use crate::llvm::setting::Setting;

/// Stages of a nest that is one function. LLVM takes more than twice the time for twice the loops in another one.
const MOST_STAGES: usize = 48;
/// Stages of each part of a larger one, which are functions of their own.
const STAGES_OF_PART: usize = 32;
/// Fields of each part: each has half a dozen numbers, which LLVM looks for room for.
const FIELDS_OF_PART: usize = 128;

/// Whether a nest is one function.
pub(super) fn is_one(nest: &RowNest) -> bool {
    nest.stages.len() <= MOST_STAGES && fields(&nest.stages).len() <= FIELDS_OF_PART
}

/// The fields that stages read or write.
fn fields(stages: &[Stage]) -> HashSet<Target> {
    let statements = stages.iter().flat_map(|stage| &stage.statements);
    let mut found = HashSet::new();
    for accesses in statements.map(Accesses::of) {
        found.extend(accesses.reads.iter().map(|(target, _)| *target));
        found.extend(accesses.written());
    }
    found.retain(|target| matches!(target, Target::Field(_)));
    found
}

/// What the function of a nest reads from its words on entry: where its parts are functions of their own, not what these do.
pub(in crate::llvm) fn own_words(nest: &RowNest) -> RowNest {
    match is_one(nest) {
        true => nest.clone(),
        false => parts(nest).swap_remove(0),
    }
}

/// A nest in parts of few stages and few fields.
pub(super) fn parts(nest: &RowNest) -> Vec<RowNest> {
    let mut parts: Vec<RowNest> = Vec::new();
    let mut taken = HashSet::new();
    for (row_loop, stages) in nest.loops() {
        let fields = fields(stages);
        let room = taken.union(&fields).count() <= FIELDS_OF_PART;
        match parts.last_mut() {
            Some(part) if part.stages.len() + stages.len() <= STAGES_OF_PART && room => {
                part.stages.extend_from_slice(stages);
                part.loops.push(row_loop);
            }
            _ => parts.push(RowNest {
                stages: stages.to_vec(),
                loops: vec![row_loop],
                ..*nest
            }),
        }
        if parts.last().is_some_and(|part| part.loops.len() == 1) {
            taken.clear();
        }
        taken.extend(fields);
    }
    parts
}

/// Makes a function of some stages of a nest at a place, and calls it.
pub(super) fn call_part(
    name: &str,
    setting: Setting<'_>,
    b: &mut Builder,
    part: &RowNest,
    place: &Place,
    body: impl FnOnce(Setting<'_>, &mut Builder, &Place),
) {
    let mut builder = Builder::of(setting.context.target);
    let mut entry = entry::entry(setting.context, &mut builder, Loops::Rows(part));
    let streamed = Loops::Rows(setting.nest).streamed();
    entry.streamed.retain(|target| streamed.contains(target));
    let inside = Setting {
        context: setting.context,
        entry: &entry,
        nest: part,
        shared: setting.shared,
    };
    body(inside, &mut builder, &place.inside());
    builder.effect("ret void");
    let list = |values: &[&str]| -> String {
        let values = values.iter().map(|value| format!(", i64 {value}"));
        values.collect()
    };
    b.function(
        &format!(
            "define internal void @{name}(ptr noalias readonly %words, ptr noalias %scratch{}) noinline #0",
            list(&Place::NAMES)
        ),
        builder,
    );
    b.effect(format_args!(
        "call void @{name}(ptr %words, ptr %scratch{})",
        list(&place.values())
    ));
}
