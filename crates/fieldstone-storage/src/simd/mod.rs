//! What the processor's vector units do for copies: rows past the cache, and transpositions in registers.
//!
//! The best instructions are chosen at run time; where there are none, plain code does the same.

#[cfg(target_arch = "x86_64")]
mod x86;

/// Rows of bytes at regular distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub count: usize,
    pub bytes: usize,
    /// Bytes from one row to the next.
    pub source: isize,
    pub target: isize,
}

/// Copies rows. Sources must be readable, targets writable, and both apart.
pub(crate) type MoveRows = unsafe fn(*const u8, *mut u8, Rows);

/// Copies rows through the cache.
///
/// # Safety
/// As for every [`MoveRows`].
pub(crate) unsafe fn plain_rows(source: *const u8, target: *mut u8, rows: Rows) {
    for n in 0..rows.count as isize {
        let from = source.wrapping_offset(n * rows.source);
        let to = target.wrapping_offset(n * rows.target);
        // SAFETY: as the caller says.
        unsafe { to.copy_from_nonoverlapping(from, rows.bytes) };
    }
}

/// Copies rows past the cache, where the processor can; [`fence`] must follow.
pub(crate) fn streaming_rows() -> MoveRows {
    #[cfg(target_arch = "x86_64")]
    return x86::streaming_rows();
    #[cfg(not(target_arch = "x86_64"))]
    return plain_rows;
}

/// Transposes `count_a × count_b` square blocks.
///
/// Arguments: source, bytes between its elements along `a`, target, bytes between its elements along `b`, the counts. Along
/// `b` the source's elements, and along `a` the target's, follow each other.
pub(crate) type Transpose = unsafe fn(*const u8, isize, *mut u8, isize, usize, usize);

/// A transposition in registers.
pub(crate) struct Kernel {
    /// Elements of a block along each axis.
    pub lanes: usize,
    /// What the address of each target row must be a multiple of.
    pub alignment: usize,
    pub run: Transpose,
}

impl Kernel {
    /// How many elements to skip until the target is aligned.
    pub fn head(&self, target: *mut u8, itemsize: usize) -> usize {
        let address = target.addr();
        let bytes = address.next_multiple_of(self.alignment) - address;
        // An element that straddles the boundary can never be aligned.
        if bytes.is_multiple_of(itemsize) {
            bytes / itemsize
        } else {
            usize::MAX
        }
    }
}

/// The fastest transposition of such elements on this processor; if `streaming`, past the cache, and [`fence`] must follow.
pub(crate) fn transposition(itemsize: usize, streaming: bool) -> Option<Kernel> {
    #[cfg(target_arch = "x86_64")]
    return x86::transposition(itemsize, streaming);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (itemsize, streaming);
        None
    }
}

/// Makes what was written past the cache visible before anything that is written later.
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    x86::fence();
}
