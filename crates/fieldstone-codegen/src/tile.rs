//! Sizes of tiles, and how the temporaries of a tile lie in a thread's scratch memory.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::ir::{Stencil, Target, TempId};
use fieldstone_stencil::schedule::{self, ColumnNest, Placement, Roles, RowNest, Schedule};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, DType, Extent};

use crate::choices::Choices;
use crate::llvm::widest;
use crate::transposed::Transposed;

/// Bytes that one vector register or cache line holds at most; rows of scratch start at multiples of it.
pub const LINE: usize = 64;

/// Vectors at each end of a row of scratch that a loop may touch beside the points of a tile: that of which one point is
/// needed, those that stages are ahead, and those on either side that are read.
const ROOM: usize = 3 + schedule::MOST_AHEAD;

/// Scratch of a tile of rows should stay within half of a second-level cache of 256 KiB. Shorter rows would fit the first-level cache
/// but for which more points at their ends are computed twice.
const RING_BUDGET: usize = 128 * 1024;

/// Scratch of a tile of blocks of rows, whose rows are short, should stay within a third of a second-level cache of 1 MiB.
const BLOCK_BUDGET: usize = 336 * 1024;

/// Rows along the block axis where stages reach along it: as many as fit.
const BLOCK_ROWS: &[usize] = &[32, 16, 8];

/// Scratch of a tile of rows whose points are vectors should stay within half of a second-level cache of 1 MiB.
const PANEL_BUDGET: usize = 512 * 1024;

/// Points of such rows: as many as fit.
const PANELS: &[usize] = &[128, 96, 64, 48, 32];

/// Points of such rows where none of those fits.
const SHORTEST_PANELS: usize = 16;

/// Levels of a tile of such rows, at most.
const PANEL_LEVELS: usize = 128;

/// Lanes of a vector at most; masks are made in words of 64 bits.
pub const MOST_LANES: usize = 32;

/// Scratch of a tile of rows whose size was chosen is not larger than this.
const MOST_RINGS: usize = 4 << 20;

/// Columns of a block whose size was chosen, at most.
const MOST_COLUMNS: usize = 4096;

/// Scratch of a block of columns should stay within a quarter of a second-level cache of 1 MiB.
const COLUMN_BUDGET: usize = 256 * 1024;

/// Levels for which it does, and for which it stays within a half.
const TYPICAL_LEVELS: usize = 96;
const DEEP_LEVELS: usize = 200;

/// Half of a second-level cache of 1 MiB, which leaves room for fields.
const SHARE: usize = 512 * 1024;

/// Columns of a block: as many as fit.
const COLUMNS: &[usize] = &[256, 128, LINE, 32];

/// Columns of a block where none of those fits.
const FEWEST_COLUMNS: usize = 16;

/// Vectors of columns of a block whose levels are transposed some at a time: as many as fit, so that one is computed while others
/// wait.
const NARROW: &[usize] = &[4, 2, 1];

/// The same where their number was chosen, at most.
const MOST_NARROW: usize = 4;

/// Scratch of so many levels of them should stay within a first-level cache of 48 KiB.
const NARROW_LEVELS: usize = 64;
const NARROW_BUDGET: usize = 42 * 1024;

/// Rows that lie a multiple of this many bytes apart compete for the same lines of a first-level cache.
const ALIAS: usize = 2048;

/// How the temporaries of one nest lie in scratch memory, and the largest tile that fits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scratch {
    /// Where each temporary lies.
    pub places: HashMap<TempId, Place>,
    /// Bytes for a tile, and for each level of the domain on top.
    pub bytes: usize,
    /// Bytes for each level of the domain.
    pub level_bytes: usize,
    /// Levels before the domain that scratch has room for, and after it.
    pub levels_around: (usize, usize),
    /// Arrays that a block of columns is transposed from and to, and where in a level it lies.
    pub transposed: Vec<(Transposed, Block)>,
    /// Columns, and levels, that are transposed at a time.
    pub square: usize,
    /// Whether a block of columns is a few of these wide, and levels are transposed some at a time.
    pub slim: bool,
    /// Largest tile along the vector axis, a multiple of [`LINE`] elements; `None` without scratch.
    pub vector: Option<usize>,
    /// Levels of each point of a row, where it is a vector of them.
    pub lanes: Option<usize>,
    /// Levels of a tile of such rows where columns lie whole cache lines apart, unless that was chosen.
    pub line: Option<usize>,
    /// Whether a nest of rows reads other rows along the block axis than the one it computes.
    pub reads_blocks: bool,
    /// Largest tile along the block axis; `None` without scratch.
    pub block: Option<usize>,
    /// Largest tile along the sliding axis, where that was chosen.
    pub slide: Option<usize>,
}

/// Where a temporary lies in scratch memory. All numbers are bytes unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A ring of rows.
    Ring {
        /// Of the first row.
        offset: usize,
        /// From one row to the next along the block axis.
        row: usize,
        /// Rows along the sliding axis, a power of two.
        rows: usize,
        /// Rows along the block axis for one along the sliding axis.
        blocks: usize,
        /// Rows along the block axis before the tile.
        before: usize,
        /// From the start of a row to the first point of the tile.
        pad: usize,
    },
    /// A block of columns.
    Column {
        /// Of the first point, within a level.
        offset: usize,
    },
    /// The last levels of a block of columns, in a ring.
    Window {
        /// Of the first level.
        offset: usize,
        /// From one level to the next.
        row: usize,
        /// Levels, a power of two.
        levels: usize,
    },
}

/// Where the transposed block of an array lies in a level of scratch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Bytes before the first point of the tile, those of earlier blocks included.
    pub offset: usize,
    /// Levels of a ring, a power of two; `None` where there are all.
    pub window: Option<usize>,
}

impl Scratch {
    /// Of a nest of rows.
    pub fn of_rows(
        stencil: &Stencil,
        schedule: &Schedule,
        index: usize,
        nest: &RowNest,
        choices: &Choices,
        vector_bytes: usize,
    ) -> Scratch {
        if nest.roles.are_panels() {
            let rings = rings_in(stencil, schedule, index);
            return Scratch::of_panels(stencil, &rings, nest, choices, vector_bytes);
        }
        let chosen = Scratch {
            reads_blocks: reach_along(nest, nest.roles.block) > 0,
            vector: choices.tile(nest.roles.vector).map(whole_lines),
            block: choices.tile(nest.roles.block),
            slide: choices.tile(nest.roles.slide),
            ..Scratch::default()
        };
        let rings = rings_in(stencil, schedule, index);
        if rings.is_empty() {
            return chosen;
        }
        let reaches = |axis: Axis| {
            let along = |(_, _, _, extent): &Ring| extent.along(axis);
            rings.iter().any(|ring| along(ring) != (0, 0))
        };
        let (blocks, budget) = match reaches(nest.roles.block) {
            true => (BLOCK_ROWS, BLOCK_BUDGET),
            false => ([1].as_slice(), RING_BUDGET),
        };
        let rings_of = |vector, block| rings_of(&rings, nest, vector, block, 1);
        let small = |rows: &usize| rings_of(2 * LINE, *rows).bytes <= budget;
        let usual = || {
            blocks
                .iter()
                .copied()
                .find(small)
                .unwrap_or(blocks[blocks.len() - 1])
        };
        let least = rings_of(LINE, 1).bytes;
        let block = chosen
            .block
            .unwrap_or_else(usual)
            .min((MOST_RINGS / least).max(1));
        let plan = |vector: usize| rings_of(vector, block);
        let fits = |vector: &usize| plan(*vector).bytes <= budget;
        let model = || [512, 256, 128].into_iter().find(fits).unwrap_or(LINE);
        Scratch {
            slide: chosen.slide,
            reads_blocks: chosen.reads_blocks,
            ..plan(chosen.vector.map_or_else(model, |vector| {
                vector.min(LINE * (MOST_RINGS / plan(LINE).bytes).max(1))
            }))
        }
    }

    /// Of a nest of rows whose points are vectors of levels.
    fn of_panels(
        stencil: &Stencil,
        rings: &[Ring],
        nest: &RowNest,
        choices: &Choices,
        vector_bytes: usize,
    ) -> Scratch {
        let widest = nest.stages.iter().map(|stage| widest(stencil, stage)).max();
        let widest = widest.unwrap_or(1);
        let lanes = (vector_bytes / widest).clamp(1, MOST_LANES);
        let line = lanes.max(LINE / widest);
        let chosen = choices.tile(Axis::K);
        let chosen = chosen.map(|levels| levels.min(PANEL_LEVELS).next_multiple_of(lanes));
        let plan = |vector: usize, levels: usize| {
            let blocks = levels.div_ceil(lanes);
            rings_of(rings, nest, vector, blocks, lanes)
        };
        let fits = |vector: usize, levels: usize| plan(vector, levels).bytes <= PANEL_BUDGET;
        let least = chosen.unwrap_or(line);
        let most = (MOST_RINGS / plan(1, least).bytes.max(1)).max(1);
        let vector = (choices.tile(nest.roles.vector)).map(|points| points.min(most));
        let model = || (PANELS.iter().copied()).find(|points| fits(*points, least));
        let vector = vector.or_else(model).unwrap_or(SHORTEST_PANELS);
        let lines = (1..=PANEL_LEVELS / line).rev().map(|lines| lines * line);
        let levels = chosen.or_else(|| lines.into_iter().find(|levels| fits(vector, *levels)));
        let levels = levels.unwrap_or(line);
        Scratch {
            lanes: Some(lanes),
            line: chosen.is_none().then_some(line),
            slide: choices.tile(nest.roles.slide),
            block: Some(levels),
            ..plan(vector, levels)
        }
    }

    /// Of a nest of columns, with the arrays that are transposed for it to vectors of so many bytes.
    pub fn of_columns(
        stencil: &Stencil,
        schedule: &Schedule,
        (index, nest): (usize, &ColumnNest),
        transposed: Vec<Transposed>,
        choices: &Choices,
        vector_bytes: usize,
    ) -> Scratch {
        let chosen = choices.tile(nest.vector).map(whole_lines);
        let columns =
            temporaries(stencil, schedule).filter_map(|(id, dtype, placement)| match placement {
                Placement::Column { nest, window } if nest == index => Some((id, dtype, window)),
                _ => None,
            });
        let columns: Vec<Column> = columns.collect();
        if columns.is_empty() && transposed.is_empty() {
            return Scratch {
                vector: chosen,
                ..Scratch::default()
            };
        }
        let wide = match chosen {
            Some(vector) => vector.min(MOST_COLUMNS),
            None => wide_columns(&columns, &transposed),
        };
        let square = square(&transposed, vector_bytes);
        let narrow = match choices.tile(nest.vector) {
            Some(columns) => columns.next_multiple_of(square),
            None if is_slim(stencil, schedule, nest, &transposed) => {
                square * narrow_vectors(&columns, &transposed, nest, square)
            }
            None => MOST_COLUMNS,
        };
        let slim = narrow <= MOST_NARROW * square && !transposed.is_empty();
        let mut scratch = Scratch {
            vector: Some(if slim { narrow } else { wide }),
            square,
            slim,
            ..Scratch::default()
        };
        for (id, dtype, window) in columns {
            let place = match window {
                None => Place::Column {
                    offset: scratch.reserve(dtype, (0, 0)),
                },
                Some(levels) => {
                    let row = scratch.vector.unwrap_or(LINE) * dtype.size();
                    let offset = scratch.bytes;
                    scratch.bytes += (row * levels).next_multiple_of(LINE);
                    Place::Window {
                        offset,
                        row,
                        levels,
                    }
                }
            };
            scratch.places.insert(id, place);
        }
        for array in transposed {
            let offset = scratch.reserve(array.dtype, array.across);
            let around = &mut scratch.levels_around;
            around.0 = around.0.max(array.levels.0.max(0) as usize);
            around.1 = around.1.max(array.levels.1.max(0) as usize);
            let window = slim.then(|| array.window(nest, square)).flatten();
            if window.is_some() {
                // A whole square may begin before the ring.
                around.0 = around.0.max(square);
            }
            scratch.transposed.push((array, Block { offset, window }));
        }
        scratch.level_bytes = scratch.level_bytes.next_multiple_of(LINE);
        // Levels that lie an odd number of lines apart share the sets of a cache evenly.
        let alias = if slim { 2 * LINE } else { ALIAS };
        if scratch.level_bytes > 0 && scratch.level_bytes.is_multiple_of(alias) {
            scratch.level_bytes += LINE;
        }
        scratch
    }

    /// Makes room in a level for a row of a tile and `across` points around it; returns where the tile's first point lies.
    fn reserve(&mut self, dtype: DType, across: (i32, i32)) -> usize {
        let size = dtype.size();
        let before = (across.0.min(0).unsigned_abs() as usize * size).next_multiple_of(LINE);
        let after = (across.1.max(0) as usize * size).next_multiple_of(LINE);
        let row = self.vector.unwrap_or(LINE) * size;
        // No vector of a row crosses a line that need not.
        let offset = self.level_bytes.next_multiple_of(row.min(LINE)) + before;
        self.level_bytes = offset + row + after;
        offset
    }

    /// Rows of a tile along the block axis, at most.
    pub fn block_rows(&self, roles: Roles) -> usize {
        // Rows along K are short, and follow each other in memory along the block axis.
        let usual = match roles.vector {
            Axis::K => SHORT_ROWS,
            Axis::I | Axis::J => 1,
        };
        self.block.unwrap_or(usual)
    }

    /// The transposed block that holds an array at an offset along the outer axis.
    pub fn block(&self, target: Target, outer: i32) -> Option<Block> {
        let found =
            |(array, _): &&(Transposed, Block)| (array.target, array.outer) == (target, outer);
        self.transposed.iter().find(found).map(|(_, block)| *block)
    }

    /// Bytes needed for a domain.
    pub fn total(&self, levels: usize) -> usize {
        // Squares at the end of a column reach behind it, and those at the end of a row behind that.
        let behind = match self.transposed.is_empty() {
            true => (0, 0),
            false => (self.square, LINE),
        };
        let levels = levels + self.levels_around.0 + self.levels_around.1 + behind.0;
        self.bytes + self.level_bytes * levels + behind.1
    }
}

/// A temporary of a block of columns: its type, and how many levels are kept; all where `None`.
type Column = (TempId, DType, Option<usize>);

/// Columns of a block of which each level is visited row by row.
fn wide_columns(columns: &[Column], transposed: &[Transposed]) -> usize {
    let column = |levels: usize| {
        let whole = columns
            .iter()
            .map(|(_, dtype, window)| dtype.size() * window.unwrap_or(levels));
        let arrays = transposed.iter().map(|array| array.dtype.size() * levels);
        whole.sum::<usize>() + arrays.sum::<usize>()
    };
    let fits = |vector: &usize| {
        let usually = *vector <= LINE || vector * column(TYPICAL_LEVELS) <= COLUMN_BUDGET;
        usually && vector * column(DEEP_LEVELS) <= SHARE
    };
    let found = COLUMNS.iter().copied().find(fits);
    found.unwrap_or(FEWEST_COLUMNS)
}

/// Vectors of columns of a block whose levels are transposed some at a time.
fn narrow_vectors(
    columns: &[Column],
    transposed: &[Transposed],
    nest: &ColumnNest,
    square: usize,
) -> usize {
    let kept = columns
        .iter()
        .map(|(_, dtype, window)| dtype.size() * window.unwrap_or(NARROW_LEVELS));
    let moved = transposed
        .iter()
        .map(|array| array.dtype.size() * array.window(nest, square).unwrap_or(NARROW_LEVELS));
    let column = kept.sum::<usize>() + moved.sum::<usize>();
    let fits = |vectors: &usize| vectors * square * column <= NARROW_BUDGET;
    NARROW.iter().copied().find(fits).unwrap_or(1)
}

/// Columns and levels that are transposed at a time: elements of the widest array in a register, and few enough for all registers.
fn square(transposed: &[Transposed], vector_bytes: usize) -> usize {
    let widest = transposed.iter().map(|array| array.dtype.size()).max();
    (vector_bytes.max(32) / widest.unwrap_or(8)).min(16)
}

/// Whether most arrays of a nest are transposed. A block of few columns then stays in the first cache, while the others, of
/// which it visits a few points of each level, are not worth more.
fn is_slim(
    stencil: &Stencil,
    schedule: &Schedule,
    nest: &ColumnNest,
    transposed: &[Transposed],
) -> bool {
    let turned: HashSet<Target> = transposed.iter().map(|array| array.target).collect();
    let mut others = HashSet::new();
    for accesses in (nest.stages())
        .flat_map(|stage| &stage.statements)
        .map(Accesses::of)
    {
        let read = accesses.reads.iter().map(|(target, _)| *target);
        let all = read.chain(accesses.written());
        others.extend(all.filter(|target| {
            let axes = stencil.target_axes(*target);
            let is_array = match target {
                Target::Field(_) => true,
                Target::Temp(id) => {
                    matches!(schedule.temporaries[id.0 as usize], Placement::Array { .. })
                }
            };
            is_array
                && axes.contains(nest.vector)
                && axes.contains(Axis::K)
                && !turned.contains(target)
        }));
    }
    turned.len() > others.len()
}

fn temporaries<'a>(
    stencil: &'a Stencil,
    schedule: &'a Schedule,
) -> impl Iterator<Item = (TempId, DType, Placement)> + 'a {
    let both = stencil.temporaries.iter().zip(&schedule.temporaries);
    both.enumerate()
        .filter_map(|(number, (temporary, placement))| {
            Some((TempId(number as u32), temporary.dtype?, *placement))
        })
}

/// A temporary in a ring: its type, rows along the sliding axis, and reach beyond the tile.
type Ring = (TempId, DType, usize, Extent);

fn rings_in(stencil: &Stencil, schedule: &Schedule, index: usize) -> Vec<Ring> {
    let rings = temporaries(stencil, schedule).filter_map(|(id, dtype, place)| match place {
        Placement::Ring { nest, rows, extent } if nest == index => Some((id, dtype, rows, extent)),
        _ => None,
    });
    rings.collect()
}

/// Where rings lie for a tile of so many points, of which each has `lanes` elements.
fn rings_of(rings: &[Ring], nest: &RowNest, vector: usize, block: usize, lanes: usize) -> Scratch {
    let mut scratch = Scratch {
        vector: Some(vector),
        block: Some(block),
        ..Scratch::default()
    };
    // All stages of a loop run along the same points, whichever are stored.
    let reaches = nest.stages.iter().map(|stage| {
        let beyond = stage.extent.beyond(nest.extent);
        beyond.along(nest.roles.vector)
    });
    let around = reaches.fold((0, 0), |all, (before, after)| {
        (all.0.max(before), all.1.max(after))
    });
    let reach = reach_along(nest, nest.roles.vector);
    for (id, dtype, rows, extent) in rings {
        let size = dtype.size() * lanes;
        let (before, after) = extent.along(nest.roles.vector);
        let around = (around.0.max(before) as usize, around.1.max(after) as usize);
        let room = match nest.roles.are_panels() {
            true => ((schedule::MOST_AHEAD_OF_PANELS + reach) * size).next_multiple_of(LINE),
            false => ROOM * LINE,
        };
        let pad = (around.0 * size).next_multiple_of(LINE) + room;
        let row = (pad + (vector + around.1) * size).next_multiple_of(LINE) + room;
        let (block_before, block_after) = extent.along(nest.roles.block);
        let blocks = block + block_before.max(0) as usize + block_after.max(0) as usize;
        let place = Place::Ring {
            offset: scratch.bytes,
            row,
            rows: *rows,
            blocks,
            before: block_before.max(0) as usize,
            pad,
        };
        scratch.bytes += row * rows * blocks;
        scratch.places.insert(*id, place);
    }
    scratch
}

/// How columns whose levels follow each other in memory share cache lines with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// The first level of each is where a line begins.
    Apart,
    /// The same level of each is.
    Shifted,
    /// None is.
    Shared,
}

impl Lines {
    /// All of them, in order.
    pub const ALL: [Lines; 3] = [Lines::Apart, Lines::Shifted, Lines::Shared];
}

/// How a domain is cut into tiles, along I, J, K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Points of a tile; the last one along an axis may have fewer.
    pub size: [usize; 3],
    /// Number of tiles.
    pub count: [usize; 3],
}

impl Tiles {
    /// How many tiles there are in all.
    pub fn total(&self) -> usize {
        self.count.iter().product()
    }

    fn new(points: [usize; 3], size: [usize; 3]) -> Tiles {
        let size = size.map(|size| size.max(1));
        Tiles {
            size,
            count: std::array::from_fn(|n| points[n].div_ceil(size[n])),
        }
    }

    /// Tiles of a nest of rows that computes `points` points along each axis.
    pub fn of_rows(
        nest: &RowNest,
        scratch: &Scratch,
        mut points: [usize; 3],
        threads: usize,
        lines: Lines,
    ) -> Tiles {
        let roles = nest.roles;
        if let (Some(line), Lines::Shifted) = (scratch.line, lines) {
            // The first tile begins before the first level.
            points[roles.block.index()] += line - 1;
        }
        let mut size = points;
        if let Some(cap) = scratch.vector {
            let points = points[roles.vector.index()];
            size[roles.vector.index()] = match roles.are_panels() {
                true => points.div_ceil(points.div_ceil(cap).max(1)),
                false => even(points, cap),
            };
        }
        let blocks = points[roles.block.index()];
        size[roles.block.index()] = match (scratch.block, scratch.lanes) {
            (Some(levels), Some(lanes)) => {
                // Tiles of one line leave most of the cache to a row. Those that share lines would have each moved twice.
                let line = scratch.line.filter(|_| lines != Lines::Shared);
                let levels = line.unwrap_or(levels);
                let tiles = blocks.div_ceil(levels).max(1);
                blocks.div_ceil(tiles).next_multiple_of(lanes)
            }
            _ => scratch.block_rows(roles),
        };
        let others = Tiles::new(points, size).total();
        let slide = points[roles.slide.index()];
        let chunks = if scratch.places.is_empty() && scratch.reads_blocks {
            slide.div_ceil(ROWS_PER_CHUNK)
        } else {
            // Rows at the edge of a chunk are computed twice, so only as many chunks as the threads need.
            (threads * TILES_PER_THREAD).div_ceil(others.max(1))
        };
        let chunk = slide.div_ceil(chunks.clamp(1, slide.max(1)));
        size[roles.slide.index()] = scratch.slide.unwrap_or(chunk);
        Tiles::new(points, size)
    }

    /// Tiles of a nest of columns; along K there is one.
    pub fn of_columns(
        nest: &ColumnNest,
        scratch: &Scratch,
        points: [usize; 3],
        threads: usize,
    ) -> Tiles {
        let mut size = points;
        let (vector, outer) = (nest.vector.index(), nest.outer().index());
        size[vector] = even(points[vector], scratch.vector.unwrap_or(256));
        size[outer] = 1;
        let tiles = Tiles::new(points, size);
        if scratch.slim || tiles.total() >= threads * TILES_PER_THREAD {
            return tiles;
        }
        let fewest = scratch.vector.unwrap_or(LINE).min(LINE);
        size[vector] = even(points[vector], fewest);
        Tiles::new(points, size)
    }
}

/// How far along an axis a nest reads anything.
fn reach_along(nest: &RowNest, axis: Axis) -> usize {
    let statements = nest.stages.iter().flat_map(|stage| &stage.statements);
    let reads = statements.flat_map(|statement| Accesses::of(statement).reads);
    let offsets = reads.map(|(_, offset)| offset.along(axis).unsigned_abs() as usize);
    offsets.max().unwrap_or(0)
}

/// Rows of a tile without scratch: enough to amortise the tile, few enough to keep its planes in a cache.
const ROWS_PER_CHUNK: usize = 32;

/// Short rows of a tile without scratch along the block axis: some planes of them fit a second-level cache.
const SHORT_ROWS: usize = 128;

/// Tiles for each thread, so that threads finish together.
const TILES_PER_THREAD: usize = 4;

/// Points of whole cache lines of the smallest elements, at least so many.
fn whole_lines(points: usize) -> usize {
    points.next_multiple_of(LINE)
}

/// The size of equal tiles, none larger than `cap`, that are whole cache lines of the smallest elements.
fn even(points: usize, cap: usize) -> usize {
    let tiles = points.div_ceil(cap).max(1);
    points.div_ceil(tiles).next_multiple_of(LINE).min(cap)
}
