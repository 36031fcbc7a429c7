//! Kernels of a device, and where their temporaries live.

use fieldstone_codegen::gpu::Gpu;
use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::llvm::blocks::Kernel;
use fieldstone_device::accelerator;
use fieldstone_stencil::ir::TempId;
use fieldstone_stencil::schedule::Placement;
use pyo3::prelude::*;

/// How a stencil is computed by blocks of threads for arrays of one layout.
#[derive(IntoPyObject)]
pub struct DeviceFacts {
    /// The axis along which neighbouring threads lie.
    contiguous: String,
    /// What the model did not decide.
    chosen: String,
    kernels: Vec<KernelFacts>,
    temporaries: Vec<PlaceFacts>,
    /// Kernels that are launched, if the domain is known.
    launches: Option<usize>,
}

/// A kernel.
#[derive(IntoPyObject)]
struct KernelFacts {
    /// Threads of a block.
    threads: usize,
    /// Points that a block computes along I, J, K; none where each thread computes all levels.
    tile: [usize; 3],
    /// Threads that a block would have if each had as many registers as it wants.
    wanted: usize,
    /// Registers of each thread, and bytes of it in memory for lack of them, where a GPU has told.
    registers: Option<u32>,
    spilled: Option<u32>,
    /// Bytes of shared memory of a block.
    shared: usize,
    extent: Vec<(i32, i32)>,
}

/// Where a temporary lives.
#[derive(IntoPyObject)]
struct PlaceFacts {
    name: String,
    dtype: &'static str,
    axes: String,
    /// `register`, `shared`, `array` or `unused`.
    lives_in: &'static str,
    bytes_per_point: usize,
}

impl DeviceFacts {
    /// For the device there is, else for the oldest one that there may be.
    pub fn new(gpu: &Gpu, layout: &Layout, domain: Option<[usize; 3]>) -> Self {
        let found = accelerator(0).ok();
        let found = found.filter(|found| gpu.target(found.as_ref()).is_ok());
        let known = found
            .as_ref()
            .and_then(|found| gpu.known(layout, domain, found));
        let plan = gpu
            .plan(layout, domain, found.as_ref())
            .expect("code can be made for this device");
        let kernels = plan.module.kernels.iter();
        let is_shared = |id: TempId| {
            kernels
                .clone()
                .any(|one| one.shape.shared.contains_key(&id))
        };
        let stencil = &gpu.program().stencil;
        let both = stencil.temporaries.iter().zip(&plan.schedule.temporaries);
        let temporaries = both.enumerate().map(|(number, (temporary, placement))| {
            let elements: u32 = temporary.data_dims.iter().product();
            let size = temporary.dtype.map_or(0, |dtype| dtype.size());
            let (lives_in, bytes_per_point) = match placement {
                Placement::Unused => ("unused", 0),
                Placement::Array { .. } => ("array", size * elements as usize),
                _ if is_shared(TempId(number as u32)) => ("shared", 0),
                _ => ("register", 0),
            };
            PlaceFacts {
                name: temporary.name.clone(),
                dtype: temporary.dtype.map_or("", |dtype| dtype.name()),
                axes: temporary.axes.to_string(),
                lives_in,
                bytes_per_point,
            }
        });
        let kernel = |(number, kernel): (usize, &Kernel)| {
            let wanted = known.as_ref().map(|known| &known.wanted[number]);
            let resources = known.as_ref().and_then(|known| known.resources.get(number));
            KernelFacts {
                threads: kernel.shape.threads,
                tile: kernel.shape.tile,
                wanted: wanted.unwrap_or(&kernel.shape).threads,
                registers: resources.map(|resources| resources.registers),
                spilled: resources.map(|resources| resources.local_bytes),
                shared: kernel
                    .shape
                    .shared_for(domain.map_or(0, |domain| domain[2])),
                extent: kernel.extent.0.to_vec(),
            }
        };
        DeviceFacts {
            contiguous: plan.schedule.neighbours.contiguous.to_string(),
            chosen: plan.choices.to_string(),
            kernels: kernels.clone().enumerate().map(kernel).collect(),
            temporaries: temporaries.collect(),
            launches: domain.map(|domain| plan.launches(domain).len()),
        }
    }
}
