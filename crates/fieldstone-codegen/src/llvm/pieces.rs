//! Looks up numbers that depend on a piece: in registers where a processor can permute the lanes of one by those of another, else
//! in memory.

use fieldstone_stencil::DType;

use crate::transcendental::number::Pieces;

use super::builder::{Builder, POISON};
use super::types::{self, Lanes};

/// What is looked up, and how.
#[derive(Clone, Copy)]
pub(super) struct LookUp {
    pub dtype: DType,
    pub lanes: Lanes,
    /// Bytes of the registers that are permuted: 64 as AVX-512 does it, 32 as AVX2 does it, or none.
    pub permuted: usize,
}

impl LookUp {
    /// The numbers of a row for a vector of indices.
    pub fn row(self, b: &mut Builder, pieces: &Pieces, row: usize, index: &str) -> String {
        let (width, lanes) = (self.lanes.width, self.permuted / self.dtype.size());
        if lanes == 0 || width == 1 {
            return self.in_memory(b, pieces, row, index);
        }
        if width < lanes {
            let all = self.of_width(lanes);
            let padded = padded(b, &self.indices(), index, (width, lanes));
            let values = all.row(b, pieces, row, &padded);
            return b.shuffle(&all.reals(), (&values, POISON), 0..width);
        }
        if width > lanes {
            let half = self.of_width(width / 2);
            let halves = [0..width / 2, width / 2..width].map(|lanes| {
                let index = b.shuffle(&self.indices(), (index, POISON), lanes);
                half.row(b, pieces, row, &index)
            });
            let [low, high] = &halves;
            return b.shuffle(&half.reals(), (low, high), 0..width);
        }
        let values = pieces.rows[row];
        match (self.permuted, self.dtype) {
            (64, _) => self.by_one_permutation(b, values, index),
            (_, DType::Float32) => self.by_two_permutations(b, values, index, index),
            _ => {
                let index_of_halves = index_of_halves(b, index);
                self.by_two_permutations(b, values, index, &index_of_halves)
            }
        }
    }

    fn of_width(self, width: usize) -> LookUp {
        let lanes = Lanes { width };
        LookUp { lanes, ..self }
    }

    fn reals(self) -> String {
        self.lanes.of(types::register(self.dtype))
    }

    /// The type of an integer of as many bits.
    fn integer(self) -> &'static str {
        match self.dtype {
            DType::Float32 => "i32",
            _ => "i64",
        }
    }

    fn indices(self) -> String {
        self.lanes.of(self.integer())
    }

    fn constants(self, values: &[f64]) -> String {
        let kind = types::register(self.dtype);
        let values = values.iter();
        let values = values.map(|value| format!("{kind} {}", types::real(self.dtype, *value)));
        values.collect::<Vec<_>>().join(", ")
    }

    /// Lowest bits of the index are all that counts.
    fn by_one_permutation(self, b: &mut Builder, values: &[f64], index: &str) -> String {
        let function = match self.dtype {
            DType::Float32 => "llvm.x86.avx512.permvar.sf.512",
            _ => "llvm.x86.avx512.permvar.df.512",
        };
        let (kind, indices) = (self.reals(), self.indices());
        let values = format!("<{}>", self.constants(values));
        b.call(&kind, function, &[(&kind, &values), (&indices, index)])
    }

    /// The highest bit of the index chooses between two registers.
    fn by_two_permutations(
        self,
        b: &mut Builder,
        values: &[f64],
        index: &str,
        index_of_words: &str,
    ) -> String {
        let kind = self.reals();
        let [low, high] = [0, 1].map(|n| {
            let half = &values[n * values.len() / 2..][..values.len() / 2];
            let words = words(self.dtype, half);
            let arguments = [
                ("<8 x float>", words.as_str()),
                ("<8 x i32>", index_of_words),
            ];
            let found = b.call("<8 x float>", "llvm.x86.avx2.permps", &arguments);
            match self.dtype {
                DType::Float32 => found,
                _ => b.value(format_args!("bitcast <8 x float> {found} to {kind}")),
            }
        });
        let (integer, indices) = (self.integer(), self.indices());
        let above = 8 * self.dtype.size() - values.len().ilog2() as usize;
        let above = self.lanes.splat(integer, &above.to_string());
        let sign = b.value(format_args!("shl {indices} {index}, {above}"));
        let is_high = b.value(format_args!("icmp slt {indices} {sign}, zeroinitializer"));
        let masks = self.lanes.of("i1");
        b.value(format_args!(
            "select {masks} {is_high}, {kind} {high}, {kind} {low}"
        ))
    }

    /// All rows are one array of the module.
    fn in_memory(self, b: &mut Builder, pieces: &Pieces, row: usize, index: &str) -> String {
        let (element, integer) = (types::register(self.dtype), self.integer());
        let bits = 8 * self.dtype.size();
        let name = format!("@fieldstone_{}_{bits}", pieces.name);
        let count = pieces.rows[0].len();
        let all = pieces.rows.concat();
        let definition = format!(
            "{name} = internal unnamed_addr constant [{} x {element}] [{}]",
            all.len(),
            self.constants(&all)
        );
        b.needs.declarations.insert(definition);
        let indices = self.indices();
        let last = self.lanes.splat(integer, &(count - 1).to_string());
        let index = b.value(format_args!("and {indices} {index}, {last}"));
        let first = self.lanes.splat(integer, &(row * count).to_string());
        let index = b.value(format_args!("or {indices} {index}, {first}"));
        let place = b.value(format_args!(
            "getelementptr {element}, ptr {name}, {indices} {index}"
        ));
        let align = self.dtype.size();
        if self.lanes.width == 1 {
            return b.value(format_args!("load {element}, ptr {place}, align {align}"));
        }
        let suffix = self.lanes.suffix(self.dtype);
        let function = format!("llvm.masked.gather.{suffix}.v{}p0", self.lanes.width);
        let (kind, pointers) = (self.reals(), self.lanes.of("ptr"));
        let (masks, all) = (self.lanes.of("i1"), self.lanes.splat("i1", "true"));
        let arguments = [
            (pointers.as_str(), place.as_str()),
            ("i32", &align.to_string()),
            (&masks, &all),
            (&kind, "zeroinitializer"),
        ];
        b.call(&kind, &function, &arguments)
    }
}

/// Numbers as lanes of 32 bits, which registers of 256 bits are permuted by.
fn words(dtype: DType, values: &[f64]) -> String {
    let words = values.iter().flat_map(|value| match dtype {
        DType::Float32 => vec![(*value as f32).to_bits()],
        _ => vec![value.to_bits() as u32, (value.to_bits() >> 32) as u32],
    });
    let words: Vec<String> = words.map(|word| format!("i32 {word}")).collect();
    format!("bitcast (<8 x i32> <{}> to <8 x float>)", words.join(", "))
}

/// Indices of both halves of numbers of 64 bits.
fn index_of_halves(b: &mut Builder, index: &str) -> String {
    let kind = "<4 x i64>";
    let low = b.value(format_args!("shl {kind} {index}, splat (i64 1)"));
    let high = b.value(format_args!("shl {kind} {index}, splat (i64 33)"));
    let low = b.value(format_args!("and {kind} {low}, splat (i64 4294967295)"));
    let both = b.value(format_args!("or {kind} {low}, {high}"));
    let both = b.value(format_args!("or {kind} {both}, splat (i64 4294967296)"));
    b.value(format_args!("bitcast {kind} {both} to <8 x i32>"))
}

/// A vector with more lanes, which may hold anything.
fn padded(b: &mut Builder, kind: &str, vector: &str, (from, to): (usize, usize)) -> String {
    let lanes = (0..to).map(|lane| match lane {
        _ if lane < from => format!("i32 {lane}"),
        _ => String::from("i32 poison"),
    });
    let lanes = lanes.collect::<Vec<_>>().join(", ");
    b.value(format_args!(
        "shufflevector {kind} {vector}, {kind} poison, <{to} x i32> <{lanes}>"
    ))
}
