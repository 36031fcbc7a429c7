//! `__gt_data_interface__`: for each device a dictionary that describes a buffer, as `__array_interface__` does, and what its
//! axes mean.

use fieldstone_storage::View;
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};

use super::{Found, Hooks, Refusal, Request, attributes, called, describe_value};
use crate::array::array_of;

/// The buffer in host memory of the object's `attribute`, whose value is `devices`.
pub fn read<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
    attribute: &'static str,
    devices: Bound<'py, PyAny>,
) -> PyResult<Found<'py>> {
    let devices = called(devices)?;
    let Ok(devices) = devices.cast::<PyMapping>() else {
        return Err(request.refuse(&devices, Refusal::NoDevices { attribute }));
    };
    let buffer = called(host_entry(request, object, attribute, devices)?)?;
    let Ok(entries) = buffer.cast::<PyMapping>() else {
        return Err(request.refuse(&buffer, Refusal::NoBuffer { attribute }));
    };
    Buffer {
        request,
        object,
        attribute,
        entries,
    }
    .read()
}

/// The entry for host memory: that of `None`, else that of `"cpu"`.
fn host_entry<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
    attribute: &'static str,
    devices: &Bound<'py, PyMapping>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = devices.py();
    let host = [
        py.None().into_bound(py),
        intern!(py, "cpu").clone().into_any(),
    ];
    for key in host {
        if devices.contains(&key)? {
            return devices.get_item(&key);
        }
    }
    let keys = devices.keys()?;
    let on_gpu = keys.iter().any(|key| match key.cast::<PyTuple>() {
        Ok(pair) => pair
            .get_item(0)
            .is_ok_and(|kind| kind.eq("gpu").unwrap_or(false)),
        Err(_) => key.eq("gpu").unwrap_or(false),
    });
    let refusal = Refusal::NoHostBuffer {
        attribute,
        keys: keys.repr()?.to_string(),
        on_gpu,
    };
    Err(request.refuse(object, refusal))
}

/// The dictionary of one device.
struct Buffer<'a, 'py> {
    request: &'a Request<'a, 'py>,
    object: &'a Bound<'py, PyAny>,
    attribute: &'static str,
    entries: &'a Bound<'py, PyMapping>,
}

impl<'py> Buffer<'_, 'py> {
    fn read(&self) -> PyResult<Found<'py>> {
        let mut found = Found::of_array(self.array()?);
        if let Some(dims) = self.entry("dims")? {
            attributes::set_dims(self.request, &mut found, "'dims'", &dims)?;
        }
        if let Some(halo) = self.entry("halo")? {
            found.halo = Some(self.halo(&halo, numpy::PyUntypedArrayMethods::ndim(&found.array))?);
        }
        found.hooks = self.hooks()?;
        Ok(found)
    }

    /// An entry that is there and not `None`.
    fn entry(&self, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !self.entries.contains(key)? {
            return Ok(None);
        }
        Ok(Some(self.entries.get_item(key)?).filter(|value| !value.is_none()))
    }

    fn needed(&self, key: &'static str) -> PyResult<Bound<'py, PyAny>> {
        let attribute = self.attribute;
        self.entry(key)?.ok_or_else(|| {
            self.request
                .refuse(self.object, Refusal::NoEntry { attribute, key })
        })
    }

    fn wrong(&self, problem: String) -> PyErr {
        let attribute = self.attribute;
        self.request
            .refuse(self.object, Refusal::WrongEntry { attribute, problem })
    }

    /// The memory as NumPy's array, which keeps the object and the dictionary alive.
    fn array(&self) -> PyResult<Bound<'py, PyUntypedArray>> {
        let py = self.entries.py();
        let shape = self.needed("shape")?;
        let lengths: Vec<usize> = shape.extract().map_err(|_| {
            self.wrong(format!(
                "has the shape {}, expected integers that are not negative",
                describe_value(&shape)
            ))
        })?;
        let dtype = self.dtype()?;
        let (address, readonly) = self.data(&lengths)?;
        let strides = self.strides(&lengths, dtype.itemsize())?;
        let pointer = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the object vouches for the elements it describes, and the array keeps it alive.
        let view = unsafe { View::new(pointer, lengths, strides, dtype.itemsize(), None) }
            .map_err(|error| self.wrong(format!("describes no memory: {error}")))?;
        let owner = (self.object, self.entries).into_pyobject(py)?.into_any();
        Ok(array_of(&view, &dtype, !readonly, owner)?.cast_into()?)
    }

    fn dtype(&self) -> PyResult<Bound<'py, PyArrayDescr>> {
        let value = self.needed("typestr")?;
        let text: String = value.extract().map_err(|_| {
            self.wrong("has a 'typestr' that is no string, expected one such as '<f8'".into())
        })?;
        PyArrayDescr::new(value.py(), &text).map_err(|_| {
            self.wrong(format!(
                "has the 'typestr' {text:?}, which is no type of NumPy's, expected one such as '<f8'"
            ))
        })
    }

    fn data(&self, lengths: &[usize]) -> PyResult<(usize, bool)> {
        let data = self.needed("data")?;
        let (address, readonly): (usize, bool) = data.extract().map_err(|_| {
            self.wrong(format!(
                "has the data {}, expected a tuple (address, read-only)",
                describe_value(&data)
            ))
        })?;
        if address == 0 && !lengths.contains(&0) {
            let attribute = self.attribute;
            return Err(self
                .request
                .refuse(self.object, Refusal::NullAddress { attribute }));
        }
        Ok((address, readonly))
    }

    /// The strides in bytes; those of C where they are not given.
    fn strides(&self, lengths: &[usize], itemsize: usize) -> PyResult<Vec<isize>> {
        let rank = lengths.len();
        let Some(strides) = self.entry("strides")? else {
            let mut strides = vec![0; rank];
            let mut stride = itemsize;
            for axis in (0..rank).rev() {
                strides[axis] = stride as isize;
                stride = stride.saturating_mul(lengths[axis].max(1));
            }
            return Ok(strides);
        };
        let bytes: Option<Vec<isize>> = strides.extract().ok();
        bytes.filter(|bytes| bytes.len() == rank).ok_or_else(|| {
            self.wrong(format!(
                "has the strides {}, expected {rank} integers, in bytes",
                describe_value(&strides)
            ))
        })
    }

    fn halo(&self, halo: &Bound<'py, PyAny>, rank: usize) -> PyResult<Vec<(usize, usize)>> {
        let pairs = pairs(halo);
        match pairs {
            Some(pairs) if pairs.len() == rank => Ok(pairs),
            other => {
                let refusal = Refusal::Halo {
                    attribute: self.attribute,
                    entries: other.map(|pairs| pairs.len()),
                    rank,
                };
                Err(self.request.refuse(halo, refusal))
            }
        }
    }

    fn hooks(&self) -> PyResult<Option<Box<Hooks<'py>>>> {
        let hook = |key: &str| match self.entry(key)? {
            Some(hook) if !hook.is_callable() => {
                Err(self.wrong(format!("has an '{key}' that cannot be called")))
            }
            hook => Ok(hook),
        };
        let hooks = Hooks {
            acquire: hook("acquire")?,
            touch: hook("touch")?,
            release: hook("release")?,
        };
        let any = hooks.acquire.is_some() || hooks.touch.is_some() || hooks.release.is_some();
        Ok(any.then(|| Box::new(hooks)))
    }
}

/// Per axis one integer for both sides or a pair.
fn pairs(halo: &Bound<'_, PyAny>) -> Option<Vec<(usize, usize)>> {
    let pair = |entry: Bound<'_, PyAny>| {
        if let Ok(both) = entry.extract::<usize>() {
            return Some((both, both));
        }
        // A list of two is as good as a tuple.
        let pair = entry.extract::<(usize, usize)>();
        pair.or_else(|_| entry.extract::<[usize; 2]>().map(<(usize, usize)>::from))
            .ok()
    };
    halo.try_iter()
        .ok()?
        .map(|entry| pair(entry.ok()?))
        .collect()
}
