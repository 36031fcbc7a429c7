//! Layouts, aligned allocation and strided copies of structured-grid fields.
//!
//! A field's memory is described in steps, each plain data:
//!
//! * [`Dim`] says what an axis means: `I`, `J`, `K` or a data dimension;
//! * [`Layout`] orders the axes by their strides; a [`Preset`] knows the best one for given dims;
//! * [`Spec`] adds shape, element size and alignment, and [`Allocation`] turns it into memory;
//! * [`View`] is what one sees of that memory: slices, transpositions and broadcasts of it cost nothing;
//! * [`copy()`] and [`fill()`] move data between views of any layouts, with all cores;
//! * a [`Pair`] is two copies of the same elements, on the host and on a device, whose [`SyncState`] says which is current;
//! * [`Field`] puts it together for Rust: one type of element, owned memory, nothing unsafe.
//!
//! ```
//! use fieldstone_storage::{Dim, Field, Preset, Spec};
//!
//! // A field with the halo (3, 3) in I and J, laid out for kernels that are vectorised along I.
//! let dims = [Dim::I, Dim::J, Dim::K];
//! let mut spec = Spec::of_preset(&Preset::find("cpu_ifirst")?, &dims, vec![70, 70, 40], 8)?;
//! spec.aligned_index = vec![3, 3, 0].into();
//! let mut field = Field::<f64>::zeros(&spec)?;
//! assert_eq!(std::ptr::from_ref(&field[[3, 5, 7]]).addr() % 64, 0);
//!
//! // The same values in C order.
//! field.fill(2.5);
//! let mut other = Field::<f64>::zeros(&Spec::packed(vec![70, 70, 40], 8))?;
//! other.copy_from(&field)?;
//! assert_eq!(other[[1, 2, 3]], 2.5);
//! # Ok::<(), fieldstone_storage::StorageError>(())
//! ```

mod allocate;
mod between;
mod copy;
mod dims;
mod elements;
mod error;
mod field;
mod fill;
mod gather;
mod layout;
mod loops;
mod overlap;
mod pair;
mod past;
mod per_axis;
mod preset;
mod rows;
mod share;
mod simd;

mod sync;
mod tiles;
mod traffic;
mod transfer;
mod transposition;
mod view;

pub use allocate::{Allocation, Buffer, Spec};
pub use copy::copy;
pub use dims::{Dim, check_dims};
pub use error::StorageError;
pub use field::{Element, Field};
pub use fill::fill;
pub use layout::Layout;
pub use pair::{Lease, Pair};
pub use per_axis::PerAxis;
pub use preset::{Preset, StrideOrder};
pub use sync::{Access, Side, SyncState};
pub use transfer::{copy_there, download, fetched, upload};
pub use view::View;
