//! Calls with arguments that lie in memory in the same way, on the same domain: what they have in common is found once.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use fieldstone_device::HostMemory;
use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::Field;

use super::launch::Part;
use super::ledger::{self, Left, Outlook};
use super::traffic::Traffic;
use super::{Compilation, Domains, Native, Variant};
use crate::arguments::contiguous_along;
use crate::call::{Call, FieldArgument, ScalarArgument};
use crate::cost::work_per_thread;
use crate::error::RunError;
use crate::llvm::abi::Words;
use crate::outline::{Outline, Supply, has_ragged_results};
use crate::template::Template;
use crate::tile::{LINE, Lines};
use crate::tuning::size_class;

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
    /// What it moves, if that is worth a note.
    traffic: Option<Traffic>,
    /// What is known of its fields if it is not.
    unnoted: Outlook,
    template: Template,
    parts: Vec<Part>,
    /// The words with the addresses of fields whose levels follow each other in memory, in columns that lie whole cache lines
    /// apart; `None` if any lie otherwise.
    columns: Option<Vec<usize>>,
}

impl Run {
    /// Whether no cache line has points of two columns, or would not if all arrays began elsewhere.
    fn lines(&self, words: &[u64]) -> Lines {
        let Some(columns) = &self.columns else {
            return Lines::Shared;
        };
        let alike = |pair: &[usize]| (words[pair[0]] ^ words[pair[1]]).is_multiple_of(LINE as u64);
        let is_aligned = |word: &usize| words[*word].is_multiple_of(LINE as u64);
        match columns.windows(2).all(alike) {
            true if columns.iter().take(1).all(is_aligned) => Lines::Apart,
            true => Lines::Shifted,
            false => Lines::Shared,
        }
    }
}

/// The fields whose levels follow each other in memory, with their numbers.
fn along_levels<'a>(
    fields: &'a [Field],
    arguments: &'a [FieldArgument],
) -> impl Iterator<Item = (usize, &'a FieldArgument)> {
    let all = fields.iter().zip(arguments).enumerate();
    all.filter(|(_, (field, argument))| contiguous_along(field, argument) == Some(Axis::K))
        .map(|(number, (_, argument))| (number, argument))
}

/// As [`Run`] has them, for the fields of a program.
fn columns(fields: &[Field], arguments: &[FieldArgument], words: &Words) -> Option<Vec<usize>> {
    let word = |(number, argument): (usize, &FieldArgument)| {
        let strides = &argument.strides[..2];
        let apart = strides.iter().all(|stride| stride % LINE as isize == 0);
        apart.then(|| words.field(number))
    };
    along_levels(fields, arguments).map(word).collect()
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
        let layout = self.compilation.elements.layout_of(call);
        let outline = self.outline(call);
        let variant = if !self.tuned || call.domain.contains(&0) {
            self.variant(&layout, outline)?
        } else {
            let domains = Domains {
                size: Some(size_class(call.domain)),
                ..self.domains(&layout, outline)
            };
            self.known(&layout, domains).map_or_else(
                || {
                    // SAFETY: as the caller says.
                    let choices = unsafe { self.tuned(&layout, domains, call)? };
                    self.compiled(&layout, domains, &choices)
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

    fn outline(&self, call: &Call<'_>) -> Outline {
        let Compilation {
            elements, program, ..
        } = &self.compilation;
        let (arguments, _) = elements.arguments(call);
        let ragged = has_ragged_results(program, arguments.iter().copied());
        Outline {
            plane: elements.plane_of(call),
            supply: Supply::of(&program.stencil, call.domain, call.threads, ragged),
        }
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
        let schedule = &variant.plan.schedule;
        let (arguments, _) = self.compilation.elements.arguments(call);
        let folds = variant.plan.folds;
        let call = &Call {
            domain: folds.map_or(call.domain, |folds| folds.domain(call.domain, &arguments)),
            ..*call
        };
        let program = &self.compilation.program;
        let fields = &program.stencil.fields;
        let parts = match call.domain.contains(&0) {
            true => Vec::new(),
            false => variant.parts(call.domain, call.threads),
        };
        let bytes = parts.iter().map(Part::bytes).sum();
        Run {
            traffic: Traffic::new(
                program,
                (&arguments, &variant.words),
                (bytes, call.domain),
                call.threads,
                !parts.iter().all(Part::is_panels),
            ),
            unnoted: Outlook::of_small(bytes, call.threads),
            columns: columns(fields, &arguments, &variant.words),
            template: Template::new(&self.compilation, schedule, &variant.words, call),
            parts,
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
        let memory = self.memory(&run.template.arrays)?;
        let failure = AtomicU64::new(0);
        let mut words = WORDS.take();
        let starts = memory.iter().map(HostMemory::pointer);
        (run.template).write(&mut words, pointers, starts, scalars);
        words[Words::FAILURE] = failure.as_ptr() as u64;
        let lines = run.lines(&words);
        let noted = run
            .traffic
            .as_ref()
            .map(|traffic| ledger::note(traffic, &words));
        let (outlook, running) = noted.unzip();
        let mut outlook = outlook.unwrap_or(run.unnoted);
        // What one part writes another one may read.
        if run.parts.len() > 1 {
            outlook.left = Left::default();
        }
        let mut done = Ok(());
        for part in &run.parts {
            // SAFETY: as the caller says; temporaries are in `memory`, which this run has for itself.
            done = unsafe { part.run(&mut words, outlook, lines) };
            if done.is_err() {
                break;
            }
        }
        drop(running);
        WORDS.set(words);
        self.keep(memory);
        done?;
        match failure.into_inner() {
            0 => Ok(()),
            number => Err((self.compilation).failed(&variant.plan.module.failures, number)),
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
