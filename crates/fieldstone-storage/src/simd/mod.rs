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
    /// Bytes from each element of the source to one that will be read soon after.
    pub ahead: isize,
}

/// Transposes blocks from a source to a target. Sources must be readable, targets writable, and both apart.
pub(crate) type Transpose = unsafe fn(*const u8, *mut u8, Blocks);

/// A transposition in registers.
pub(crate) struct Kernel {
    /// Elements of a block along each axis.
    pub lanes: usize,
    /// Transposes whole blocks, whatever their `skip`; if streaming, the target must begin at a cache line, and so must its rows.
    pub whole: Transpose,
    /// The same, and fetches what lies `ahead` in the source.
    pub fetching: Transpose,
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

/// All transpositions of such elements that this processor can do.
#[cfg(test)]
pub(crate) fn transpositions(itemsize: usize, streaming: bool) -> Vec<Kernel> {
    #[cfg(target_arch = "x86_64")]
    return x86::transpositions(itemsize, streaming);
    #[cfg(not(target_arch = "x86_64"))]
    transposition(itemsize, streaming).into_iter().collect()
}

/// All ways to copy rows past the cache on this processor.
#[cfg(test)]
pub(crate) fn all_streaming_rows() -> Vec<MoveRows> {
    #[cfg(target_arch = "x86_64")]
    return x86::all_streaming_rows();
    #[cfg(not(target_arch = "x86_64"))]
    vec![streaming_rows()]
}

/// Makes what was written past the cache visible before anything that is written later.
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    x86::fence();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_past_the_cache_are_rows(
            count in 0usize..5, bytes in 0usize..400, gap in 0usize..70, place in 0usize..64, from in 0usize..64
        ) {
            let stride = bytes + gap;
            let source: Vec<u8> = (0..from + count * bytes).map(|n| (n * 7 + n / 251) as u8).collect();
            let rows = Rows { count, bytes, source: bytes as isize, target: stride as isize };
            let target = vec![255u8; place + count * stride];
            let moved = |move_rows: MoveRows| {
                let mut target = target.clone();
                // SAFETY: source and target have room for the rows.
                unsafe { move_rows(source[from..].as_ptr(), target[place..].as_mut_ptr(), rows) };
                fence();
                target
            };
            let expected = moved(plain_rows);
            for (row, chunk) in expected[place..].chunks(stride.max(1)).enumerate() {
                prop_assert_eq!(&chunk[..bytes], &source[from + row * bytes..][..bytes]);
                prop_assert!(chunk[bytes..].iter().all(|&byte| byte == 255));
            }
            for move_rows in all_streaming_rows() {
                prop_assert_eq!(&moved(move_rows), &expected);
            }
        }
    }
}
