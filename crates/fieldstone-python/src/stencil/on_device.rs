//! A call of a stencil that runs on a device: which one, in which stream, and what has to be copied there.

use std::sync::Arc;

use fieldstone_codegen::RunError;
use fieldstone_codegen::call::Call;
use fieldstone_codegen::gpu::{Gpu, Prepared};
use fieldstone_device::{Accelerator, DeviceError, Fence, Kind, Stream};
use fieldstone_storage::{Access, Pair, Side, View};
use pyo3::prelude::*;

use super::graph;
use super::operand::Operand;
use super::remembered::{Copies, Known};
use super::{PerField, Stencil};
use crate::arguments::{Arguments, Keywords};
use crate::backend::{Detached, Executor, run_error};
use crate::device;
use crate::errors::raise;
use crate::storage::{Given, Sent, transferred, warn_of_both};
use crate::stream;

/// Where a call runs.
pub(super) struct OnDevice {
    pub accelerator: Arc<dyn Accelerator>,
    pub stream: Stream,
    /// Whether the stream and the default one have to be told to wait for each other: that is where memory is moved of which there is
    /// one copy.
    apart: bool,
    /// Streams in which arguments may be written to still.
    before: PerField<Stream>,
    /// Arrays of the host.
    sent: Option<Sent>,
}

impl Stencil {
    /// Where a call with these arguments runs. Those in host memory get room on the device, and are there afterwards.
    pub(super) fn on_device(
        &self,
        py: Python<'_>,
        operands: &mut [Operand<'_>],
        keywords: &Keywords<'_>,
    ) -> PyResult<OnDevice> {
        let accelerator = self.accelerator_of(py, operands)?;
        let mut place = OnDevice::new(py, accelerator, keywords)?;
        for other in operands.iter().filter_map(|operand| operand.written_in) {
            if !is_same(other, place.stream) && !place.before.contains(&other) {
                place.before.push(other);
            }
        }
        let has_pair =
            |operand: &Operand<'_>| operand.pointer.is_null() || operand.pair().is_some();
        place.apart &= !operands.iter().all(has_pair);
        place.sent = self.room(py, operands, &place.accelerator)?;
        Ok(place)
    }

    /// Adds a call to the graph that is being recorded.
    pub(super) fn record(
        &self,
        py: Python<'_>,
        (gpu, place): (&Gpu, &OnDevice),
        call: &Call<'_>,
        (operands, arguments): (&[Operand<'_>], &Arguments<'_>),
    ) -> PyResult<()> {
        let named = |given: &Sent| given.name().map(str::to_owned);
        let refused = match operands.iter().position(|operand| operand.hooks.is_some()) {
            Some(n) => Some(format!(
                "argument '{}' wants to be told of each",
                self.fields[n].name
            )),
            None => place.sent.as_ref().and_then(named).map(|name| {
                format!(
                    "argument '{name}' is in host memory, from where it would be copied each time"
                )
            }),
        };
        if let Some(refused) = refused {
            let message = format!(
                "a call of stencil '{}' cannot be part of a graph: {refused}; pass storages with device='gpu', or arrays of the \
                 device",
                self.name()
            );
            return Err(raise(py, "ArgumentTypeError", message));
        }
        let pointers = |argument: usize| call.fields[argument].pointer;
        let recorded = (gpu.prepare(call, &place.accelerator))
            .and_then(|prepared| gpu.record(prepared, pointers, call.scalars))
            .map_err(|error| run_error(py, &error))?;
        let both = operands.iter().zip(&self.fields);
        let copies = both.filter_map(|(operand, field)| {
            let (pair, view) = operand.tracked.as_deref()?.pair()?;
            Some(Copies {
                pair: Arc::clone(pair),
                view: view.clone(),
                written: field.writes,
            })
        });
        let kept = operands.iter().filter_map(Operand::keeper);
        let kept = arguments.iter().flatten().chain(kept);
        let call = graph::Call {
            call: recorded,
            copies: copies.collect(),
            arguments: kept.map(|object| object.clone().unbind()).collect(),
        };
        graph::add(py, &place.accelerator, call)
    }

    /// Runs a call of which all is known but the values of scalars.
    pub(super) fn run_known_on_device(
        &self,
        py: Python<'_>,
        known: &Known,
        prepared: &Prepared,
        (arguments, keywords): (&Arguments<'_>, &Keywords<'_>),
    ) -> PyResult<()> {
        let all_copies = known.copies(arguments);
        let scalars = self.scalars(arguments)?;
        let Executor::Gpu(gpu) = &self.executor else {
            unreachable!("it was prepared by this executor");
        };
        let place = OnDevice::new(py, prepared.accelerator().clone(), keywords)?;
        for copies in &all_copies {
            copies.acquire(py, place.stream)?;
        }
        let run = || {
            let pairs = (all_copies.iter()).map(|copies| (&copies.pair, copies.written));
            // SAFETY: the arguments lie in memory as those of a call that has passed all checks, and are apart from each other.
            place.between(pairs, |stream| unsafe {
                gpu.run_prepared(prepared, |n| known.pointer(n), &scalars, stream)
            })
        };
        let done = match is_brief(prepared) {
            // To let other threads run Python takes longer.
            true => run(),
            false => py.detach(run),
        };
        // A run that failed may have written something.
        let noted = (all_copies.iter()).try_for_each(|copies| copies.settle(py));
        done.map_err(|error| run_error(py, &error))?;
        noted
    }

    /// The device of the arguments, else the first one.
    fn accelerator_of(
        &self,
        py: Python<'_>,
        operands: &[Operand<'_>],
    ) -> PyResult<Arc<dyn Accelerator>> {
        let mut found: Option<(usize, &Arc<dyn Accelerator>)> = None;
        for (n, operand) in operands.iter().enumerate() {
            let Some(accelerator) = &operand.accelerator else {
                continue;
            };
            match found {
                None => found = Some((n, accelerator)),
                Some((first, other)) if !Arc::ptr_eq(other, accelerator) => {
                    let message = format!(
                        "stencil '{}': argument '{}' is on {} and argument '{}' on {}, and a stencil runs on one device; copy one of \
                         them there, with storage(data, device='gpu:{}')",
                        self.name(),
                        self.fields[first].name,
                        other.name(),
                        self.fields[n].name,
                        accelerator.name(),
                        other.id().index,
                    );
                    return Err(raise(py, "DeviceError", message));
                }
                Some(_) => {}
            }
        }
        match found {
            Some((_, accelerator)) => Ok(Arc::clone(accelerator)),
            None => device::first(py, "backend 'gpu'"),
        }
    }

    /// Copies of the arguments in host memory are where the operands are afterwards.
    fn room(
        &self,
        py: Python<'_>,
        operands: &mut [Operand<'_>],
        accelerator: &Arc<dyn Accelerator>,
    ) -> PyResult<Option<Sent>> {
        let on_host = |(n, operand): &(usize, &Operand<'_>)| {
            self.fields[*n].used() && operand.accelerator.is_none() && !operand.pointer.is_null()
        };
        let given: Vec<usize> = (operands.iter().enumerate())
            .filter(on_host)
            .map(|(n, _)| n)
            .collect();
        if given.is_empty() {
            return Ok(None);
        }
        let arrays = given.iter().map(|&n| {
            let field = &self.fields[n];
            Ok(Given {
                name: field.name.clone(),
                host: elements(py, &operands[n], field.dtype.size())?,
                written: field.writes,
            })
        });
        let sent = Sent::new(py, accelerator, arrays.collect::<PyResult<_>>()?)?;
        for n in given {
            if let Some(there) = sent.there(operands[n].pointer) {
                operands[n].pointer = there;
            }
        }
        Ok(Some(sent))
    }
}

/// The elements of an array in host memory, those that are repeated once.
fn elements(py: Python<'_>, operand: &Operand<'_>, itemsize: usize) -> PyResult<View> {
    let axes = operand.array.shape.iter().zip(&operand.strides);
    let axes = axes.map(|(size, stride)| (*size, *stride));
    let axes = axes.chain(operand.data.iter().copied());
    let (shape, strides): (Vec<usize>, Vec<isize>) = axes
        .map(|(size, stride)| match stride {
            0 => (size.min(1), itemsize as isize),
            _ => (size, stride),
        })
        .unzip();
    // SAFETY: the argument described these elements, and keeps them alive.
    unsafe { View::new(operand.pointer, shape, strides, itemsize, None) }
        .map_err(|error| crate::array::exception(py, &error))
}

/// Whether two numbers mean the same stream.
fn is_same(one: Stream, other: Stream) -> bool {
    let is_default = |stream: Stream| stream.0 <= 1;
    one == other || (is_default(one) && is_default(other))
}

impl Copies {
    /// Makes the device's copy current for work in a stream, and notes that it is going to be written if it is.
    pub fn acquire(&self, py: Python<'_>, stream: Stream) -> PyResult<()> {
        warn_of_both(py, &self.pair)?;
        let access = match self.written {
            true => Access::ReadWrite,
            false => Access::Read,
        };
        let current = || self.pair.access_by(stream, &self.view, access);
        let current = match self.pair.is_current(Side::Device, &self.view) {
            // Nothing is moved, and to let other threads run Python takes longer.
            true => current(),
            false => py.detach(current),
        };
        transferred(py, current)
    }

    /// Brings arrays that are out on the host up to date.
    pub fn settle(&self, py: Python<'_>) -> PyResult<()> {
        match self.written && self.pair.is_out(Side::Host) {
            true => transferred(py, py.detach(|| self.pair.settle(Side::Device))),
            false => Ok(()),
        }
    }
}

impl OnDevice {
    fn new(
        py: Python<'_>,
        accelerator: Arc<dyn Accelerator>,
        keywords: &Keywords<'_>,
    ) -> PyResult<Self> {
        let given = keywords.stream.as_ref().map(stream::given);
        Self::in_stream(py, accelerator, given.transpose()?)
    }

    /// On a device, in a stream that was given or the current one.
    pub fn in_stream(
        py: Python<'_>,
        accelerator: Arc<dyn Accelerator>,
        given: Option<Stream>,
    ) -> PyResult<Self> {
        let current = || stream::current(py, accelerator.as_ref());
        let stream = match given.map_or_else(current, Ok)? {
            stream if is_same(stream, Stream::DEFAULT) => Stream::DEFAULT,
            stream => stream,
        };
        let apart = !accelerator
            .waits_for_default(stream)
            .map_err(|error| device::exception(py, &error))?;
        Ok(OnDevice {
            accelerator,
            stream,
            apart,
            before: PerField::new(),
            sent: None,
        })
    }

    /// Copies arrays of the host, puts the kernels into the stream, and copies back what was written.
    ///
    /// # Safety
    /// As [`Gpu::run_prepared`].
    pub unsafe fn run(
        &self,
        py: Python<'_>,
        gpu: &Gpu,
        call: &Call<'_>,
        pairs: &[(&Arc<Pair>, bool)],
    ) -> PyResult<Prepared> {
        if let Some(sent) = &self.sent {
            sent.send(py)?;
        }
        let detached = Detached(call);
        let prepared = py
            .detach(|| {
                // The whole wrapper moves into the closure, not its field.
                let detached = detached;
                let call = detached.0;
                // SAFETY: as the caller says.
                let prepared = unsafe { gpu.prepare_measured(call, &self.accelerator)? };
                let pointers = |argument: usize| call.fields[argument].pointer;
                // SAFETY: as the caller says.
                self.between(pairs.iter().copied(), |stream| unsafe {
                    gpu.run_prepared(&prepared, pointers, call.scalars, stream)
                })?;
                Ok(prepared)
            })
            .map_err(|error| run_error(py, &error))?;
        if let Some(sent) = &self.sent {
            sent.fetch(py)?;
        }
        Ok(prepared)
    }

    /// Puts work into the stream, between what waits and what is waited for. It is noted for its arguments with two copies, each
    /// with whether it is written, also if it fails: something of it may have been put.
    pub fn between<'a>(
        &self,
        pairs: impl Iterator<Item = (&'a Arc<Pair>, bool)>,
        put: impl FnOnce(Stream) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        self.order()?;
        let done = put(self.stream);
        let noted = self.note(pairs);
        done?;
        noted?;
        Ok(self.order_after()?)
    }

    fn note<'a>(
        &self,
        pairs: impl Iterator<Item = (&'a Arc<Pair>, bool)>,
    ) -> Result<(), DeviceError> {
        let mut end: Option<Arc<Fence>> = None;
        for (pair, written) in pairs {
            let fence = match end.take() {
                Some(fence) => fence,
                None => pair.fence(self.stream)?,
            };
            pair.note(&fence, written)?;
            end = Some(fence);
        }
        Ok(())
    }

    /// Lets the stream wait for whoever may be writing to arguments.
    fn order(&self) -> Result<(), DeviceError> {
        let moved = self.apart.then_some(Stream::DEFAULT);
        for other in self.before.iter().copied().chain(moved) {
            let event = self.accelerator.create_event()?;
            event.record(other)?;
            event.hold(self.stream)?;
        }
        Ok(())
    }

    /// Lets what is moved from now on wait for the stream.
    fn order_after(&self) -> Result<(), DeviceError> {
        if !self.apart {
            return Ok(());
        }
        let event = self.accelerator.create_event()?;
        event.record(self.stream)?;
        event.hold(Stream::DEFAULT)
    }

    /// Waits until all is done.
    pub fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.accelerator.synchronize(self.stream))
            .map_err(|error| device::exception(py, &error))
    }
}

/// Whether a launch returns at once.
pub(super) fn is_brief(prepared: &Prepared) -> bool {
    prepared.accelerator().id().kind == Kind::Cuda && !prepared.may_fail()
}
