//! Calls that have passed all checks, so that the next ones need not be checked again.
//!
//! What the checks look at is compared: the kind, shape, strides and type of every array, what a storage says of its axes, the
//! origin and the domain asked for. Addresses may differ from call to call and are read anew each time; what depends on them
//! is checked each time: that elements are aligned, and that no written array shares memory with another one. Where that is
//! not plain, and for everything that is neither a NumPy array, an xarray object around one (`wrapped`), nor a storage where the
//! stencil runs, the call is checked as a new one.

use std::sync::{Arc, Mutex, PoisonError};

use fieldstone_device::Accelerator;
use fieldstone_storage::{Dim, Pair, Side, View};
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use smallvec::SmallVec;

use super::operand::Operand;
use super::wrapped::Wrapped;
use super::{PerField, Stencil};
use crate::arguments::{self, Arguments, Keywords};
use crate::array;
use crate::backend::Prepared;
use crate::interface::is_data_array;
use crate::storage::{Place, Storage};

/// So many calls are remembered: a stencil may be called for fields of several shapes in turn.
const MOST: usize = 4;

/// The calls of a stencil that are remembered. To compare arguments may run Python, so that nobody does it while others wait.
#[derive(Default)]
pub(super) struct Remembered(Mutex<Arc<Vec<Arc<Checked>>>>);

/// The origin and the domain that a call asks for.
#[derive(Default, PartialEq)]
struct Asked {
    /// Per field, if it has one.
    origin: Option<PerField<Option<[isize; 3]>>>,
    domain: Option<[usize; 3]>,
}

/// The objects of `origin=` and `domain=`, none where they could change.
type Objects = [Option<Py<PyAny>>; 2];

/// A call that has passed all checks.
struct Checked {
    asked: Asked,
    objects: Option<Objects>,
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
    /// An xarray object that wraps one of these.
    Wrapped(Box<(Wrapped, Kind)>),
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
    /// Owners of memory that are no arguments.
    _keep: Keep,
}

type Keep = SmallVec<[Py<PyAny>; 8]>;

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
        let mut keep = Keep::new();
        let all = Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut known = |checked: &Arc<Checked>| {
            Some((checked.clone(), checked.addresses(arguments, &mut keep)?))
        };
        let mut with_objects = all.iter().filter(|checked| checked.has_objects(keywords));
        let (checked, addresses) = match with_objects.find_map(&mut known) {
            Some(found) => found,
            None => {
                let asked = Asked::of(stencil, keywords)?;
                let mut alike = all.iter().filter(|checked| checked.asked == asked);
                alike.find_map(known)?
            }
        };
        let threads = || stencil.usual_threads();
        let is_current = match &checked.prepared {
            Prepared::Native(prepared) => prepared.is_current(threads),
            Prepared::Gpu(_) => true,
        };
        is_current.then_some(Known {
            checked,
            addresses,
            _keep: keep,
        })
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
            objects: objects(keywords),
            fields,
            prepared: passed.prepared,
        });
        if fresh.addresses(arguments, &mut Keep::new()).is_none() {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = all.len().saturating_sub(MOST - 1);
        let kept = all[newest..].iter().cloned().chain([fresh]).collect();
        let gone = std::mem::replace(&mut *all, Arc::new(kept));
        drop(all);
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

/// The objects of `origin=` and `domain=`, if they will always say what they say now.
fn objects(keywords: &Keywords<'_>) -> Option<Objects> {
    let is_fixed = |object: &Bound<'_, PyAny>| {
        let tuple = object.cast_exact::<PyTuple>();
        tuple.is_ok_and(|tuple| {
            tuple
                .iter_borrowed()
                .all(|entry| entry.is_exact_instance_of::<PyInt>())
        })
    };
    let both = [&keywords.origin, &keywords.domain];
    let all_fixed = both.iter().all(|given| given.as_ref().is_none_or(is_fixed));
    all_fixed.then(|| both.map(|given| Some(given.as_ref()?.clone().unbind())))
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
            let kind = match is_data_array(object).ok()? {
                false => seen.see(object, operand, side)?,
                true if side == Side::Device => return None,
                true => {
                    let mapping = stencil.dims.as_ref().map(|dims| dims.bind(py));
                    let wrapped = Wrapped::of(object, mapping)?;
                    let kind = seen.see(&wrapped.data(object)?, operand, side)?;
                    Kind::Wrapped(Box::new((wrapped, kind)))
                }
            };
            Some(Seen { kind, ..seen })
        });
    seen.collect()
}

impl Checked {
    /// Whether these objects were asked for, so that they need not be read again.
    #[inline]
    fn has_objects(&self, keywords: &Keywords<'_>) -> bool {
        let is_same = |now: &Option<Bound<'_, PyAny>>, then: &Option<Py<PyAny>>| {
            now.as_ref().map(Bound::as_ptr) == then.as_ref().map(Py::as_ptr)
        };
        self.objects.as_ref().is_some_and(|[origin, domain]| {
            is_same(&keywords.origin, origin) && is_same(&keywords.domain, domain)
        })
    }

    /// Addresses of the first points of the domain, if the arguments are as those of this call but for addresses, and their
    /// addresses are as they must be.
    #[inline]
    fn addresses(&self, arguments: &Arguments<'_>, keep: &mut Keep) -> Option<PerField<usize>> {
        let mut starts = PerField::new();
        for seen in &self.fields {
            let start = seen.start(arguments[seen.position].as_ref()?, keep)?;
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
    /// Sees a NumPy array or a storage.
    fn see(
        &mut self,
        object: &Bound<'_, PyAny>,
        operand: &Operand<'_>,
        side: Side,
    ) -> Option<Kind> {
        if let Ok(array) = object.cast_exact::<PyUntypedArray>() {
            (self.shape, self.strides) = (array.shape().into(), array.strides().into());
            self.dtype = array.dtype().unbind();
            self.writeable = array::is_writeable(array);
            return Some(Kind::Array);
        }
        let storage = object.cast::<Storage>().ok()?.try_borrow().ok()?;
        let view = match side {
            Side::Host => storage.host_view()?,
            Side::Device => storage.view(),
        };
        (self.shape, self.strides) = (view.shape().into(), view.strides().into());
        self.dtype = storage.dtype().clone_ref(object.py());
        self.writeable = storage.writeable();
        Some(Kind::Storage {
            accelerator: operand.accelerator.clone(),
            dims: storage.dims().map(Into::into),
            halo: storage.halo().into(),
            origin: storage.explicit_origin().map(Into::into),
        })
    }

    /// Address of the element at index 0, if the object is as this argument was.
    #[inline]
    fn start(&self, object: &Bound<'_, PyAny>, keep: &mut Keep) -> Option<usize> {
        match &self.kind {
            Kind::Absent => object.is_none().then_some(0),
            Kind::Wrapped(both) => {
                let (wrapped, kind) = &**both;
                let data = wrapped.data(object)?;
                let start = self.start_as(kind, &data);
                keep.push(data.unbind());
                start
            }
            kind => self.start_as(kind, object),
        }
    }

    /// The same of a NumPy array or a storage, which was of a kind.
    #[inline]
    fn start_as(&self, kind: &Kind, object: &Bound<'_, PyAny>) -> Option<usize> {
        match kind {
            Kind::Absent | Kind::Wrapped(_) => None,
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
