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

/// Which parts of rows are copied, where their neighbours in the target's rows are copied by others: a line of the target that
/// both have a part of belongs to the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Whether something is before each row.
    pub follows: bool,
    /// So many bytes are there, of which those from here on belong to who comes next.
    pub own: usize,
}

impl Share {
    /// All of rows of so many bytes.
    pub fn whole(bytes: usize) -> Self {
        Self {
            follows: false,
            own: bytes,
        }
    }

    /// Where the part of a row of so many bytes begins and ends.
    #[inline(always)]
    fn ends(self, target: *mut u8, bytes: usize) -> (usize, usize) {
        let to_line = |place: usize| (target.addr() + place).wrapping_neg() % Fetch::LINE;
        let begin = if self.follows { to_line(0) } else { 0 };
        let end = if self.own < bytes {
            (self.own + to_line(self.own)).min(bytes)
        } else {
            bytes
        };
        (begin.min(end), end)
    }
}

/// Copies such parts of rows, as [`MoveRows`] does with all of them.
pub(crate) type MoveShare = unsafe fn(*const u8, *mut u8, Rows, Share);

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

/// Copies parts of rows through the cache.
///
/// # Safety
/// As for every [`MoveShare`].
#[cfg(any(test, not(target_arch = "x86_64")))]
unsafe fn plain_share(source: *const u8, target: *mut u8, rows: Rows, share: Share) {
    for n in 0..rows.count as isize {
        let from = source.wrapping_offset(n * rows.source);
        let to = target.wrapping_offset(n * rows.target);
        let (begin, end) = share.ends(to, rows.bytes);
        // SAFETY: as the caller says.
        unsafe {
            to.add(begin)
                .copy_from_nonoverlapping(from.add(begin), end - begin)
        };
    }
}

/// Copies rows past the cache, where the processor can; [`fence`] must follow.
pub(crate) fn streaming_rows() -> MoveShare {
    #[cfg(target_arch = "x86_64")]
    return x86::streaming_rows();
    #[cfg(not(target_arch = "x86_64"))]
    return plain_share;
}

/// Copies rows of a few bytes each through the cache.
pub(crate) fn short_rows() -> MoveRows {
    #[cfg(target_arch = "x86_64")]
    return x86::short_rows();
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

/// A plane to transpose. Along `b` the source's elements follow each other, along `a` the target's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    /// Elements along each axis.
    pub a: usize,
    pub b: usize,
    /// Bytes between the source's elements along `a`.
    pub source: isize,
    /// Bytes between the target's elements along `b`.
    pub target: isize,
}

/// Transposes a plane from a source to a target. Sources must be readable, targets writable, and both apart.
pub(crate) type Transpose = unsafe fn(*const u8, *mut u8, Plane, &mut Fetch);

/// A transposition in registers, of blocks of as many elements along each axis as a register holds.
pub(crate) struct Kernel {
    /// Elements of a block along each axis.
    pub lanes: usize,
    /// Transposes planes of whole blocks; if streaming, the target must begin at a cache line, and so must its rows.
    pub whole: Transpose,
    /// The same, and fetches other lines meanwhile.
    pub fetching: Transpose,
    /// Transposes planes of any size.
    pub edge: Transpose,
}

/// Rows of bytes that will be needed soon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch {
    row: *const u8,
    /// Bytes of a row, and those of this one that have been asked for.
    bytes: usize,
    done: usize,
    stride: isize,
    /// How many rows are left.
    rows: usize,
    /// How many lines a step asks for.
    pace: usize,
}

impl Fetch {
    /// A line of a cache.
    const LINE: usize = 64;

    /// So many rows, the first of which begins at an address, in so many steps. Nothing is read there.
    pub fn new(row: *const u8, bytes: usize, stride: isize, rows: usize, steps: usize) -> Self {
        let in_lines = (row.addr() | stride.unsigned_abs()).is_multiple_of(Self::LINE);
        // Rows that begin within a line may end in one more.
        let bytes = if in_lines {
            bytes
        } else {
            bytes + Self::LINE - 1
        };
        Self {
            row,
            bytes,
            done: 0,
            stride,
            rows,
            pace: (bytes.div_ceil(Self::LINE) * rows).div_ceil(steps.max(1)),
        }
    }

    /// No rows.
    pub fn nothing() -> Self {
        Self::new(std::ptr::null(), 0, 0, 0, 1)
    }

    /// Whether no rows are left.
    pub fn is_done(&self) -> bool {
        self.rows == 0
    }

    /// Asks for the next lines, in the order of the rows.
    #[inline(always)]
    pub fn step(&mut self) {
        for _ in 0..self.pace {
            if self.rows == 0 {
                return;
            }
            self.line();
        }
    }

    /// Asks for what is left.
    pub fn finish(&mut self) {
        while self.rows > 0 {
            self.line();
        }
    }

    #[inline(always)]
    fn line(&mut self) {
        #[cfg(target_arch = "x86_64")]
        x86::fetch(self.row.wrapping_add(self.done));
        self.done += Self::LINE;
        if self.done >= self.bytes {
            self.done = 0;
            self.row = self.row.wrapping_offset(self.stride);
            self.rows -= 1;
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
pub(crate) fn all_streaming_rows() -> Vec<MoveShare> {
    #[cfg(target_arch = "x86_64")]
    return x86::all_streaming_rows();
    #[cfg(not(target_arch = "x86_64"))]
    vec![streaming_rows()]
}

/// All ways to copy short rows on this processor.
#[cfg(test)]
pub(crate) fn all_short_rows() -> Vec<MoveRows> {
    #[cfg(target_arch = "x86_64")]
    return x86::all_short_rows();
    #[cfg(not(target_arch = "x86_64"))]
    vec![plain_rows]
}

/// All ways to fill rows on this processor.
#[cfg(test)]
pub(crate) fn all_filled_rows() -> Vec<FillRows> {
    #[cfg(target_arch = "x86_64")]
    return x86::all_filled_rows();
    #[cfg(not(target_arch = "x86_64"))]
    vec![filled_rows()]
}

/// Asks for the line of an address, which may be any, as it will be written to in part.
pub(crate) fn fetch_to_write(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    x86::fetch_to_write(address);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
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
        fn rows_past_the_cache_and_short_ones_are_rows(
            count in 0usize..5, bytes in 0usize..400, gap in 0usize..70, place in 0usize..64, from in 0usize..64,
            follows: bool, behind in 0usize..70
        ) {
            let stride = bytes + gap;
            let source: Vec<u8> = (0..from + count * bytes).map(|n| (n * 7 + n / 251) as u8).collect();
            let rows = Rows { count, bytes, source: bytes as isize, target: stride as isize };
            let target = vec![255u8; place + count * stride];
            let moved = |move_rows: &dyn Fn(*const u8, *mut u8)| {
                let mut target = target.clone();
                move_rows(source[from..].as_ptr(), target[place..].as_mut_ptr());
                fence();
                target
            };
            // SAFETY: source and target have room for the rows.
            let expected = moved(&|from, to| unsafe { plain_rows(from, to, rows) });
            for (row, chunk) in expected[place..].chunks(stride.max(1)).enumerate() {
                prop_assert_eq!(&chunk[..bytes], &source[from + row * bytes..][..bytes]);
                prop_assert!(chunk[bytes..].iter().all(|&byte| byte == 255));
            }
            for move_rows in all_short_rows() {
                // SAFETY: as above.
                prop_assert_eq!(&moved(&|from, to| unsafe { move_rows(from, to, rows) }), &expected);
            }
            for move_rows in all_streaming_rows() {
                // SAFETY: as above.
                let made = moved(&|from, to| unsafe { move_rows(from, to, rows, Share::whole(bytes)) });
                prop_assert_eq!(&made, &expected);
            }
            let share = Share { follows, own: bytes.saturating_sub(behind) };
            // Allocations of one size may begin anywhere in a line.
            let mut buffer = vec![255u8; target.len() + 64];
            let start = buffer.as_ptr().align_offset(64);
            let mut shared = |move_rows: MoveShare| {
                buffer.fill(255);
                // SAFETY: as above.
                unsafe { move_rows(source[from..].as_ptr(), buffer[start + place..].as_mut_ptr(), rows, share) };
                fence();
                buffer[start..].to_vec()
            };
            let expected = shared(plain_share);
            for move_rows in all_streaming_rows() {
                prop_assert_eq!(&shared(move_rows), &expected);
            }
        }

        #[test]
        fn neighbours_share_rows_completely(bytes in 1usize..400, cut in 0usize..400, place in 0usize..64) {
            let cut = cut.min(bytes);
            let target = std::ptr::without_provenance_mut::<u8>(4096 + place);
            let first = Share { follows: false, own: cut }.ends(target, (cut + 64).min(bytes));
            let second = Share { follows: true, own: bytes - cut }.ends(target.wrapping_add(cut), bytes - cut);
            prop_assert_eq!(first.0, 0);
            prop_assert!(first.1 == cut + second.0 || first.1 == bytes && second.0 == second.1);
            prop_assert_eq!(cut + second.1, bytes);
        }
    }
}
