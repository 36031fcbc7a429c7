//! The groups of sweeps whose vectors may be levels of a column ([`Direct`]).

use std::collections::HashMap;

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::Stage;

use crate::direct::Direct;

use super::super::builder::Builder;
use super::super::place;
use super::super::prefetch::{Purpose, prefetch};
use super::super::transposition::turn;
use super::super::types::Lanes;
use super::ColumnBlock;
use super::ahead::Columns;
use super::moves::Move;
use super::part::Part;

/// Where the vectors of an array lie: in the array if the group is whole, else in scratch.
struct Vectors {
    target: Target,
    /// The first one.
    first: String,
    /// Bytes from one to the next, and to that of as many columns further on.
    turn: String,
    part: String,
}

/// Those of the arrays that a sweep reads and stores, and whether it stores past the caches; `None` where it never does.
struct OfGroup {
    read: Vec<Vectors>,
    stored: Vec<Vectors>,
    past: Option<String>,
}

/// The moves that a sweep does without where a group is whole, and the others.
pub(super) fn split<'a>(
    moves: &[&'a Move<'a>],
    direct: &Direct,
) -> (Vec<&'a Move<'a>>, Vec<&'a Move<'a>>) {
    let is_own = |each: &Move<'_>| direct.own.contains(&each.array.target);
    moves.iter().partition(|each| is_own(each))
}

impl ColumnBlock<'_> {
    /// Whether a group has all its levels, and the block all its columns.
    pub(super) fn is_whole(&self, b: &mut Builder, group: &str, levels: (&str, &str)) -> String {
        let scratch = self.context.scratch;
        let behind = b.add(group, scratch.square);
        let count = b.sub(&self.columns.1, &self.columns.0);
        let columns = scratch.vector.unwrap_or_default();
        let begun = b.value(format_args!("icmp sge i64 {group}, {}", levels.0));
        let goes_on = b.value(format_args!("icmp sle i64 {behind}, {}", levels.1));
        let all = b.value(format_args!("icmp eq i64 {count}, {columns}"));
        let both = b.value(format_args!("and i1 {begun}, {goes_on}"));
        b.value(format_args!("and i1 {both}, {all}"))
    }

    /// The levels of a group.
    pub(super) fn direct(
        &self,
        b: &mut Builder,
        (direct, stages): (&Direct, &[Stage]),
        (group, levels): (&str, &(String, String)),
        whole: &str,
        next: &[Columns],
    ) {
        let mut all = |targets: &[Target]| -> Vec<Vectors> {
            let targets = targets.iter();
            targets
                .map(|target| self.vectors(b, *target, group, whole))
                .collect()
        };
        let (read, stored) = (all(&direct.read), all(&direct.stored));
        let past = self.all_go_past(b, &stored, whole);
        let of_group = OfGroup { read, stored, past };
        let scratch = self.context.scratch;
        let parts = scratch.vector.unwrap_or_default() / scratch.square;
        b.for_loop(&levels.0, &levels.1, "1", |b, level| {
            let turn = b.sub(level, group);
            self.fetch(b, next, group, &turn);
            b.for_loop("0", &parts.to_string(), "1", |b, part| {
                self.vector(b, stages, level, (&turn, part), &of_group);
            });
        });
    }

    /// One vector of the stages.
    fn vector(
        &self,
        b: &mut Builder,
        stages: &[Stage],
        level: &str,
        at: (&str, &str),
        of_group: &OfGroup,
    ) {
        let lanes = self.square_lanes();
        let read = of_group.read.iter();
        let known = read.map(|vectors| {
            let value = self.load_ahead(b, vectors, at);
            ((vectors.target, Offset::ZERO), value)
        });
        let known = known.collect();
        let columns = b.mul(at.1, lanes.width);
        let first = b.add(&self.columns.0, &columns);
        let mut part = Part {
            first: &first,
            columns: lanes.width,
            known: HashMap::from([(lanes, vec![known])]),
            kept: of_group.stored.iter().map(|each| each.target).collect(),
            past: false,
        };
        self.stages(b, stages, level, &mut part);
        let known = &part.known[&lanes][0];
        let results = of_group.stored.iter().map(|vectors| {
            let value = known[&(vectors.target, Offset::ZERO)].clone();
            (vectors.target, value, vectors.at(b, at))
        });
        let results: Vec<(Target, String, String)> = results.collect();
        let Some(past) = &of_group.past else {
            return self.store(b, &results, "store");
        };
        let name = b.begin_when(past);
        self.store_past(b, &results);
        b.otherwise(&name);
        // LLVM makes one store of this and the one in the other branch otherwise.
        self.store(b, &results, "store volatile");
        b.end_when(&name);
    }

    /// Loads a vector, and fetches that of the next group.
    fn load_ahead(&self, b: &mut Builder, vectors: &Vectors, at: (&str, &str)) -> String {
        let (kind, size) = self.kind(vectors.target);
        let address = vectors.at(b, at);
        self.fetch_following(b, &address, size);
        b.value(format_args!("load {kind}, ptr {address}, align {size}"))
    }

    fn store(&self, b: &mut Builder, results: &[(Target, String, String)], how: &str) {
        for (target, value, address) in results {
            let (kind, size) = self.kind(*target);
            b.effect(format_args!(
                "{how} {kind} {value}, ptr {address}, align {size}"
            ));
            self.fetch_following(b, address, size);
        }
    }

    fn store_past(&self, b: &mut Builder, results: &[(Target, String, String)]) {
        for (target, value, address) in results {
            let (kind, size) = self.kind(*target);
            let align = size * self.square_lanes().width;
            b.effect(format_args!(
                "store {kind} {value}, ptr {address}, align {align}, !nontemporal !0"
            ));
        }
    }

    fn fetch_following(&self, b: &mut Builder, address: &str, size: usize) {
        let following = b.offset(address, size * self.square_lanes().width);
        prefetch(b, &following, Purpose::Soon);
    }

    fn square_lanes(&self) -> Lanes {
        Lanes {
            width: self.context.scratch.square,
        }
    }

    /// The type of a vector of a target, and bytes of an element.
    fn kind(&self, target: Target) -> (String, usize) {
        let dtype = place::dtype(self.context, target);
        (self.square_lanes().memory(dtype), dtype.size())
    }

    /// Transposes in scratch what later sweeps need of a group.
    pub(super) fn turn(&self, b: &mut Builder, direct: &Direct, group: &str) {
        let columns = self.context.scratch.vector.unwrap_or_default();
        for target in &direct.turned {
            let size = place::dtype(self.context, *target).size();
            let address = self.in_scratch_at(b, *target, group, size);
            b.effect(format_args!(
                "call void @{}(ptr {address}, i64 {columns})",
                turn::name(self.name, size)
            ));
        }
    }

    /// Where the first column of a level lies in scratch.
    fn in_scratch_at(&self, b: &mut Builder, target: Target, level: &str, size: usize) -> String {
        let row = self.row(level);
        let row = place::row_pointer(self.context, self.entry, b, &row, target, Offset::ZERO);
        row.at(b, size, (&self.columns.0, 0))
    }

    fn vectors(&self, b: &mut Builder, target: Target, group: &str, whole: &str) -> Vectors {
        let scratch = self.context.scratch;
        let (side, pitch) = (scratch.square, scratch.level_bytes);
        let size = place::dtype(self.context, target).size();
        let inside = self.in_scratch_at(b, target, group, size);
        let column = self.first_of(b, (target, 0), &self.columns.0);
        let bytes = b.mul(group, size);
        let outside = b.offset(&column, &bytes);
        let stride = self.stride(target);
        let columns = b.mul(stride, side);
        Vectors {
            target,
            first: b.value(format_args!(
                "select i1 {whole}, ptr {outside}, ptr {inside}"
            )),
            turn: b.select(whole, stride, pitch),
            part: b.select(whole, &columns, side * size),
        }
    }

    /// Whether all results go past the caches; `None` where that is never so.
    fn all_go_past(&self, b: &mut Builder, stored: &[Vectors], whole: &str) -> Option<String> {
        if stored.is_empty() {
            return None;
        }
        let scratch = self.context.scratch;
        let mut all = whole.to_owned();
        for Vectors { target, first, .. } in stored {
            let mut arrays = scratch.transposed.iter().map(|(array, _)| array);
            let array = arrays.find(|array| array.target == *target)?;
            let past = self.goes_past(b, array, first)?;
            all = b.value(format_args!("and i1 {all}, {past}"));
        }
        Some(all)
    }
}

impl Vectors {
    /// Address of the vector with a number of some columns.
    fn at(&self, b: &mut Builder, (turn, part): (&str, &str)) -> String {
        let rows = b.mul(turn, &self.turn);
        let address = b.offset(&self.first, &rows);
        let columns = b.mul(part, &self.part);
        b.offset(&address, &columns)
    }
}
