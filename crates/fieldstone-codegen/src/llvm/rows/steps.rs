//! The loop over the steps of a tile.
//!
//! A short row is little work beside what it takes to find out about it. So where rows of arrays lie is where they lay at the step before, and a
//! stride further; and which stages compute rows is asked once for all steps that have that in common, of which one loop follows another.

use std::collections::HashMap;
use std::rc::Rc;

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{RowNest, Stage};
use fieldstone_stencil::visit::accesses;
use fieldstone_stencil::{Axis, Offset};

use super::order::Place;
use super::parts::is_one;
use super::tile::are_planes;
use super::{begins_later, bounds, lag};
use crate::llvm::builder::Builder;
use crate::llvm::entry::Entry;
use crate::llvm::place::first_point;
use crate::llvm::preheader::across;
use crate::llvm::range::bound;
use crate::llvm::setting::Setting;

/// Rows at a step, at most: of more, most would lie in memory.
const MOST: usize = 12;

/// Runs `body` at all steps of a tile, from one to before another one.
pub(super) fn for_steps(
    setting: Setting<'_>,
    b: &mut Builder,
    (tile, (first, end)): (&Place, (&str, &str)),
    body: impl FnOnce(&mut Builder, &Place),
) {
    let Setting {
        context,
        entry,
        nest,
        ..
    } = setting;
    if !are_planes(context, nest) || !is_one(nest) {
        return b.for_loop(first, end, "1", |b, step| {
            body(b, &tile.at(step, &tile.blocks));
        });
    }
    let stages = nest.stages.iter();
    let changes: Vec<String> = stages
        .flat_map(|stage| changes(entry, b, nest, stage, tile))
        .collect();
    if changes.is_empty() {
        return for_steps_alike(setting, b, (tile, None), (first, end), body);
    }
    let (name, names) = b.begin_repeat(&[(String::from("i64"), first.to_owned())]);
    let begin = &names[0];
    let more = b.value(format_args!("icmp slt i64 {begin}, {end}"));
    b.repeat_while(&name, &more);
    let mut behind = vec![end.to_owned()];
    for change in &changes {
        let later = b.value(format_args!("icmp sgt i64 {change}, {begin}"));
        behind.push(b.select(&later, change, end));
    }
    let behind = b.smallest(&behind);
    for_steps_alike(setting, b, (tile, Some(begin)), (begin, &behind), body);
    b.end_repeat(&name, &[(String::from("i64"), behind)]);
}

/// The same for steps at which the same stages compute rows as at one of them, if any differ.
fn for_steps_alike(
    setting: Setting<'_>,
    b: &mut Builder,
    (tile, begin): (&Place, Option<&str>),
    (first, end): (&str, &str),
    body: impl FnOnce(&mut Builder, &Place),
) {
    let Setting {
        context,
        entry,
        nest,
        ..
    } = setting;
    let mut rows = rows(setting);
    if rows.len() > MOST {
        rows.clear();
    }
    let [slide, block] = [nest.roles.slide, nest.roles.block].map(Axis::index);
    let mut values = vec![(String::from("i64"), first.to_owned())];
    for (target, place) in &rows {
        let mut index: [String; 3] = Default::default();
        index[slide] = b.add(first, place.0[slide]);
        index[block] = b.add(&tile.blocks.0, place.0[block]);
        let vector = nest.roles.vector;
        let pointer = first_point(context, entry, b, (*target, vector), &index);
        values.push((String::from("ptr"), pointer));
    }
    let (name, names) = b.begin_repeat(&values);
    let step = &names[0];
    let more = b.value(format_args!("icmp slt i64 {step}, {end}"));
    b.repeat_while(&name, &more);
    let pointers: HashMap<(Target, Offset), String> = rows
        .iter()
        .copied()
        .zip(names[1..].iter().cloned())
        .collect();
    let place = Place {
        begin: begin.unwrap_or(step).to_owned(),
        pointers: Some(Rc::new(pointers)),
        ..tile.at(step, &tile.blocks)
    };
    body(b, &place);
    let mut next = vec![(String::from("i64"), b.add(step, 1))];
    for ((target, _), pointer) in rows.iter().zip(&names[1..]) {
        let stride = &entry.arrays[target].strides[slide];
        next.push((String::from("ptr"), b.offset(pointer, stride)));
    }
    b.end_repeat(&name, &next);
}

/// The steps of a tile at which it changes whether a stage computes rows.
fn changes(
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    stage: &Stage,
    tile: &Place,
) -> Vec<String> {
    let slide = nest.roles.slide;
    let ahead = nest.ahead(stage).along(slide);
    let areas = [bounds(stage, slide), stage.area].map(|area| area.along(slide));
    let limits = areas.into_iter().flat_map(|part| [part.start, part.end]);
    let mut changes: Vec<String> = (limits.flatten())
        .map(|limit| {
            let limit = bound(entry, b, slide, limit);
            b.sub(&limit, ahead)
        })
        .collect();
    if begins_later(nest, stage, tile) {
        changes.push(b.sub(&tile.slides.0, lag(nest, stage)));
    }
    changes
}

/// The rows of arrays that the stages of a nest access at a step, by their places relative to it.
fn rows(
    Setting {
        context,
        entry,
        nest,
        ..
    }: Setting<'_>,
) -> Vec<(Target, Offset)> {
    let mut rows = Vec::new();
    let roles = nest.roles;
    for stage in &nest.stages {
        accesses(&stage.statements, &mut |access| {
            let axes = context.program.stencil.target_axes(access.target);
            if entry.arrays.contains_key(&access.target) && axes.contains(roles.slide) {
                let place = across(access.offset + nest.ahead(stage), roles.vector);
                let row = (access.target, place);
                if !rows.contains(&row) {
                    rows.push(row);
                }
            }
        });
    }
    rows
}
