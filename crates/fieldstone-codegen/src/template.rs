//! The words of kernels that are the same in all runs of a prepared call.

use fieldstone_device::Address;
use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::{Field, FieldId, Target};
use fieldstone_stencil::schedule::Schedule;

use crate::array::{Array, arrays};
use crate::call::{Call, FieldArgument, ScalarArgument};
use crate::compilation::Compilation;
use crate::llvm::abi::Words;

/// Words, and what is to be added to them for a run.
pub(crate) struct Template {
    words: Vec<u64>,
    /// For each field of the program its first word, the argument that it is in, and the bytes from that argument's first point to
    /// its own.
    fields: Vec<(usize, usize, isize)>,
    /// Of each word of `fields`, the first byte from there that may be accessed, and one past the last.
    reaches: Vec<(isize, isize)>,
    /// The first word of scalars.
    scalars: usize,
    /// Temporaries in memory of their own.
    pub arrays: Vec<Array>,
}

impl Template {
    /// What the arguments of a call have in common with those of the calls that follow.
    pub fn new(
        compilation: &Compilation,
        schedule: &Schedule,
        places: &Words,
        call: &Call<'_>,
    ) -> Template {
        let elements = &compilation.elements;
        let (fields, data_strides) = elements.arguments(call);
        let mut words = vec![0; places.len()];
        for (axis, points) in call.domain.into_iter().enumerate() {
            words[Words::DOMAIN + axis] = points as u64;
        }
        for (number, field) in fields.iter().enumerate() {
            let first = places.field(number);
            for (axis, stride) in field.strides.into_iter().enumerate() {
                words[first + 1 + axis] = stride as u64;
            }
            let (low, high) = field.ends();
            words[first + Words::FIRST_ELEMENT] = low as u64;
            words[first + Words::LAST_ELEMENT] = high as u64;
            let levels = places.levels(number);
            words[levels] = (field.lower[2] as u64).wrapping_neg();
            words[levels + 1] = field.upper[2] as u64;
        }
        let data = places.data(Target::Field(FieldId(0)));
        for (word, stride) in words[data..].iter_mut().zip(&data_strides) {
            *word = *stride as u64;
        }
        words[Words::PADDING] = padding(compilation, &fields, call.domain[2]) as u64;
        let arrays = arrays(&compilation.program.stencil, schedule, places, call.domain);
        arrays.iter().for_each(|array| array.describe(&mut words));
        let place = |(number, (argument, _)): (usize, &(usize, _))| {
            let bytes = (fields[number].pointer as isize)
                .wrapping_sub(call.fields[*argument].pointer as isize);
            (places.field(number), *argument, bytes)
        };
        let mut data = data_strides.as_slice();
        let reach = |(field, whole): (&FieldArgument, &Field)| {
            let (mut low, mut high) = field.ends();
            let (own, others) = data.split_at(whole.data_dims.len());
            data = others;
            for (stride, size) in own.iter().zip(&whole.data_dims) {
                let last = stride * (*size as isize - 1);
                (low, high) = (low + last.min(0), high + last.max(0));
            }
            match field.is_empty() {
                true => (0, 0),
                false => (low, high + whole.dtype.size() as isize),
            }
        };
        let both = fields.iter().zip(&compilation.program.stencil.fields);
        Template {
            reaches: both.map(reach).collect(),
            fields: elements.places.iter().enumerate().map(place).collect(),
            scalars: places.scalar(0),
            words,
            arrays,
        }
    }

    /// The words that are addresses on a device, and the bytes from there that may be accessed.
    pub fn addresses(&self) -> Vec<Address> {
        let fields = self.fields.iter().zip(&self.reaches);
        let fields = fields.map(|((word, ..), (low, high))| (*word, *low, *high));
        let arrays = self.arrays.iter().map(|array| {
            let (low, high) = array.reach();
            (array.word, low, high)
        });
        let address = |(word, low, high)| Address { word, low, high };
        fields.chain(arrays).map(address).collect()
    }

    /// Writes the words of a run: for arguments at these addresses, arrays whose memory starts at those, and scalars.
    pub fn write(
        &self,
        words: &mut Vec<u64>,
        pointers: impl Fn(usize) -> *mut u8,
        memory: impl Iterator<Item = *mut u8>,
        scalars: &[ScalarArgument],
    ) {
        words.clear();
        words.extend_from_slice(&self.words);
        for (word, argument, bytes) in &self.fields {
            words[*word] = pointers(*argument).wrapping_offset(*bytes) as u64;
        }
        for (array, start) in self.arrays.iter().zip(memory) {
            words[array.word] = array.first(start) as u64;
        }
        for (word, scalar) in words[self.scalars..].iter_mut().zip(scalars) {
            *word = scalar.bits;
        }
    }
}

/// As [`Words::PADDING`] says, of fields of a program on so many levels.
fn padding(compilation: &Compilation, fields: &[FieldArgument], levels: usize) -> usize {
    let program = &compilation.program;
    let both = program.stencil.fields.iter().zip(&program.analysis.fields);
    let all = both.zip(fields).filter_map(|((field, info), argument)| {
        let along = argument.strides[2] == field.dtype.size() as isize;
        let is_written = info.access.writes() && field.axes.contains(Axis::K) && along;
        // Behind the last level of the domain there may be others.
        let ends = argument.upper[2] == levels;
        is_written.then_some(if ends { argument.padding } else { 0 })
    });
    all.min().unwrap_or(0)
}
