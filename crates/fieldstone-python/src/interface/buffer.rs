//! A dictionary that describes memory: that of `__array_interface__` or `__cuda_array_interface__`, or what
//! `__gt_data_interface__` has for a device.

use fieldstone_device::Stream;
use fieldstone_storage::{Side, View};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};

use super::bytes::Bytes;
use super::memory::{self, Memory};
use super::{Refusal, Request, describe_value};

/// The dictionary of one device.
pub struct Buffer<'a, 'py> {
    /// Who asks.
    pub request: &'a Request<'a, 'py>,
    /// Whose memory it is.
    pub object: &'a Bound<'py, PyAny>,
    /// The attribute that has the dictionary.
    pub attribute: &'static str,
    /// The dictionary.
    pub entries: &'a Bound<'py, PyMapping>,
}

/// Where the elements are.
struct Place<'py> {
    address: usize,
    readonly: bool,
    /// The memory that it must be within, where that is known.
    bytes: Option<Bytes<'py>>,
}

impl<'py> Buffer<'_, 'py> {
    /// An entry that is there and not `None`.
    pub fn entry(&self, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !self.entries.contains(key)? {
            return Ok(None);
        }
        Ok(Some(self.entries.get_item(key)?).filter(|value| !value.is_none()))
    }

    /// The error for an entry that is wrong: the dictionary ...
    pub fn wrong(&self, problem: String) -> PyErr {
        let attribute = self.attribute;
        self.request
            .refuse(self.object, Refusal::WrongEntry { attribute, problem })
    }

    fn needed(&self, key: &'static str) -> PyResult<Bound<'py, PyAny>> {
        let attribute = self.attribute;
        self.entry(key)?.ok_or_else(|| {
            self.request
                .refuse(self.object, Refusal::NoEntry { attribute, key })
        })
    }

    /// The memory, on the host or on a device; it keeps the object and the dictionary alive.
    pub fn memory(&self, side: Side) -> PyResult<Memory<'py>> {
        let py = self.entries.py();
        let shape = self.needed("shape")?;
        let lengths: Vec<usize> = shape.extract().map_err(|_| {
            self.wrong(format!(
                "has the shape {}, expected integers that are not negative",
                describe_value(&shape)
            ))
        })?;
        let dtype = self.dtype()?;
        if self.entry("mask")?.is_some() {
            return Err(self.wrong(
                "has a mask, and values under a mask mean nothing; fill them in first".into(),
            ));
        }
        let place = self.place(side)?;
        if place.address == 0 && !lengths.contains(&0) {
            let attribute = self.attribute;
            return Err(self
                .request
                .refuse(self.object, Refusal::NullAddress { attribute }));
        }
        let strides = self.strides(&lengths, dtype.itemsize())?;
        let pointer = std::ptr::with_exposed_provenance_mut(place.address);
        // SAFETY: the object vouches for the elements it describes, and the array keeps it alive.
        let view = unsafe { View::new(pointer, lengths, strides, dtype.itemsize(), None) }
            .map_err(|error| self.wrong(format!("describes no memory: {error}")))?;
        if let Some(Bytes { range: known, .. }) = &place.bytes {
            let needed = view.bounds();
            if !view.is_empty() && (needed.start < known.start || needed.end > known.end) {
                return Err(self.wrong(format!(
                    "describes elements outside the {} bytes of its data",
                    known.len()
                )));
            }
        }
        let bytes = place.bytes.map(|bytes| bytes.holder);
        let owner = (self.object, self.entries, bytes)
            .into_pyobject(py)?
            .into_any();
        let accelerator = match side {
            Side::Host => None,
            Side::Device => Some(memory::owner_of(self.request, self.object, &view)?),
        };
        let mut written_in = accelerator.as_ref().map_or(Ok(None), |_| self.stream())?;
        if let (Some(accelerator), Some(stream), false) =
            (&accelerator, written_in, self.request.in_streams())
        {
            memory::wait(py, accelerator.as_ref(), stream)?;
            written_in = None;
        }
        Ok(Memory {
            view,
            dtype,
            writeable: !place.readonly,
            keeper: owner,
            accelerator,
            written_in,
        })
    }

    /// The stream of a device on which the memory may still be written to.
    fn stream(&self) -> PyResult<Option<Stream>> {
        let Some(stream) = self.entry("stream")? else {
            return Ok(None);
        };
        let number = stream.extract().ok().filter(|number| *number != 0);
        number.map(Stream).map(Some).ok_or_else(|| {
            self.wrong(format!(
                "has the stream {}, expected 1, 2 or the address of one (0 could mean either of two)",
                describe_value(&stream)
            ))
        })
    }

    fn dtype(&self) -> PyResult<Bound<'py, PyArrayDescr>> {
        let value = self.needed("typestr")?;
        let text: String = value.extract().map_err(|_| {
            self.wrong("has a 'typestr' that is no string, expected one such as '<f8'".into())
        })?;
        let dtype = PyArrayDescr::new(value.py(), &text).map_err(|_| {
            self.wrong(format!(
                "has the 'typestr' {text:?}, which is no type of NumPy's, expected one such as '<f8'"
            ))
        })?;
        if dtype.has_object() {
            return Err(self.wrong(format!(
                "has the 'typestr' {text:?}, but addresses of objects are no numbers"
            )));
        }
        Ok(dtype)
    }

    /// An address, or an object with a buffer; without either the buffer of the object itself.
    fn place(&self, side: Side) -> PyResult<Place<'py>> {
        let data = self.entry("data")?;
        if let Some(pair) = data.as_ref().and_then(|data| data.cast::<PyTuple>().ok()) {
            let read = |pair: &Bound<'py, PyTuple>| -> PyResult<_> {
                let (address, readonly): (usize, Bound<'_, PyAny>) = pair.extract()?;
                Ok((address, readonly.is_truthy()?))
            };
            let (address, readonly) = read(pair).map_err(|_| self.no_data(pair))?;
            return Ok(Place {
                address,
                readonly,
                bytes: None,
            });
        }
        let holder = match &data {
            Some(data) if side == Side::Device => return Err(self.no_data(data)),
            Some(data) => data,
            None if self.attribute == "__array_interface__" => self.object,
            None => &self.needed("data")?,
        };
        let bytes = Bytes::of(holder).map_err(|_| match &data {
            Some(data) => self.no_data(data),
            None => self.wrong("has no 'data', and the object is no buffer".into()),
        })?;
        if !bytes.contiguous {
            return Err(self.wrong("has 'data' whose bytes do not follow each other".into()));
        }
        let Some(address) = bytes.range.start.checked_add(self.offset()?) else {
            return Err(self.wrong("has an 'offset' behind the end of memory".into()));
        };
        Ok(Place {
            address,
            readonly: bytes.readonly,
            bytes: Some(bytes),
        })
    }

    fn no_data(&self, data: &Bound<'py, PyAny>) -> PyErr {
        self.wrong(format!(
            "has the data {}, expected a tuple (address, read-only)",
            describe_value(data)
        ))
    }

    /// Bytes from the start of the data to the first element.
    fn offset(&self) -> PyResult<usize> {
        let Some(offset) = self.entry("offset")? else {
            return Ok(0);
        };
        offset.extract().map_err(|_| {
            self.wrong(format!(
                "has the offset {}, expected a number of bytes",
                describe_value(&offset)
            ))
        })
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
}
