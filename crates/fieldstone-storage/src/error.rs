//! What can go wrong with layouts, memory and views.

use fieldstone_device::DeviceError;
use thiserror::Error;

/// An error of this crate. Each message names the parameter, what it is and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say what each field is")]
#[non_exhaustive]
pub enum StorageError {
    #[error("layout is {layout:?}, but it must be a permutation of 0 to ndim - 1, here of {}", range(*.ndim))]
    Layout { layout: Vec<usize>, ndim: usize },
    #[error("axes is {axes:?}, but it must name each axis from 0 to ndim - 1 once, here {}", range(*.ndim))]
    Axes { axes: Vec<usize>, ndim: usize },
    #[error(
        "shape is {shape:?} with elements of {itemsize} bytes, which is more than can be addressed"
    )]
    TooLarge { shape: Vec<usize>, itemsize: usize },
    #[error("itemsize is 0, but an element must have at least one byte")]
    Itemsize,
    #[error(
        "alignment_size is {alignment}, but it must be a positive number of bytes that is not absurdly large"
    )]
    Alignment { alignment: usize },
    #[error(
        "aligned_index is {index:?}, but it must have one index for each axis of shape {shape:?}, within it"
    )]
    AlignedIndex {
        index: Vec<usize>,
        shape: Vec<usize>,
    },
    #[error(
        "'{name}' is no dimension; expected 'I', 'J', 'K', or '0', '1', … for a data dimension"
    )]
    UnknownDim { name: String },
    #[error("dims has '{name}' more than once")]
    RepeatedDim { name: String },
    #[error("'{name}' is no preset; known are {}", .known.join(", "))]
    UnknownPreset { name: String, known: Vec<String> },
    #[error("'{name}' is a preset already; a preset cannot be replaced")]
    PresetExists { name: String },
    #[error(
        "stride order is {order}, but it must list 'I', 'J' and 'K' once each, from the largest stride to the smallest"
    )]
    StrideOrder { order: String },
    #[error(
        "sync_state belongs to the memory of another storage; give that of the storage that the data was taken from, or \
         a new one"
    )]
    OtherSyncState,
    #[error(
        "the copy on the {side} is read-only memory, which cannot be brought up to date with the other copy; copy the storage"
    )]
    Protected { side: &'static str },
    #[error("axis is {axis}, but the view has {ndim} axes")]
    Axis { axis: usize, ndim: usize },
    #[error("index {index} is out of bounds for axis {axis} with size {size}")]
    Index {
        index: usize,
        axis: usize,
        size: usize,
    },
    #[error(
        "a slice of {length} elements from {start} with step {step} leaves axis {axis} with size {size}"
    )]
    Slice {
        axis: usize,
        start: usize,
        step: isize,
        length: usize,
        size: usize,
    },
    #[error("a view of shape {from:?} cannot be broadcast to shape {to:?}")]
    Broadcast { from: Vec<usize>, to: Vec<usize> },
    #[error(
        "shape has {shape} entries and strides {strides}, but both must have one for each axis"
    )]
    Rank { shape: usize, strides: usize },
    #[error("the source has shape {from:?} and the target {to:?}, but they must be the same")]
    Shapes { from: Vec<usize>, to: Vec<usize> },
    #[error(
        "the source has elements of {from} bytes and the target of {to}, but they must be the same"
    )]
    Itemsizes { from: usize, to: usize },
    #[error(
        "elements of the target with shape {shape:?} and strides {strides:?} share memory, so it cannot be written to"
    )]
    SharedElements {
        shape: Vec<usize>,
        strides: Vec<isize>,
    },
    #[error(transparent)]
    Device(#[from] DeviceError),
}

fn range(ndim: usize) -> String {
    format!("{:?}", (0..ndim).collect::<Vec<_>>())
}
