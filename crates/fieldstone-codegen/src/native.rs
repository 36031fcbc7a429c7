//! Machine code: compiled for the layouts a stencil is called with, kept, and run on all threads.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use fieldstone_device::{Contents, HostMemory, Pool, core_cache};
use fieldstone_stencil::elements::Element;
use fieldstone_stencil::ir::{
    DataDimension, Field, FieldId, Order, Stencil, Target, TempId, Temporary,
};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{LevelNest, Nest, Placement, RowNest, Schedule};
use fieldstone_stencil::{Axes, Axis, DType, Extent, Interval};

use crate::cache::claim::Claim;
use crate::cache::entry::Facts;
use crate::cache::{Cache, Key};
use crate::call::{Call, FieldArgument};
use crate::error::RunError;
use crate::jit::{Jit, Library};
use crate::llvm::abi::Words;
use crate::llvm::{self, Failure, Kernel, Layout, Module, Wrong};
use crate::plan::Plan;
use crate::stack::deep;
use crate::tile::{LINE, Tiles};

/// The signature of a kernel; see [`crate::llvm::abi`].
type KernelFunction = unsafe extern "C" fn(*const u64, i64, i64, *mut u8);

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

/// A stencil as machine code, one variant for each layout it was called with.
pub struct Native {
    program: Program,
    /// Which elements of which arguments the fields of the program are.
    elements: Elements,
    backend: &'static str,
    jit: Arc<dyn Jit>,
    cache: Cache,
    reuse: Reuse,
    variants: RwLock<Vec<Arc<Variant>>>,
    /// Memory of temporaries that are arrays, kept for the next run.
    spare: Mutex<Vec<HostMemory>>,
}

/// A stencil as machine code for arrays of one layout.
pub struct Variant {
    /// The layout.
    pub layout: Layout,
    /// How the stencil is computed.
    pub schedule: Schedule,
    /// The kernels as LLVM IR.
    pub module: Module,
    /// Where the code came from and how long that took.
    pub origin: Origin,
    words: Words,
    kernels: Vec<KernelFunction>,
    /// Keeps the code of `kernels` in memory.
    _library: Library,
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

impl Native {
    /// A stencil that is compiled on its first run, for the backend of that name.
    ///
    /// # Errors
    /// If only code of the cache is to be used and it has none of this stencil.
    pub fn new(
        program: &Program,
        backend: &'static str,
        jit: Arc<dyn Jit>,
        cache: Cache,
        reuse: Reuse,
    ) -> Result<Native, RunError> {
        let (scheduled, elements) = deep(|| program.for_schedule());
        let native = Native {
            elements: Elements::new(&program.stencil, elements, &scheduled.stencil),
            program: scheduled,
            backend,
            jit,
            cache,
            reuse,
            variants: RwLock::default(),
            spare: Mutex::default(),
        };
        if reuse == Reuse::Only && !native.may_be_cached() {
            return Err(native.not_cached(None));
        }
        Ok(native)
    }

    /// Runs the stencil, after compiling it where the layout of the arguments is new.
    ///
    /// # Errors
    /// If the code cannot be compiled, or memory for temporaries cannot be had.
    ///
    /// # Safety
    /// Every point of `call.domain` extended by the extents of the program's analysis must be valid memory of its field, that
    /// nobody else writes during the call, or reads where it is written.
    pub unsafe fn run(&self, call: &Call<'_>) -> Result<(), RunError> {
        let layout = self.elements.layout_of(call);
        let variant = self.variant(&layout)?;
        if call.domain.contains(&0) {
            return Ok(());
        }
        let (fields, data_strides) = self.elements.arguments(call);
        let call = &Call {
            fields: &fields,
            data_strides: &data_strides,
            ..*call
        };
        let arrays = self.arrays(&variant, call)?;
        let failure = AtomicU64::new(0);
        let words = variant.words(call, &arrays, &failure);
        // SAFETY: as the caller says; temporaries are in `arrays`, which this run has for itself.
        unsafe { variant.run(words, call) };
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend(arrays.into_iter().flatten().map(|array| array.memory));
        match failure.into_inner() {
            0 => Ok(()),
            number => Err(self.failed(&variant, number)),
        }
    }

    /// The error of a failure that a kernel found.
    fn failed(&self, variant: &Variant, number: u64) -> RunError {
        let Failure { what, span } = &variant.module.failures[number as usize - 1];
        let stencil = &self.program.stencil;
        let place = |span| crate::interpreter::place(stencil, span);
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

    /// The code for a layout, compiled where there is none yet.
    ///
    /// # Errors
    /// If LLVM fails.
    pub fn variant(&self, layout: &Layout) -> Result<Arc<Variant>, RunError> {
        let known = |variants: &Vec<Arc<Variant>>| {
            let found = variants.iter().find(|variant| variant.layout == *layout);
            found.cloned()
        };
        let variants = self.variants.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(variant) = known(&variants) {
            return Ok(variant);
        }
        drop(variants);
        // Two threads may compile the same code at once; the first to finish is kept.
        let fresh = Arc::new(self.compile(layout)?);
        let mut variants = self
            .variants
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(variant) = known(&variants) {
            return Ok(variant);
        }
        variants.push(fresh.clone());
        Ok(fresh)
    }

    /// Every variant compiled so far.
    pub fn variants(&self) -> Vec<Arc<Variant>> {
        let variants = self.variants.read().unwrap_or_else(PoisonError::into_inner);
        variants.clone()
    }

    /// How arrays of a layout are computed with, up to LLVM IR: what [`Native::variant`] makes machine code of.
    pub fn plan(&self, layout: &Layout) -> Plan {
        let elements = self.elements.layout(layout);
        let plan = deep(|| Plan::new(&self.program, &elements, &self.jit.target()));
        Plan {
            layout: layout.clone(),
            ..plan
        }
    }

    /// The program as it is scheduled.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The processor that code is made for.
    pub fn target(&self) -> llvm::Target {
        self.jit.target()
    }

    /// The assembly of a module.
    ///
    /// # Errors
    /// If LLVM fails.
    pub fn assembly(&self, module: &Module) -> Result<String, RunError> {
        Ok(self.jit.assembly(&module.text)?)
    }

    fn compile(&self, layout: &Layout) -> Result<Variant, RunError> {
        let start = Instant::now();
        self.check_types(&self.jit.target())?;
        let Plan {
            schedule, module, ..
        } = self.plan(layout);
        let written = start.elapsed();
        let (library, cached) = self.library(layout, &module)?;
        let kernels = library.addresses.iter().map(|address| {
            // SAFETY: the JIT gives addresses of functions of the module, which all have this signature.
            unsafe { std::mem::transmute::<usize, KernelFunction>(*address) }
        });
        Ok(Variant {
            layout: layout.clone(),
            words: Words::new(&self.program.stencil, &schedule),
            kernels: kernels.collect(),
            schedule,
            module,
            origin: Origin {
                cached,
                duration: start.elapsed(),
                written,
            },
            _library: library,
        })
    }

    /// The code of a module, and whether it was found in the cache.
    fn library(&self, layout: &Layout, module: &Module) -> Result<(Library, bool), RunError> {
        let kernels = module.kernels.iter().map(|kernel| kernel.name.as_str());
        let names: Vec<&str> = kernels.collect();
        let key = self.key(module);
        let find = || {
            let object = self
                .cache
                .get(&key)
                .filter(|_| self.reuse != Reuse::Rebuild)?;
            self.jit.load(&object, &names).ok()
        };
        if let Some(library) = find() {
            return Ok((library, true));
        }
        if self.reuse == Reuse::Only {
            return Err(self.not_cached(Some(layout)));
        }
        let claim = match self.reuse {
            Reuse::Rebuild => Claim::Unknown,
            _ => self.cache.claim(&key),
        };
        // Somebody else may have stored it since.
        if !matches!(claim, Claim::Unknown)
            && let Some(library) = find()
        {
            return Ok((library, true));
        }
        let object = self.jit.compile(&module.text)?;
        self.cache.put(&key, &self.facts(layout), &object);
        drop(claim);
        Ok((self.jit.load(&object, &names)?, false))
    }

    fn key(&self, module: &Module) -> Key {
        let parts = self.program_parts();
        Key::new(&parts.each_ref().map(String::as_str), &[&module.text])
    }

    /// All that code follows from, except the layouts of the arguments.
    fn program_parts(&self) -> [String; 7] {
        let target = self.jit.target();
        [
            env!("CARGO_PKG_VERSION").to_owned(),
            self.jit.version(),
            target.triple,
            target.cpu,
            target.features,
            self.backend.to_owned(),
            fieldstone_stencil::text::print_program(&self.program),
        ]
    }

    fn may_be_cached(&self) -> bool {
        let parts = self.program_parts();
        self.cache.has_any(&parts.each_ref().map(String::as_str))
    }

    fn not_cached(&self, layout: Option<&Layout>) -> RunError {
        RunError::NotCached {
            stencil: self.program.stencil.name.clone(),
            layout: layout.map(|layout| self.in_words(layout)),
            directory: self
                .cache
                .directory()
                .map(|path| path.display().to_string()),
        }
    }

    /// What an entry of the cache says of itself.
    fn facts(&self, layout: &Layout) -> Facts {
        Facts {
            stencil: self.program.stencil.name.clone(),
            backend: self.backend.to_owned(),
            cpu: self.jit.target().cpu,
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
    fn check_types(&self, target: &llvm::Target) -> Result<(), RunError> {
        let stencil = &self.program.stencil;
        let fields = stencil.fields.iter().map(|field| field.dtype);
        let mut dtypes = fields.chain(stencil.temporaries.iter().filter_map(|temp| temp.dtype));
        if target.has_half() || !dtypes.any(|dtype| dtype == fieldstone_stencil::DType::Float16) {
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

    /// Memory for the temporaries that outlive a nest.
    fn arrays(
        &self,
        variant: &Variant,
        call: &Call<'_>,
    ) -> Result<Vec<Option<Array<'_>>>, RunError> {
        let stencil = &self.program.stencil;
        let mut arrays = Vec::with_capacity(stencil.temporaries.len());
        for (number, placement) in variant.schedule.temporaries.iter().enumerate() {
            let Placement::Array { extent, zeroed } = *placement else {
                arrays.push(None);
                continue;
            };
            let temporary = stencil.temporary(TempId(number as u32));
            let contiguous = variant.schedule.contiguous;
            let shape = ArrayShape::new(call.domain, extent, contiguous, temporary);
            let memory = self.memory(shape.bytes)?;
            if zeroed {
                // SAFETY: the block has that many bytes and is this run's alone.
                unsafe { memory.pointer().write_bytes(0, shape.bytes) };
            }
            arrays.push(Some(Array {
                memory,
                shape,
                sizes: &temporary.data_dims,
            }));
        }
        Ok(arrays)
    }

    fn memory(&self, bytes: usize) -> Result<HostMemory, RunError> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fits) = spare.iter().position(|memory| memory.bytes() >= bytes) {
            return Ok(spare.swap_remove(fits));
        }
        drop(spare);
        Ok(HostMemory::new(bytes, LINE, Contents::Uninitialised)?)
    }
}

/// Which elements of which arguments the fields of a program are.
struct Elements {
    /// Per field: the argument, and for each data dimension the place of its stride in a call and the index.
    places: Vec<(usize, Vec<(usize, isize)>)>,
    /// The arguments.
    whole: Vec<Field>,
    /// The place in a call of each stride of the data dimensions that the fields of the program still have.
    data: Vec<usize>,
    /// Whether any argument has data dimensions.
    apart: bool,
}

impl Elements {
    fn new(stencil: &Stencil, elements: Vec<Element>, scheduled: &Stencil) -> Elements {
        let mut next = 0;
        let strides: Vec<usize> = (stencil.fields.iter())
            .map(|field| {
                next += field.data_dims.len();
                next - field.data_dims.len()
            })
            .collect();
        let data = (elements.iter().zip(&scheduled.fields)).flat_map(|(element, field)| {
            let first = strides[element.field.0 as usize];
            first..first + field.data_dims.len()
        });
        let data = data.collect();
        let place = |element: Element| {
            let field = element.field.0 as usize;
            let along = strides[field]..;
            let indices = element.indices.into_iter().map(|index| index as isize);
            (field, along.zip(indices).collect())
        };
        Elements {
            places: elements.into_iter().map(place).collect(),
            whole: stencil.fields.clone(),
            data,
            apart: next > 0,
        }
    }

    /// Which axis each argument of a call is contiguous along.
    fn layout_of(&self, call: &Call<'_>) -> Layout {
        let both = self.whole.iter().zip(call.fields);
        Layout(
            both.map(|(field, argument)| contiguous_along(field, argument))
                .collect(),
        )
    }

    /// Which axis each field of the program is contiguous along.
    fn layout(&self, arguments: &Layout) -> Layout {
        Layout(
            self.places
                .iter()
                .map(|(field, _)| arguments.0[*field])
                .collect(),
        )
    }

    /// The memory of each field of the program, and the strides of its data dimensions.
    fn arguments<'a>(&self, call: &Call<'a>) -> (Cow<'a, [FieldArgument]>, Vec<isize>) {
        if !self.apart {
            return (Cow::Borrowed(call.fields), Vec::new());
        }
        let element = |(field, place): &(usize, Vec<(usize, isize)>)| {
            let whole = call.fields[*field];
            let bytes = (place.iter()).map(|(stride, index)| index * call.data_strides[*stride]);
            FieldArgument {
                pointer: whole.pointer.wrapping_offset(bytes.sum()),
                ..whole
            }
        };
        let data = self.data.iter().map(|place| call.data_strides[*place]);
        (self.places.iter().map(element).collect(), data.collect())
    }
}

/// The axis that an argument is contiguous along.
pub fn contiguous_along(field: &Field, argument: &FieldArgument) -> Option<Axis> {
    let size = field.dtype.size() as isize;
    let points = |axis: Axis| argument.lower[axis.index()] + argument.upper[axis.index()] as isize;
    let axes = || {
        let axes = field.axes.iter();
        axes.filter(|axis| argument.strides[axis.index()] == size)
    };
    // The stride along an axis of one point means nothing.
    let long = axes().find(|axis| points(*axis) > 1);
    long.or_else(|| axes().next())
}

/// A temporary in memory of its own.
struct Array<'a> {
    memory: HostMemory,
    shape: ArrayShape,
    /// Of the data dimensions.
    sizes: &'a [u32],
}

/// Strides and size, in bytes, of a temporary as large as the domain and its extent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ArrayShape {
    strides: [usize; 3],
    /// Of the first point of the domain.
    origin: usize,
    /// From one element of a point to the next: each has an array of all points.
    element: usize,
    pub bytes: usize,
}

impl ArrayShape {
    pub fn new(
        domain: [usize; 3],
        extent: Extent,
        contiguous: Axis,
        temporary: &Temporary,
    ) -> ArrayShape {
        let (axes, size) = (temporary.axes, temporary.dtype.map_or(1, DType::size));
        let order = axes_by_stride(contiguous).filter(|axis| axes.contains(*axis));
        let contiguous = array_contiguous_along(contiguous, axes);
        let mut shape = ArrayShape {
            strides: [0; 3],
            origin: 0,
            element: 0,
            bytes: size,
        };
        for axis in order {
            let (before, after) = extent.along(axis);
            let (mut before, after) = (before.max(0) as usize, after.max(0) as usize);
            if Some(axis) == contiguous {
                // The first point of the domain starts a line in every row.
                before = before.next_multiple_of(LINE / size);
            }
            shape.strides[axis.index()] = shape.bytes;
            shape.origin += before * shape.bytes;
            shape.bytes *= before + domain[axis.index()] + after;
            if Some(axis) == contiguous {
                shape.bytes = shape.bytes.next_multiple_of(LINE);
            }
        }
        shape.element = shape.bytes;
        let elements = temporary.data_dims.iter();
        shape.bytes *= elements.map(|size| *size as usize).product::<usize>();
        shape
    }
}

/// The axes of an array of a schedule, that with the smallest stride first.
fn axes_by_stride(contiguous: Axis) -> impl Iterator<Item = Axis> {
    let order = match contiguous {
        Axis::I => [Axis::I, Axis::J, Axis::K],
        Axis::J => [Axis::J, Axis::I, Axis::K],
        Axis::K => [Axis::K, Axis::J, Axis::I],
    };
    order.into_iter()
}

/// The axis that an array of a schedule for rows along `contiguous` is contiguous along.
pub(crate) fn array_contiguous_along(contiguous: Axis, axes: Axes) -> Option<Axis> {
    axes_by_stride(contiguous).find(|axis| axes.contains(*axis))
}

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

impl Variant {
    fn words(
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
    unsafe fn run(&self, mut words: Vec<u64>, call: &Call<'_>) {
        let whole = 0..call.domain[2];
        let mut kernels = self.kernels.iter().zip(&self.module.kernels);
        for nest in &self.schedule.nests {
            match nest {
                Nest::Levels(nest) => {
                    let count = nest.sections.iter().map(|(_, nests)| nests.len()).sum();
                    let kernels: Vec<_> = kernels.by_ref().take(count).collect();
                    // SAFETY: as the caller says.
                    unsafe { run_levels(nest, &kernels, &mut words, call) };
                }
                Nest::Rows(nest) => {
                    let (function, kernel) = kernels.next().expect("a kernel for each nest");
                    // SAFETY: as the caller says.
                    unsafe { run_rows(nest, *function, kernel, &mut words, call, whole.clone()) };
                }
                Nest::Columns(nest) => {
                    let (function, kernel) = kernels.next().expect("a kernel for each nest");
                    let points = extended(call.domain, nest.extent);
                    let tiles = Tiles::of_columns(nest, &kernel.scratch, points, call.threads);
                    set_levels(&mut words, whole.clone());
                    // SAFETY: as the caller says.
                    unsafe { launch(*function, kernel, &mut words, call, tiles) };
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
    function: KernelFunction,
    kernel: &Kernel,
    words: &mut [u64],
    call: &Call<'_>,
    levels: std::ops::Range<usize>,
) {
    let domain = [call.domain[0], call.domain[1], levels.len()];
    let points = extended(domain, nest.extent);
    let tiles = Tiles::of_rows(nest, &kernel.scratch, points, call.threads);
    set_levels(words, levels);
    // SAFETY: as the caller says.
    unsafe { launch(function, kernel, words, call, tiles) };
}

/// # Safety
/// As [`Native::run`].
unsafe fn run_levels(
    nest: &LevelNest,
    kernels: &[(&KernelFunction, &Kernel)],
    words: &mut [u64],
    call: &Call<'_>,
) {
    let mut first = 0;
    for (interval, nests) in &nest.sections {
        let kernels = &kernels[first..first + nests.len()];
        first += nests.len();
        for level in levels_in_order(*interval, nest.order, call.domain[2]) {
            for (nest, (function, kernel)) in nests.iter().zip(kernels) {
                // SAFETY: as the caller says.
                unsafe {
                    run_rows(nest, **function, kernel, words, call, level..level + 1);
                }
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
    function: KernelFunction,
    kernel: &Kernel,
    words: &mut [u64],
    call: &Call<'_>,
    tiles: Tiles,
) {
    for axis in 0..3 {
        words[Words::TILE + axis] = tiles.size[axis] as u64;
        words[Words::COUNT + axis] = tiles.count[axis] as u64;
    }
    let points: usize = call.domain.iter().product();
    let caches = core_cache() * call.threads;
    words[Words::STREAM] = u64::from(points * kernel.streamed > caches);
    let words: &[u64] = words;
    let bytes = kernel.scratch.total(call.domain[2]);
    Pool::global().run(tiles.total(), call.threads, &|_, begin, end| {
        with_scratch(bytes, |scratch| {
            // SAFETY: the kernel reads its words and the arrays they describe, and writes to those and to `bytes` bytes of
            // scratch; tiles of one kernel do not write what another reads.
            unsafe { function(words.as_ptr(), begin as i64, end as i64, scratch) };
        });
    });
}
