//! Functions that transpose columns of an array whose levels follow each other in memory into scratch and back.
//!
//! They go square by square: as many columns as levels, each row of a square one vector. Blocks of 128 bits, for which
//! shuffles are cheapest, are transposed in themselves first and then among each other.

pub(super) mod turn;

use crate::tile::LINE;

use super::builder::Builder;
use super::bytes;
use super::masked::Stored;
use super::memory::splat;
use super::prefetch::{Purpose, prefetch};
use super::types::Lanes;
use super::value::Value;

/// Bytes within which elements are moved about most cheaply.
const BLOCK: usize = 16;

/// Columns of a square that ask for so many lines at once that it makes no difference how long one takes from the second-level cache.
const MANY: usize = 16;

/// Which way columns go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// From an array into scratch.
    In,
    /// From scratch into an array.
    Out,
}

/// Squares of elements of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Squares {
    pub way: Way,
    /// Bytes of an element.
    pub size: usize,
    /// Columns and levels of a square.
    pub side: usize,
    /// Bytes from one level to the next in scratch.
    pub pitch: usize,
    /// Whether whole squares are stored past the caches. Their rows are cache lines, and those of all columns begin where one does.
    pub past: bool,
    /// Whether rows of scratch have room for the columns of whole squares, which are not there to be read then: in their place is the last
    /// one. Whatever was left there might be numbers that functions take long for.
    pub fills: bool,
    /// As the target says.
    pub has_masked_stores: bool,
    /// Which of what is transposed for a nest it is, where it is a composed value.
    pub composed: Option<usize>,
}

/// What is transposed: as many levels as a square has, or fewer, of some columns.
pub(super) struct Plane {
    /// Where the first level of the first column lies in the array and in scratch.
    pub array: String,
    pub scratch: String,
    /// Bytes from one column to the next in the array.
    pub stride: String,
    /// How many columns and levels there are.
    pub columns: String,
    pub levels: String,
    /// Bytes in the array to the levels that are transposed next, which are fetched into the first-level cache where squares are small.
    pub following: String,
    /// What else the function of a composed value gets.
    pub more: String,
}

impl Squares {
    /// The name of the function of a kernel.
    fn name(self, kernel: &str) -> String {
        let way = match self.way {
            Way::In => "in",
            Way::Out => "out",
        };
        let past = match (self.past, self.way, self.fills) {
            (true, _, _) => "_past",
            (_, Way::In, false) => "_among",
            _ => "",
        };
        let composed = self.composed.map(|number| format!("_value_{number}"));
        let composed = composed.unwrap_or_default();
        format!("{kernel}_{way}_{}{past}{composed}", self.size)
    }

    /// Calls the function.
    pub fn call(self, kernel: &str, b: &mut Builder, plane: &Plane) {
        let Plane {
            array,
            scratch,
            stride,
            columns,
            levels,
            following,
            more,
        } = plane;
        b.effect(format_args!(
            "call void @{}(ptr {array}, ptr {scratch}, i64 {stride}, i64 {columns}, i64 {levels}, i64 {following}{more})",
            self.name(kernel)
        ));
    }

    /// Adds the function to those of a kernel, and one for squares that are not whole, which go through the caches.
    pub fn define(self, kernel: &str, b: &mut Builder, value: Option<Value<'_>>) {
        let name = self.name(kernel);
        let cached = Squares {
            past: false,
            ..self
        };
        let rest = format!("{}_rest", cached.name(kernel));
        let more = value.map_or_else(String::new, Value::parameters);
        let mut add = |name: &str, following: &str, body: &dyn Fn(&mut Builder)| {
            let mut inner = Builder::new();
            body(&mut inner);
            inner.effect("ret void");
            let head = format!(
                "define internal void @{name}(ptr noalias %array, ptr noalias %scratch, i64 %stride, i64 %columns, i64 %levels{following}{more}) noinline #0"
            );
            b.function(&head, inner);
        };
        let rests = |b: &mut Builder| {
            self.for_squares(b, "%columns", value, |b, square| {
                let rest = Rest {
                    columns: b.sub("%columns", &square.column),
                    levels: String::from("%levels"),
                };
                self.square(b, &square, Some(&rest), value);
            });
        };
        if !self.past {
            add(&rest, "", &rests);
        }
        add(&name, ", i64 %following", &|b| self.body(b, &rest, value));
    }

    fn body(self, b: &mut Builder, rest: &str, value: Option<Value<'_>>) {
        let full = b.value(format_args!("icmp eq i64 %levels, {}", self.side));
        let whole = b.value(format_args!("and i64 %columns, -{}", self.side));
        let whole = b.value(format_args!("select i1 {full}, i64 {whole}, i64 0"));
        self.for_squares(b, &whole, value, |b, square| {
            self.square(b, &square, None, value)
        });
        let left = b.sub("%columns", &whole);
        let columns = b.value(format_args!("icmp sgt i64 {left}, 0"));
        let levels = b.value("icmp sgt i64 %levels, 0");
        let any = b.value(format_args!("and i1 {columns}, {levels}"));
        b.when(&any, |b| {
            let Square { arrays, scratch, .. } = self.square_at(b, &whole, value);
            let array = &arrays[0].0;
            let more = value.map_or_else(String::new, |value| value.passed_on(&arrays));
            b.effect(format_args!(
                "call void @{rest}(ptr {array}, ptr {scratch}, i64 %stride, i64 {left}, i64 %levels{more})"
            ));
        });
    }

    fn for_squares(
        self,
        b: &mut Builder,
        columns: &str,
        value: Option<Value<'_>>,
        body: impl FnOnce(&mut Builder, Square),
    ) {
        b.for_loop("0", columns, &self.side.to_string(), |b, column| {
            let square = self.square_at(b, column, value);
            body(b, square);
        });
    }

    /// Transposes a whole square of an array without a call.
    pub fn inline(self, b: &mut Builder, square: &Square) {
        self.square(b, square, None, None);
    }

    fn square_at(self, b: &mut Builder, column: &str, value: Option<Value<'_>>) -> Square {
        let mut at = |array: String, stride: String| {
            let bytes = b.mul(column, &stride);
            (b.offset(&array, bytes), stride)
        };
        let mut arrays = vec![at(String::from("%array"), String::from("%stride"))];
        let others = 1..value.map_or(1, Value::arrays);
        arrays.extend(others.map(|n| at(format!("%array{n}"), format!("%stride{n}"))));
        let bytes = b.mul(column, self.size);
        Square {
            column: column.to_owned(),
            arrays,
            scratch: b.offset("%scratch", bytes),
            following: String::from("%following"),
        }
    }

    /// Transposes a square, or what there is of it.
    fn square(
        self,
        b: &mut Builder,
        square: &Square,
        rest: Option<&Rest>,
        value: Option<Value<'_>>,
    ) {
        let there = rest.filter(|_| self.way == Way::In);
        let columns: Vec<Vec<String>> = (square.arrays.iter())
            .map(|(array, stride)| match there {
                Some(rest) => self.along_those(b, array, stride, &rest.columns),
                None => self.along(b, array, stride),
            })
            .collect();
        let levels = self.along(b, &square.scratch, &self.pitch.to_string());
        if rest.is_none() && self.side < MANY && !self.past {
            for column in columns.iter().flatten() {
                let address = b.offset(column, &square.following);
                prefetch(b, &address, Purpose::Soon);
            }
        }
        // Columns and levels that are not there are neither read from the array nor written to it. In scratch there is room for
        // levels, but next to a row may lie what other columns need, unless it [`fills`](Squares::fills) squares.
        let level_masks = rest.map(|rest| {
            let all = self.first_lanes(b, &rest.levels);
            if there.is_some() {
                return vec![all; self.side];
            }
            let one = |b: &mut Builder, column: usize| {
                let there = b.value(format_args!("icmp sgt i64 {}, {column}", rest.columns));
                let there = splat(b, self.lanes(), "i1", &there);
                let masks = self.lanes().of("i1");
                b.value(format_args!("and {masks} {all}, {there}"))
            };
            (0..self.side)
                .map(|column| one(b, column))
                .collect::<Vec<_>>()
        });
        match self.way {
            Way::In => {
                let rows = match value {
                    None => self.load(b, &columns[0], level_masks.as_deref()),
                    Some(value) => self.composed(b, &columns, level_masks.as_deref(), value),
                };
                let rows = self.transposed(b, rows);
                let masks = rest.filter(|_| !self.fills).map(|rest| {
                    let mask = self.first_lanes(b, &rest.columns);
                    vec![mask; self.side]
                });
                self.store(b, rows, &levels, masks.as_deref());
            }
            Way::Out => {
                let rows = self.load(b, &levels, None);
                let rows = self.transposed(b, rows);
                self.store(b, rows, &columns[0], level_masks.as_deref());
            }
        }
    }

    /// Addresses of as many rows as a square has, which lie a step apart.
    fn along(self, b: &mut Builder, first: &str, step: &str) -> Vec<String> {
        let mut all = vec![first.to_owned()];
        for number in 1..self.side {
            let address = b.offset(&all[number - 1], step);
            all.push(address);
        }
        all
    }

    /// The same where there are so many, at least one: the last one again for those that are not there.
    fn along_those(self, b: &mut Builder, first: &str, step: &str, count: &str) -> Vec<String> {
        let last = b.sub(count, 1);
        let rows = (0..self.side).map(|number| {
            let row = b.min(&last, &number.to_string());
            let bytes = b.mul(&row, step);
            b.offset(first, bytes)
        });
        rows.collect()
    }

    fn lanes(self) -> Lanes {
        Lanes { width: self.side }
    }

    fn element(self) -> &'static str {
        match self.size {
            1 => "i8",
            2 => "i16",
            4 => "float",
            _ => "double",
        }
    }

    /// A mask of so many lanes.
    fn first_lanes(self, b: &mut Builder, count: &str) -> String {
        let lanes = self.lanes();
        let count = splat(b, lanes, "i64", count);
        let numbers: Vec<String> = (0..self.side).map(|n| format!("i64 {n}")).collect();
        let kind = lanes.of("i64");
        b.value(format_args!(
            "icmp slt {kind} <{}>, {count}",
            numbers.join(", ")
        ))
    }

    fn load(self, b: &mut Builder, rows: &[String], masks: Option<&[String]>) -> Vec<String> {
        let mask = |number: usize| masks.map(|masks| masks[number].as_str());
        let rows = rows.iter().enumerate();
        rows.map(|(number, address)| self.load_row(b, address, mask(number)))
            .collect()
    }

    fn load_row(self, b: &mut Builder, address: &str, mask: Option<&str>) -> String {
        let (kind, align) = (self.lanes().of(self.element()), self.size);
        let Some(mask) = mask else {
            return b.value(format_args!("load {kind}, ptr {address}, align {align}"));
        };
        if bytes::are_eight(self.lanes(), self.size) {
            return bytes::load(b, mask, address);
        }
        let arguments = [
            ("ptr", address),
            ("i32", &align.to_string()),
            (&self.lanes().of("i1"), mask),
            (&kind, "zeroinitializer"),
        ];
        let suffix = self.lanes().suffix_of(self.element());
        let function = format!("llvm.masked.load.{suffix}.p0");
        b.call(&kind, &function, &arguments)
    }

    /// The value of each column, of whose arrays there are so many columns.
    fn composed(
        self,
        b: &mut Builder,
        columns: &[Vec<String>],
        masks: Option<&[String]>,
        value: Value<'_>,
    ) -> Vec<String> {
        let one = |column: usize| {
            let mask = masks.map(|masks| masks[column].as_str());
            let elements: Vec<String> = (columns.iter())
                .map(|addresses| self.load_row(b, &addresses[column], mask))
                .collect();
            value.of(b, self.lanes(), &elements)
        };
        (0..self.side).map(one).collect()
    }

    fn store(
        self,
        b: &mut Builder,
        values: Vec<String>,
        rows: &[String],
        masks: Option<&[String]>,
    ) {
        let (kind, align) = (self.lanes().of(self.element()), self.size);
        for (number, (value, address)) in values.iter().zip(rows).enumerate() {
            match masks {
                None if self.past => b.effect(format_args!(
                    "store {kind} {value}, ptr {address}, align {LINE}, !nontemporal !0"
                )),
                None => b.effect(format_args!(
                    "store {kind} {value}, ptr {address}, align {align}"
                )),
                Some(masks) => {
                    let stored = Stored {
                        lanes: self.lanes(),
                        element: self.element(),
                        size: self.size,
                        apart: false,
                        has_masked_stores: self.has_masked_stores,
                    };
                    stored.store(b, value, &masks[number], address);
                }
            }
        }
    }

    fn transposed(self, b: &mut Builder, rows: Vec<String>) -> Vec<String> {
        // Elements of a block.
        let size = (BLOCK / self.size).min(self.side);
        let in_blocks: Vec<Vec<String>> = (rows.chunks(size))
            .map(|rows| self.in_blocks(b, rows.to_vec()))
            .collect();
        let mut levels = vec![String::new(); self.side];
        for number in 0..size {
            let rows: Vec<String> = in_blocks.iter().map(|rows| rows[number].clone()).collect();
            for (block, row) in self.among_blocks(b, rows, size).into_iter().enumerate() {
                levels[block * size + number] = row;
            }
        }
        levels
    }

    /// Transposes the elements of each block of as many rows as it has elements: interleaves a row of the first half with
    /// one of the second, and those with each other.
    fn in_blocks(self, b: &mut Builder, mut rows: Vec<String>) -> Vec<String> {
        let size = rows.len();
        for _ in 0..size.ilog2() {
            let (first, second) = rows.split_at(size / 2);
            let pairs: Vec<_> = first.iter().cloned().zip(second.iter().cloned()).collect();
            rows = pairs
                .iter()
                .flat_map(|(x, y)| [0, size / 2].map(|half| (x, y, half)))
                .map(|(x, y, half)| {
                    let lane = |lane: usize| {
                        let (block, place) = (lane / size * size, lane % size);
                        block + half + place / 2 + place % 2 * self.side
                    };
                    self.shuffle(b, x, y, lane)
                })
                .collect();
        }
        rows
    }

    /// From rows of the same block numbers to rows of the same block: separates even from odd blocks until one is left.
    fn among_blocks(self, b: &mut Builder, rows: Vec<String>, size: usize) -> Vec<String> {
        if rows.len() == 1 {
            return rows;
        }
        let [even, odd] = [0, 1].map(|odd| {
            let half: Vec<String> = rows
                .chunks(2)
                .map(|pair| {
                    let lane = |lane: usize| {
                        let (block, place) = (lane / size, lane % size);
                        (2 * block + odd) * size + place
                    };
                    self.shuffle(b, &pair[0], &pair[1], lane)
                })
                .collect();
            self.among_blocks(b, half, size)
        });
        even.into_iter()
            .zip(odd)
            .flat_map(|(x, y)| [x, y])
            .collect()
    }

    /// Picks lanes from two vectors; those of the second follow those of the first.
    fn shuffle(self, b: &mut Builder, x: &str, y: &str, lane: impl Fn(usize) -> usize) -> String {
        let kind = self.lanes().of(self.element());
        b.shuffle(&kind, (x, y), (0..self.side).map(lane))
    }
}

/// Where a square lies.
pub(super) struct Square {
    /// Number of its first column.
    pub column: String,
    /// Where that lies in the arrays, with the bytes from one column to the next, and in scratch.
    pub arrays: Vec<(String, String)>,
    pub scratch: String,
    /// As in [`Plane`].
    pub following: String,
}

/// Columns and levels that are left.
struct Rest {
    columns: String,
    levels: String,
}
