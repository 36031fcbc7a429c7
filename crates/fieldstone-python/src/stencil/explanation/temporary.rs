//! Where temporaries live, and why.

use std::collections::BTreeSet;

use fieldstone_codegen::tile;
use fieldstone_stencil::ir::{Target, TempId};
use fieldstone_stencil::schedule::{Nest, Placement, RowNest, Stage};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Extent, Offset};
use pyo3::prelude::*;

use super::Explained;

/// A temporary and its place.
#[derive(IntoPyObject)]
pub struct TemporaryFacts {
    /// As the IR calls it, and as the source does.
    name: String,
    source: String,
    dtype: &'static str,
    axes: String,
    data_dims: Vec<u32>,
    /// `register`, `ring`, `column`, `window`, `array` or `unused`.
    lives_in: &'static str,
    /// Rows of a ring, or levels of a window.
    kept: Option<usize>,
    /// Points around the tile, or around the domain, that it has.
    extent: Vec<(i32, i32)>,
    zeroed: bool,
    why: String,
    /// The nests that use it.
    nests: Vec<usize>,
    /// Bytes of memory, for each point that is computed, written and read again.
    bytes_per_point: usize,
    /// Bytes of scratch memory of each thread; `None` where that depends on the domain.
    bytes_per_thread: Option<usize>,
    /// Bytes of the array; `None` where there is none or that depends on the domain.
    bytes: Option<usize>,
}

/// The uses of a temporary.
#[derive(Default)]
struct Uses {
    nests: BTreeSet<usize>,
    /// Vector loops that use it, counted through all nests.
    stages: BTreeSet<usize>,
    sweeps: BTreeSet<usize>,
    offsets: BTreeSet<[i32; 3]>,
    by_level: bool,
}

impl Explained<'_> {
    /// What there is to know of each temporary.
    pub fn temporaries(&self) -> Vec<TemporaryFacts> {
        let temporaries = self.stencil.temporaries.iter();
        temporaries
            .enumerate()
            .map(|(number, temporary)| {
                let id = TempId(number as u32);
                let placement = self.plan.schedule.temporaries[number];
                let uses = self.uses(id);
                let size = temporary.dtype.map_or(0, |dtype| dtype.size());
                let elements: u32 = temporary.data_dims.iter().product();
                TemporaryFacts {
                    name: temporary.name.clone(),
                    source: temporary.source_name().to_owned(),
                    dtype: temporary.dtype.map_or("", |dtype| dtype.name()),
                    axes: temporary.axes.to_string(),
                    data_dims: temporary.data_dims.clone(),
                    lives_in: kind(placement),
                    kept: kept(placement),
                    extent: extent(placement).0.to_vec(),
                    zeroed: matches!(placement, Placement::Array { zeroed: true, .. }),
                    why: self.why(id, placement, &uses),
                    nests: uses.nests.iter().copied().collect(),
                    bytes_per_point: match placement {
                        Placement::Array { .. } => size * elements as usize,
                        _ => 0,
                    },
                    bytes_per_thread: self.scratch(id, placement),
                    bytes: self
                        .domain
                        .and_then(|domain| self.plan.array_bytes(self.program, id, domain)),
                }
            })
            .collect()
    }

    fn uses(&self, id: TempId) -> Uses {
        let mut uses = Uses::default();
        let (mut stage_number, mut sweep_number) = (0, 0);
        for (number, nest) in self.plan.schedule.nests.iter().enumerate() {
            let mut note = |stage: &Stage, sweep: usize| {
                stage_number += 1;
                uses.note(id, stage, (number, stage_number, sweep));
            };
            match nest {
                Nest::Rows(nest) => nest.stages.iter().for_each(|stage| note(stage, 0)),
                Nest::Columns(nest) => {
                    for sweep in &nest.sweeps {
                        sweep_number += 1;
                        let stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
                        stages.for_each(|stage| note(stage, sweep_number));
                    }
                }
                Nest::Levels(nest) => {
                    let nests = nest.sections.iter().flat_map(|(_, nests)| nests);
                    let stages = nests.flat_map(|nest: &RowNest| &nest.stages);
                    stages.for_each(|stage| note(stage, 0));
                    uses.by_level |= uses.nests.contains(&number);
                }
            }
        }
        uses
    }

    fn why(&self, id: TempId, placement: Placement, uses: &Uses) -> String {
        match placement {
            Placement::Unused => String::from("nothing that is needed reads it"),
            Placement::Register => {
                String::from("one loop writes and reads it, at the point itself")
            }
            Placement::Carried { .. } => format!(
                "the loop that writes it reads it{}, where that was just made",
                uses.places()
            ),
            Placement::Ring { .. } => format!("other rows of the nest read it{}", uses.places()),
            Placement::Column {
                window: Some(_), ..
            } => {
                format!("one sweep reads it{}, no further back", uses.places())
            }
            Placement::Column { window: None, .. } if uses.sweeps.len() > 1 => {
                format!("{} passes over the levels use it", uses.sweeps.len())
            }
            Placement::Column { window: None, .. } => {
                format!("it is read{}, far back", uses.places())
            }
            Placement::Array { .. } => self.why_array(id, uses),
        }
    }

    fn why_array(&self, id: TempId, uses: &Uses) -> String {
        let mut reasons = Vec::new();
        if uses.nests.len() > 1 {
            let numbers: Vec<String> = uses.nests.iter().map(usize::to_string).collect();
            reasons.push(format!("the nests {} use it", numbers.join(", ")));
        }
        if uses.by_level {
            reasons.push(String::from("a nest that goes level by level uses it"));
        }
        if self.program.analysis.temporaries[id.0 as usize].maybe_uninitialised {
            reasons.push(String::from(
                "it may be read where it was not assigned, and is zero there",
            ));
        }
        if !self.stencil.temporary(id).data_dims.is_empty() {
            reasons.push(String::from(
                "which of its elements is accessed shows at run time",
            ));
        }
        if reasons.is_empty() {
            reasons.push(format!("what reads it{} needs all of it", uses.places()));
        }
        reasons.join("; ")
    }

    fn scratch(&self, id: TempId, placement: Placement) -> Option<usize> {
        let nest = match placement {
            Placement::Ring { nest, .. } | Placement::Column { nest, .. } => nest,
            _ => return Some(0),
        };
        let scratch = &self.plan.kernels(nest).first()?.scratch;
        let size = self.stencil.temporary(id).dtype?.size();
        match *scratch.places.get(&id)? {
            tile::Place::Ring {
                row, rows, blocks, ..
            } => Some(row * rows * blocks),
            tile::Place::Window { row, levels, .. } => Some(row * levels),
            tile::Place::Column { .. } => {
                let (before, after) = scratch.levels_around;
                let levels = self.domain?[2] + before + after;
                Some(scratch.vector? * size * levels)
            }
        }
    }
}

impl Uses {
    fn note(
        &mut self,
        id: TempId,
        stage: &Stage,
        (nest, stage_number, sweep): (usize, usize, usize),
    ) {
        let target = Target::Temp(id);
        for accesses in stage.statements.iter().map(Accesses::of) {
            let reads = accesses.reads.iter().filter(|(read, _)| *read == target);
            let offsets: Vec<Offset> = reads.map(|(_, offset)| *offset).collect();
            if offsets.is_empty() && accesses.written().all(|written| written != target) {
                continue;
            }
            self.offsets.extend(offsets.iter().map(|offset| offset.0));
            self.nests.insert(nest);
            self.stages.insert(stage_number);
            self.sweeps.insert(sweep);
        }
    }

    /// The points it is read at: ` at I-1…I+1, J-2`.
    fn places(&self) -> String {
        let along = |axis: Axis| {
            let offsets = self.offsets.iter().map(|offset| offset[axis.index()]);
            let (first, last) = (offsets.clone().min()?, offsets.max()?);
            let at = |offset: i32| match offset {
                0 => axis.to_string(),
                _ => format!("{axis}{offset:+}"),
            };
            match (first, last) {
                (0, 0) => None,
                _ if first == last => Some(at(first)),
                _ => Some(format!("{}…{}", at(first), at(last))),
            }
        };
        let places: Vec<String> = Axis::ALL.into_iter().filter_map(along).collect();
        if places.is_empty() {
            return String::new();
        }
        format!(" at {}", places.join(", "))
    }
}

fn kind(placement: Placement) -> &'static str {
    match placement {
        Placement::Unused => "unused",
        Placement::Register | Placement::Carried { .. } => "register",
        Placement::Ring { .. } => "ring",
        Placement::Column { window: None, .. } => "column",
        Placement::Column {
            window: Some(_), ..
        } => "window",
        Placement::Array { .. } => "array",
    }
}

fn kept(placement: Placement) -> Option<usize> {
    match placement {
        Placement::Ring { rows, .. } => Some(rows),
        Placement::Column { window, .. } => window,
        _ => None,
    }
}

fn extent(placement: Placement) -> Extent {
    match placement {
        Placement::Ring { extent, .. } | Placement::Array { extent, .. } => extent,
        _ => Extent::ZERO,
    }
}
