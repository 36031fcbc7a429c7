//! Addresses of what a row reads and writes.

use std::collections::HashMap;
use std::rc::Rc;

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::Placement;
use fieldstone_stencil::{Axes, Axis, DType, Offset};

use crate::tile::Place;

use super::builder::Builder;
use super::entry::{Context, Entry};
use super::memory::{block_address, lane_mask, load_constant, load_scalar};
use super::preheader::across;
use super::types::Lanes;

/// A row: its indices along the axes it does not run along, and the tile it belongs to.
#[derive(Clone)]
pub(super) struct Row {
    /// The axis it runs along.
    pub vector: Axis,
    /// Index along I, J, K; that along `vector` is used only where a block of threads computes point by point.
    pub index: [String; 3],
    /// First point of the tile along I, J, K.
    pub tile: [String; 3],
    /// Where every point of the row is a vector of levels: which.
    pub panel: Option<Panel>,
    /// Where rows of arrays lie, if that is known.
    pub moving: Option<Moving>,
}

/// Where rows of arrays lie at a step of a loop over rows: where they lay at the one before, and a stride further.
#[derive(Clone)]
pub(super) struct Moving {
    /// By their places relative to the step.
    pub pointers: Rc<HashMap<(Target, Offset), String>>,
    /// The place of this row.
    pub ahead: Offset,
}

/// The levels of a row whose points are vectors; the first one is the row's index along K.
#[derive(Clone)]
pub(super) struct Panel {
    /// How many lanes a point has.
    pub lanes: Lanes,
    /// The first level that is computed, and one past the last.
    pub levels: (String, String),
    /// Whether all lanes are computed.
    pub whole: String,
}

impl Panel {
    /// One past the last level of the vectors that begin at one, of which the last may be partly computed.
    pub fn behind(&self, b: &mut Builder, first: &str) -> String {
        let levels = b.sub(&self.levels.1, first);
        let more = b.add(&levels, self.lanes.width - 1);
        let whole = b.value(format_args!("and i64 {more}, -{}", self.lanes.width));
        b.add(first, whole)
    }
}

impl Row {
    /// The axis that vectors lie along.
    pub fn lanes(&self) -> Axis {
        match self.panel {
            Some(_) => Axis::K,
            None => self.vector,
        }
    }

    /// Points of the row in a vector of so many lanes.
    pub fn points(&self, lanes: Lanes) -> usize {
        match self.panel {
            Some(_) => 1,
            None => lanes.width,
        }
    }

    /// Lanes of a panel that are computed.
    pub fn level_mask(&self, b: &mut Builder, panel: &Panel) -> String {
        let (first, end) = &panel.levels;
        lane_mask(b, panel.lanes, &self.index[2], first, end)
    }
}

/// How the points of a row follow each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Spacing {
    /// One behind the other.
    Contiguous,
    /// Bytes between them.
    Strided(String),
    /// The same for all points of the row.
    Uniform,
    /// In registers only.
    Register,
    /// The pointer is that of the one point that is computed; so many bytes lie between it and the next.
    Point(String),
}

/// The pointer to the point with index 0 along the vector axis, and the spacing of the others.
#[derive(Clone, Debug)]
pub(super) struct RowPointer {
    pub pointer: String,
    pub spacing: Spacing,
    /// Bytes from one point of the row to the next where that is not what separates lanes: points are vectors.
    pub pitch: Option<String>,
}

impl RowPointer {
    /// Address of the point so many points behind an index; of contiguous elements or of any that have a pitch.
    pub fn at(&self, b: &mut Builder, size: usize, (index, ahead): (&str, i64)) -> String {
        let Some(pitch) = &self.pitch else {
            let index = b.add(index, ahead);
            return block_address(b, &self.pointer, size, &index);
        };
        // In this order, all rows of an array share what depends on the index, and a loop keeps the rest.
        let pointer = match ahead {
            0 => self.pointer.clone(),
            _ => {
                let bytes = b.mul(pitch, ahead);
                b.offset(&self.pointer, bytes)
            }
        };
        let bytes = b.mul(index, pitch);
        b.offset(&pointer, bytes)
    }
}

/// The type of a target's elements.
pub(super) fn dtype(context: &Context<'_>, target: Target) -> DType {
    match target {
        Target::Field(id) => context.program.stencil.field(id).dtype,
        Target::Temp(id) => {
            let temporary = context.program.stencil.temporary(id);
            temporary.dtype.expect("types are resolved")
        }
    }
}

/// Whether a target has one element at each point.
pub(super) fn is_number(context: &Context<'_>, target: Target) -> bool {
    context.program.stencil.data_dims(target).is_empty()
}

/// Whether a target is in registers of a stage, which alone uses it, at the points that it computes.
pub(super) fn in_registers(context: &Context<'_>, target: Target) -> bool {
    match target {
        Target::Field(_) => false,
        Target::Temp(id) => {
            context.schedule.temporaries[id.0 as usize] == Placement::Register
                && is_number(context, target)
        }
    }
}

/// Whether a target has levels and no other axes.
pub(super) fn has_levels_only(context: &Context<'_>, target: Target) -> bool {
    let axes = context.program.stencil.target_axes(target);
    axes.len() == 1 && axes.contains(Axis::K)
}

/// Loads a point of a target for a thread of a block.
pub(super) fn load_point(
    context: &Context<'_>,
    b: &mut Builder,
    target: Target,
    address: &str,
) -> String {
    let is_constant = (context.block).is_some_and(|block| block.is_constant(target));
    match is_constant {
        true => load_constant(b, dtype(context, target), address),
        false => load_scalar(b, dtype(context, target), address),
    }
}

/// Where `target` lies for the points of a row, `offset` away from it along the other axes.
pub(super) fn row_pointer(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    target: Target,
    offset: Offset,
) -> RowPointer {
    if let Some(block) = context.block {
        return block.pointer(context, entry, b, row, target, offset);
    }
    if let Target::Temp(id) = target {
        let number = id.0 as usize;
        match context.schedule.temporaries[number] {
            Placement::Array { .. } => {}
            Placement::Register | Placement::Carried { .. } | Placement::Unused => {
                return RowPointer {
                    pointer: String::new(),
                    spacing: Spacing::Register,
                    pitch: None,
                };
            }
            Placement::Ring { .. } | Placement::Column { .. } => {
                let place = context.scratch.places[&id];
                let lanes = row.panel.as_ref().map_or(1, |panel| panel.lanes.width);
                let size = dtype(context, target).size() * lanes;
                return RowPointer {
                    pointer: scratch_pointer(context, entry, b, row, place, size, offset),
                    spacing: Spacing::Contiguous,
                    pitch: row.panel.as_ref().map(|_| size.to_string()),
                };
            }
        }
    }
    if let Some(pointer) = transposed_pointer(context, entry, b, row, target, offset) {
        return RowPointer {
            pointer,
            spacing: Spacing::Contiguous,
            pitch: None,
        };
    }
    strided_pointer(context, entry, b, row, target, offset)
}

/// Where `target` lies for the points of a row at the first level of the domain, and bytes from one level to the next.
pub(super) fn level_pointer(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    target: Target,
    offset: Offset,
) -> (RowPointer, String) {
    let mut first = Row {
        vector: row.vector,
        index: row.index.clone(),
        tile: row.tile.clone(),
        panel: None,
        moving: None,
    };
    first.index[2] = String::from("0");
    let pointer = row_pointer(context, entry, b, &first, target, offset);
    let pitch = match (&pointer.spacing, entry.arrays.get(&target)) {
        (Spacing::Contiguous, _) if row.vector == Axis::K => {
            dtype(context, target).size().to_string()
        }
        (_, Some(array)) => array.strides[2].clone(),
        (_, None) => context.scratch.level_bytes.to_string(),
    };
    (pointer, pitch)
}

fn transposed_pointer(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    target: Target,
    offset: Offset,
) -> Option<String> {
    let outer = entry.outer?;
    let block = context.scratch.block(target, offset.along(outer))?;
    let mut level = b.add(&row.index[2], offset.along(Axis::K));
    if let Some(levels) = block.window {
        level = b.value(format_args!("and i64 {level}, {}", levels - 1));
    }
    let size = dtype(context, target).size();
    let first = &row.tile[row.vector.index()];
    Some(block_pointer(context, b, block.offset, &level, first, size))
}

/// Address that the point with index 0 along the vector axis would have in a row of scratch whose tile begins at `first`.
pub(super) fn block_pointer(
    context: &Context<'_>,
    b: &mut Builder,
    offset: usize,
    level: &str,
    first: &str,
    size: usize,
) -> String {
    // What differs between temporaries comes last, so that the same registers and other displacements are the addresses of all.
    let scratch = &context.scratch;
    let first = b.mul(first, -(size as i64));
    let block = b.offset("%scratch", first);
    let level = b.mul(level, scratch.level_bytes);
    let level = b.offset(&block, level);
    let around = scratch.levels_around.0 * scratch.level_bytes;
    b.offset(&level, offset + scratch.bytes + around)
}

/// Address of the point with index 0 along the vector axis of a row of an array.
pub(super) fn first_point(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    (target, vector): (Target, Axis),
    index: &[String; 3],
) -> String {
    let array = &entry.arrays[&target];
    let axes: Axes = context.program.stencil.target_axes(target);
    let mut pointer = array.pointer.clone();
    for axis in axes.iter().filter(|axis| *axis != vector) {
        let bytes = b.mul(&index[axis.index()], &array.strides[axis.index()]);
        pointer = b.offset(&pointer, bytes);
    }
    pointer
}

fn strided_pointer(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    target: Target,
    offset: Offset,
) -> RowPointer {
    let array = &entry.arrays[&target];
    let axes: Axes = context.program.stencil.target_axes(target);
    let moving = row.moving.as_ref().and_then(|moving| {
        let place = across(offset + moving.ahead, row.vector);
        moving.pointers.get(&(target, place)).cloned()
    });
    let pointer = moving.unwrap_or_else(|| {
        let index = Axis::ALL.map(|axis| b.add(&row.index[axis.index()], offset.along(axis)));
        first_point(context, entry, b, (target, row.vector), &index)
    });
    let lanes = row.lanes();
    let spacing = if !axes.contains(lanes) {
        Spacing::Uniform
    } else if context.contiguous_along(target) == Some(lanes) {
        Spacing::Contiguous
    } else {
        Spacing::Strided(array.strides[lanes.index()].clone())
    };
    let pitch = row.panel.as_ref().map(|_| match axes.contains(row.vector) {
        true => array.strides[row.vector.index()].clone(),
        false => String::from("0"),
    });
    RowPointer {
        pointer,
        spacing,
        pitch,
    }
}

fn scratch_pointer(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    place: Place,
    size: usize,
    offset: Offset,
) -> String {
    let first = &row.tile[row.vector.index()];
    let (bytes, pad) = match place {
        Place::Ring {
            offset: start,
            steps,
            rows,
            blocks,
            before,
            pad,
            ..
        } => {
            let roles = entry.roles.expect("rings belong to nests of rows");
            let (slide, block) = (roles.slide.index(), roles.block.index());
            let at = b.add(&row.index[slide], offset.0[slide]);
            let ring = b.value(format_args!("and i64 {at}, {}", rows - 1));
            let first = b.mul(&ring, steps.0);
            let in_block = match blocks {
                1 => String::from("0"),
                _ => {
                    let in_block = b.sub(&row.index[block], &row.tile[block]);
                    b.add(&in_block, before as i64 + i64::from(offset.0[block]))
                }
            };
            // A stage whose rows have not begun yet uses the first one.
            let in_block = match roles.block {
                Axis::I | Axis::J if blocks > 1 => b.max(&in_block, "0"),
                _ => in_block,
            };
            let in_block = match &row.panel {
                Some(panel) => b.value(format_args!("udiv i64 {in_block}, {}", panel.lanes.width)),
                None => in_block,
            };
            let in_block = b.mul(&in_block, steps.1);
            let bytes = b.add(&first, &in_block);
            (b.add(&bytes, start), pad)
        }
        Place::Column { offset: start } => {
            let level = b.add(&row.index[2], offset.0[2]);
            return block_pointer(context, b, start, &level, first, size);
        }
        Place::Window {
            offset: start,
            row: row_bytes,
            levels,
        } => {
            let level = b.add(&row.index[2], offset.0[2]);
            let ring = b.value(format_args!("and i64 {level}, {}", levels - 1));
            let bytes = b.mul(&ring, row_bytes);
            (b.add(&bytes, start), 0)
        }
    };
    let first_point = b.mul(first, size);
    let bytes = b.sub(&bytes, first_point);
    let bytes = b.add(&bytes, pad);
    b.offset("%scratch", bytes)
}
