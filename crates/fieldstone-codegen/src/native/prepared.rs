//! Calls with arguments that lie in memory in the same way, on the same domain: what they have in common is found once.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError};

use fieldstone_device::HostMemory;
use fieldstone_stencil::ir::{FieldId, Target};

use super::array::Array;
use super::launch::Part;
use super::{Native, Variant, tuning};
use crate::call::{Call, ScalarArgument};
use crate::cost::work_per_thread;
use crate::error::RunError;
use crate::llvm::abi::Words;

thread_local! {
    /// Room for the words of a run.
    static WORDS: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// All of a call but the addresses of its arguments and the values of its scalars.
pub struct Prepared {
    variant: Arc<Variant>,
    run: Run,
    /// The threads it was prepared for, and the work that one of them is worth.
    threads: usize,
    work_per_thread: usize,
    /// Whether more threads would change nothing.
    for_one: bool,
    /// Whether it is done before somebody who waits notices.
    brief: bool,
}

/// Nanoseconds that nobody notices.
const BRIEF: f64 = 10_000.0;

/// What runs, and the words that are the same in each run.
pub(super) struct Run {
    levels: usize,
    words: Vec<u64>,
    /// For each field of the program the argument that it is in, and the bytes from that argument's first point to its own.
    fields: Vec<(usize, isize)>,
    arrays: Vec<Array>,
    parts: Vec<Part>,
}

impl Native {
    /// Prepares a call, after compiling for the layout of its arguments where that is new.
    ///
    /// # Errors
    /// If the code cannot be compiled.
    ///
    /// # Safety
    /// As [`Native::run`]: to measure choices, arguments are copied.
    pub unsafe fn prepare(&self, call: &Call<'_>) -> Result<Prepared, RunError> {
        let layout = self.elements.layout_of(call);
        let variant = if !self.tuned || call.domain.contains(&0) {
            self.variant(&layout)?
        } else {
            let size = Some(tuning::size_class(call.domain));
            self.known(&layout, size).map_or_else(
                || {
                    // SAFETY: as the caller says.
                    let choices = unsafe { self.tuned(&layout, call)? };
                    self.compiled(&layout, size, &choices)
                },
                Ok,
            )?
        };
        let run = self.run_of(&variant, call);
        Ok(Prepared {
            for_one: run.parts.iter().all(Part::is_for_one),
            brief: run.parts.iter().map(Part::work).sum::<f64>() < BRIEF,
            run,
            variant,
            threads: call.threads,
            work_per_thread: work_per_thread(),
        })
    }

    /// Runs what was prepared, for arguments whose first points of the domain are at these addresses.
    ///
    /// # Errors
    /// If memory for temporaries cannot be had, or a kernel finds that the call fails.
    ///
    /// # Safety
    /// As [`Native::run`], for arguments that differ from those of the call that was prepared in their addresses only.
    pub unsafe fn run_prepared(
        &self,
        prepared: &Prepared,
        pointers: impl Fn(usize) -> *mut u8,
        scalars: &[ScalarArgument],
    ) -> Result<(), RunError> {
        // SAFETY: as the caller says.
        unsafe { self.run_variant(&prepared.variant, &prepared.run, pointers, scalars) }
    }

    /// What runs for a call with one of the variants for the layout of the arguments.
    pub(super) fn run_of(&self, variant: &Variant, call: &Call<'_>) -> Run {
        let (fields, data_strides) = self.elements.arguments(call);
        let mut words = vec![0; variant.words.len()];
        for (axis, points) in call.domain.into_iter().enumerate() {
            words[Words::DOMAIN + axis] = points as u64;
        }
        for (number, field) in fields.iter().enumerate() {
            let first = variant.words.field(number);
            for (axis, stride) in field.strides.into_iter().enumerate() {
                words[first + 1 + axis] = stride as u64;
            }
            let (low, high) = field.ends();
            words[first + Words::FIRST_ELEMENT] = low as u64;
            words[first + Words::LAST_ELEMENT] = high as u64;
            let levels = variant.words.levels(number);
            words[levels] = (field.lower[2] as u64).wrapping_neg();
            words[levels + 1] = field.upper[2] as u64;
        }
        let data = variant.words.data(Target::Field(FieldId(0)));
        for (word, stride) in words[data..].iter_mut().zip(&data_strides) {
            *word = *stride as u64;
        }
        let arrays = self.arrays(variant, call.domain);
        arrays.iter().for_each(|array| array.describe(&mut words));
        let place = |(number, (argument, _)): (usize, &(usize, _))| {
            let bytes = (fields[number].pointer as isize)
                .wrapping_sub(call.fields[*argument].pointer as isize);
            (*argument, bytes)
        };
        Run {
            levels: call.domain[2],
            words,
            fields: self.elements.places.iter().enumerate().map(place).collect(),
            arrays,
            parts: match call.domain.contains(&0) {
                true => Vec::new(),
                false => variant.parts(call.domain, call.threads),
            },
        }
    }

    /// # Safety
    /// As [`Native::run_prepared`].
    pub(super) unsafe fn run_variant(
        &self,
        variant: &Variant,
        run: &Run,
        pointers: impl Fn(usize) -> *mut u8,
        scalars: &[ScalarArgument],
    ) -> Result<(), RunError> {
        let memory = self.memory(&run.arrays)?;
        let failure = AtomicU64::new(0);
        let mut words = WORDS.take();
        words.clear();
        words.extend_from_slice(&run.words);
        words[Words::FAILURE] = failure.as_ptr() as u64;
        for (number, (argument, bytes)) in run.fields.iter().enumerate() {
            let pointer = pointers(*argument).wrapping_offset(*bytes);
            words[variant.words.field(number)] = pointer as u64;
        }
        for (array, memory) in run.arrays.iter().zip(&memory) {
            words[array.word] = array.first(memory) as u64;
        }
        for (number, scalar) in scalars.iter().enumerate() {
            words[variant.words.scalar(number)] = scalar.bits;
        }
        let mut done = Ok(());
        for part in &run.parts {
            // SAFETY: as the caller says; temporaries are in `memory`, which this run has for itself.
            done = unsafe { part.run(&mut words, run.levels) };
            if done.is_err() {
                break;
            }
        }
        WORDS.set(words);
        self.keep(memory);
        done?;
        match failure.into_inner() {
            0 => Ok(()),
            number => Err(self.failed(variant, number)),
        }
    }

    /// Keeps the memory of a run's temporaries for the next.
    fn keep(&self, memory: Vec<HostMemory>) {
        if !memory.is_empty() {
            let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            spare.push(memory);
        }
    }
}

impl Prepared {
    /// Whether it is what would be prepared now, with so many threads.
    pub fn is_current(&self, threads: impl FnOnce() -> usize) -> bool {
        self.work_per_thread == work_per_thread() && (self.for_one || self.threads == threads())
    }

    /// Whether a run takes some microseconds at most.
    pub fn is_brief(&self) -> bool {
        self.brief
    }
}
