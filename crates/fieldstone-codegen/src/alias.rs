//! Whether arguments of a call overlap in memory, and whether that changes the result.

use fieldstone_stencil::Axis;

use crate::domain::CallError;

/// The memory that a call accesses through one argument: a box of elements.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Address of the point at the lower corner of the box.
    pub start: isize,
    /// Points along I, J, K.
    pub shape: [usize; 3],
    /// Bytes from one point to the next.
    pub strides: [isize; 3],
    /// Bytes of an element.
    pub itemsize: usize,
}

/// How often the exact search may branch before it gives up and calls two boxes overlapping.
const SEARCH_LIMIT: usize = 1 << 14;

impl Footprint {
    /// First byte and one past the last byte of the box.
    fn range(&self) -> (isize, isize) {
        let (mut low, mut high) = (self.start, self.start);
        for (points, stride) in self.shape.into_iter().zip(self.strides) {
            let reach = (points as isize - 1).saturating_mul(stride);
            if reach < 0 {
                low = low.saturating_add(reach);
            } else {
                high = high.saturating_add(reach);
            }
        }
        (low, high.saturating_add(self.itemsize as isize))
    }

    /// Whether any byte belongs to both boxes.
    pub fn overlaps(&self, other: &Footprint) -> bool {
        if self.shape.contains(&0) || other.shape.contains(&0) {
            return false;
        }
        let (low, high) = self.range();
        let (other_low, other_high) = other.range();
        if high <= other_low || other_high <= low {
            return false;
        }
        // A common byte is a solution of  low + sum(x * stride) + s = other_low + sum(y * stride) + t.  Counting y and t
        // from the far end of the other box makes every term of the equation positive.
        let mut terms = Terms::default();
        for (points, stride) in self.shape.into_iter().zip(self.strides) {
            terms.add(stride.unsigned_abs(), points - 1);
        }
        for (points, stride) in other.shape.into_iter().zip(other.strides) {
            terms.add(stride.unsigned_abs(), points - 1);
        }
        terms.add(1, self.itemsize + other.itemsize - 2);
        terms.reach((other_high - 1 - low) as usize)
    }

    /// Whether both boxes are the same elements at the same points.
    pub fn same(&self, other: &Footprint) -> bool {
        self.start == other.start
            && self.shape == other.shape
            && self.itemsize == other.itemsize
            && (0..3).all(|n| self.shape[n] <= 1 || self.strides[n] == other.strides[n])
    }

    /// An axis along which points coincide in memory.
    pub fn shared_axis(&self) -> Option<Axis> {
        let mut axes = Axis::ALL;
        axes.sort_by_key(|axis| self.strides[axis.index()].unsigned_abs());
        let mut covered = self.itemsize;
        for axis in axes {
            let (points, stride) = (self.shape[axis.index()], self.strides[axis.index()]);
            if points <= 1 {
                continue;
            }
            if stride.unsigned_abs() < covered {
                return Some(axis);
            }
            covered = covered.saturating_add((points - 1).saturating_mul(stride.unsigned_abs()));
        }
        None
    }
}

/// A sum of `coefficient * x` with `0 <= x <= bound` for each term, largest coefficient first.
#[derive(Default)]
struct Terms {
    terms: [(usize, usize); 7],
    len: usize,
}

impl Terms {
    fn add(&mut self, coefficient: usize, bound: usize) {
        if coefficient == 0 || bound == 0 {
            return;
        }
        let known = &mut self.terms[..self.len];
        if let Some(term) = known.iter_mut().find(|term| term.0 == coefficient) {
            term.1 += bound;
            return;
        }
        let place = known
            .iter()
            .position(|term| term.0 < coefficient)
            .unwrap_or(self.len);
        self.terms.copy_within(place..self.len, place + 1);
        self.terms[place] = (coefficient, bound);
        self.len += 1;
    }

    /// Whether the sum can be `value`; also `true` when that takes too long to find out.
    fn reach(&self, value: usize) -> bool {
        let mut tails = [0usize; 8];
        for n in (0..self.len).rev() {
            let (coefficient, bound) = self.terms[n];
            tails[n] = tails[n + 1].saturating_add(coefficient.saturating_mul(bound));
        }
        let mut budget = SEARCH_LIMIT;
        self.search(0, value, &tails, &mut budget)
    }

    fn search(&self, n: usize, value: usize, tails: &[usize; 8], budget: &mut usize) -> bool {
        if value > tails[n] {
            return false;
        }
        if value == 0 || n == self.len {
            return value == 0;
        }
        let (coefficient, bound) = self.terms[n];
        let most = bound.min(value / coefficient);
        let least = value.saturating_sub(tails[n + 1]).div_ceil(coefficient);
        for x in (least..=most).rev() {
            if *budget == 0 {
                return true;
            }
            *budget -= 1;
            if self.search(n + 1, value - x * coefficient, tails, budget) {
                return true;
            }
        }
        false
    }
}

/// Why sharing memory with a written argument changes the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The arguments are not the same elements at the same points.
    Shifted,
    /// Both are written.
    Written,
    /// The other one is read at an offset, or on points around the domain.
    Offset,
    /// The other one is read after the first was written.
    Later,
}

impl Reader {
    pub(crate) fn explanation(self, written: &str, other: &str) -> String {
        match self {
            Reader::Shifted => "they are not the same elements at the same points".into(),
            Reader::Written => format!("'{other}' is written, too"),
            Reader::Offset => {
                format!("'{other}' is also read at other points than the one that is computed")
            }
            Reader::Later => format!("'{other}' is read after '{written}' was written"),
        }
    }
}

/// What is known of a pair of parameters, whatever they are called with: `None` where the first may be written in place of
/// the second.
pub type InPlace = Option<Reader>;

/// Refuses a written argument whose memory is shared in a way that changes the result.
///
/// `in_place(w, n)` says whether argument `w` may be written in place of argument `n`.
pub fn check(
    names: &dyn Fn(usize) -> String,
    written: &dyn Fn(usize) -> bool,
    footprints: &[Option<Footprint>],
    in_place: &dyn Fn(usize, usize) -> InPlace,
) -> Result<(), CallError> {
    for (w, footprint) in footprints.iter().enumerate() {
        let Some(footprint) = footprint.as_ref().filter(|_| written(w)) else {
            continue;
        };
        if let Some(axis) = footprint.shared_axis() {
            return Err(CallError::SharedPoints {
                argument: names(w),
                axis,
                stride: footprint.strides[axis.index()],
                size: footprint.shape[axis.index()],
            });
        }
        for (n, other) in footprints.iter().enumerate() {
            let Some(other) = other.as_ref().filter(|_| n != w) else {
                continue;
            };
            if !footprint.overlaps(other) {
                continue;
            }
            let reason = if !footprint.same(other) {
                Some(Reader::Shifted)
            } else {
                in_place(w, n)
            };
            if let Some(reason) = reason {
                return Err(CallError::Overlap {
                    written: names(w),
                    other: names(n),
                    reason,
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(footprint: &Footprint) -> std::collections::HashSet<isize> {
        let mut bytes = std::collections::HashSet::new();
        let [ni, nj, nk] = footprint.shape.map(|points| points as isize);
        let [si, sj, sk] = footprint.strides;
        for i in 0..ni {
            for j in 0..nj {
                for k in 0..nk {
                    for byte in 0..footprint.itemsize as isize {
                        bytes.insert(footprint.start + i * si + j * sj + k * sk + byte);
                    }
                }
            }
        }
        bytes
    }

    /// A small generator, so that the test needs no crate: the low bits of a linear congruence are thrown away.
    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (*state >> 33) % below
    }

    #[test]
    fn overlap_is_that_of_the_sets_of_bytes() {
        let mut state = 1;
        let mut found = [0; 2];
        for _ in 0..5000 {
            let mut draw = || Footprint {
                start: 1000 + random(&mut state, 120) as isize,
                shape: std::array::from_fn(|_| 1 + random(&mut state, 4) as usize),
                strides: std::array::from_fn(|_| random(&mut state, 60) as isize - 30),
                itemsize: [1, 2, 4, 8][random(&mut state, 4) as usize],
            };
            let (a, b) = (draw(), draw());
            let expected = !bytes(&a).is_disjoint(&bytes(&b));
            assert_eq!(a.overlaps(&b), expected, "{a:?} {b:?}");
            found[usize::from(expected)] += 1;
        }
        assert!(found.iter().all(|count| *count > 500), "{found:?}");
    }

    #[test]
    fn a_shared_axis_is_found_wherever_points_coincide() {
        let mut state = 7;
        for _ in 0..5000 {
            let footprint = Footprint {
                start: 0,
                shape: std::array::from_fn(|_| 1 + random(&mut state, 3) as usize),
                strides: std::array::from_fn(|_| 8 * (random(&mut state, 40) as isize - 20)),
                itemsize: 8,
            };
            let points: usize = footprint.shape.iter().product();
            if bytes(&footprint).len() < points * 8 {
                assert!(footprint.shared_axis().is_some(), "{footprint:?}");
            }
        }
    }

    #[test]
    fn usual_views_are_told_apart() {
        let whole = Footprint {
            start: 0,
            shape: [10, 10, 10],
            strides: [800, 80, 8],
            itemsize: 8,
        };
        let at = |start, shape, strides| Footprint {
            start,
            shape,
            strides,
            itemsize: 8,
        };
        let odd = at(8, [10, 10, 5], [800, 80, 16]);
        let even = at(0, [10, 10, 5], [800, 80, 16]);
        let right = at(40, [10, 10, 5], [800, 80, 8]);
        let left = at(0, [10, 10, 5], [800, 80, 8]);
        let flipped = at(72, [10, 10, 5], [800, 80, -8]);
        for (a, b, expected) in [
            (&whole, &whole, true),
            (&odd, &even, false),
            (&left, &right, false),
            (&flipped, &right, true),
            (&flipped, &left, false),
            (&whole, &odd, true),
        ] {
            assert_eq!(a.overlaps(b), expected, "{a:?} {b:?}");
            assert_eq!(b.overlaps(a), expected, "{b:?} {a:?}");
        }
        assert_eq!(whole.shared_axis(), None);
        assert_eq!(at(0, [10, 10, 5], [800, 0, 8]).shared_axis(), Some(Axis::J));
    }
}
