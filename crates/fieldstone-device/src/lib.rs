//! Memory and threads of a device.
//!
//! * [`Device`] is a place that holds data: [`Host`], or an [`Accelerator`], which copies between its memory and the host's.
//!   [`accelerator()`] finds one; [`Simulated`] ones need no GPU.
//! * [`HostMemory`] is an aligned block of host memory that frees itself.
//! * [`Pool`] runs tasks on all cores with threads that are already awake.
//!
//! ```
//! use fieldstone_device::{Contents, HostMemory, Pool};
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! let memory = HostMemory::new(1024, 64, Contents::Zeroed)?;
//! assert_eq!(memory.pointer() as usize % 64, 0);
//!
//! let pool = Pool::global();
//! let sum = AtomicUsize::new(0);
//! pool.run(100, pool.threads(), &|_worker, begin, end| {
//!     sum.fetch_add((begin..end).sum::<usize>(), Ordering::Relaxed);
//! });
//! assert_eq!(sum.into_inner(), 4950);
//! # Ok::<(), fieldstone_device::DeviceError>(())
//! ```

mod accelerator;
mod accelerators;
mod cache;
mod colour;
mod copies;
mod core;
mod cuda;
mod device;
mod error;
mod host;
mod kernel;
mod mapping;
mod pool;
mod scratch;
mod simulated;
mod threads;

pub use accelerator::{
    Accelerator, Capacity, Event, Limits, Properties, Queue, Rows, Stream, Transfers,
};
pub use accelerators::{Simulation, accelerator, accelerators, owner};
pub use cache::{CoreCaches, core_caches, near_caches, shared_cache};
pub use colour::Apart;
pub use copies::{Copies, Fence};
pub use device::{Contents, Device, DeviceId, Kind, Memory};
pub use error::DeviceError;
pub use host::{Host, HostMemory, available_memory, physical_memory};
pub use kernel::{Address, BlockFunction, Code, Graph, Launch, Module, Node, Resources, Symbol};
pub use pool::Pool;
pub use scratch::Scratch;
pub use simulated::{POISON, Simulated, SimulatedOptions};
pub use threads::{available_threads, requested_threads};
