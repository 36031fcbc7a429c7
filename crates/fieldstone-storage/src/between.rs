//! Memory in which a tile is brought into order.

use crate::simd::LINE;

/// So many bytes from the beginning of a line on.
pub(crate) fn room(memory: &mut Vec<u8>, bytes: usize) -> *mut u8 {
    memory.resize(memory.len().max(bytes + LINE), 0);
    let skip = memory.as_ptr().align_offset(LINE);
    memory[skip..].as_mut_ptr()
}

/// The distance of rows so that few of them fall into one set of a cache.
pub(crate) fn apart(bytes: usize) -> usize {
    let lines = bytes.div_ceil(LINE);
    (lines + usize::from(lines.is_multiple_of(2))) * LINE
}
