//! Transpositions past the caches: in parts that are brought into the target's order in memory between, and written from there in
//! whole lines.
//!
//! Memory is read faster in long rows, and only while enough lines are asked for at any time. So a part has few rows of the source and
//! all of what is contiguous of them, and the lines of its next columns are asked for while the present ones are moved. Processors whose
//! registers are lines write past the caches as fast in any order; others (Zen 3) take half as long again for lines that are alone, and
//! as long again for rows of which many are under way: they write two lines of each at a time, or a row from memory between at once.

use crate::between::{apart, room};
use crate::loops::turns;
use crate::share::{Source, Target};
use crate::simd::{self, Fetch, LINE, Plane, Rows};
use crate::tiles::{Cut, Tiles};
use crate::transposition::{Tables, Transposition};
use std::cmp::Reverse;

/// Bytes of the rows of the source that are read together.
const READ: usize = 4 << 10;

/// So many bytes are asked for before they are read.
const AHEAD: usize = 256;

/// How many bytes of the target are written together.
struct Written {
    /// Of each row, where rows begin with lines.
    in_lines: usize,
    /// Of each row, where it is written from memory between.
    in_rows: usize,
    /// Of rows that follow each other, if a block has no more.
    together: usize,
}

/// Where each store is of a whole line, and where it is of a part.
const IN_WHOLE_LINES: Written = Written {
    in_lines: 512,
    in_rows: 512,
    together: 4 << 10,
};
const IN_PARTS: Written = Written {
    in_lines: 128,
    in_rows: 1 << 10,
    together: 16 << 10,
};

/// Rows of the target are cut at about so many elements, a multiple of the second: their ends are no whole lines.
const SEGMENT: usize = 4096;
const GRAIN: usize = 512;

/// Rows that follow each other without gaps are written together if they have no more than so many bytes.
const SHORT: usize = 4 << 10;

impl Transposition {
    /// Copies all elements, past the caches.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    pub unsafe fn copy_past(&self, source: Source, target: Target, threads: usize) {
        let (source, target) = self.from(source, target);
        let mut outer = self.outer.clone();
        // In the order of the source.
        outer.sort_by_key(|axis| Reverse(axis.source.unsigned_abs()));
        let (size_a, size_b) = (turns(&self.a), turns(&self.b));
        let row = size_a * self.itemsize;
        let in_lines = self.kernel.stream.is_some() && self.is_in_lines(target);
        let together =
            Some(self.follow(row)).filter(|&columns| columns > 1 && row <= SHORT && !in_lines);
        let (a, b) = match together {
            // Parts in which all rows follow each other.
            Some(columns) if columns == size_b => {
                (Cut::new(size_a, size_a, 1), Cut::new(size_b, SEGMENT, 1))
            }
            Some(columns) => (Cut::new(size_a, size_a, 1), Cut::new(size_b, columns, 1)),
            None => (
                Cut::new(size_a, SEGMENT, GRAIN),
                Cut::new(size_b, READ / self.itemsize, self.kernel.lanes),
            ),
        };
        let outer = &outer;
        self.each(&Tiles { a, b, outer }, threads, &|tables, from, to| {
            let (from, to) = (source.at(from), target.at(to));
            // SAFETY: the tile is within the nest's elements.
            unsafe {
                if in_lines {
                    self.write_lines(tables, from, to);
                } else if together.is_some() {
                    self.write_together(tables, from, to);
                } else {
                    self.write_rows(tables, from, to);
                }
            }
            simd::fence();
        });
    }

    /// How many rows of so many bytes follow each other in the target without gaps.
    fn follow(&self, row: usize) -> usize {
        let mut found = 1;
        for axis in self.b.iter().rev() {
            if axis.target != (row * found) as isize {
                break;
            }
            found *= axis.size;
        }
        found
    }

    /// Copies a tile whose rows follow each other in the target.
    ///
    /// # Safety
    /// The tables must be those of elements that can be read and written.
    unsafe fn write_together(&self, tables: &mut Tables, source: *const u8, target: *mut u8) {
        let Tables {
            a, b, lines, mesh, ..
        } = tables;
        let (row, lanes) = (a.len() * self.itemsize, self.kernel.lanes);
        let step = (self.written().together / row)
            .next_multiple_of(lanes)
            .max(lanes);
        let between = room(&mut tables.between, step * row + LINE);
        let move_rows = simd::streaming_rows();
        let mut to = target.wrapping_offset(b.first().copied().unwrap_or(0));
        // Where the memory between holds something, as far from the beginning of a line as in the target.
        let mut held = to.addr() % LINE..to.addr() % LINE;
        for first in (0..b.len()).step_by(step) {
            let rest = b.len() - first;
            let columns = step.min(rest);
            let from = source.wrapping_add(first * self.itemsize);
            let next = from.wrapping_add(step * self.itemsize);
            let ahead = step.min(rest - columns) * self.itemsize;
            let blocks = a.len().div_ceil(lanes) * columns.div_ceil(lanes);
            let mut fetch = Fetch::new(next, if ahead > 0 { a } else { &[] }, ahead, blocks);
            lines.clear();
            lines.extend((0..columns).map(|n| (held.end + n * row) as isize));
            let itemsize = self.itemsize;
            let plane = Plane {
                a,
                b: lines,
                itemsize,
            };
            held.end += columns * row;
            let part = if columns < rest { held.end % LINE } else { 0 };
            let bytes = held.len() - part;
            // SAFETY: the memory between has room for the rows; the rest is as the caller says.
            unsafe {
                self.transpose(mesh, from, between, plane, &mut fetch, false);
                move_rows(between.wrapping_add(held.start), to, Rows::one(bytes));
                between.copy_from(between.wrapping_add(held.end - part), part);
            }
            to = to.wrapping_add(bytes);
            held = 0..part;
        }
    }

    /// Copies a tile whose rows begin with whole lines of the target, which then are written as they come.
    ///
    /// # Safety
    /// The tables must be those of elements that can be read and written.
    unsafe fn write_lines(&self, tables: &mut Tables, source: *const u8, target: *mut u8) {
        let Tables { a, b, mesh, .. } = tables;
        let length = self.part(a.len(), self.written().in_lines);
        self.each_block(a, b, length, source, |part, from, plane, _, mut fetch| {
            let to = target.wrapping_add(part.skip);
            // SAFETY: the block is a part of the tile, and parts begin with lines.
            unsafe { self.transpose(mesh, from, to, plane, &mut fetch, true) };
        });
    }

    /// Copies a tile row by row. What is left of a row behind its last whole line is kept for the next part.
    ///
    /// # Safety
    /// The tables must be those of elements that can be read and written.
    unsafe fn write_rows(&self, tables: &mut Tables, source: *const u8, target: *mut u8) {
        let Tables {
            a, b, lines, mesh, ..
        } = tables;
        let lanes = self.kernel.lanes;
        let length = self.part(a.len(), self.written().in_rows);
        let pitch = apart(length * self.itemsize + LINE);
        let kept = room(&mut tables.between, b.len() * LINE + lanes * pitch);
        let between = kept.wrapping_add(b.len() * LINE);
        self.each_block(
            a,
            b,
            length,
            source,
            |part, from, plane, first, mut fetch| {
                lines.clear();
                lines.extend(plane.b.iter().zip(0..).map(|(&column, n)| {
                    n * pitch as isize + (target.wrapping_offset(column).addr() % LINE) as isize
                }));
                let staged = Plane { b: lines, ..plane };
                // SAFETY: the memory between has room for the rows; the rest is as the caller says.
                unsafe { self.transpose(mesh, from, between, staged, &mut fetch, false) };
                for (n, (&column, &line)) in plane.b.iter().zip(&*lines).enumerate() {
                    let to = target.wrapping_offset(column);
                    let kept = kept.wrapping_add((first + n) * LINE);
                    // SAFETY: as above.
                    unsafe { part.write(between.wrapping_offset(line), to, kept) };
                }
            },
        );
    }

    fn written(&self) -> Written {
        match self.kernel.writes_lines {
            true => IN_WHOLE_LINES,
            false => IN_PARTS,
        }
    }

    /// How many of so many rows of the source are read together, if so many bytes of each row of the target are written together.
    fn part(&self, rows: usize, written: usize) -> usize {
        Cut::new(rows, written / self.itemsize, self.kernel.lanes).length
    }

    /// The blocks of a tile, part by part of `length` rows: where each is in the source, its plane and the number of its first column,
    /// and what to ask for meanwhile.
    fn each_block(
        &self,
        a: &[isize],
        b: &[isize],
        length: usize,
        source: *const u8,
        mut body: impl FnMut(&Part, *const u8, Plane<'_>, usize, Fetch<'_>),
    ) {
        let lanes = self.kernel.lanes;
        let width = lanes * self.itemsize;
        let behind = b.len().next_multiple_of(lanes) * self.itemsize;
        for first in (0..a.len()).step_by(length) {
            let (rows, others) = a[first..].split_at(length.min(a.len() - first));
            let next = &others[..length.min(others.len())];
            let part = Part {
                skip: first * self.itemsize,
                bytes: rows.len() * self.itemsize,
                is_last: others.is_empty(),
            };
            for (block, columns) in b.chunks(lanes).enumerate() {
                let place = block * width + AHEAD;
                // From the end of these rows on to the next ones.
                let (fetched, place) = match place.checked_sub(behind) {
                    None => (rows, place),
                    Some(place) => (next, place),
                };
                let fetched = Fetch::new(
                    source.wrapping_add(place),
                    fetched,
                    width,
                    rows.len().div_ceil(lanes),
                );
                let from = source.wrapping_add(block * width);
                let plane = Plane {
                    a: rows,
                    b: columns,
                    itemsize: self.itemsize,
                };
                body(&part, from, plane, block * lanes, fetched);
            }
        }
    }

    /// Whether all rows of the target begin with whole lines.
    fn is_in_lines(&self, target: Target) -> bool {
        let rows = self.b.iter().chain(&self.outer);
        { rows }.all(|axis| axis.target % LINE as isize == 0)
            && target.0.addr().is_multiple_of(LINE)
    }
}

/// A part of rows of the target.
struct Part {
    /// Bytes of a row before it.
    skip: usize,
    bytes: usize,
    /// Whether it is the last one of each row.
    is_last: bool,
}

impl Part {
    /// Writes whole lines of a row, and at its end what is left. In the memory between, lines begin where they do in the target.
    ///
    /// # Safety
    /// The memory between must have a line before and behind the part, and `kept` be one; the target's row must be writable.
    unsafe fn write(&self, between: *mut u8, target: *mut u8, kept: *mut u8) {
        let lead = target.addr() % LINE;
        let is_first = self.skip == 0;
        let begin = if is_first { 0 } else { lead };
        let end = if self.is_last { 0 } else { lead };
        let from = between.wrapping_sub(begin);
        let to = target.wrapping_add(self.skip).wrapping_sub(begin);
        // SAFETY: as the caller says.
        unsafe {
            from.copy_from_nonoverlapping(kept, begin);
            simd::streaming_rows()(from, to, Rows::one(begin + self.bytes - end));
            kept.copy_from_nonoverlapping(between.wrapping_add(self.bytes - end), end);
        }
    }
}
