//! Kernels of a simulated device: functions of the host, whose blocks of threads are shared among its cores.

use std::any::Any;
use std::fmt::{self, Debug};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::memory::POISON;
use super::work::Task;
use super::{Shared, State};
use crate::kernel::{Address, BlockFunction, Graph, Launch, Module, Node, Resources, Symbol};
use crate::{DeviceError, DeviceId, Limits, Pool, Scratch, Stream};

/// Shared memory begins at a multiple of this.
const ALIGNMENT: usize = 256;

/// As small as those of the GPUs that there are.
pub(super) const LIMITS: Limits = Limits {
    warp: 32,
    threads_per_block: 1024,
    blocks_per_multiprocessor: 16,
    threads_per_multiprocessor: 1024,
    registers_per_multiprocessor: 65536,
    shared_per_block: 48 << 10,
    shared_per_block_optin: 64 << 10,
    shared_per_multiprocessor: 64 << 10,
    shared_reserved_per_block: 0,
};

/// The most blocks along each axis of a grid, as for a GPU.
const LARGEST_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

thread_local! {
    /// Shared memory of the block that a thread is at, as large as any needed so far.
    static SHARED: Scratch = const { Scratch::new() };
}

/// Code of several kernels.
pub(super) struct SimulatedModule {
    device: Arc<Shared>,
    code: Arc<Loaded>,
}

/// The functions of a module, which work that is not done keeps in memory.
struct Loaded {
    label: String,
    kernels: Vec<(String, u32, BlockFunction)>,
    _keep: Box<dyn Any + Send + Sync>,
}

impl SimulatedModule {
    pub(super) fn new(
        device: &Arc<Shared>,
        label: &str,
        functions: &[BlockFunction],
        keep: Box<dyn Any + Send + Sync>,
        symbols: &[Symbol<'_>],
    ) -> Result<Self, DeviceError> {
        let not = |reason| DeviceError::NotCode {
            label: label.to_owned(),
            device: device.id(),
            reason,
        };
        if functions.len() != symbols.len() {
            return Err(not(format!(
                "it has {} functions for {} kernels",
                functions.len(),
                symbols.len()
            )));
        }
        let most = LIMITS.shared_per_block_optin;
        if let Some(symbol) = symbols.iter().find(|symbol| symbol.shared_bytes > most) {
            return Err(not(format!(
                "kernel '{}' cannot have {} bytes of shared memory, a block has {most} at most",
                symbol.name, symbol.shared_bytes
            )));
        }
        let both = symbols.iter().zip(functions);
        let kernels =
            both.map(|(symbol, function)| (symbol.name.to_owned(), symbol.shared_bytes, *function));
        Ok(Self {
            device: Arc::clone(device),
            code: Arc::new(Loaded {
                label: label.to_owned(),
                kernels: kernels.collect(),
                _keep: keep,
            }),
        })
    }
}

impl Debug for SimulatedModule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("SimulatedModule")
            .field(&self.code.label)
            .finish()
    }
}

impl Module for SimulatedModule {
    fn device(&self) -> DeviceId {
        self.device.id()
    }

    fn resources(&self, _kernel: usize) -> Result<Option<Resources>, DeviceError> {
        Ok(None)
    }

    unsafe fn launch(&self, launch: &Launch<'_>, stream: Stream) -> Result<(), DeviceError> {
        let order = Order::new(&self.code, launch)?;
        order.submit(&self.device, stream)
    }
}

/// A launch, with its words as they were given.
pub(super) struct Order {
    code: Arc<Loaded>,
    kernel: usize,
    blocks: u64,
    shared_bytes: usize,
    words: Vec<u64>,
    addresses: Vec<Address>,
}

impl Order {
    fn new(code: &Arc<Loaded>, launch: &Launch<'_>) -> Result<Self, DeviceError> {
        let (name, shared_bytes, _) = &code.kernels[launch.kernel];
        let threads: u64 = launch.block.iter().map(|&count| u64::from(count)).product();
        let problem = if !(1..=u64::from(LIMITS.threads_per_block)).contains(&threads) {
            format!(
                "a block of {threads} threads, and there are 1 to {}",
                LIMITS.threads_per_block
            )
        } else if let Some(axis) = (0..3).find(|&axis| launch.grid[axis] > LARGEST_GRID[axis]) {
            format!(
                "{} blocks along axis {axis} of the grid, and there are {} at most",
                launch.grid[axis], LARGEST_GRID[axis]
            )
        } else if launch.shared_bytes > LIMITS.shared_per_block.max(*shared_bytes) {
            format!(
                "{} bytes of shared memory, and it was loaded for {shared_bytes}",
                launch.shared_bytes
            )
        } else {
            return Ok(Self {
                code: Arc::clone(code),
                kernel: launch.kernel,
                blocks: launch.blocks(),
                shared_bytes: launch.shared_bytes as usize,
                words: launch.words.to_vec(),
                addresses: launch.addresses.to_vec(),
            });
        };
        Err(DeviceError::Launch {
            kernel: name.clone(),
            label: code.label.clone(),
            reason: format!("it asks for {problem}"),
        })
    }

    fn submit(self, device: &Shared, stream: Stream) -> Result<(), DeviceError> {
        if self.blocks == 0 {
            return Ok(());
        }
        let mut state = device.state();
        let blocks = self.translated(&state, device.id())?;
        device.submit(&mut state, stream, Task::Launch(Box::new(blocks)))?;
        Ok(())
    }

    /// The launch with addresses of the host, if they are those of memory that the device reaches.
    fn translated(&self, state: &State, device: DeviceId) -> Result<Blocks, DeviceError> {
        let mut words = self.words.clone();
        let mut memory = Vec::with_capacity(self.addresses.len());
        for &Address { word, low, high } in &self.addresses {
            if words[word] == 0 {
                continue;
            }
            let first = (words[word] as usize).wrapping_add_signed(low);
            let bytes = high.wrapping_sub(low).max(0) as usize;
            let start = state
                .reached(device, first, bytes)
                .map_err(|error| self.failed(error))?;
            words[word] = start.wrapping_add_signed(low.wrapping_neg()) as u64;
            memory.push(start..start + bytes);
        }
        Ok(Blocks {
            code: Arc::clone(&self.code),
            kernel: self.kernel,
            count: self.blocks,
            shared_bytes: self.shared_bytes,
            words,
            memory,
        })
    }

    fn failed(&self, error: DeviceError) -> DeviceError {
        DeviceError::Kernel {
            kernel: self.code.kernels[self.kernel].0.clone(),
            label: self.code.label.clone(),
            error: Box::new(error),
        }
    }
}

/// The blocks of a launch, to be done.
pub(super) struct Blocks {
    code: Arc<Loaded>,
    kernel: usize,
    count: u64,
    shared_bytes: usize,
    words: Vec<u64>,
    /// The addresses of what it may access.
    memory: Vec<Range<usize>>,
}

impl Debug for Blocks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = &self.code.kernels[self.kernel].0;
        formatter.debug_tuple("Blocks").field(kernel).finish()
    }
}

impl Blocks {
    /// The kernel, and whose it is.
    pub(super) fn in_words(&self) -> String {
        let kernel = &self.code.kernels[self.kernel].0;
        format!("{kernel} of {}", self.code.label)
    }

    /// Whether it may access any of this memory.
    pub(super) fn reaches(&self, block: &Range<usize>) -> bool {
        let meet = |range: &Range<usize>| range.start < block.end && block.start < range.end;
        self.memory.iter().any(meet)
    }

    /// Does all blocks, each with shared memory that holds nothing yet.
    pub(super) fn run(&self) -> Result<(), DeviceError> {
        let function = self.code.kernels[self.kernel].2;
        let problem = Mutex::new(None);
        let some = |_, begin: usize, end: usize| {
            let blocks = |shared: *mut u8| {
                for block in begin as i64..end as i64 {
                    if self.shared_bytes > 0 {
                        // SAFETY: there are so many bytes, for this thread alone.
                        unsafe { shared.write_bytes(POISON, self.shared_bytes) };
                    }
                    // SAFETY: who launched it promised that the kernel takes these words, whose addresses are of memory that
                    // is there; that blocks do not disturb each other is promised as well.
                    unsafe { function(self.words.as_ptr(), block, block + 1, shared) };
                }
            };
            let done = SHARED.with(|memory| memory.with(self.shared_bytes, ALIGNMENT, blocks));
            if let Err(error) = done {
                *problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        };
        let pool = Pool::global();
        pool.run_balanced(self.count as usize, pool.threads(), 1, &some);
        let problem = problem.into_inner().unwrap_or_else(PoisonError::into_inner);
        problem.map_or(Ok(()), Err)
    }
}

/// Work that is repeated.
pub(super) struct SimulatedGraph {
    device: Arc<Shared>,
    steps: Vec<Step>,
    /// The last task of the launch before.
    last: Mutex<Option<u64>>,
}

/// A part of the work.
enum Step {
    Launch(Order),
    Clear(*mut u8, usize),
}

// SAFETY: the address is one of a device, which nobody but the device accesses.
unsafe impl Send for Step {}
// SAFETY: as above.
unsafe impl Sync for Step {}

impl SimulatedGraph {
    pub(super) fn new(device: &Arc<Shared>, nodes: &[Node<'_>]) -> Result<Self, DeviceError> {
        let step = |node: &Node<'_>| {
            let (module, launch) = match node {
                Node::Launch(module, launch) => (*module, launch),
                Node::Clear(target, bytes) => return Ok(Step::Clear(*target, *bytes)),
            };
            let any: &dyn Any = module;
            let known = any
                .downcast_ref::<SimulatedModule>()
                .filter(|module| Arc::ptr_eq(&module.device, device));
            match known {
                Some(module) => Order::new(&module.code, launch).map(Step::Launch),
                None => Err(DeviceError::Peers {
                    source_device: module.device(),
                    target_device: device.id(),
                }),
            }
        };
        Ok(Self {
            device: Arc::clone(device),
            steps: nodes.iter().map(step).collect::<Result<_, _>>()?,
            last: Mutex::default(),
        })
    }
}

impl Debug for SimulatedGraph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("SimulatedGraph")
            .field(&self.steps.len())
            .finish()
    }
}

impl Graph for SimulatedGraph {
    unsafe fn launch(&self, stream: Stream) -> Result<(), DeviceError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.device.state();
        let device = self.device.id();
        // All of it or nothing.
        let task = |step: &Step| match step {
            Step::Launch(order) => {
                let blocks = order.translated(&state, device)?;
                Ok(Task::Launch(Box::new(blocks)))
            }
            Step::Clear(target, bytes) => Ok(Task::Fill {
                target: state.translated(device, *target, *bytes)?,
                value: 0,
                bytes: *bytes,
            }),
        };
        let tasks: Vec<Task> = (self.steps.iter().map(task)).collect::<Result<_, DeviceError>>()?;
        let before = last.take().map(Task::Wait);
        for task in before.into_iter().chain(tasks) {
            *last = Some(self.device.submit(&mut state, stream, task)?);
        }
        Ok(())
    }
}
