//! Layouts, aligned allocation and strided copies of structured-grid fields.
//!
//! A field's memory is described in steps, each plain data:
//!
//! * [`Dim`] says what an axis means: `I`, `J`, `K` or a data dimension;
//! * [`Layout`] orders the axes by their strides; a [`Preset`] knows the best one for given dims;
//! * [`Spec`] adds shape, element size and alignment, and [`Allocation`] turns it into memory;
//! * [`View`] is what one sees of that memory: slices, transpositions and broadcasts of it cost nothing;
//! * [`copy`] and [`fill`] move data between views of any layouts, with all cores.
//!
//! ```
//! use fieldstone_storage::{Allocation, Dim, Preset, Spec, copy, fill};
//!
//! // A field with the halo (3, 3) in I and J, laid out for kernels that are vectorised along I.
//! let preset = Preset::find("cpu_ifirst")?;
//! let spec = Spec {
//!     shape: vec![70, 70, 40],
//!     itemsize: 8,
//!     layout: preset.layout(&[Dim::I, Dim::J, Dim::K])?,
//!     alignment: preset.alignment,
//!     aligned_index: vec![3, 3, 0],
//! };
//! let (_, field) = Allocation::zeroed(&spec)?;
//! let first = field.drop_axis(0, 3)?.drop_axis(0, 5)?.drop_axis(0, 7)?;
//! assert_eq!(first.pointer().addr() % 64, 0);
//!
//! // The same values in C order.
//! let (_, other) = Allocation::new(&Spec::packed(vec![70, 70, 40], 8))?;
//! // SAFETY: both views own their memory, and nobody else knows it.
//! unsafe {
//!     fill(&field, &2.5f64.to_ne_bytes(), 2)?;
//!     copy(&field, &other, 2)?;
//!     assert_eq!(other.pointer().cast::<f64>().read(), 2.5);
//! }
//! # Ok::<(), fieldstone_storage::StorageError>(())
//! ```

mod allocate;
mod copy;
mod dims;
mod error;
mod fill;
mod layout;
mod loops;
mod overlap;
mod preset;
mod rows;
mod simd;
mod tiles;
mod view;

pub use allocate::{Allocation, Buffer, Spec};
pub use copy::copy;
pub use dims::{Dim, check_dims};
pub use error::StorageError;
pub use fill::fill;
pub use layout::Layout;
pub use preset::{Preset, StrideOrder};
pub use view::View;
