//! From a schedule to LLVM IR text.
//!
//! | module | what lives there |
//! |---|---|
//! | [`abi`] | the words a kernel is called with |
//! | `ahead` | what a kernel fetches into the caches before it needs it |
//! | `prefetch` | lines that are fetched |
//! | `builder` | blocks, loops and fresh names |
//! | `bytes` | eight elements of one byte, with a mask |
//! | `nesting` | open loops, and how far out a value may stand |
//! | `purity` | what an instruction follows from, and whether it may run where nobody needs its result |
//! | `numbering` | what is known already, and not written again |
//! | `types` | LLVM's names of types and constants |
//! | [`module`](Module) | what is made: text, and kernels |
//! | `emission` | the kernels, one after another |
//! | `kernel` | one function for each nest |
//! | `loops` | the loops of a kernel, and the fields that they visit |
//! | `entry` | what a kernel is made from, and what it reads on entry |
//! | `rows`, `columns` | the loops of the two kinds of nests, over `range`s of points |
//! | `setting` | what the loops of a nest of rows are written with |
//! | `transposition` | functions that transpose columns of an array in registers |
//! | `value` | values that are composed of several arrays on their way there |
//! | `place` | addresses of what a row reads and writes |
//! | `row` | the vector loop of one stage over one row |
//! | `past` | rows that are stored past the caches wherever they begin |
//! | `width` | how many points of a row a stage computes at once |
//! | `preheader` | what a stage accesses in a row, and what of it is computed once for the row |
//! | `body` | the statements of a stage on one vector of points |
//! | `fused` | the vector loop of several stages over one row, also one whose points are vectors of levels |
//! | `region` | regions among the statements of such stages |
//! | `level` | accesses at levels that are computed |
//! | `division` | division by what is the same at all points of a call |
//! | `element` | accesses to elements of data dimensions that are not taken apart |
//! | [`blocks`] | the same nests for blocks of threads, which compute point by point |
//! | `arithmetic` | one operation on vectors |
//! | `remainder` | `%` and `//` of reals on vectors |
//! | `function` | the functions of the language on vectors |

pub mod abi;
pub(crate) mod ahead;
mod arithmetic;
pub mod blocks;
mod body;
mod builder;
mod bytes;
mod columns;
mod division;
mod element;
mod emission;
mod entry;
mod function;
mod fused;
mod kernel;
mod level;
mod loops;
mod masked;
mod memory;
mod module;
mod nesting;
mod numbering;
mod past;
mod pieces;
mod place;
mod prefetch;
mod preheader;
mod purity;
mod range;
mod region;
mod remainder;
mod row;
mod rows;
mod setting;
mod transposition;
mod types;
mod value;
mod width;

pub use ahead::{Cached, Fetch};
pub use emission::emit;
pub use module::{Failure, Kernel, Module, Wrong, fills};
