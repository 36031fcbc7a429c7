//! Arrays in host memory as arguments of a stencil that runs on a device: copies of them there, for one call.

use std::ffi::CString;
use std::ops::Range;
use std::sync::Arc;

use fieldstone_device::{Accelerator, Contents, Memory};
use fieldstone_storage::View;
use pyo3::prelude::*;

use super::access::transferred;
use crate::device;

/// Device memory begins at a multiple of this, as lines of its cache do.
const LINE: usize = 256;

/// An array that is to be copied.
pub struct Given {
    /// What the argument is called.
    pub name: String,
    /// The elements in host memory.
    pub host: View,
    /// Whether the stencil writes them.
    pub written: bool,
}

/// Arrays and their copies on a device.
pub struct Sent {
    accelerator: Arc<dyn Accelerator>,
    arrays: Vec<Given>,
    /// Addresses of the host, and their copies. Arrays that overlap do so in their copy.
    blocks: Vec<(Range<usize>, Box<dyn Memory>)>,
}

impl Sent {
    /// Room on a device for arrays.
    pub fn new(
        py: Python<'_>,
        accelerator: &Arc<dyn Accelerator>,
        arrays: Vec<Given>,
    ) -> PyResult<Self> {
        let bounds = arrays.iter().map(|given| given.host.bounds());
        let bounds = bounds.filter(|range| !range.is_empty()).collect();
        let block = |range: Range<usize>| {
            // As far behind a line as on the host.
            let bytes = range.len() + range.start % LINE;
            let memory = accelerator.allocate(bytes, LINE, Contents::Uninitialised)?;
            Ok((range, memory))
        };
        let blocks = merged(bounds).into_iter().map(block);
        Ok(Self {
            accelerator: Arc::clone(accelerator),
            blocks: (blocks.collect::<Result<_, _>>())
                .map_err(|error| device::exception(py, &error))?,
            arrays,
        })
    }

    /// What the first of the arguments is called.
    pub fn name(&self) -> Option<&str> {
        self.arrays.first().map(|given| given.name.as_str())
    }

    /// Where the device has what is at an address of the host.
    pub fn there(&self, pointer: *mut u8) -> Option<*mut u8> {
        let address = pointer.addr();
        let is_in = |(range, _): &&(Range<usize>, Box<dyn Memory>)| range.contains(&address);
        let (range, memory) = self.blocks.iter().find(is_in)?;
        let ahead = range.start % LINE + (address - range.start);
        Some(memory.pointer().wrapping_add(ahead))
    }

    fn copy_of(&self, host: &View) -> View {
        let pointer = self.there(host.pointer()).unwrap_or(host.pointer());
        host.at_address(pointer, None)
    }

    /// Copies all arrays to the device, and warns of each.
    pub fn send(&self, py: Python<'_>) -> PyResult<()> {
        for (number, given) in self.arrays.iter().enumerate() {
            let earlier = &self.arrays[..number];
            warn(py, given)?;
            if earlier
                .iter()
                .any(|other| is_same(&other.host, &given.host))
            {
                continue;
            }
            let there = self.copy_of(&given.host);
            let accelerator = self.accelerator.as_ref();
            transferred(
                py,
                // SAFETY: the caller of the stencil keeps the host's elements, and these are their copies.
                py.detach(|| unsafe {
                    fieldstone_storage::upload(accelerator, &given.host, &there)
                }),
            )?;
        }
        Ok(())
    }

    /// Copies back what the stencil has written.
    pub fn fetch(&self, py: Python<'_>) -> PyResult<()> {
        for given in self.arrays.iter().filter(|given| given.written) {
            let there = self.copy_of(&given.host);
            let accelerator = self.accelerator.as_ref();
            transferred(
                py,
                // SAFETY: as in `send`.
                py.detach(|| unsafe {
                    fieldstone_storage::download(accelerator, &there, &given.host)
                }),
            )?;
        }
        Ok(())
    }
}

fn is_same(one: &View, other: &View) -> bool {
    one.pointer() == other.pointer()
        && one.shape() == other.shape()
        && one.strides() == other.strides()
}

/// Ranges in order, those that overlap as one.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

fn warn(py: Python<'_>, given: &Given) -> PyResult<()> {
    let category = py.import("fieldstone.errors")?.getattr("TransferWarning")?;
    let (name, bytes) = (&given.name, given.host.len() * given.host.itemsize());
    let back = match given.written {
        true => ", and back since it writes them",
        false => "",
    };
    let message = format!(
        "argument '{name}' is in host memory, and the stencil runs on the device: {bytes} bytes are copied to the device for \
         this call{back}; a storage with device='gpu' stays there"
    );
    PyErr::warn(py, &category, &CString::new(message)?, 1)
}
