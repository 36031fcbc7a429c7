//! A program and where code made of it is kept, whatever the code is for.

use fieldstone_device::CoreCaches;
use fieldstone_stencil::DType;
use fieldstone_stencil::ir::DataDimension;
use fieldstone_stencil::program::Program;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::arguments::Elements;
use crate::cache::claim::Claim;
use crate::cache::entry::Facts;
use crate::cache::{Cache, Key};
use crate::error::RunError;
use crate::jit::Jit;
use crate::layout::Layout;
use crate::llvm::{Failure, Wrong};
use crate::stack::deep;
use crate::target::Target;

/// What is asked of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// Code that is there is used, other code is compiled and kept.
    #[default]
    Yes,
    /// Code is compiled and kept whatever is there.
    Rebuild,
    /// Code that is not there is an error.
    Only,
}

/// Where the code of a variant came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// Whether it was found in the cache.
    pub cached: bool,
    /// From the typed program to code that can be called.
    pub duration: Duration,
    /// The part of it until the text was written that LLVM compiles.
    pub written: Duration,
}

/// A program that is to be compiled, and where its code is kept.
pub struct Compilation {
    /// The program as it is scheduled.
    pub program: Program,
    /// Which elements of which arguments the fields of the program are.
    pub(crate) elements: Elements,
    /// The backend's name.
    pub backend: &'static str,
    /// What compiles.
    pub jit: Arc<dyn Jit>,
    /// Where code is kept.
    pub cache: Cache,
    /// Whether code that is there is used.
    pub reuse: Reuse,
}

impl Compilation {
    /// Of a program, for the backend of that name.
    pub fn new(
        program: &Program,
        backend: &'static str,
        jit: Arc<dyn Jit>,
        cache: Cache,
        reuse: Reuse,
    ) -> Compilation {
        let (scheduled, elements) = deep(|| program.for_schedule());
        Compilation {
            elements: Elements::new(&program.stencil, elements, &scheduled.stencil),
            program: scheduled,
            backend,
            jit,
            cache,
            reuse,
        }
    }

    /// Something made of a module's code, and whether that was found in the cache.
    ///
    /// `usable` makes it of code, if that is whole; `make` compiles, and gives both. `more` is what the code follows from beside the
    /// module's text.
    ///
    /// # Errors
    /// If there is no code, and only code of the cache is to be used; as `make` otherwise.
    pub(crate) fn code<T>(
        &self,
        (layout, target, cache): (&Layout, &Target, &Cache),
        (text, more): (&str, &str),
        usable: impl Fn(&[u8]) -> Option<T>,
        make: impl FnOnce() -> Result<(Vec<u8>, T), RunError>,
    ) -> Result<(T, bool), RunError> {
        let key = self.key(target, text, more);
        let find = || {
            let kept = cache.get(&key);
            usable(&kept.filter(|_| self.reuse != Reuse::Rebuild)?)
        };
        if let Some(found) = find() {
            return Ok((found, true));
        }
        if self.reuse == Reuse::Only {
            return Err(self.not_cached(Some(layout), None));
        }
        let claim = match self.reuse {
            Reuse::Rebuild => Claim::Unknown,
            _ => cache.claim(&key),
        };
        // Somebody else may have stored it since.
        if !matches!(claim, Claim::Unknown)
            && let Some(found) = find()
        {
            return Ok((found, true));
        }
        let (code, made) = make()?;
        cache.put(&key, &self.facts(layout, target), &code);
        drop(claim);
        Ok((made, false))
    }

    fn key(&self, target: &Target, text: &str, more: &str) -> Key {
        let parts = self.program_parts(target);
        let parts = parts.each_ref().map(String::as_str);
        match more {
            "" => Key::new(&parts, &[text]),
            more => Key::new(&parts, &[text, more]),
        }
    }

    /// All that code follows from, except the layouts of the arguments.
    pub(crate) fn program_parts(&self, target: &Target) -> [String; 8] {
        let Target {
            triple,
            cpu,
            features,
            caches,
        } = target.clone();
        let CoreCaches {
            first,
            second,
            shared_is_far,
            waits_for_few,
            short_rows_are_late,
        } = caches;
        [
            env!("CARGO_PKG_VERSION").to_owned(),
            self.jit.version(),
            triple,
            cpu,
            features,
            format!("{first} {second} {shared_is_far} {waits_for_few} {short_rows_are_late}"),
            self.backend.to_owned(),
            fieldstone_stencil::text::print_program(&self.program),
        ]
    }

    /// Whether there may be code for a target.
    pub(crate) fn may_be_cached(&self, target: &Target) -> bool {
        let parts = self.program_parts(target);
        self.cache.has_any(&parts.each_ref().map(String::as_str))
    }

    /// The error where only code of the cache is to be used, and there is none, or none that has room for so many levels.
    pub(crate) fn not_cached(&self, layout: Option<&Layout>, levels: Option<usize>) -> RunError {
        RunError::NotCached {
            stencil: self.program.stencil.name.clone(),
            layout: layout.map(|layout| self.in_words(layout)),
            levels,
            directory: self
                .cache
                .directory()
                .map(|path| path.display().to_string()),
        }
    }

    /// What an entry of the cache says of itself.
    pub(crate) fn facts(&self, layout: &Layout, target: &Target) -> Facts {
        Facts {
            stencil: self.program.stencil.name.clone(),
            backend: self.backend.to_owned(),
            cpu: target.cpu.clone(),
            layout: self.in_words(layout),
            fieldstone: env!("CARGO_PKG_VERSION").to_owned(),
            llvm: self.jit.version(),
            written: SystemTime::now(),
        }
    }

    /// Which axis each field is contiguous along, such as `phi=I height=K mask=none`.
    pub fn in_words(&self, layout: &Layout) -> String {
        let fields = self.elements.whole.iter().zip(&layout.0);
        let words = fields.map(|(field, axis)| match axis {
            Some(axis) => format!("{}={axis}", field.name),
            None => format!("{}=none", field.name),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Refuses what a processor has no instructions for.
    pub(crate) fn check_types(&self, target: &Target) -> Result<(), RunError> {
        let stencil = &self.program.stencil;
        let fields = stencil.fields.iter().map(|field| field.dtype);
        let mut dtypes = fields.chain(stencil.temporaries.iter().filter_map(|temp| temp.dtype));
        if target.has_half() || !dtypes.any(|dtype| dtype == DType::Float16) {
            return Ok(());
        }
        Err(RunError::Unsupported {
            place: format!("stencil '{}'", stencil.name),
            what: format!(
                "this processor ({}) has no instructions for float16; use float32, or the backend 'numpy'",
                target.cpu
            ),
        })
    }

    /// The error of a failure that a kernel found.
    pub(crate) fn failed(&self, failures: &[Failure], number: u64) -> RunError {
        let Failure { what, span } = &failures[number as usize - 1];
        let stencil = &self.program.stencil;
        let place = |span| crate::error::place(stencil, span);
        let field = |of| {
            // Elements are targets of their own here.
            let name = stencil.source_name(of).split('[').next();
            name.unwrap_or_default().to_owned()
        };
        match what {
            Wrong::Level(of) => RunError::LevelOutside {
                place: place(*span),
                field: field(*of),
            },
            Wrong::Index(DataDimension { of, size }) => RunError::IndexOutside {
                place: place(*span),
                field: field(*of),
                size: *size,
            },
            Wrong::Intervals(intervals) => RunError::intervals(stencil, intervals),
        }
    }
}
