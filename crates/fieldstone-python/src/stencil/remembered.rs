//! Calls that have passed all checks, so that the next ones need not be checked again.
//!
//! What the checks look at is compared: the kind, shape, strides and type of every array, what a storage says of its axes, the
//! origin and the domain asked for. Addresses may differ from call to call and are read anew each time; what depends on them
//! is checked each time: that elements are aligned, and that no written array shares memory with another one. Where that is
//! not plain, and for everything that is neither a NumPy array nor a storage where the stencil runs, the call is checked as a new
//! one.

use std::sync::{Arc, Mutex, PoisonError};

use fieldstone_device::{Accelerator, Pool};
use fieldstone_storage::{Dim, Pair, Side, View};
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::operand::Operand;
use super::{PerField, Stencil};
use crate::arguments::{self, Arguments, Keywords};
use crate::array;
use crate::backend::Prepared;
use crate::storage::{Place, Storage};

/// So many calls are remembered: a stencil may be called for fields of several shapes in turn.
const MOST: usize = 4;

/// The calls of a stencil that are remembered.
#[derive(Default)]
pub(super) struct Remembered(Mutex<Vec<Arc<Checked>>>);

/// The origin and the domain that a call asks for.
#[derive(Default, PartialEq)]
struct Asked {
    /// Per field, if it has one.
    origin: Option<PerField<Option<[isize; 3]>>>,
    domain: Option<[usize; 3]>,
}

/// A call that has passed all checks.
struct Checked {
    asked: Asked,
    fields: Vec<Seen>,
    prepared: Prepared,
}

/// What the checks see of an argument.
struct Seen {
    /// Among the arguments.
    position: usize,
    kind: Kind,
    shape: Vec<usize>,
    strides: Vec<isize>,
    dtype: Py<PyArrayDescr>,
    writeable: bool,
    /// Bytes behind each line that are nobody's.
    padding: usize,
    /// Bytes of an element.
    size: usize,
    /// Bytes from the element at index 0 to the first point of the domain.
    first: isize,
    /// Bytes from the element at index 0 to the first of all elements, and behind the last.
    span: (isize, isize),
    written: bool,
}

/// What kind of object an argument is.
enum Kind {
    /// No object: the stencil does not access the field.
    Absent,
    /// A NumPy array, of no subclass.
    Array,
    /// A storage, in host memory or on a device.
    Storage {
        accelerator: Option<Arc<dyn Accelerator>>,
        dims: Option<Vec<Dim>>,
        halo: Vec<(usize, usize)>,
        origin: Option<Vec<usize>>,
    },
}

/// A call that has passed, and is not remembered yet.
pub(super) struct Passed<'a, 'py> {
    pub operands: &'a [Operand<'py>],
    pub origins: &'a [[isize; 3]],
    pub prepared: Prepared,
}

/// A call that is known but for its addresses.
pub(super) struct Known {
    checked: Arc<Checked>,
    /// Of the first point of the domain, per field.
    addresses: PerField<usize>,
}

/// An argument of which there are two copies.
pub(super) struct Copies {
    pub pair: Arc<Pair>,
    pub view: View,
    pub written: bool,
}

impl Known {
    pub fn prepared(&self) -> &Prepared {
        &self.checked.prepared
    }

    /// The arguments with a copy on each side.
    pub fn copies(&self, arguments: &Arguments<'_>) -> PerField<Copies> {
        let of = |seen: &Seen| {
            let storage = arguments[seen.position].as_ref()?.cast::<Storage>().ok()?;
            let storage = storage.try_borrow().ok()?;
            match storage.place() {
                Place::Pair { pair, .. } => Some(Copies {
                    pair: Arc::clone(pair),
                    view: storage.view().clone(),
                    written: seen.written,
                }),
                _ => None,
            }
        };
        self.checked.fields.iter().filter_map(of).collect()
    }

    pub fn pointer(&self, field: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.addresses[field])
    }
}

impl Remembered {
    /// A call with these arguments, if one like it has passed before.
    #[inline]
    pub fn find(
        &self,
        stencil: &Stencil,
        arguments: &Arguments<'_>,
        keywords: &Keywords<'_>,
        fixed: bool,
    ) -> Option<Known> {
        let asks = keywords.origin.is_some() || keywords.domain.is_some();
        if keywords.exec_info.is_some() || (fixed && asks) {
            return None;
        }
        let asked = match asks {
            true => Asked::of(stencil, keywords)?,
            false => Asked::default(),
        };
        let checked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |checked: &&Arc<Checked>| checked.asked == asked;
        let (checked, addresses) = (checked.iter().filter(is_same))
            .find_map(|checked| Some((checked.clone(), checked.addresses(arguments)?)))?;
        let threads = || stencil.threads.unwrap_or_else(|| Pool::global().threads());
        let is_current = match &checked.prepared {
            Prepared::Native(prepared) => prepared.is_current(threads),
            Prepared::Gpu(_) => true,
        };
        is_current.then_some(Known { checked, addresses })
    }

    /// Remembers a call that has passed, if calls like it can be recognised.
    #[cold]
    pub fn add(
        &self,
        stencil: &Stencil,
        arguments: &Arguments<'_>,
        keywords: &Keywords<'_>,
        passed: Passed<'_, '_>,
    ) {
        let is_declared = stencil.declared.iter().any(Option::is_some);
        if stencil.build_info.is_some() || keywords.exec_info.is_some() || is_declared {
            return;
        }
        let Some(asked) = Asked::of(stencil, keywords) else {
            return;
        };
        let Some(fields) = seen(stencil, arguments, &passed) else {
            return;
        };
        let fresh = Arc::new(Checked {
            asked,
            fields,
            prepared: passed.prepared,
        });
        if fresh.addresses(arguments).is_none() {
            return;
        }
        let mut checked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = (checked.len() >= MOST).then(|| checked.remove(0));
        checked.push(fresh);
        drop(checked);
        // What it refers to may run Python when it goes.
        drop(gone);
    }
}

impl Asked {
    /// None if they are wrong.
    fn of(stencil: &Stencil, keywords: &Keywords<'_>) -> Option<Asked> {
        let mut asked = Asked::default();
        if let Some(origin) = &keywords.origin {
            let mut given = PerField::from_elem(None, stencil.fields.len());
            arguments::origins(&stencil.fields, origin, &mut given).ok()?;
            asked.origin = Some(given);
        }
        if let Some(domain) = &keywords.domain {
            asked.domain = Some(arguments::domain(domain).ok()?);
        }
        Some(asked)
    }
}

/// What the checks have seen of the arguments; none if they see something of one that is not compared here.
fn seen(
    stencil: &Stencil,
    arguments: &Arguments<'_>,
    passed: &Passed<'_, '_>,
) -> Option<Vec<Seen>> {
    let both = passed.operands.iter().zip(passed.origins);
    let fields = stencil.fields.iter().zip(&stencil.field_positions);
    let seen = fields
        .zip(both)
        .map(|((field, position), (operand, origin))| {
            let object = arguments[*position].as_ref()?;
            let py = object.py();
            let side = stencil.backend.side();
            let is_elsewhere = match side {
                Side::Host => operand.tracked.is_some(),
                Side::Device => field.used() && operand.accelerator.is_none(),
            };
            if operand.hooks.is_some() || is_elsewhere || field.used() == object.is_none() {
                return None;
            }
            let start = operand.pointer.addr() as isize;
            let (low, high) = operand.whole(field).range();
            let mut seen = Seen {
                position: *position,
                kind: Kind::Absent,
                shape: Vec::new(),
                strides: Vec::new(),
                dtype: numpy::dtype::<f64>(py).unbind(),
                writeable: true,
                padding: operand.padding,
                size: field.dtype.size(),
                first: (operand.argument(origin).pointer.addr() as isize).wrapping_sub(start),
                span: (low.wrapping_sub(start), high.wrapping_sub(start)),
                written: field.writes,
            };
            if object.is_none() {
                return Some(seen);
            }
            if let Ok(array) = object.cast_exact::<PyUntypedArray>() {
                seen.kind = Kind::Array;
                (seen.shape, seen.strides) = (array.shape().into(), array.strides().into());
                seen.dtype = array.dtype().unbind();
                seen.writeable = array::is_writeable(array);
                return Some(seen);
            }
            let storage = object.cast::<Storage>().ok()?.try_borrow().ok()?;
            let view = match side {
                Side::Host => storage.host_view()?,
                Side::Device => storage.view(),
            };
            seen.kind = Kind::Storage {
                accelerator: operand.accelerator.clone(),
                dims: storage.dims().map(Into::into),
                halo: storage.halo().into(),
                origin: storage.explicit_origin().map(Into::into),
            };
            (seen.shape, seen.strides) = (view.shape().into(), view.strides().into());
            seen.dtype = storage.dtype().clone_ref(py);
            seen.writeable = storage.writeable();
            Some(seen)
        });
    seen.collect()
}

impl Checked {
    /// Addresses of the first points of the domain, if the arguments are as those of this call but for addresses, and their
    /// addresses are as they must be.
    #[inline]
    fn addresses(&self, arguments: &Arguments<'_>) -> Option<PerField<usize>> {
        let mut starts = PerField::new();
        for seen in &self.fields {
            let start = seen.start(arguments[seen.position].as_ref()?)?;
            if start & (seen.size - 1) != 0 {
                return None;
            }
            starts.push(start);
        }
        if !self.are_apart(&starts) {
            return None;
        }
        for (start, seen) in starts.iter_mut().zip(&self.fields) {
            *start = start.wrapping_add_signed(seen.first);
        }
        Some(starts)
    }

    /// Whether each written array lies before or behind every other one.
    #[inline]
    fn are_apart(&self, starts: &[usize]) -> bool {
        let range = |n: usize| {
            let (low, high) = self.fields[n].span;
            (
                starts[n].wrapping_add_signed(low),
                starts[n].wrapping_add_signed(high),
            )
        };
        (0..starts.len())
            .filter(|n| self.fields[*n].written)
            .all(|w| {
                let (low, high) = range(w);
                (0..starts.len()).all(|n| {
                    let (other_low, other_high) = range(n);
                    n == w || high <= other_low || other_high <= low
                })
            })
    }
}

impl Seen {
    /// Address of the element at index 0, if the object is as this argument was.
    #[inline]
    fn start(&self, object: &Bound<'_, PyAny>) -> Option<usize> {
        match &self.kind {
            Kind::Absent => object.is_none().then_some(0),
            Kind::Array => {
                let array = object.cast_exact::<PyUntypedArray>().ok()?;
                let same = array.shape() == self.shape
                    && array.strides() == self.strides
                    && array::has_dtype(array, &self.dtype)
                    && array::is_writeable(array) == self.writeable;
                same.then(|| array::pointer_of(array).expose_provenance())
            }
            Kind::Storage {
                accelerator,
                dims,
                halo,
                origin,
            } => {
                let storage = object.cast::<Storage>().ok()?.try_borrow().ok()?;
                let (view, pointer, padding) = match accelerator {
                    None => {
                        let view = storage.host_view()?;
                        (view, view.pointer(), view.padding())
                    }
                    Some(accelerator) => (storage.view(), storage.pointer_on(accelerator)?, 0),
                };
                let same = view.shape() == self.shape
                    && view.strides() == self.strides
                    && storage.dtype().is(&self.dtype)
                    && storage.writeable() == self.writeable
                    && padding == self.padding
                    && storage.dims() == dims.as_deref()
                    && storage.halo() == halo
                    && storage.explicit_origin() == origin.as_deref();
                same.then(|| pointer.expose_provenance())
            }
        }
    }
}
