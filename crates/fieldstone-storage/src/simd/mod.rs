//! What the processor's vector units do for copies: rows past the cache, and transpositions in registers.
//!
//! The best instructions are chosen at run time; where there are none, plain code does the same.

pub(crate) mod mesh;
mod strides;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use strides::{MoveStrided, plain_strided, strided};

/// A line of a cache.
pub(crate) const LINE: usize = 64;

/// Rows of bytes at regular distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub count: usize,
    pub bytes: usize,
    /// Bytes from one row to the next.
    pub source: isize,
    pub target: isize,
}

impl Rows {
    /// One row of so many bytes.
    pub fn one(bytes: usize) -> Self {
        Self {
            count: 1,
            bytes,
            source: 0,
            target: 0,
        }
    }
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
    #[inline(always)]
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

/// A plane to transpose: rows of the source become columns of the target, whose elements follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane<'a> {
    /// Where each row begins in the source.
    pub a: &'a [isize],
    /// Where what the rows have at each place begins in the target.
    pub b: &'a [isize],
    /// Bytes of an element.
    pub itemsize: usize,
}

/// In place of where a column begins: it is not wanted.
pub(crate) const NOWHERE: isize = isize::MIN;

/// Transposes a plane of any size from a source to a target, and fetches other lines meanwhile. Sources must be readable, targets
/// writable, and both apart.
pub(crate) type Transpose = unsafe fn(*const u8, *mut u8, Plane<'_>, &mut Fetch<'_>);

/// A transposition in registers, of blocks of as many elements along each axis as a register holds.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    /// Elements of a block along each axis.
    pub lanes: usize,
    /// Through the caches.
    pub run: Transpose,
    /// Whole lines past the caches, where the processor can without many being under way at a time; the target and its columns must begin
    /// at cache lines, and [`fence`] must follow.
    pub stream: Option<Transpose>,
    /// Through the caches, without columns that are [`NOWHERE`]; of the source only what is wanted is read.
    pub sparse: Option<Transpose>,
    /// Whether each store is of a whole line.
    pub writes_lines: bool,
    /// For planes of few long rows.
    pub weave: Option<mesh::Weave>,
}

/// Rows of bytes that will be needed soon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch<'a> {
    source: *const u8,
    /// Where the rows that are left begin.
    rows: &'a [isize],
    /// Bytes of a row, and those of this one that have been asked for.
    bytes: usize,
    done: usize,
    /// How many lines a step asks for.
    pace: usize,
}

impl<'a> Fetch<'a> {
    /// Rows that begin so far behind an address, in so many steps. Nothing is read there.
    pub fn new(source: *const u8, rows: &'a [isize], bytes: usize, steps: usize) -> Self {
        let in_lines = [rows.first(), rows.last()]
            .iter()
            .flatten()
            .all(|&&row| source.wrapping_offset(row).addr().is_multiple_of(LINE));
        // Rows that begin within a line may end in one more.
        let bytes = if in_lines { bytes } else { bytes + LINE - 1 };
        Self {
            source,
            rows,
            bytes,
            done: 0,
            pace: (bytes.div_ceil(LINE) * rows.len()).div_ceil(steps.max(1)),
        }
    }

    /// No rows.
    pub fn nothing() -> Self {
        Self::new(std::ptr::null(), &[], 0, 1)
    }

    /// Asks for the next lines, in the order of the rows.
    #[inline(always)]
    pub fn step(&mut self) {
        for _ in 0..self.pace {
            if self.rows.is_empty() {
                return;
            }
            self.line();
        }
    }

    /// Asks for what is left.
    pub fn finish(&mut self) {
        while !self.rows.is_empty() {
            self.line();
        }
    }

    #[inline(always)]
    fn line(&mut self) {
        if let Some((&row, others)) = self.rows.split_first() {
            #[cfg(target_arch = "x86_64")]
            x86::fetch(self.source.wrapping_offset(row).wrapping_add(self.done));
            self.done += LINE;
            if self.done >= self.bytes {
                self.done = 0;
                self.rows = others;
            }
        }
    }
}

/// Asks for the lines of a row.
pub(crate) fn fetch(row: *const u8, bytes: usize) {
    Fetch::new(row, &[0], bytes, 1).finish();
}

/// The fastest transposition of such elements on this processor.
pub(crate) fn transposition(itemsize: usize) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    let found = x86::transposition(itemsize);
    #[cfg(not(target_arch = "x86_64"))]
    let found = None;
    found.unwrap_or(Kernel {
        // Blocks have whole lines.
        lanes: LINE >> itemsize.trailing_zeros().min(LINE.trailing_zeros()),
        run: one_by_one,
        stream: None,
        sparse: None,
        writes_lines: false,
        weave: None,
    })
}

/// Transposes a plane of elements of any size.
///
/// # Safety
/// As for every [`Transpose`].
unsafe fn one_by_one(source: *const u8, target: *mut u8, plane: Plane<'_>, fetch: &mut Fetch<'_>) {
    fetch.finish();
    let bytes = plane.itemsize;
    for (b, &column) in plane.b.iter().enumerate() {
        let from = source.wrapping_add(b * bytes);
        let to = target.wrapping_offset(column);
        // SAFETY: these are elements of the plane.
        unsafe { gathered()(from, to, plane.a, bytes) };
    }
}

/// Copies elements of so many bytes from places behind a source to where they follow each other. Sources must be readable, the target
/// writable, and both apart.
pub(crate) type Gather = unsafe fn(*const u8, *mut u8, &[isize], usize);

fn gathered() -> Gather {
    #[cfg(target_arch = "x86_64")]
    return x86::gathered();
    #[cfg(not(target_arch = "x86_64"))]
    return plain_gathered;
}

/// # Safety
/// As for every [`Gather`].
unsafe fn plain_gathered(source: *const u8, target: *mut u8, places: &[isize], bytes: usize) {
    for (n, &place) in places.iter().enumerate() {
        let from = source.wrapping_offset(place);
        // SAFETY: as the caller says.
        unsafe {
            target
                .wrapping_add(n * bytes)
                .copy_from_nonoverlapping(from, bytes)
        };
    }
}

/// All ways to copy rows past the cache on this processor.
#[cfg(test)]
pub(crate) fn all_streaming_rows() -> Vec<MoveRows> {
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
            count in 0usize..5, bytes in 0usize..400, gap in 0usize..70, place in 0usize..64, from in 0usize..64
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
                prop_assert_eq!(&moved(&|from, to| unsafe { move_rows(from, to, rows) }), &expected);
            }
        }
    }
}
