//! Rows that are stored past the caches wherever they begin: line by line, each from two neighbouring vectors. Of a line that is not
//! the row's alone the points are stored one by one, past the caches as well: stores past the caches wait for others before them,
//! which wait until their lines have come from memory, so that two such lines for each sixteen took five times as long.

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{DType, Offset};

use crate::tile::LINE;

use super::body::Body;
use super::builder::Builder;
use super::entry::{Context, Entry};
use super::level::written_through;
use super::memory::{block_address, splat};
use super::place::{self, Spacing};
use super::preheader::Preheader;
use super::types::Lanes;

/// A row of a result, of which each vector is in one line or in two.
pub(super) struct Shifted {
    pub target: Target,
    dtype: DType,
    lanes: Lanes,
    /// Address of the point with index zero.
    row: String,
    /// Bytes from the begin of a line to that of a vector, and whether these are any.
    bytes: String,
    apart: String,
    /// Per lane of a line, which of two vectors behind each other it is.
    order: String,
    /// How many lanes of a vector lie in the line where it begins.
    here: String,
}

/// The points behind the last whole vector of rows.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a> {
    pub rows: &'a [Shifted],
    /// Whether they go past the caches.
    pub condition: &'a str,
    /// How many there are.
    pub points: &'a str,
}

/// What becomes of a vector of such a row.
pub(super) struct ToLines<'a> {
    pub row: &'a Shifted,
    /// The vector before it.
    pub before: &'a str,
    /// Whether there is one.
    pub begun: &'a str,
}

/// The results of a stage that may be stored past the caches in this way; none where any of them may not.
pub(super) fn shifted(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    preheader: &Preheader,
    (first, lanes): (&str, Lanes),
) -> Vec<Shifted> {
    let through = written_through(&stage.statements);
    let mut rows: Vec<Shifted> = Vec::new();
    for statement in &stage.statements {
        for target in Accesses::of(statement).written() {
            let known = rows.iter().any(|row| row.target == target);
            if known || !entry.streamed.contains(&target) {
                continue;
            }
            let pointer = preheader.pointer(target, Offset::ZERO);
            if pointer.spacing != Spacing::Contiguous {
                continue;
            }
            let dtype = place::dtype(context, target);
            if context.target.vector_bytes() != LINE
                || lanes.width * dtype.size() != LINE
                || !matches!(dtype, DType::Float32 | DType::Float64)
                || through.contains(&target)
            {
                return Vec::new();
            }
            rows.push(Shifted::new(
                b,
                (target, dtype),
                lanes,
                pointer.pointer,
                first,
            ));
        }
    }
    rows
}

impl Shifted {
    fn new(
        b: &mut Builder,
        (target, dtype): (Target, DType),
        lanes: Lanes,
        row: String,
        first: &str,
    ) -> Shifted {
        let (width, size) = (lanes.width, dtype.size());
        let address = block_address(b, &row, size, first);
        let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
        let bytes = b.value(format_args!("and i64 {address}, {}", LINE - 1));
        let apart = b.value(format_args!("icmp ne i64 {bytes}, 0"));
        let points = b.value(format_args!("lshr i64 {bytes}, {}", size.trailing_zeros()));
        let here = b.sub(&width.to_string(), &points);
        let index = format!("i{}", size * 8);
        let start = match size {
            8 => here.clone(),
            _ => b.value(format_args!("trunc i64 {here} to {index}")),
        };
        let starts = splat(b, lanes, &index, &start);
        let steps: Vec<String> = (0..width).map(|n| format!("{index} {n}")).collect();
        let kind = lanes.of(&index);
        let order = b.value(format_args!("add {kind} {starts}, <{}>", steps.join(", ")));
        Shifted {
            target,
            dtype,
            lanes,
            row,
            bytes,
            apart,
            order,
            here,
        }
    }

    /// Whether each element is in one line.
    pub fn is_possible(&self, b: &mut Builder) -> String {
        let past = b.value(format_args!(
            "and i64 {}, {}",
            self.bytes,
            self.dtype.size() - 1
        ));
        b.value(format_args!("icmp eq i64 {past}, 0"))
    }

    /// The type of a vector, and what there is before the first one.
    pub fn nothing(&self) -> (String, String) {
        (
            self.lanes.value(self.dtype),
            String::from("zeroinitializer"),
        )
    }

    /// Stores what is left of the last vector, where there was any.
    pub fn end(&self, body: &mut Body<'_, '_>, value: &str, any: &str) {
        let rest = (body.b).value(format_args!("and i1 {any}, {}", self.apart));
        let name = body.b.begin_when(&rest);
        let address = block_address(body.b, &self.row, self.dtype.size(), body.first);
        let width = self.lanes.width.to_string();
        self.store_points(body.b, (&self.here, &width), value, &address);
        body.b.otherwise(&name);
        body.b.end_when(&name);
    }

    /// Stores some lanes of a vector past the caches.
    fn store_points(&self, b: &mut Builder, (from, to): (&str, &str), value: &str, address: &str) {
        let (kind, size) = (self.lanes.value(self.dtype), self.dtype.size());
        let bits = format!("i{}", size * 8);
        let bits_of_all = self.lanes.of(&bits);
        let all = b.value(format_args!("bitcast {kind} {value} to {bits_of_all}"));
        b.for_loop(from, to, "1", |b, lane| {
            let one = b.value(format_args!(
                "extractelement {bits_of_all} {all}, i64 {lane}"
            ));
            let address = block_address(b, address, size, lane);
            b.effect(format_args!(
                "store {bits} {one}, ptr {address}, align {size}, !nontemporal !0"
            ));
        });
    }
}

impl Body<'_, '_> {
    /// Stores the line that ends in a vector, or what begins in it where there is none before.
    pub(super) fn store_to_lines(&mut self, to: &ToLines<'_>, value: &str, address: &str) {
        let row = to.row;
        let not_begun = self.b.not(to.begun);
        let alone = (self.b).value(format_args!("and i1 {not_begun}, {}", row.apart));
        let name = self.b.begin_when(&alone);
        row.store_points(self.b, ("0", &row.here), value, address);
        self.b.otherwise(&name);
        let kind = row.lanes.value(row.dtype);
        let order = row.lanes.of(&format!("i{}", row.dtype.size() * 8));
        let function = match row.dtype {
            DType::Float32 => "llvm.x86.avx512.vpermi2var.ps.512",
            _ => "llvm.x86.avx512.vpermi2var.pd.512",
        };
        let arguments = [
            (kind.as_str(), to.before),
            (order.as_str(), row.order.as_str()),
            (kind.as_str(), value),
        ];
        let line = self.b.call(&kind, function, &arguments);
        let back = self.b.sub("0", &row.bytes);
        let address = self.b.offset(address, &back);
        self.store_past_caches(row.dtype, &line, &address);
        self.b.end_when(&name);
    }

    /// Stores the last points of a row.
    pub(super) fn store_rest(&mut self, row: &Shifted, rest: Rest<'_>, value: &str, address: &str) {
        let name = self.b.begin_when(rest.condition);
        row.store_points(self.b, ("0", rest.points), value, address);
        self.b.otherwise(&name);
        self.store(row.dtype, value, address);
        self.b.end_when(&name);
    }
}
