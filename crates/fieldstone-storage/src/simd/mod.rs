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

/// Bytes that are repeated, in each row from its beginning: an element as often as a line of a cache holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern([u8; 2 * Pattern::PERIOD]);

impl Pattern {
    /// After so many bytes the pattern is what it was.
    pub const PERIOD: usize = 64;

    /// The repetition of an element; none for sizes that do not divide a line.
    pub fn of(element: &[u8]) -> Option<Self> {
        if element.is_empty() || !Self::PERIOD.is_multiple_of(element.len()) {
            return None;
        }
        let mut bytes = [0; 2 * Self::PERIOD];
        for part in bytes.chunks_exact_mut(element.len()) {
            part.copy_from_slice(element);
        }
        Some(Self(bytes))
    }

    /// A period of it, as it is so many bytes behind the beginning of a row.
    fn from(&self, place: usize) -> &[u8; Self::PERIOD] {
        let start = place % Self::PERIOD;
        self.0[start..].first_chunk().unwrap_or(&[0; Self::PERIOD])
    }
}

/// Fills rows with a pattern; `source` of the rows means nothing. Targets must be writable.
pub(crate) type FillRows = unsafe fn(&Pattern, *mut u8, Rows);

/// Fills rows through the cache.
pub(crate) fn filled_rows() -> FillRows {
    #[cfg(target_arch = "x86_64")]
    return x86::filled_rows(false);
    #[cfg(not(target_arch = "x86_64"))]
    return plain_filled_rows;
}

/// Fills rows past the cache, where the processor can; [`fence`] must follow.
pub(crate) fn streaming_filled_rows() -> FillRows {
    #[cfg(target_arch = "x86_64")]
    return x86::filled_rows(true);
    #[cfg(not(target_arch = "x86_64"))]
    return plain_filled_rows;
}

/// Fills rows with plain code.
///
/// # Safety
/// As for every [`FillRows`].
#[cfg(any(test, not(target_arch = "x86_64")))]
unsafe fn plain_filled_rows(pattern: &Pattern, target: *mut u8, rows: Rows) {
    for n in 0..rows.count as isize {
        let to = target.wrapping_offset(n * rows.target);
        let mut done = 0;
        while done < rows.bytes {
            let bytes = Pattern::PERIOD.min(rows.bytes - done);
            // SAFETY: within the row.
            unsafe {
                to.add(done)
                    .copy_from_nonoverlapping(pattern.from(0).as_ptr(), bytes)
            };
            done += bytes;
        }
    }
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

/// All ways to fill rows on this processor.
#[cfg(test)]
pub(crate) fn all_filled_rows() -> Vec<FillRows> {
    #[cfg(target_arch = "x86_64")]
    return x86::all_filled_rows();
    #[cfg(not(target_arch = "x86_64"))]
    vec![filled_rows()]
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
        fn a_pattern_is_repeated_from_the_beginning_of_each_row(
            count in 0usize..5, bytes in 0usize..400, gap in 0usize..70, place in 0usize..64, size in 0u32..6
        ) {
            let element: Vec<u8> = (1..=1 << size).collect();
            let pattern = Pattern::of(&element).unwrap();
            let stride = bytes + gap;
            let rows = Rows { count, bytes, source: 0, target: stride as isize };
            let filled = |fill_rows: FillRows| {
                let mut target = vec![255u8; place + count * stride];
                // SAFETY: the target has room for the rows.
                unsafe { fill_rows(&pattern, target[place..].as_mut_ptr(), rows) };
                fence();
                target
            };
            let expected = filled(plain_filled_rows);
            for chunk in expected[place..].chunks(stride.max(1)) {
                prop_assert!(chunk[..bytes].iter().eq(element.iter().cycle().take(bytes)));
                prop_assert!(chunk[bytes..].iter().all(|&byte| byte == 255));
            }
            for fill_rows in all_filled_rows() {
                prop_assert_eq!(&filled(fill_rows), &expected);
            }
        }

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
