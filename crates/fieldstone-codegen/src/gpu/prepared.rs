//! Calls with arguments that lie in memory in the same way, on the same domain and device: what they have in common is found once.

use std::cell::Cell;
use std::sync::Arc;

use fieldstone_device::{Accelerator, Address, Launch, Stream};

use super::memory::RunMemory;
use super::plan;
use super::stencil::{Gpu, Variant};
use crate::call::{Call, ScalarArgument};
use crate::error::RunError;
use crate::llvm::abi::Words;
use crate::template::Template;

thread_local! {
    /// Room for the words of a run.
    static WORDS: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// All of a call but the addresses of its arguments and the values of its scalars.
pub struct Prepared {
    pub(super) variant: Arc<Variant>,
    pub(super) template: Template,
    addresses: Vec<Address>,
    pub(super) launches: Vec<plan::Launch>,
}

impl Gpu {
    /// Prepares a call on a device, after compiling for it and for the layout of the arguments where that is new.
    ///
    /// # Errors
    /// If the code cannot be compiled.
    pub fn prepare(
        &self,
        call: &Call<'_>,
        accelerator: &Arc<dyn Accelerator>,
    ) -> Result<Prepared, RunError> {
        let layout = self.compilation.elements.layout_of(call);
        let choices = self.latest(&layout, accelerator);
        let variant = self.variant_with(&layout, &choices, Some(call.domain), accelerator)?;
        Ok(self.prepared(variant, call))
    }

    /// The same, after measuring which choices are fastest, if that is wanted and was not done for calls like this one.
    ///
    /// # Errors
    /// As [`Gpu::prepare`]; as [`Gpu::run_prepared`] where something is measured.
    ///
    /// # Safety
    /// As [`Gpu::run_prepared`]: arguments are copied.
    pub unsafe fn prepare_measured(
        &self,
        call: &Call<'_>,
        accelerator: &Arc<dyn Accelerator>,
    ) -> Result<Prepared, RunError> {
        if !self.tuned || call.domain.contains(&0) {
            return self.prepare(call, accelerator);
        }
        let layout = self.compilation.elements.layout_of(call);
        // SAFETY: as the caller says.
        let choices = unsafe { self.tuned(&layout, call, accelerator)? };
        let variant = self.variant_with(&layout, &choices, Some(call.domain), accelerator)?;
        Ok(self.prepared(variant, call))
    }

    /// A call with one of the variants for the layout of its arguments.
    pub(super) fn prepared(&self, variant: Arc<Variant>, call: &Call<'_>) -> Prepared {
        let schedule = &variant.plan.schedule;
        let template = Template::new(&self.compilation, schedule, &variant.words, call);
        let mut addresses = template.addresses();
        if variant.may_fail() {
            addresses.push(Address {
                word: Words::FAILURE,
                low: 0,
                high: 8,
            });
        }
        let launches = match call.domain.contains(&0) {
            true => Vec::new(),
            false => variant.plan.launches(call.domain),
        };
        Prepared {
            variant,
            template,
            addresses,
            launches,
        }
    }

    /// Puts what was prepared into a stream, for arguments whose first points of the domain are at these addresses of the device.
    ///
    /// Where the program may fail, the stream is waited for.
    ///
    /// # Errors
    /// If memory for temporaries cannot be had, the device cannot launch a kernel, or a kernel finds that the call fails.
    ///
    /// # Safety
    /// Every point of the domain, extended by the extents of the program's analysis, must be memory of the device until the stream
    /// is synchronised, that no other work writes at the same time, or reads where it is written.
    pub unsafe fn run_prepared(
        &self,
        prepared: &Prepared,
        pointers: impl Fn(usize) -> *mut u8,
        scalars: &[ScalarArgument],
        stream: Stream,
    ) -> Result<(), RunError> {
        let Prepared {
            variant, template, ..
        } = prepared;
        let accelerator = &variant.accelerator;
        let memory = self
            .spares
            .take(accelerator, stream, &template.arrays, variant.may_fail())?;
        let mut words = WORDS.take();
        let starts = memory.arrays.iter().map(|block| block.pointer());
        template.write(&mut words, pointers, starts, scalars);
        // SAFETY: as the caller says.
        let put = unsafe { prepared.put(&mut words, &memory, stream) };
        WORDS.set(words);
        put?;
        let failed = match &memory.failure {
            Some(word) => {
                accelerator.synchronize(stream)?;
                // SAFETY: the word is host memory, and the device is done with it.
                unsafe { word.pointer().cast::<u64>().read() }
            }
            None => 0,
        };
        self.spares.keep(accelerator, stream, memory)?;
        match failed {
            0 => Ok(()),
            number => Err(self
                .compilation
                .failed(&variant.plan.module.failures, number)),
        }
    }
}

impl Variant {
    /// Whether a kernel may find that a call fails.
    pub fn may_fail(&self) -> bool {
        !self.plan.module.failures.is_empty()
    }
}

impl Prepared {
    /// Whether a kernel may find that the call fails, so that a run waits until it is done.
    pub fn may_fail(&self) -> bool {
        self.variant.may_fail()
    }

    /// The device.
    pub fn accelerator(&self) -> &Arc<dyn Accelerator> {
        &self.variant.accelerator
    }

    /// Clears what is to be zero, and puts the kernels into a stream.
    ///
    /// # Safety
    /// As [`Gpu::run_prepared`].
    unsafe fn put(
        &self,
        words: &mut [u64],
        memory: &RunMemory,
        stream: Stream,
    ) -> Result<(), RunError> {
        for (start, bytes) in self.cleared(memory) {
            // SAFETY: the block is that long, and this run's alone.
            unsafe { self.accelerator().fill(start, 0, bytes, stream)? };
        }
        if let Some(word) = &memory.failure {
            // SAFETY: the word is host memory, which the device is not using.
            unsafe { word.pointer().cast::<u64>().write(0) };
            words[Words::FAILURE] = word.pointer() as u64;
        }
        for number in 0..self.launches.len() {
            self.choose(words, number);
            // SAFETY: as the caller says; temporaries are in memory that this run has for itself.
            unsafe { (self.variant.module).launch(&self.launch(words, number), stream)? };
        }
        Ok(())
    }

    /// What is to be zero before the kernels run.
    pub(super) fn cleared(&self, memory: &RunMemory) -> impl Iterator<Item = (*mut u8, usize)> {
        let arrays = self.template.arrays.iter().zip(&memory.arrays);
        let cleared = arrays.filter(|(array, _)| array.zeroed);
        cleared.map(|(array, block)| (block.pointer(), array.bytes()))
    }

    /// Writes the words that are those of one launch.
    pub(super) fn choose(&self, words: &mut [u64], number: usize) {
        let plan::Launch { grid, levels, .. } = self.launches[number];
        for axis in 0..3 {
            words[Words::COUNT + axis] = grid[axis] as u64;
        }
        words[Words::LEVELS] = levels[0] as u64;
        words[Words::LEVELS + 1] = levels[1] as u64;
    }

    /// One launch, with its words.
    pub(super) fn launch<'a>(&'a self, words: &'a [u64], number: usize) -> Launch<'a> {
        let plan::Launch {
            kernel,
            grid,
            shared_bytes,
            ..
        } = self.launches[number];
        let shape = &self.variant.plan.module.kernels[kernel].shape;
        Launch {
            kernel,
            // More blocks than that no device takes, which says so.
            grid: grid.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            block: [shape.threads as u32, 1, 1],
            shared_bytes: shared_bytes as u32,
            words,
            addresses: &self.addresses,
        }
    }
}
