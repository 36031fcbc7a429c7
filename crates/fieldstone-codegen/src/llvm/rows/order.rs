//! The places of a tile, and the order of its rows.

use std::collections::HashMap;
use std::rc::Rc;

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::Roles;

use super::steps::for_steps;
use crate::llvm::builder::Builder;
use crate::llvm::fused::BEYOND;
use crate::llvm::place::Moving;
use crate::llvm::setting::Setting;

/// Where in its tile a nest is.
#[derive(Clone)]
pub(super) struct Place {
    /// Along the sliding axis.
    pub step: String,
    /// A step at which the same stages compute rows.
    pub begin: String,
    /// The tile.
    pub vectors: (String, String),
    /// Where points are vectors of levels, those of one.
    pub blocks: (String, String),
    pub slides: (String, String),
    /// Along the block axis, all that share what they have in common.
    pub planes: (String, String),
    /// The largest [`lag`](super::lag) of the nest.
    pub most: i32,
    /// Where rows of arrays lie, if that is known.
    pub pointers: Option<Rc<HashMap<(Target, Offset), String>>>,
    /// Whether all stages have begun, and what [`is_far`](super::far::is_far) asks is known.
    pub far: bool,
}

impl Place {
    /// What a part of a nest is told, in order.
    pub const NAMES: [&str; 9] = [
        "%at.step",
        "%at.vectors.begin",
        "%at.vectors.end",
        "%at.blocks.begin",
        "%at.blocks.end",
        "%at.slides.begin",
        "%at.slides.end",
        "%at.planes.begin",
        "%at.planes.end",
    ];

    pub fn values(&self) -> [&str; 9] {
        let [vectors, blocks, slides, planes] =
            [&self.vectors, &self.blocks, &self.slides, &self.planes];
        [
            &self.step, &vectors.0, &vectors.1, &blocks.0, &blocks.1, &slides.0, &slides.1,
            &planes.0, &planes.1,
        ]
    }

    /// First point of the tile along I, J, K.
    pub fn tile(&self, roles: Roles) -> [String; 3] {
        let mut tile: [String; 3] = Default::default();
        tile[roles.vector.index()] = self.vectors.0.clone();
        tile[roles.block.index()] = self.planes.0.clone();
        tile[roles.slide.index()] = self.slides.0.clone();
        tile
    }

    /// The place as a part of the nest sees it.
    pub fn inside(&self) -> Place {
        let [step, values @ ..] = Self::NAMES.map(str::to_owned);
        let [v0, v1, b0, b1, s0, s1, p0, p1] = values;
        Place {
            begin: step.clone(),
            step,
            vectors: (v0, v1),
            blocks: (b0, b1),
            slides: (s0, s1),
            planes: (p0, p1),
            most: self.most,
            pointers: None,
            far: self.far,
        }
    }

    /// What is known of where a row lies that is so far ahead of the step.
    pub fn moving(&self, ahead: Offset) -> Option<Moving> {
        let pointers = self.pointers.clone()?;
        Some(Moving { pointers, ahead })
    }

    /// This place at a step, with a range along the block axis.
    pub fn at(&self, step: &str, blocks: &(String, String)) -> Place {
        Place {
            step: step.to_owned(),
            begin: step.to_owned(),
            blocks: blocks.clone(),
            ..self.clone()
        }
    }
}

/// Runs `body` at all places of a tile, from one step along the sliding axis to before another one. Where points are vectors of levels,
/// those of some rows come before the next vectors of these.
pub(super) fn for_places(
    setting: Setting<'_>,
    b: &mut Builder,
    (tile, (first, end)): (&Place, (&str, &str)),
    body: impl FnOnce(&mut Builder, &Place),
) {
    let Setting { context, entry, .. } = setting;
    let (begin, last) = &tile.blocks;
    let Some(lanes) = context.scratch.lanes else {
        return for_steps(setting, b, (tile, (first, end)), body);
    };
    let levels = b.sub(last, begin);
    let is_one = b.value(format_args!("icmp sle i64 {levels}, {lanes}"));
    let rows = b.select(&is_one, &BEYOND.to_string(), &entry.rows);
    b.for_loop(first, end, &rows, |b, first| {
        let behind = b.add(first, &rows);
        let behind = b.min(&behind, end);
        b.for_loop(begin, last, &lanes.to_string(), |b, level| {
            let above = b.add(level, lanes);
            let levels = (level.to_owned(), b.min(&above, last));
            b.for_loop(first, &behind, "1", |b, step| {
                body(b, &tile.at(step, &levels));
            });
        });
    });
}
