//! Choices measured on a device.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Contents, DeviceError, Event, Memory, Stream};
use fieldstone_stencil::Axis;

use super::stencil::{Gpu, Variant};
use crate::call::Call;
use crate::choices::{Choices, Columns};
use crate::error::RunError;
use crate::layout::Layout;
use crate::tuning::{Copies, Measured, Place, size_class, sizes_around};

/// Choices that were found, and what for.
pub(super) struct Tuned {
    layout: Layout,
    accelerator: Arc<dyn Accelerator>,
    /// [Size](size_class) of the domains.
    size: u32,
    pub choices: Choices,
}

impl Gpu {
    /// The choices for arguments like those of a call on a device, to a factor of two in the number of points.
    ///
    /// # Safety
    /// As [`Gpu::prepare_measured`].
    pub(super) unsafe fn tuned(
        &self,
        layout: &Layout,
        call: &Call<'_>,
        accelerator: &Arc<dyn Accelerator>,
    ) -> Result<Choices, RunError> {
        let size = size_class(call.domain);
        let is_wanted = |one: &Tuned| one.is_for(layout, accelerator, Some(size));
        if let Some(known) = self.found.find(is_wanted) {
            return Ok(known.choices.clone());
        }
        let target = self.target(accelerator.as_ref())?;
        let words = [&size.to_string(), accelerator.name()];
        let measured = || {
            // Whatever else is going on would be measured as well, and may be writing to the arguments.
            accelerator.synchronize_all()?;
            let place = OnDevice(Arc::clone(accelerator));
            Ok(OnCopies {
                gpu: self,
                layout,
                call,
                // SAFETY: as the caller says; nothing is under way.
                copies: unsafe { Copies::new(place, &self.compilation.elements, call)? },
                times: [accelerator.create_event()?, accelerator.create_event()?],
                accelerator,
            })
        };
        let choices =
            (self.compilation).tuned((layout, &target), &words, &self.choices, measured)?;
        let fresh = Tuned {
            layout: layout.clone(),
            accelerator: Arc::clone(accelerator),
            size,
            choices,
        };
        Ok(self.found.add(fresh, is_wanted).choices.clone())
    }

    /// The choices that were found last for a layout on a device; those that somebody made, if none were.
    pub(super) fn latest(&self, layout: &Layout, accelerator: &Arc<dyn Accelerator>) -> Choices {
        let found = self.found.all();
        let mut found = found.iter().rev();
        let latest = found.find(|one| one.is_for(layout, accelerator, None));
        latest.map_or(&self.choices, |one| &one.choices).clone()
    }
}

impl Tuned {
    fn is_for(
        &self,
        layout: &Layout,
        accelerator: &Arc<dyn Accelerator>,
        size: Option<u32>,
    ) -> bool {
        self.layout == *layout
            && Arc::ptr_eq(&self.accelerator, accelerator)
            && size.is_none_or(|size| size == self.size)
    }
}

/// Memory of a device.
struct OnDevice(Arc<dyn Accelerator>);

impl Place for OnDevice {
    fn allocate(&self, bytes: usize, alignment: usize) -> Result<Box<dyn Memory>, DeviceError> {
        (self.0).allocate(bytes, alignment, Contents::Uninitialised)
    }

    unsafe fn copy(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: as the caller says; the memory stays until all of this is synchronised.
        unsafe { (self.0).copy(source, target, bytes, Stream::DEFAULT) }
    }
}

/// A stencil and copies of the arguments of a call.
struct OnCopies<'a> {
    gpu: &'a Gpu,
    layout: &'a Layout,
    call: &'a Call<'a>,
    accelerator: &'a Arc<dyn Accelerator>,
    copies: Copies<OnDevice>,
    /// Before a run and behind it.
    times: [Box<dyn Event>; 2],
}

impl Measured for OnCopies<'_> {
    type Candidate = Arc<Variant>;

    fn values(&self, choice: &str, best: &Arc<Variant>) -> Vec<String> {
        let chosen = &self.gpu.choices;
        let shapes = || best.plan.module.kernels.iter().map(|kernel| &kernel.shape);
        if choice == "columns" && chosen.columns.is_none() {
            return Columns::ALL.map(|one| one.name().to_owned()).into();
        }
        let sizes = match (choice, Choices::axis_of(choice)) {
            ("levels", _) if chosen.levels.is_none() => vec![1, 2, 4, 8],
            (_, Some(axis)) if chosen.tile(axis).is_none() => {
                let now = shapes().map(|shape| shape.tile[axis.index()]).max();
                // A block has some threads side by side, which read whole lines.
                let is_lanes = shapes().any(|shape| shape.lanes == axis);
                let most = self.call.domain[axis.index()].next_power_of_two();
                let sizes = sizes_around(now.unwrap_or(0), most.min(MOST_POINTS));
                let least = if is_lanes { LEAST_LANES } else { 1 };
                let sizes = sizes.into_iter().filter(|size| *size >= least);
                sizes.filter(|_| axis != Axis::K || is_lanes).collect()
            }
            _ => Vec::new(),
        };
        sizes.iter().map(usize::to_string).collect()
    }

    fn candidate(
        &self,
        choices: &Choices,
        best: Option<&Arc<Variant>>,
    ) -> Result<Option<Arc<Variant>>, RunError> {
        let (layout, domain) = (self.layout, self.call.domain);
        let variant = self
            .gpu
            .fleeting(layout, choices, domain, self.accelerator)?;
        let is_same = |best: &Arc<Variant>| best.plan.module.text == variant.plan.module.text;
        Ok((!best.is_some_and(is_same)).then(|| Arc::new(variant)))
    }

    fn seconds(&self, candidate: &Arc<Variant>) -> Result<f64, RunError> {
        let call = Call {
            fields: &self.copies.fields,
            ..*self.call
        };
        let prepared = self.gpu.prepared(Arc::clone(candidate), &call);
        let pointers = |argument: usize| call.fields[argument].pointer;
        let [start, end] = &self.times;
        self.copies.restore()?;
        start.record(Stream::DEFAULT)?;
        // SAFETY: the copies are this search's alone, and laid out like the arguments of the call.
        unsafe {
            (self.gpu).run_prepared(&prepared, pointers, call.scalars, Stream::DEFAULT)?;
        }
        end.record(Stream::DEFAULT)?;
        end.synchronize()?;
        Ok(end.milliseconds_since(start.as_ref())? / 1e3)
    }
}

/// Points of a tile along an axis that are tried, at most.
const MOST_POINTS: usize = 256;

/// Points of a tile along the lanes that are tried, at least.
const LEAST_LANES: usize = 16;
