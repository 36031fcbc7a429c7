//! What of a call matters to how its code is made, beside the layout of its arrays.

use fieldstone_device::{CoreCaches, shared_cache};
use fieldstone_stencil::ir::{Field, Order, Stencil};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::Plane;
use fieldstone_stencil::{Axes, Axis};

use crate::call::FieldArgument;
use crate::llvm::fills;
use crate::tile::LINE;

/// What of a call matters to how its code is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Its columns.
    pub plane: Plane,
    /// Where its arrays are.
    pub supply: Supply,
}

/// Where the arrays of a call are that calls like it have accessed before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Supply {
    /// In the caches, which hold them.
    Caches,
    /// In memory.
    #[default]
    Memory,
    /// In memory, and rows of results begin within cache lines.
    Ragged,
}

impl Supply {
    /// In a call on a domain, with so many threads.
    pub fn of(stencil: &Stencil, domain: [usize; 3], threads: usize, ragged: bool) -> Supply {
        let volumes = stencil.fields.iter();
        let volumes = volumes.filter(|field| field.axes == Axes::IJK);
        let elements = |field: &Field| {
            field
                .data_dims
                .iter()
                .map(|size| *size as usize)
                .product::<usize>()
        };
        let point: usize = volumes
            .map(|field| field.dtype.size() * elements(field))
            .sum();
        let bytes = domain.iter().copied().fold(point, usize::saturating_mul);
        match fills(bytes, shared_cache(threads)) {
            false => Supply::Caches,
            true if ragged => Supply::Ragged,
            true => Supply::Memory,
        }
    }

    /// What code of a stencil is made for, on arrays that are contiguous along an axis: others run it as well.
    pub(crate) fn of_code(self, stencil: &Stencil, contiguous: Axis, caches: CoreCaches) -> Supply {
        let mut computations = stencil.computations.iter();
        let sweeps = computations.any(|one| one.order != Order::Parallel);
        let matters = match self {
            Supply::Caches => contiguous == Axis::K || caches.short_rows_are_late,
            Supply::Ragged => contiguous != Axis::K,
            Supply::Memory => false,
        };
        match sweeps && matters {
            true => self,
            false => Supply::Memory,
        }
    }

    /// All of them.
    pub(crate) const ALL: [Supply; 3] = [Supply::Caches, Supply::Memory, Supply::Ragged];

    /// A word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Supply::Caches => "caches",
            Supply::Memory => "memory",
            Supply::Ragged => "ragged",
        }
    }
}

/// Whether rows of any result begin within cache lines, of a call with these arguments.
pub fn has_ragged_results(
    program: &Program,
    arguments: impl IntoIterator<Item = FieldArgument>,
) -> bool {
    let fields = program.stencil.fields.iter().zip(&program.analysis.fields);
    let mut all = fields.zip(arguments);
    all.any(|((field, info), argument)| info.access.writes() && is_ragged(field, &argument))
}

/// Whether rows of an array with all axes begin within cache lines.
pub fn is_ragged(field: &Field, argument: &FieldArgument) -> bool {
    let size = field.dtype.size() as isize;
    let strides = argument.strides.iter();
    let mut apart = strides.filter(|stride| **stride != size);
    let aligned = argument.pointer.addr().is_multiple_of(LINE)
        && apart.all(|stride| stride % LINE as isize == 0);
    field.axes == Axes::IJK && !aligned
}
