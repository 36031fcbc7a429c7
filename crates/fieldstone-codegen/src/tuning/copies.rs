//! Copies of the arguments of a call, on which it can be repeated.

use fieldstone_device::{DeviceError, Memory};

use crate::arguments::Elements;
use crate::call::{Call, FieldArgument};

/// Copies start as far from the start of a page as what they are copies of, as far as that counts for speed.
const PAGE: usize = 4096;

/// Where copies lie.
pub(crate) trait Place {
    /// Memory that begins at a multiple of so many bytes.
    fn allocate(&self, bytes: usize, alignment: usize) -> Result<Box<dyn Memory>, DeviceError>;

    /// Copies bytes.
    ///
    /// # Safety
    /// Both must be valid for so many bytes, apart from each other, and nobody may access them meanwhile.
    unsafe fn copy(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
    ) -> Result<(), DeviceError>;
}

/// Copies of the memory of a call's arguments.
pub(crate) struct Copies<P> {
    place: P,
    parts: Vec<Part>,
    /// The arguments with the copies as their memory.
    pub fields: Vec<FieldArgument>,
}

/// A copy of the memory from one address to another.
struct Part {
    from: usize,
    to: usize,
    original: Box<dyn Memory>,
    copy: Box<dyn Memory>,
}

impl<P: Place> Copies<P> {
    /// Of the arguments of a call.
    ///
    /// # Safety
    /// The arguments must be valid memory, which nobody writes meanwhile.
    pub unsafe fn new(place: P, elements: &Elements, call: &Call<'_>) -> Result<Self, DeviceError> {
        let spans = elements.spans(call);
        let mut parts = Vec::new();
        for (from, to) in merged(spans.iter().copied().flatten().collect()) {
            let part = Part {
                from,
                to,
                original: place.allocate(to - from, PAGE)?,
                copy: place.allocate(to - from + from % PAGE, PAGE)?,
            };
            // SAFETY: the block is new and has that many bytes; the source is as the caller says.
            unsafe { place.copy(from as *const u8, part.original.pointer(), part.bytes())? };
            parts.push(part);
        }
        let moved = |(field, span): (&FieldArgument, &Option<(usize, usize)>)| {
            let part = |(from, _)| {
                parts
                    .iter()
                    .find(|part| (part.from..part.to).contains(&from))
            };
            let part = span.and_then(part);
            FieldArgument {
                // The origin may lie outside of its array; an argument without memory is not accessed.
                pointer: part.map_or(std::ptr::null_mut(), |part| {
                    let ahead = (field.pointer as usize).wrapping_sub(part.from);
                    part.start().wrapping_add(ahead)
                }),
                // The copy ends with the last element.
                padding: 0,
                ..*field
            }
        };
        Ok(Copies {
            fields: call.fields.iter().zip(&spans).map(moved).collect(),
            place,
            parts,
        })
    }

    /// Makes the copies what they were.
    pub fn restore(&self) -> Result<(), DeviceError> {
        self.parts.iter().try_for_each(|part| {
            let original = part.original.pointer();
            // SAFETY: both blocks have that many bytes, and no stencil runs on them.
            unsafe { self.place.copy(original, part.start(), part.bytes()) }
        })
    }
}

impl Part {
    fn bytes(&self) -> usize {
        self.to - self.from
    }

    /// Where the copy begins: as far behind the start of a page as what it is a copy of.
    fn start(&self) -> *mut u8 {
        self.copy.pointer().wrapping_add(self.from % PAGE)
    }
}

/// Spans of memory in order, those that overlap as one.
fn merged(mut spans: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    spans.sort_unstable();
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (from, to) in spans {
        match merged.last_mut() {
            Some(last) if from < last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn spans_that_overlap_are_one() {
        let spans = vec![(20, 30), (0, 10), (5, 12), (12, 15), (25, 26)];
        assert_eq!(merged(spans), [(0, 12), (12, 15), (20, 30)]);
    }
}
