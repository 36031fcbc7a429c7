//! What each function of NumPy does to the axes of its arguments.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::array;

/// Functions that do the same to axes.
#[derive(Clone, Copy)]
pub enum Family {
    /// Like a universal function of these operands.
    Elementwise(Operands),
    /// Writes to its first argument.
    Assignment,
    /// Gives each point of its first argument a value of its own; axes that change their size lose their halo.
    Shaped,
    /// Makes an array like another.
    Like,
    /// Asks for shape and type only.
    Facts,
    /// Is the reduction of a universal function, along all axes if none is given.
    Universal(&'static str),
    /// Drops axes. Where the argument `axis` stands, and what it is if it is not given.
    Reduction(usize, Axis),
    /// Works along an axis and keeps it.
    Along(usize, Axis, Points),
    /// Takes points along an axis.
    Taking,
    /// Puts the same elements at other indices.
    Rearrangement,
    /// Repeats elements to a shape.
    Broadcast,
    /// Makes windows that slide along axes.
    Windows,
    /// Cuts the elements in order into other axes.
    Reshaping,
    /// Puts arrays behind each other.
    Joining,
    /// Puts arrays beside each other along a new axis.
    Stacking,
    /// Sums of products, by letters.
    Sums,
    /// Products whose axes have no labels.
    Products,
}

/// Operands of a function that works element by element.
#[derive(Clone, Copy)]
pub struct Operands {
    /// How many may be given by position.
    pub positional: usize,
    /// Names of all of them.
    pub names: &'static [&'static str],
}

/// The axis of a function that is not told any.
#[derive(Clone, Copy)]
pub enum Axis {
    /// All of them, flattened.
    All,
    /// A number.
    Number(isize),
}

/// What becomes of the points along an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Points {
    /// They stay where they are.
    Stay,
    /// They move, or mean something else.
    Move,
}

const fn operands(positional: usize, names: &'static [&'static str]) -> Family {
    Family::Elementwise(Operands { positional, names })
}

const FUNCTIONS: &[(&str, Family)] = &[
    ("where", operands(3, &[])),
    ("clip", operands(3, &["a", "a_min", "a_max", "min", "max"])),
    ("isclose", operands(2, &["a", "b"])),
    ("allclose", operands(2, &["a", "b"])),
    ("copyto", Family::Assignment),
    ("round", Family::Shaped),
    ("around", Family::Shaped),
    ("fix", Family::Shaped),
    ("real", Family::Shaped),
    ("imag", Family::Shaped),
    ("angle", Family::Shaped),
    ("nan_to_num", Family::Shaped),
    ("real_if_close", Family::Shaped),
    ("isreal", Family::Shaped),
    ("iscomplex", Family::Shaped),
    ("isposinf", Family::Shaped),
    ("isneginf", Family::Shaped),
    ("isin", Family::Shaped),
    ("digitize", Family::Shaped),
    ("interp", Family::Shaped),
    ("sinc", Family::Shaped),
    ("i0", Family::Shaped),
    ("copy", Family::Shaped),
    ("astype", Family::Shaped),
    ("pad", Family::Shaped),
    ("tile", Family::Shaped),
    ("tril", Family::Shaped),
    ("triu", Family::Shaped),
    ("zeros_like", Family::Like),
    ("ones_like", Family::Like),
    ("empty_like", Family::Like),
    ("full_like", Family::Like),
    ("shape", Family::Facts),
    ("ndim", Family::Facts),
    ("size", Family::Facts),
    ("result_type", Family::Facts),
    ("common_type", Family::Facts),
    ("can_cast", Family::Facts),
    ("iscomplexobj", Family::Facts),
    ("isrealobj", Family::Facts),
    ("sum", Family::Universal("add")),
    ("prod", Family::Universal("multiply")),
    ("min", Family::Universal("minimum")),
    ("amin", Family::Universal("minimum")),
    ("max", Family::Universal("maximum")),
    ("amax", Family::Universal("maximum")),
    ("any", Family::Universal("logical_or")),
    ("all", Family::Universal("logical_and")),
    ("mean", Family::Reduction(1, Axis::All)),
    ("std", Family::Reduction(1, Axis::All)),
    ("var", Family::Reduction(1, Axis::All)),
    ("median", Family::Reduction(1, Axis::All)),
    ("average", Family::Reduction(1, Axis::All)),
    ("ptp", Family::Reduction(1, Axis::All)),
    ("argmin", Family::Reduction(1, Axis::All)),
    ("argmax", Family::Reduction(1, Axis::All)),
    ("count_nonzero", Family::Reduction(1, Axis::All)),
    ("quantile", Family::Reduction(2, Axis::All)),
    ("percentile", Family::Reduction(2, Axis::All)),
    ("trapezoid", Family::Reduction(3, Axis::Number(-1))),
    ("nansum", Family::Reduction(1, Axis::All)),
    ("nanprod", Family::Reduction(1, Axis::All)),
    ("nanmin", Family::Reduction(1, Axis::All)),
    ("nanmax", Family::Reduction(1, Axis::All)),
    ("nanmean", Family::Reduction(1, Axis::All)),
    ("nanstd", Family::Reduction(1, Axis::All)),
    ("nanvar", Family::Reduction(1, Axis::All)),
    ("nanmedian", Family::Reduction(1, Axis::All)),
    ("nanargmin", Family::Reduction(1, Axis::All)),
    ("nanargmax", Family::Reduction(1, Axis::All)),
    ("nanquantile", Family::Reduction(2, Axis::All)),
    ("nanpercentile", Family::Reduction(2, Axis::All)),
    ("cumsum", Family::Along(1, Axis::All, Points::Stay)),
    ("cumprod", Family::Along(1, Axis::All, Points::Stay)),
    ("nancumsum", Family::Along(1, Axis::All, Points::Stay)),
    ("nancumprod", Family::Along(1, Axis::All, Points::Stay)),
    ("cumulative_sum", Family::Along(1, Axis::All, Points::Stay)),
    ("cumulative_prod", Family::Along(1, Axis::All, Points::Stay)),
    ("unwrap", Family::Along(3, Axis::Number(-1), Points::Stay)),
    (
        "gradient",
        Family::Along(usize::MAX, Axis::All, Points::Stay),
    ),
    ("sort", Family::Along(1, Axis::Number(-1), Points::Move)),
    ("argsort", Family::Along(1, Axis::Number(-1), Points::Move)),
    (
        "partition",
        Family::Along(2, Axis::Number(-1), Points::Move),
    ),
    (
        "argpartition",
        Family::Along(2, Axis::Number(-1), Points::Move),
    ),
    ("roll", Family::Along(2, Axis::All, Points::Move)),
    ("diff", Family::Along(2, Axis::Number(-1), Points::Move)),
    ("repeat", Family::Along(2, Axis::All, Points::Move)),
    ("delete", Family::Along(2, Axis::All, Points::Move)),
    ("insert", Family::Along(3, Axis::All, Points::Move)),
    ("append", Family::Along(2, Axis::All, Points::Move)),
    (
        "take_along_axis",
        Family::Along(2, Axis::Number(-1), Points::Move),
    ),
    ("take", Family::Taking),
    ("transpose", Family::Rearrangement),
    ("matrix_transpose", Family::Rearrangement),
    ("moveaxis", Family::Rearrangement),
    ("swapaxes", Family::Rearrangement),
    ("rollaxis", Family::Rearrangement),
    ("rot90", Family::Rearrangement),
    ("flip", Family::Rearrangement),
    ("fliplr", Family::Rearrangement),
    ("flipud", Family::Rearrangement),
    ("squeeze", Family::Rearrangement),
    ("expand_dims", Family::Rearrangement),
    ("atleast_1d", Family::Rearrangement),
    ("atleast_2d", Family::Rearrangement),
    ("atleast_3d", Family::Rearrangement),
    ("split", Family::Rearrangement),
    ("array_split", Family::Rearrangement),
    ("hsplit", Family::Rearrangement),
    ("vsplit", Family::Rearrangement),
    ("dsplit", Family::Rearrangement),
    ("unstack", Family::Rearrangement),
    ("broadcast_to", Family::Broadcast),
    ("sliding_window_view", Family::Windows),
    ("reshape", Family::Reshaping),
    ("ravel", Family::Reshaping),
    ("concatenate", Family::Joining),
    ("stack", Family::Stacking),
    ("vstack", Family::Joining),
    ("hstack", Family::Joining),
    ("dstack", Family::Joining),
    ("column_stack", Family::Joining),
    ("einsum", Family::Sums),
    ("tensordot", Family::Products),
    ("dot", Family::Products),
    ("inner", Family::Products),
    ("outer", Family::Products),
    ("cross", Family::Products),
    ("kron", Family::Products),
];

/// The family of a function of NumPy, if it has one.
pub fn family_of(function: &Bound<'_, PyAny>) -> PyResult<Option<Family>> {
    static NUMBERS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = function.py();
    let numbers = NUMBERS.get_or_try_init(py, || {
        let numpy = array::numpy(py)?;
        let strides = py.import("numpy.lib.stride_tricks")?;
        let numbers = PyDict::new(py);
        for (number, (name, _)) in FUNCTIONS.iter().enumerate() {
            // Older and newer releases of NumPy lack some of them.
            for module in [numpy, &strides] {
                if let Some(function) = module.getattr_opt(*name)? {
                    numbers.set_item(function, number)?;
                }
            }
        }
        PyResult::Ok(numbers.unbind())
    })?;
    match numbers.bind(py).get_item(function)? {
        Some(number) => Ok(Some(FUNCTIONS[number.extract::<usize>()?].1)),
        None => Ok(None),
    }
}

/// The last of `inspect`'s kinds of parameters that are given by position one by one.
const LAST_POSITIONAL: u8 = 1;

/// Where a function takes the argument `out`, if it can be given by position.
pub fn position_of_out(function: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    static POSITIONS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = function.py();
    let positions = POSITIONS
        .get_or_init(py, || PyDict::new(py).unbind())
        .bind(py);
    if let Some(position) = positions.get_item(function)? {
        return position.extract();
    }
    let names = || -> PyResult<Vec<String>> {
        let parameters = py
            .import(intern!(py, "inspect"))?
            .call_method1(intern!(py, "signature"), (function,))?
            .getattr(intern!(py, "parameters"))?;
        let mut names = Vec::new();
        for parameter in parameters.call_method0(intern!(py, "values"))?.try_iter()? {
            let parameter = parameter?;
            let kind: u8 = parameter.getattr(intern!(py, "kind"))?.extract()?;
            if kind > LAST_POSITIONAL {
                break;
            }
            names.push(parameter.getattr(intern!(py, "name"))?.extract()?);
        }
        Ok(names)
    };
    // Functions without a signature take it by name only.
    let position = names()
        .unwrap_or_default()
        .iter()
        .position(|name| name == "out");
    positions.set_item(function, position)?;
    Ok(position)
}
