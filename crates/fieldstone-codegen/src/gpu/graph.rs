//! Calls that are repeated as one piece of work.

use std::sync::Arc;

use fieldstone_device::{self as device, Accelerator, Node, Stream};

use super::memory::RunMemory;
use super::prepared::Prepared;
use super::stencil::Gpu;
use crate::call::ScalarArgument;
use crate::error::RunError;

/// A call that is to be repeated, with memory of its own for its temporaries.
pub struct Recorded {
    prepared: Prepared,
    memory: RunMemory,
    /// The words of each launch.
    words: Vec<Vec<u64>>,
}

/// Calls as one piece of work of a device.
pub struct Graph {
    // Gone before what it refers to.
    graph: Box<dyn device::Graph>,
    calls: Vec<Recorded>,
    accelerator: Arc<dyn Accelerator>,
}

impl Gpu {
    /// Records what [`Gpu::run_prepared`] would run.
    ///
    /// # Errors
    /// If memory for temporaries cannot be had, or whether the call fails would have to be looked at after each run.
    pub fn record(
        &self,
        prepared: Prepared,
        pointers: impl Fn(usize) -> *mut u8,
        scalars: &[ScalarArgument],
    ) -> Result<Recorded, RunError> {
        if prepared.may_fail() {
            return Err(RunError::Unsupported {
                place: self.label(),
                what: "a call that may fail cannot be part of a graph: it computes levels, indices or bounds of intervals, and \
                       whether these are wrong is looked at when it is done; call it apart"
                    .to_owned(),
            });
        }
        let template = &prepared.template;
        let memory = RunMemory::new(prepared.accelerator(), &template.arrays)?;
        let mut words = Vec::new();
        let starts = memory.arrays.iter().map(|block| block.pointer());
        template.write(&mut words, pointers, starts, scalars);
        let own = |number| {
            prepared.choose(&mut words, number);
            words.clone()
        };
        Ok(Recorded {
            words: (0..prepared.launches.len()).map(own).collect(),
            prepared,
            memory,
        })
    }
}

impl Graph {
    /// Makes one piece of work of calls, which are done in order.
    ///
    /// # Errors
    /// If the device cannot do one of them.
    ///
    /// # Safety
    /// As [`Gpu::run_prepared`] for each of them, whenever the graph is launched.
    pub unsafe fn new(
        accelerator: Arc<dyn Accelerator>,
        calls: Vec<Recorded>,
    ) -> Result<Graph, RunError> {
        let mut nodes = Vec::new();
        for call in &calls {
            let cleared = call.prepared.cleared(&call.memory);
            nodes.extend(cleared.map(|(start, bytes)| Node::Clear(start, bytes)));
            let module = call.prepared.variant.module.as_ref();
            let launch = |(number, words): (usize, _)| {
                Node::Launch(module, call.prepared.launch(words, number))
            };
            nodes.extend(call.words.iter().map(Vec::as_slice).enumerate().map(launch));
        }
        // SAFETY: as the caller says; temporaries are in memory of the calls, which the graph keeps.
        let graph = unsafe { accelerator.graph(&nodes)? };
        drop(nodes);
        Ok(Graph {
            graph,
            calls,
            accelerator,
        })
    }

    /// Puts all of it into a stream.
    ///
    /// # Errors
    /// If the device cannot do one of them.
    ///
    /// # Safety
    /// As [`Gpu::run_prepared`], for each of the calls.
    pub unsafe fn launch(&self, stream: Stream) -> Result<(), RunError> {
        // SAFETY: as the caller says.
        unsafe { self.graph.launch(stream)? };
        Ok(())
    }

    /// How many calls there are.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// The device.
    pub fn accelerator(&self) -> &Arc<dyn Accelerator> {
        &self.accelerator
    }
}
