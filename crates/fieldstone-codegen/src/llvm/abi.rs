//! The words a kernel is called with.
//!
//! Every kernel has the signature `void kernel(ptr words, i64 begin, i64 end, ptr scratch)` and computes the tiles
//! `begin..end`. `words` are 64-bit words in the order of [`Words`]; strides are in bytes. Where a stencil has very many fields,
//! a kernel has [`OwnWords`].

use std::collections::HashMap;

use fieldstone_stencil::ir::{FieldId, Stencil, Target, TempId};
use fieldstone_stencil::schedule::{Placement, Schedule};

/// Where each argument stands among the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    fields: usize,
    /// Position among the arrays, per temporary.
    arrays: Vec<Option<usize>>,
    array_count: usize,
    scalars: usize,
    /// How many data dimensions the fields and temporaries before each one have.
    field_data: Vec<usize>,
    temporary_data: Vec<usize>,
}

impl Words {
    /// Points of the domain along I, J, K.
    pub const DOMAIN: usize = 0;
    /// First level to compute and one past the last.
    pub const LEVELS: usize = 3;
    /// Points of a tile along I, J, K.
    pub const TILE: usize = 5;
    /// Number of tiles along I, J, K.
    pub const COUNT: usize = 8;
    /// Zero, the first level of the domain. It is not a constant in the code: LLVM 22 miscompiles masked stores of narrowed
    /// integers whose mask it can fold to a single lane, as that of `interval(0, 1)` along a row of levels
    /// (`tests/backends/test_narrowing.py`).
    pub const FIRST_LEVEL: usize = 11;
    /// Whether results are stored past the caches: 0 or 1.
    pub const STREAM: usize = 12;
    /// Rows ahead that are fetched into the caches; 0 where none are.
    pub const AHEAD: usize = 13;
    /// Whether the next level of a sweep is fetched into the first-level cache, too: 0 or 1.
    pub const NEXT: usize = 14;
    /// Address of the word to which a kernel writes the number of a failure, counted from one.
    pub const FAILURE: usize = 15;
    /// Bytes behind the last level of the domain in each column of the fields written along K that are nobody's: what is computed
    /// beyond that level may be stored there.
    pub const PADDING: usize = 16;
    /// Rows of a tile that are computed for one vector of levels before those for the next one.
    pub const ROWS: usize = 17;
    const FIELDS: usize = 18;
    /// Words of a field: address of the first point of the domain, strides along I, J, K, and these two.
    const FIELD: usize = 6;
    /// Among the words of a field, the bytes from the first point of the domain to the element at the lowest address.
    pub const FIRST_ELEMENT: usize = 4;
    /// The same to the element at the highest address.
    pub const LAST_ELEMENT: usize = 5;

    /// The words of a scheduled stencil.
    pub fn new(stencil: &Stencil, schedule: &Schedule) -> Words {
        let mut count = 0;
        let arrays = schedule.temporaries.iter().map(|placement| {
            matches!(placement, Placement::Array { .. }).then(|| {
                count += 1;
                count - 1
            })
        });
        let mut data = 0;
        let mut behind = |target| {
            data += stencil.data_dims(target).len();
            data
        };
        let fields = (0..stencil.fields.len() as u32).map(|id| Target::Field(FieldId(id)));
        let temporaries = (0..stencil.temporaries.len() as u32).map(|id| Target::Temp(TempId(id)));
        let field_data: Vec<usize> = [0].into_iter().chain(fields.map(&mut behind)).collect();
        let before = field_data.last().copied().unwrap_or_default();
        let temporary_data = [before].into_iter().chain(temporaries.map(&mut behind));
        Words {
            fields: stencil.fields.len(),
            arrays: arrays.collect(),
            array_count: count,
            scalars: stencil.scalars.len(),
            temporary_data: temporary_data.collect(),
            field_data,
        }
    }

    /// First word of a field.
    pub fn field(&self, index: usize) -> usize {
        Words::FIELDS + index * Words::FIELD
    }

    /// First word of a temporary that is an array.
    pub fn array(&self, temporary: usize) -> Option<usize> {
        let position = self.arrays[temporary]?;
        Some(self.field(self.fields + position))
    }

    /// The word of a scalar.
    pub fn scalar(&self, index: usize) -> usize {
        self.field(self.fields + self.array_count) + index
    }

    /// The first of two words: the first level that a field's array has, and one past the last; 0 is the domain's first.
    pub fn levels(&self, field: usize) -> usize {
        self.scalar(self.scalars) + 2 * field
    }

    /// The first of the words with the strides of the data dimensions of a target.
    pub fn data(&self, target: Target) -> usize {
        let before = match target {
            Target::Field(id) => self.field_data[id.0 as usize],
            Target::Temp(id) => self.temporary_data[id.0 as usize],
        };
        self.levels(self.fields) + before
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.levels(self.fields) + self.temporary_data.last().copied().unwrap_or_default()
    }

    /// Never: the domain is always there.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The words of one kernel: the first ones, which are no fields, and behind them those that it reads, in the order in which it
/// does. So kernels that do the same with other fields, as with other elements of a vector, have the same text.
#[derive(Clone, Debug, Default)]
pub struct OwnWords {
    /// Where these stand in [`Words`].
    read: Vec<usize>,
    position: HashMap<usize, usize>,
}

impl OwnWords {
    /// Where a word of [`Words`] stands in the kernel's own.
    pub fn position(&mut self, word: usize) -> usize {
        if word < Words::FIELDS {
            return word;
        }
        let next = Words::FIELDS + self.read.len();
        *self.position.entry(word).or_insert_with(|| {
            self.read.push(word);
            next
        })
    }

    /// Writes the words of the kernel, from those of all.
    pub fn write(&self, own: &mut Vec<u64>, words: &[u64]) {
        own.clear();
        own.extend_from_slice(&words[..Words::FIELDS]);
        own.extend(self.read.iter().map(|word| words[*word]));
    }
}
