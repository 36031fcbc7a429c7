//! The operators of Python, which are universal functions.

use std::sync::Arc;

use pyo3::basic::CompareOp;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString};

use super::alike;
use super::call::call;
use super::function::{Ufunc, weak_kind};
use super::gufunc;
use super::operand::Operand;
use super::result;
use crate::array;
use crate::storage::Storage;
use crate::storage::library::{Chosen, Computed};

/// Declares the functions of operators.
macro_rules! operators {
    ($($operator:ident = $name:literal,)+) => {
        #[derive(Clone, Copy)]
        enum Operator {
            $($operator,)+
        }

        const NAMES: &[&str] = &[$($name,)+];
    };
}

operators! {
    Add = "add",
    Subtract = "subtract",
    Multiply = "multiply",
    Divide = "true_divide",
    FloorDivide = "floor_divide",
    Remainder = "remainder",
    DivMod = "divmod",
    Power = "power",
    Matmul = "matmul",
    LeftShift = "left_shift",
    RightShift = "right_shift",
    And = "bitwise_and",
    Or = "bitwise_or",
    Xor = "bitwise_xor",
    Negative = "negative",
    Positive = "positive",
    Absolute = "absolute",
    Invert = "invert",
    Less = "less",
    LessEqual = "less_equal",
    Equal = "equal",
    NotEqual = "not_equal",
    Greater = "greater",
    GreaterEqual = "greater_equal",
}

impl Operator {
    fn function<'py>(self, py: Python<'py>) -> PyResult<&'py Arc<Ufunc>> {
        static FUNCTIONS: PyOnceLock<Vec<Arc<Ufunc>>> = PyOnceLock::new();
        let functions = FUNCTIONS.get_or_try_init(py, || {
            let numpy = array::numpy(py)?;
            NAMES
                .iter()
                .map(|name| Ufunc::of(&numpy.getattr(*name)?))
                .collect::<PyResult<_>>()
        })?;
        Ok(&functions[self as usize])
    }

    /// The operator applied; Python's `NotImplemented` if the other operand is to decide.
    fn apply<'py, const N: usize>(
        self,
        operands: [&Bound<'py, PyAny>; N],
        other: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = operands[0].py();
        let ufunc = self.function(py)?;
        let operands = operands.map(Clone::clone);
        if let Some(other) = other
            && !other.is_instance_of::<Storage>()
            && !other.is_exact_instance_of::<numpy::PyUntypedArray>()
            && weak_kind(other).is_none()
            && let Some(own) = other.getattr_opt(intern!(py, "__array_ufunc__"))?
        {
            if own.is_none() {
                return Ok(py.NotImplemented().into_bound(py));
            }
            // NumPy asks both.
            return ufunc
                .object
                .bind(py)
                .call1(pyo3::types::PyTuple::new(py, operands)?);
        }
        let result = match ufunc.is_elementwise {
            true => call(py, ufunc, &operands, None)?,
            false => gufunc::call(py, ufunc, &operands, None)?,
        };
        Ok(result.unwrap_or_else(|| py.NotImplemented().into_bound(py)))
    }

    fn in_place<'py>(
        self,
        storage: &Bound<'py, Storage>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = storage.py();
        let ufunc = self.function(py)?;
        if alike::call_in_place(ufunc, storage, other)? {
            return Ok(());
        }
        let keywords = pyo3::types::PyDict::new(py);
        keywords.set_item(intern!(py, "out"), (storage,))?;
        ufunc
            .object
            .bind(py)
            .call((storage, other), Some(&keywords))?;
        Ok(())
    }
}

#[pymethods]
impl Storage {
    fn __add__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Add.apply([slf.as_any(), other], Some(other))
    }

    fn __radd__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Add.apply([other, slf.as_any()], Some(other))
    }

    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::Add.in_place(slf, other)
    }

    fn __sub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Subtract.apply([slf.as_any(), other], Some(other))
    }

    fn __rsub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Subtract.apply([other, slf.as_any()], Some(other))
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::Subtract.in_place(slf, other)
    }

    fn __mul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Multiply.apply([slf.as_any(), other], Some(other))
    }

    fn __rmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Multiply.apply([other, slf.as_any()], Some(other))
    }

    fn __imul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::Multiply.in_place(slf, other)
    }

    fn __truediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Divide.apply([slf.as_any(), other], Some(other))
    }

    fn __rtruediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Divide.apply([other, slf.as_any()], Some(other))
    }

    fn __itruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::Divide.in_place(slf, other)
    }

    fn __floordiv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::FloorDivide.apply([slf.as_any(), other], Some(other))
    }

    fn __rfloordiv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::FloorDivide.apply([other, slf.as_any()], Some(other))
    }

    fn __ifloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::FloorDivide.in_place(slf, other)
    }

    fn __mod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Remainder.apply([slf.as_any(), other], Some(other))
    }

    fn __rmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Remainder.apply([other, slf.as_any()], Some(other))
    }

    fn __imod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::Remainder.in_place(slf, other)
    }

    fn __matmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Matmul.apply([slf.as_any(), other], Some(other))
    }

    fn __rmatmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Matmul.apply([other, slf.as_any()], Some(other))
    }

    fn __imatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::Matmul.in_place(slf, other)
    }

    fn __lshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::LeftShift.apply([slf.as_any(), other], Some(other))
    }

    fn __rlshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::LeftShift.apply([other, slf.as_any()], Some(other))
    }

    fn __ilshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::LeftShift.in_place(slf, other)
    }

    fn __rshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::RightShift.apply([slf.as_any(), other], Some(other))
    }

    fn __rrshift__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::RightShift.apply([other, slf.as_any()], Some(other))
    }

    fn __irshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::RightShift.in_place(slf, other)
    }

    fn __and__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::And.apply([slf.as_any(), other], Some(other))
    }

    fn __rand__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::And.apply([other, slf.as_any()], Some(other))
    }

    fn __iand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::And.in_place(slf, other)
    }

    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Or.apply([slf.as_any(), other], Some(other))
    }

    fn __ror__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Or.apply([other, slf.as_any()], Some(other))
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::Or.in_place(slf, other)
    }

    fn __xor__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Xor.apply([slf.as_any(), other], Some(other))
    }

    fn __rxor__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::Xor.apply([other, slf.as_any()], Some(other))
    }

    fn __ixor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::Xor.in_place(slf, other)
    }

    fn __divmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::DivMod.apply([slf.as_any(), other], Some(other))
    }

    fn __rdivmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::DivMod.apply([other, slf.as_any()], Some(other))
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match modulo {
            None => Operator::Power.apply([slf.as_any(), other], Some(other)),
            Some(_) => Ok(slf.py().NotImplemented().into_bound(slf.py())),
        }
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match modulo {
            None => Operator::Power.apply([other, slf.as_any()], Some(other)),
            Some(_) => Ok(slf.py().NotImplemented().into_bound(slf.py())),
        }
    }

    fn __ipow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        Operator::Power.in_place(slf, other)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Operator::Negative.apply([slf.as_any()], None)
    }

    fn __pos__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Operator::Positive.apply([slf.as_any()], None)
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Operator::Absolute.apply([slf.as_any()], None)
    }

    fn __invert__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Operator::Invert.apply([slf.as_any()], None)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let operator = match operator {
            CompareOp::Lt => Operator::Less,
            CompareOp::Le => Operator::LessEqual,
            CompareOp::Eq => Operator::Equal,
            CompareOp::Ne => Operator::NotEqual,
            CompareOp::Gt => Operator::Greater,
            CompareOp::Ge => Operator::GreaterEqual,
        };
        let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        let is_no_number = other.is_none()
            || other.is_instance_of::<PyString>()
            || other.is_instance_of::<PyBytes>();
        if is_equality && is_no_number {
            return compared_to_no_number(slf, other, operator);
        }
        Operator::apply(operator, [slf.as_any(), other], Some(other))
    }
}

/// `storage == None`: as in NumPy, no element is equal to what is no number.
fn compared_to_no_number<'py>(
    storage: &Bound<'py, Storage>,
    other: &Bound<'py, PyAny>,
    operator: Operator,
) -> PyResult<Bound<'py, PyAny>> {
    let py = storage.py();
    let Some(operand) = Operand::of(storage.clone().into_any())? else {
        return Ok(py.NotImplemented().into_bound(py));
    };
    let shape = pyo3::types::PyTuple::new(py, storage.borrow().view.shape())?;
    let zeros = array::numpy(py)?.call_method1(intern!(py, "zeros"), (shape,))?;
    let compared = match operator {
        Operator::Equal => zeros.rich_compare(other, CompareOp::Eq)?,
        _ => zeros.rich_compare(other, CompareOp::Ne)?,
    };
    let Some(computed) = Computed::of(&compared)? else {
        return Ok(compared);
    };
    let chosen = Chosen::among(py, NAMES[operator as usize], &[&operand], &[])?;
    let dims = storage.borrow().dims().map(<[_]>::to_vec);
    let resolved = result::parameters(
        py,
        &computed.shape,
        computed.dtype.clone(),
        dims.as_deref(),
        &[operand],
        chosen.location,
    )?;
    chosen.library.result(&computed, resolved)
}
