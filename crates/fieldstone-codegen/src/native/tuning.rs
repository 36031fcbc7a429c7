//! Choices measured on the threads of this processor.

use std::time::{Duration, Instant};

use fieldstone_device::{Contents, DeviceError, HostMemory, Memory};
use fieldstone_stencil::Axis;

use super::{Domains, Native, Origin, Variant};
use crate::call::Call;
use crate::choices::{Choices, Stores};
use crate::error::RunError;
use crate::layout::Layout;
use crate::llvm::Kernel;
use crate::tile::Tiles;
use crate::tuning::{Copies, Measured, Place, size_class, sizes_around};

impl Native {
    /// The choices for arguments like those of a call, to a factor of two in the number of points.
    ///
    /// # Safety
    /// As [`Native::run`].
    pub(super) unsafe fn tuned(
        &self,
        layout: &Layout,
        domains: Domains,
        call: &Call<'_>,
    ) -> Result<Choices, RunError> {
        let target = self.compilation.jit.target();
        let size = size_class(call.domain).to_string();
        let across = domains.neighbours.across.to_string();
        let supply = domains.supply.name();
        let words = [size.as_str(), &call.threads.to_string(), &across, supply];
        let measured = || {
            Ok(OnCopies {
                native: self,
                layout,
                domains,
                call,
                // SAFETY: as the caller says.
                copies: unsafe { Copies::new(Host, &self.compilation.elements, call)? },
            })
        };
        (self.compilation).tuned((layout, &target), &words, &self.choices, measured)
    }
}

/// Memory of this process.
struct Host;

impl Place for Host {
    fn allocate(&self, bytes: usize, alignment: usize) -> Result<Box<dyn Memory>, DeviceError> {
        let memory = HostMemory::new(bytes, alignment, Contents::Uninitialised)?;
        Ok(Box::new(memory))
    }

    unsafe fn copy(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: as the caller says.
        unsafe { target.copy_from_nonoverlapping(source, bytes) };
        Ok(())
    }
}

/// A stencil and copies of the arguments of a call.
struct OnCopies<'a> {
    native: &'a Native,
    layout: &'a Layout,
    domains: Domains,
    call: &'a Call<'a>,
    copies: Copies<Host>,
}

impl Measured for OnCopies<'_> {
    type Candidate = Variant;

    fn values(&self, choice: &str, best: &Variant) -> Vec<String> {
        let chosen = &self.native.choices;
        let kernels = || best.plan.module.kernels.iter();
        let words = |values: &[&str]| values.iter().map(|value| value.to_string()).collect();
        match choice {
            "across" if chosen.across.is_none() => other_axis(best),
            "stores" if chosen.stores.is_none() && kernels().any(|one| one.streamed > 0) => {
                words(&[Stores::Cached.name(), Stores::Streamed.name()])
            }
            "fetch" if chosen.fetch.is_none() && kernels().any(fetches) => words(&["0", "2", "4"]),
            _ => {
                let free = Choices::axis_of(choice).filter(|axis| chosen.tile(*axis).is_none());
                free.map_or_else(Vec::new, |axis| tiles_to_try(best, self.call, axis))
            }
        }
    }

    fn candidate(
        &self,
        choices: &Choices,
        _best: Option<&Variant>,
    ) -> Result<Option<Variant>, RunError> {
        let (native, compilation) = (self.native, &self.native.compilation);
        let plan = native.plan_with((self.layout, self.domains), choices);
        let names = plan.module.kernels.iter();
        let names: Vec<&str> = names.map(|kernel| kernel.name.as_str()).collect();
        let object = compilation.jit.compile(&plan.module.text)?;
        let library = compilation.jit.load(&object, &names)?;
        let origin = Origin {
            cached: false,
            duration: Duration::ZERO,
            written: Duration::ZERO,
        };
        Ok(Some(native.loaded(plan, self.domains, library, origin)))
    }

    fn seconds(&self, candidate: &Variant) -> Result<f64, RunError> {
        let call = Call {
            fields: &self.copies.fields,
            ..*self.call
        };
        let run = self.native.run_of(candidate, &call);
        self.copies.restore()?;
        let start = Instant::now();
        let pointers = |argument: usize| call.fields[argument].pointer;
        // SAFETY: the copies are this search's alone, and laid out like the arguments of the call.
        unsafe { (self.native).run_variant(candidate, &run, pointers, call.scalars)? };
        Ok(start.elapsed().as_secs_f64())
    }
}

/// The other horizontal axis, where rows of columns may lie along either.
fn other_axis(best: &Variant) -> Vec<String> {
    let neighbours = best.plan.schedule.neighbours;
    match neighbours.contiguous {
        Axis::K => vec![neighbours.other().to_string()],
        _ => Vec::new(),
    }
}

fn fetches(kernel: &Kernel) -> bool {
    kernel.fetch.is_any()
}

/// Tiles around the one that the cost model or the search has, along an axis.
fn tiles_to_try(best: &Variant, call: &Call<'_>, axis: Axis) -> Vec<String> {
    let of_nest = |nest| best.plan.tiles(nest, call.domain, call.threads);
    let tiles = (0..best.plan.schedule.nests.len()).flat_map(of_nest);
    let size = |tiles: Tiles| tiles.size[axis.index()];
    let now = tiles.map(size).max();
    let sizes = now.map_or_else(Vec::new, |now| sizes_around(now, call.domain[axis.index()]));
    sizes.iter().map(usize::to_string).collect()
}
