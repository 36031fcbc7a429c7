//! The arguments of a call, and which elements of them the fields of a program are.

use std::borrow::Cow;

use fieldstone_stencil::Axis;
use fieldstone_stencil::elements::Element;
use fieldstone_stencil::ir::{Field, Stencil};
use fieldstone_stencil::schedule::Plane;

use crate::call::{Call, FieldArgument};
use crate::layout::Layout;

/// Which elements of which arguments the fields of a program are.
pub(crate) struct Elements {
    /// Per field: the argument, and for each data dimension the place of its stride in a call and the index.
    pub(crate) places: Vec<(usize, Vec<(usize, isize)>)>,
    /// The arguments.
    pub(crate) whole: Vec<Field>,
    /// The place in a call of each stride of the data dimensions that the fields of the program still have.
    data: Vec<usize>,
    /// Whether any argument has data dimensions.
    apart: bool,
}

impl Elements {
    pub(crate) fn new(stencil: &Stencil, elements: Vec<Element>, scheduled: &Stencil) -> Elements {
        let mut next = 0;
        let strides: Vec<usize> = (stencil.fields.iter())
            .map(|field| {
                next += field.data_dims.len();
                next - field.data_dims.len()
            })
            .collect();
        let data = (elements.iter().zip(&scheduled.fields)).flat_map(|(element, field)| {
            let first = strides[element.field.0 as usize];
            first..first + field.data_dims.len()
        });
        let data = data.collect();
        let place = |element: Element| {
            let field = element.field.0 as usize;
            let along = strides[field]..;
            let indices = element.indices.into_iter().map(|index| index as isize);
            (field, along.zip(indices).collect())
        };
        Elements {
            places: elements.into_iter().map(place).collect(),
            whole: stencil.fields.clone(),
            data,
            apart: next > 0,
        }
    }

    /// Which axis each argument of a call is contiguous along.
    pub(crate) fn layout_of(&self, call: &Call<'_>) -> Layout {
        let both = self.whole.iter().zip(call.fields);
        Layout(
            both.map(|(field, argument)| contiguous_along(field, argument))
                .collect(),
        )
    }

    /// The columns of a call.
    pub(crate) fn plane_of(&self, call: &Call<'_>) -> Plane {
        let [along_i, along_j, _] = call.domain;
        Plane {
            near: near_along(self.whole.iter().zip(call.fields)),
            points: Some([along_i, along_j]),
        }
    }

    /// Which axis each field of the program is contiguous along.
    pub(crate) fn layout(&self, arguments: &Layout) -> Layout {
        Layout(
            self.places
                .iter()
                .map(|(field, _)| arguments.0[*field])
                .collect(),
        )
    }

    /// The addresses of each argument, from the first to behind the last; `None` of one without memory.
    pub(crate) fn spans(&self, call: &Call<'_>) -> Vec<Option<(usize, usize)>> {
        let mut data = call.data_strides;
        let both = self.whole.iter().zip(call.fields);
        let spans = both.map(|(field, argument)| {
            let (own, others) = data.split_at(field.data_dims.len());
            data = others;
            let (mut first, mut last) = argument.ends();
            for (stride, size) in own.iter().zip(&field.data_dims) {
                let reach = stride * (*size as isize - 1);
                (first, last) = (first + reach.min(0), last + reach.max(0));
            }
            let there = !argument.pointer.is_null() && !argument.is_empty();
            let address = |ahead| argument.pointer.addr().wrapping_add_signed(ahead);
            there.then(|| (address(first), address(last) + field.dtype.size()))
        });
        spans.collect()
    }

    /// The memory of each field of the program, and the strides of its data dimensions.
    pub(crate) fn arguments<'a>(&self, call: &Call<'a>) -> (Cow<'a, [FieldArgument]>, Vec<isize>) {
        if !self.apart {
            return (Cow::Borrowed(call.fields), Vec::new());
        }
        let element = |(field, place): &(usize, Vec<(usize, isize)>)| {
            let whole = call.fields[*field];
            let bytes = (place.iter()).map(|(stride, index)| index * call.data_strides[*stride]);
            FieldArgument {
                pointer: whole.pointer.wrapping_offset(bytes.sum()),
                ..whole
            }
        };
        let data = self.data.iter().map(|place| call.data_strides[*place]);
        (self.places.iter().map(element).collect(), data.collect())
    }
}

/// The horizontal axis along which the columns of most arguments are nearer each other in memory, of those with all axes.
pub fn near_along<'a>(arguments: impl Iterator<Item = (&'a Field, &'a FieldArgument)>) -> Axis {
    let whole = arguments.filter(|(field, _)| field.axes.len() == Axis::ALL.len());
    let nearer = whole.map(|(_, argument)| {
        let [along_i, along_j, _] = argument.strides.map(isize::unsigned_abs);
        along_j.cmp(&along_i) as isize
    });
    match nearer.sum::<isize>() {
        1.. => Axis::I,
        _ => Axis::J,
    }
}

/// The axis that an argument is contiguous along.
pub fn contiguous_along(field: &Field, argument: &FieldArgument) -> Option<Axis> {
    let size = field.dtype.size() as isize;
    let points = |axis: Axis| argument.lower[axis.index()] + argument.upper[axis.index()] as isize;
    let axes = || {
        let axes = field.axes.iter();
        axes.filter(|axis| argument.strides[axis.index()] == size)
    };
    // The stride along an axis of one point means nothing.
    let long = axes().find(|axis| points(*axis) > 1);
    long.or_else(|| axes().next())
}
