//! One entry for each axis.

use smallvec::SmallVec;

/// Fields of models have I, J, K and now and then a data dimension.
const USUAL_AXES: usize = 4;

/// A list with one entry for each axis, which for up to four of them needs no memory of its own.
pub type PerAxis<T> = SmallVec<[T; USUAL_AXES]>;
