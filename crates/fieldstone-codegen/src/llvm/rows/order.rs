//! The places of a tile, and the order of its rows.

use fieldstone_stencil::schedule::Roles;

use crate::llvm::builder::Builder;
use crate::llvm::fused::BEYOND;
use crate::llvm::setting::Setting;

/// Where in its tile a nest is.
#[derive(Clone)]
pub(super) struct Place {
    /// Along the sliding axis.
    pub step: String,
    /// The tile.
    pub vectors: (String, String),
    /// Where points are vectors of levels, those of one.
    pub blocks: (String, String),
    pub slides: (String, String),
    /// Where the tile begins along the block axis.
    pub tile_begin: String,
    /// The largest [`lag`](super::lag) of the nest.
    pub most: i32,
    /// Whether all stages have begun, and what [`is_far`](super::far::is_far) asks is known.
    pub far: bool,
}

impl Place {
    /// What a part of a nest is told, in order.
    pub const NAMES: [&str; 8] = [
        "%at.step",
        "%at.vectors.begin",
        "%at.vectors.end",
        "%at.blocks.begin",
        "%at.blocks.end",
        "%at.slides.begin",
        "%at.slides.end",
        "%at.tile.begin",
    ];

    pub fn values(&self) -> [&str; 8] {
        let [vectors, blocks, slides] = [&self.vectors, &self.blocks, &self.slides];
        [
            &self.step,
            &vectors.0,
            &vectors.1,
            &blocks.0,
            &blocks.1,
            &slides.0,
            &slides.1,
            &self.tile_begin,
        ]
    }

    /// First point of the tile along I, J, K.
    pub fn tile(&self, roles: Roles) -> [String; 3] {
        let mut tile: [String; 3] = Default::default();
        tile[roles.vector.index()] = self.vectors.0.clone();
        tile[roles.block.index()] = self.tile_begin.clone();
        tile[roles.slide.index()] = self.slides.0.clone();
        tile
    }

    /// The place as a part of the nest sees it.
    pub fn inside(&self) -> Place {
        let [step, values @ ..] = Self::NAMES.map(str::to_owned);
        let [v0, v1, b0, b1, s0, s1, tile_begin] = values;
        Place {
            step,
            vectors: (v0, v1),
            blocks: (b0, b1),
            slides: (s0, s1),
            tile_begin,
            most: self.most,
            far: self.far,
        }
    }

    /// This place at a step, with a range along the block axis.
    pub fn at(&self, step: &str, blocks: &(String, String)) -> Place {
        Place {
            step: step.to_owned(),
            blocks: blocks.clone(),
            ..self.clone()
        }
    }
}

/// Runs `body` at all places of a tile, from one step along the sliding axis to before another one. Where points are vectors of levels,
/// those of some rows come before the next vectors of these.
pub(super) fn for_places(
    Setting { context, entry, .. }: Setting<'_>,
    b: &mut Builder,
    (tile, (first, end)): (&Place, (&str, &str)),
    body: impl FnOnce(&mut Builder, &Place),
) {
    let (begin, last) = &tile.blocks;
    let Some(lanes) = context.scratch.lanes else {
        return b.for_loop(first, end, "1", |b, step| {
            body(b, &tile.at(step, &tile.blocks));
        });
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
