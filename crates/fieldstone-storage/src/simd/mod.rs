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

/// Square blocks to transpose. Along `b` the source's elements follow each other, along `a` the target's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    pub count_a: usize,
    pub count_b: usize,
    /// Bytes between the source's elements along `a`.
    pub source: isize,
    /// Bytes between the target's elements along `b`.
    pub target: isize,
    /// How many elements of each block along `b` are not written.
    pub skip: usize,
}

/// Transposes blocks from a source to a target. Sources must be readable, targets writable, and both apart.
pub(crate) type Transpose = unsafe fn(*const u8, *mut u8, Blocks);

/// A transposition in registers.
pub(crate) struct Kernel {
    /// Elements of a block along each axis.
    pub lanes: usize,
    /// Transposes whole blocks, whatever their `skip`; if streaming, the target must begin at a cache line, and so must its rows.
    pub whole: Transpose,
    /// Transposes blocks that are not written completely, at any address.
    pub partial: Transpose,
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
