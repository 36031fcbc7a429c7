//! NumPy's functions applied to storages.
//!
//! Each function belongs to a [`Family`] of functions that do the same to axes (`table`). The function is called with
//! the NumPy arrays of the storages among its arguments (`call`), and its result becomes a storage whose axes are those
//! that the family says (`result`): labels and halo follow an axis as long as its points stay what they were, and go
//! where they do not. Functions that only rearrange axes touch no memory (`trace`). Functions of no family take storages
//! as arrays, and give NumPy's arrays.
mod along;
mod call;
mod elementwise;
mod joining;
mod methods;
mod product;
mod reduction;
mod result;
mod table;
mod trace;

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

pub use self::call::Call;
pub use self::reduction::axes as axes_of_call;
pub use self::result::{Origin, with_origins};
pub use self::table::Axis;

use self::table::{Family, family_of};
use super::Storage;

#[pymethods]
impl Storage {
    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        for class in types.try_iter()? {
            let class = class?.cast_into::<PyType>()?;
            if !class.is_subclass_of::<Storage>()? && !class.is_subclass_of::<PyUntypedArray>()? {
                return Ok(py.NotImplemented().into_bound(py));
            }
        }
        apply(Call::new(function.clone(), arguments, keywords)?)
    }
}

/// The result of a function of NumPy.
fn apply<'py>(mut call: Call<'py>) -> PyResult<Bound<'py, PyAny>> {
    let Some(family) = family_of(&call.function)? else {
        return call.run_on_host();
    };
    let out = call.out()?;
    let result = match family {
        Family::Elementwise(operands) => elementwise::apply(&mut call, operands)?,
        Family::Assignment => elementwise::assign(&mut call)?,
        Family::Shaped => elementwise::shaped(&call)?,
        Family::Like => elementwise::like(&call)?,
        Family::Facts => call.facts()?,
        Family::Universal(ufunc) => reduction::universal(&call, ufunc)?,
        Family::Reduction(axis, default) => reduction::apply(&mut call, axis, default)?,
        Family::Along(axis, default, points) => along::apply(&mut call, axis, default, points)?,
        Family::Taking => along::take(&mut call)?,
        Family::Rearrangement => trace::rearranged(&call)?,
        Family::Broadcast => trace::broadcast(&call)?,
        Family::Windows => trace::windows(&call)?,
        Family::Reshaping => result::reshaped(&call)?,
        Family::Joining => joining::concatenate(&mut call)?,
        Family::Stacking => joining::stack(&mut call)?,
        Family::Sums => product::einsum(&call)?,
        Family::Products => product::unlabelled(&call)?,
    };
    match (result, out) {
        (Some(_), Some(out)) => Ok(out),
        (Some(result), None) => Ok(result),
        (None, _) => call.run_on_host(),
    }
}
