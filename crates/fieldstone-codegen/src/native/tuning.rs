//! Choices found by measurement: a stencil is run on copies of its arguments, with one choice after the other.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fieldstone_device::{Contents, HostMemory};
use fieldstone_stencil::Axis;

use super::{Native, Origin, Reuse, Variant};
use crate::cache::Key;
use crate::call::{Call, FieldArgument};
use crate::choices::{Choices, Stores};
use crate::error::RunError;
use crate::llvm::Layout;
use crate::tile::Tiles;

/// How long choices are tried; those that are being compared then still are.
const BUDGET: Duration = Duration::from_secs(4);
/// Runs of each of two variants that are compared.
const RUNS: usize = 15;
/// After so many runs a variant that is far behind is given up.
const FIRST_RUNS: usize = 3;
/// What a choice must gain: less is what measurements differ by.
const GAIN: f64 = 0.97;
/// Copies start as far from the start of a page as what they are copies of, as far as that counts for speed.
const PAGE: usize = 4096;

impl Native {
    /// The choices for arguments like those of a call: as noted in the cache, else measured now and noted.
    ///
    /// # Safety
    /// As [`Native::run`].
    pub(super) unsafe fn tuned(
        &self,
        layout: &Layout,
        call: &Call<'_>,
    ) -> Result<Choices, RunError> {
        let key = self.tuning_key(layout, call);
        let noted = self
            .compilation
            .cache
            .noted(&key)
            .filter(|_| self.compilation.reuse != Reuse::Rebuild);
        if let Some(choices) = noted.and_then(|text| Choices::parse(&text).ok()) {
            return Ok(self.choices.or(&choices));
        }
        if self.compilation.reuse == Reuse::Only {
            return Ok(self.choices.clone());
        }
        // Two measurements at once would measure each other.
        static ONE: Mutex<()> = Mutex::new(());
        let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as the caller says.
        let copies = unsafe { Copies::new(self, call)? };
        let choices = self.search(layout, &copies, call)?;
        let target = self.compilation.jit.target();
        let facts = self.compilation.facts(layout, &target);
        (self.compilation.cache).note(&key, &facts, &choices.to_string());
        Ok(choices)
    }

    /// All that the fastest choices follow from, to a factor of two in the number of points.
    fn tuning_key(&self, layout: &Layout, call: &Call<'_>) -> Key {
        let parts = (self.compilation).program_parts(&self.compilation.jit.target());
        let size = size_class(call.domain).to_string();
        let (layout, threads) = (self.in_words(layout), call.threads.to_string());
        let chosen = self.choices.to_string();
        Key::new(
            &parts.each_ref().map(String::as_str),
            &["choices", &layout, &size, &threads, &chosen],
        )
    }

    /// Goes from the choices of the cost model to better ones, one choice at a time.
    fn search(
        &self,
        layout: &Layout,
        copies: &Copies,
        call: &Call<'_>,
    ) -> Result<Choices, RunError> {
        let start = Instant::now();
        let mut best = self.candidate(layout, &self.choices)?;
        for choice in Choices::NAMES {
            for value in self.values(choice, &best, call) {
                if start.elapsed() > BUDGET {
                    return Ok(best.plan.choices.clone());
                }
                let mut choices = best.plan.choices.clone();
                if choices.set(choice, &value).is_err() {
                    continue;
                }
                let other = self.candidate(layout, &choices)?;
                if self.is_faster(&other, &best, copies, call)? {
                    best = other;
                }
            }
        }
        Ok(best.plan.choices.clone())
    }

    /// What to try for a choice that nobody made.
    fn values(&self, choice: &str, best: &Variant, call: &Call<'_>) -> Vec<String> {
        match choice {
            "stores" if self.choices.stores.is_none() => {
                let streams = |kernel: &crate::llvm::Kernel| kernel.streamed > 0;
                let stores =
                    [Stores::Cached, Stores::Streamed].map(|stores| stores.name().to_owned());
                match best.plan.module.kernels.iter().any(streams) {
                    true => stores.into(),
                    false => Vec::new(),
                }
            }
            "fetch" if self.choices.fetch.is_none() => {
                let fetches = |kernel: &crate::llvm::Kernel| kernel.fetch.ahead > 0;
                match best.plan.module.kernels.iter().any(fetches) {
                    true => ["0", "2", "4"].map(str::to_owned).into(),
                    false => Vec::new(),
                }
            }
            _ => {
                let along = |axis: &Axis| choice.strip_prefix("tile.") == Some(&axis.to_string());
                let axis = Axis::ALL.into_iter().find(along);
                let free = axis.filter(|axis| self.choices.tile(*axis).is_none());
                free.map_or_else(Vec::new, |axis| tiles_to_try(best, call, axis))
            }
        }
    }

    /// A variant that is not kept in the cache.
    fn candidate(&self, layout: &Layout, choices: &Choices) -> Result<Variant, RunError> {
        let plan = self.plan_with(layout, choices);
        let names = plan
            .module
            .kernels
            .iter()
            .map(|kernel| kernel.name.as_str());
        let names: Vec<&str> = names.collect();
        let object = self.compilation.jit.compile(&plan.module.text)?;
        let library = self.compilation.jit.load(&object, &names)?;
        let origin = Origin {
            cached: false,
            duration: Duration::ZERO,
            written: Duration::ZERO,
        };
        Ok(self.loaded(plan, None, library, origin))
    }

    /// Whether one variant is clearly faster than another.
    fn is_faster(
        &self,
        one: &Variant,
        other: &Variant,
        copies: &Copies,
        call: &Call<'_>,
    ) -> Result<bool, RunError> {
        let mut ratios = Vec::new();
        for run in 0..RUNS {
            let time = |variant| -> Result<f64, RunError> {
                let call = copies.call(call);
                let run = self.run_of(variant, &call);
                copies.restore();
                let start = Instant::now();
                let pointers = |argument: usize| call.fields[argument].pointer;
                // SAFETY: the copies are this search's alone, and laid out like the arguments of the call.
                unsafe { self.run_variant(variant, &run, pointers, call.scalars)? };
                Ok(start.elapsed().as_secs_f64())
            };
            // Whoever runs first may find memory that is not mapped yet.
            if run == 0 {
                time(one)?;
                time(other)?;
            }
            ratios.push(time(one)? / time(other)?.max(1e-9));
            if run + 1 == FIRST_RUNS && ratios.iter().all(|ratio| *ratio > 1.1) {
                return Ok(false);
            }
        }
        ratios.sort_by(f64::total_cmp);
        Ok(ratios[ratios.len() / 2] < GAIN)
    }
}

/// The power of two below the number of points.
pub(super) fn size_class(domain: [usize; 3]) -> u32 {
    domain.iter().product::<usize>().max(1).ilog2()
}

/// Tiles around the one that the cost model or the search has, along an axis.
fn tiles_to_try(best: &Variant, call: &Call<'_>, axis: Axis) -> Vec<String> {
    let points = call.domain[axis.index()];
    let of_nest = |nest| best.plan.tiles(nest, call.domain, call.threads);
    let tiles = (0..best.plan.schedule.nests.len()).flat_map(of_nest);
    let size = |tiles: Tiles| tiles.size[axis.index()];
    let Some(now) = tiles.map(size).max() else {
        return Vec::new();
    };
    let mut sizes = vec![now / 4, now / 2, now * 2, now * 4];
    sizes.retain(|size| (1..=points.min(Choices::LARGEST)).contains(size) && *size != now);
    sizes.iter().map(usize::to_string).collect()
}

/// Copies of the memory of a call's arguments.
struct Copies {
    parts: Vec<Part>,
    fields: Vec<FieldArgument>,
}

/// A copy of the memory from one address to another.
struct Part {
    from: usize,
    to: usize,
    original: HostMemory,
    copy: HostMemory,
}

impl Copies {
    /// # Safety
    /// The arguments must be valid memory, which nobody writes meanwhile.
    unsafe fn new(native: &Native, call: &Call<'_>) -> Result<Copies, RunError> {
        let spans = native.compilation.elements.spans(call);
        let mut parts = Vec::new();
        for (from, to) in merged(spans.iter().copied().flatten().collect()) {
            // SAFETY: as the caller says.
            parts.push(unsafe { Part::new(from, to)? });
        }
        let moved = |(field, span): (&FieldArgument, &Option<(usize, usize)>)| {
            let part = |(from, _)| {
                parts
                    .iter()
                    .find(|part| (part.from..part.to).contains(&from))
            };
            let part = span.and_then(part);
            FieldArgument {
                // The origin may lie outside of its array; an argument without memory is not accessed.
                pointer: part.map_or(std::ptr::null_mut(), |part| {
                    let ahead = (field.pointer as usize).wrapping_sub(part.from);
                    part.start().wrapping_add(ahead)
                }),
                ..*field
            }
        };
        Ok(Copies {
            fields: call.fields.iter().zip(&spans).map(moved).collect(),
            parts,
        })
    }

    /// Makes the copies what they were.
    fn restore(&self) {
        for part in &self.parts {
            // SAFETY: both blocks have that many bytes, and no stencil runs on them.
            unsafe {
                (part.start()).copy_from_nonoverlapping(part.original.pointer(), part.bytes())
            };
        }
    }

    /// The call with the copies as arguments.
    fn call<'a>(&'a self, call: &Call<'a>) -> Call<'a> {
        Call {
            fields: &self.fields,
            ..*call
        }
    }
}

impl Part {
    /// # Safety
    /// There must be memory from `from` to `to`, which nobody writes meanwhile.
    unsafe fn new(from: usize, to: usize) -> Result<Part, RunError> {
        let memory = |bytes| HostMemory::new(bytes, PAGE, Contents::Uninitialised);
        let part = Part {
            from,
            to,
            original: memory(to - from)?,
            copy: memory(to - from + from % PAGE)?,
        };
        // SAFETY: the block is new and has that many bytes; the source is as the caller says.
        unsafe {
            let source = from as *const u8;
            (part.original.pointer()).copy_from_nonoverlapping(source, part.bytes());
        }
        Ok(part)
    }

    fn bytes(&self) -> usize {
        self.to - self.from
    }

    /// Where the copy begins: as far behind the start of a page as what it is a copy of.
    fn start(&self) -> *mut u8 {
        self.copy.pointer().wrapping_add(self.from % PAGE)
    }
}

/// Spans of memory in order, those that overlap as one.
fn merged(mut spans: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    spans.sort_unstable();
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (from, to) in spans {
        match merged.last_mut() {
            Some(last) if from < last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::{merged, size_class};

    #[test]
    fn spans_that_overlap_are_one() {
        let spans = vec![(20, 30), (0, 10), (5, 12), (12, 15), (25, 26)];
        assert_eq!(merged(spans), [(0, 12), (12, 15), (20, 30)]);
    }

    #[test]
    fn domains_of_about_the_same_size_are_one_class() {
        assert_eq!(size_class([16, 16, 4]), size_class([17, 18, 5]));
        assert_ne!(size_class([16, 16, 4]), size_class([32, 16, 4]));
        assert_eq!(size_class([0, 3, 4]), 0);
    }
}
