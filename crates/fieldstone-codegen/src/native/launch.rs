//! A run: what kernels are told of the arrays, and their tiles on all threads.

use std::cell::RefCell;
use std::sync::atomic::AtomicU64;

use fieldstone_device::{Contents, HostMemory, Pool, shared_cache};
use fieldstone_stencil::ir::{FieldId, Order, Target, TempId};
use fieldstone_stencil::schedule::{LevelNest, Nest, RowNest};
use fieldstone_stencil::{Extent, Interval};

use super::array::Array;
use super::{KernelFunction, Variant};
use crate::call::Call;
use crate::cost::{Cost, worthwhile};
use crate::llvm::Kernel;
use crate::llvm::abi::Words;
use crate::tile::{LINE, Tiles};

thread_local! {
    /// Memory for the temporaries of one tile, as large as any kernel of this thread needed.
    static SCRATCH: RefCell<Option<HostMemory>> = const { RefCell::new(None) };
}

/// Runs `body` with scratch memory of at least `bytes` bytes.
fn with_scratch(bytes: usize, body: impl FnOnce(*mut u8)) {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.as_ref().is_none_or(|memory| memory.bytes() < bytes) {
            let memory = HostMemory::new(bytes, LINE, Contents::Uninitialised);
            *scratch = Some(memory.expect("scratch memory of a few hundred kilobytes"));
        }
        body(
            scratch
                .as_ref()
                .map_or(std::ptr::null_mut(), HostMemory::pointer),
        );
    });
}

/// A kernel and what there is to know of it.
#[derive(Clone, Copy)]
struct Code<'a> {
    function: KernelFunction,
    kernel: &'a Kernel,
    cost: &'a Cost,
}

impl Variant {
    pub(super) fn words(
        &self,
        call: &Call<'_>,
        arrays: &[Option<Array<'_>>],
        failure: &AtomicU64,
    ) -> Vec<u64> {
        let mut words = vec![0; self.words.len()];
        words[Words::FAILURE] = failure.as_ptr() as u64;
        for (axis, points) in call.domain.into_iter().enumerate() {
            words[Words::DOMAIN + axis] = points as u64;
        }
        for (number, field) in call.fields.iter().enumerate() {
            let first = self.words.field(number);
            words[first] = field.pointer as u64;
            for (axis, stride) in field.strides.into_iter().enumerate() {
                words[first + 1 + axis] = stride as u64;
            }
            let levels = self.words.levels(number);
            words[levels] = (field.lower[2] as u64).wrapping_neg();
            words[levels + 1] = field.upper[2] as u64;
        }
        let data = self.words.data(Target::Field(FieldId(0)));
        for (word, stride) in words[data..].iter_mut().zip(call.data_strides) {
            *word = *stride as u64;
        }
        for (number, array) in arrays.iter().enumerate() {
            let (Some(array), Some(first)) = (array, self.words.array(number)) else {
                continue;
            };
            words[first] = array.memory.pointer() as u64 + array.shape.origin as u64;
            for (axis, stride) in array.shape.strides.into_iter().enumerate() {
                words[first + 1 + axis] = stride as u64;
            }
            // The last index counts single elements, as in C.
            let sizes = &array.sizes;
            let first = self.words.data(Target::Temp(TempId(number as u32)));
            let mut stride = array.shape.element;
            for (dimension, size) in sizes.iter().enumerate().rev() {
                words[first + dimension] = stride as u64;
                stride *= *size as usize;
            }
        }
        for (number, scalar) in call.scalars.iter().enumerate() {
            words[self.words.scalar(number)] = scalar.bits;
        }
        words
    }

    /// # Safety
    /// As [`Native::run`], and the words must describe `call`.
    pub(super) unsafe fn run(&self, mut words: Vec<u64>, call: &Call<'_>) {
        let whole = 0..call.domain[2];
        let kernels = self.kernels.iter().zip(&self.plan.module.kernels);
        let mut kernels = kernels
            .zip(&self.plan.costs)
            .map(|((function, kernel), cost)| Code {
                function: *function,
                kernel,
                cost,
            });
        for nest in &self.plan.schedule.nests {
            match nest {
                Nest::Levels(nest) => {
                    let count = nest.sections.iter().map(|(_, nests)| nests.len()).sum();
                    let kernels: Vec<_> = kernels.by_ref().take(count).collect();
                    // SAFETY: as the caller says.
                    unsafe { run_levels(nest, &kernels, &mut words, call) };
                }
                Nest::Rows(nest) => {
                    let code = kernels.next().expect("a kernel for each nest");
                    // SAFETY: as the caller says.
                    unsafe { run_rows(nest, code, &mut words, call, whole.clone()) };
                }
                Nest::Columns(nest) => {
                    let code = kernels.next().expect("a kernel for each nest");
                    let points = extended(call.domain, nest.extent);
                    let threads = worthwhile(code.cost.nanoseconds(points), call.threads);
                    let tiles = Tiles::of_columns(nest, &code.kernel.scratch, points, threads);
                    set_levels(&mut words, whole.clone());
                    // SAFETY: as the caller says.
                    unsafe { launch(code, &mut words, call, tiles, threads) };
                }
            }
        }
    }
}

pub(crate) fn extended(domain: [usize; 3], extent: Extent) -> [usize; 3] {
    std::array::from_fn(|n| {
        let (before, after) = extent.0[n];
        (domain[n] as i64 + i64::from(before) + i64::from(after)).max(0) as usize
    })
}

fn set_levels(words: &mut [u64], levels: std::ops::Range<usize>) {
    words[Words::LEVELS] = levels.start as u64;
    words[Words::LEVELS + 1] = levels.end as u64;
}

/// # Safety
/// As [`Native::run`].
unsafe fn run_rows(
    nest: &RowNest,
    code: Code<'_>,
    words: &mut [u64],
    call: &Call<'_>,
    levels: std::ops::Range<usize>,
) {
    let domain = [call.domain[0], call.domain[1], levels.len()];
    let points = extended(domain, nest.extent);
    let threads = worthwhile(code.cost.nanoseconds(points), call.threads);
    let tiles = Tiles::of_rows(nest, &code.kernel.scratch, points, threads);
    set_levels(words, levels);
    // SAFETY: as the caller says.
    unsafe { launch(code, words, call, tiles, threads) };
}

/// # Safety
/// As [`Native::run`].
unsafe fn run_levels(nest: &LevelNest, kernels: &[Code<'_>], words: &mut [u64], call: &Call<'_>) {
    let mut first = 0;
    for (interval, nests) in &nest.sections {
        let kernels = &kernels[first..first + nests.len()];
        first += nests.len();
        for level in levels_in_order(*interval, nest.order, call.domain[2]) {
            for (nest, code) in nests.iter().zip(kernels) {
                // SAFETY: as the caller says.
                unsafe { run_rows(nest, *code, words, call, level..level + 1) };
            }
        }
    }
}

fn levels_in_order(
    interval: Interval,
    order: Order,
    levels: usize,
) -> Box<dyn Iterator<Item = usize>> {
    let range = interval.resolve(levels);
    match order {
        Order::Backward => Box::new(range.rev()),
        Order::Parallel | Order::Forward => Box::new(range),
    }
}

/// Runs the tiles of a kernel on the pool.
///
/// # Safety
/// As [`Native::run`].
unsafe fn launch(
    Code {
        function, kernel, ..
    }: Code<'_>,
    words: &mut [u64],
    call: &Call<'_>,
    tiles: Tiles,
    threads: usize,
) {
    for axis in 0..3 {
        words[Words::TILE + axis] = tiles.size[axis] as u64;
        words[Words::COUNT + axis] = tiles.count[axis] as u64;
    }
    let points: usize = call.domain.iter().product();
    let caches = shared_cache(threads);
    words[Words::STREAM] = u64::from(kernel.streams(points, caches));
    let words: &[u64] = words;
    let bytes = kernel.scratch.total(call.domain[2]);
    Pool::global().run_balanced(tiles.total(), threads, 1, &|_, begin, end| {
        with_scratch(bytes, |scratch| {
            // SAFETY: the kernel reads its words and the arrays they describe, and writes to those and to `bytes` bytes of
            // scratch; tiles of one kernel do not write what another reads.
            unsafe { function(words.as_ptr(), begin as i64, end as i64, scratch) };
        });
    });
}
