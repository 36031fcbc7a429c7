//! What a compiled stencil is called with.

use fieldstone_stencil::DType;

/// One array argument, already permuted to the field's axes and shifted to its origin.
///
/// Arrays of three are along I, J, K.
#[derive(Clone, Copy, Debug)]
pub struct FieldArgument {
    /// Address of the first point of the compute domain.
    pub pointer: *mut u8,
    /// Bytes from one point to the next; 0 along axes the field does not have.
    pub strides: [isize; 3],
    /// Points before the origin that belong to the array; negative where the origin lies before its first point, as it may
    /// if only points behind it are accessed.
    pub lower: [isize; 3],
    /// Points from the origin to the end of the array (the origin included); 1 along axes the field does not have.
    pub upper: [usize; 3],
    /// Bytes behind the last point of each row along the axis that the array is contiguous along which are memory and belong to
    /// nobody: they may be written as that point may.
    pub padding: usize,
}

impl FieldArgument {
    /// Bytes from the first point of the domain to the lowest and to the highest element of the array.
    pub fn ends(&self) -> (isize, isize) {
        let mut ends = (0isize, 0isize);
        for axis in 0..3 {
            let stride = self.strides[axis];
            let low = self.lower[axis].wrapping_neg().wrapping_mul(stride);
            let last = (self.upper[axis] as isize).wrapping_sub(1);
            let high = last.wrapping_mul(stride);
            ends.0 = ends.0.wrapping_add(low.min(high));
            ends.1 = ends.1.wrapping_add(low.max(high));
        }
        ends
    }

    /// Whether the array has no point at all.
    pub fn is_empty(&self) -> bool {
        (0..3).any(|axis| -self.lower[axis] >= self.upper[axis] as isize)
    }
}

/// A scalar argument, converted to the type of its parameter; the bits are the value's, in the lowest bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarArgument {
    /// Type of the parameter.
    pub dtype: DType,
    /// The value's bits, zero-extended.
    pub bits: u64,
}

/// Everything one run needs. `fields` and `scalars` are in the order of [`fieldstone_stencil::ir::Stencil`]'s.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Array arguments.
    pub fields: &'a [FieldArgument],
    /// Bytes from one element of a data dimension to the next: those of every field in turn.
    pub data_strides: &'a [isize],
    /// Scalar arguments.
    pub scalars: &'a [ScalarArgument],
    /// Points of the compute domain along I, J, K.
    pub domain: [usize; 3],
    /// Threads to use at most.
    pub threads: usize,
}
