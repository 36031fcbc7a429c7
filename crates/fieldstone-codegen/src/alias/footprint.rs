//! The memory that a call accesses through an argument, and whether two of them share any.

use smallvec::SmallVec;

/// The memory that a call accesses through one argument: a box of elements.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// Address of the first point of the domain, which need not be in the box.
    pub origin: isize,
    /// Address of the point at the lower corner of the box.
    pub start: isize,
    /// Points along I, J, K.
    pub shape: [usize; 3],
    /// Bytes from one point to the next.
    pub strides: [isize; 3],
    /// Sizes of the data dimensions, each with the bytes from one element to the next.
    pub data: Vec<(usize, isize)>,
    /// Bytes of an element.
    pub itemsize: usize,
}

/// How often the exact search may branch before it gives up and calls two boxes overlapping.
const SEARCH_LIMIT: usize = 1 << 14;

impl Footprint {
    /// Size and stride of every dimension, those of the grid first.
    pub(super) fn dimensions(&self) -> impl Iterator<Item = (usize, isize)> + '_ {
        (self.shape.into_iter().zip(self.strides)).chain(self.data.iter().copied())
    }

    /// First byte and one past the last byte of the box.
    pub fn range(&self) -> (isize, isize) {
        let (mut low, mut high) = (self.start, self.start);
        for (points, stride) in self.dimensions() {
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
        let empty = |(points, _)| points == 0;
        if self.dimensions().any(empty) || other.dimensions().any(empty) {
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
        for (points, stride) in self.dimensions() {
            terms.add(stride.unsigned_abs(), points - 1);
        }
        for (points, stride) in other.dimensions() {
            terms.add(stride.unsigned_abs(), points - 1);
        }
        terms.add(1, self.itemsize + other.itemsize - 2);
        terms.reach((other_high - 1 - low) as usize)
    }

    /// Whether each point of the domain is the same element in both.
    pub fn same(&self, other: &Footprint) -> bool {
        let along = |n: usize| {
            self.shape[n].max(other.shape[n]) <= 1 || self.strides[n] == other.strides[n]
        };
        self.origin == other.origin
            && self.itemsize == other.itemsize
            && self.data == other.data
            && (0..3).all(along)
    }

    /// A dimension along which points coincide in memory, counted from that of I and with the data dimensions behind that
    /// of K.
    pub fn shared_dimension(&self) -> Option<usize> {
        let mut dimensions: SmallVec<[(usize, (usize, isize)); 8]> =
            self.dimensions().enumerate().collect();
        dimensions.sort_by_key(|(_, (_, stride))| stride.unsigned_abs());
        let mut covered = self.itemsize;
        for (n, (points, stride)) in dimensions {
            if points <= 1 {
                continue;
            }
            if stride.unsigned_abs() < covered {
                return Some(n);
            }
            covered = covered.saturating_add((points - 1).saturating_mul(stride.unsigned_abs()));
        }
        None
    }
}

/// A sum of `coefficient * x` with `0 <= x <= bound` for each term, largest coefficient first.
#[derive(Default)]
struct Terms {
    terms: SmallVec<[(usize, usize); 11]>,
}

impl Terms {
    fn add(&mut self, coefficient: usize, bound: usize) {
        if coefficient == 0 || bound == 0 {
            return;
        }
        if let Some(term) = self.terms.iter_mut().find(|term| term.0 == coefficient) {
            term.1 += bound;
            return;
        }
        let place = (self.terms.iter())
            .position(|term| term.0 < coefficient)
            .unwrap_or(self.terms.len());
        self.terms.insert(place, (coefficient, bound));
    }

    /// Whether the sum can be `value`; also `true` when that takes too long to find out.
    fn reach(&self, value: usize) -> bool {
        let mut tails: SmallVec<[usize; 12]> = SmallVec::from_elem(0, self.terms.len() + 1);
        for n in (0..self.terms.len()).rev() {
            let (coefficient, bound) = self.terms[n];
            tails[n] = tails[n + 1].saturating_add(coefficient.saturating_mul(bound));
        }
        let mut budget = SEARCH_LIMIT;
        self.search(0, value, &tails, &mut budget)
    }

    fn search(&self, n: usize, value: usize, tails: &[usize], budget: &mut usize) -> bool {
        if value > tails[n] {
            return false;
        }
        if value == 0 || n == self.terms.len() {
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn footprint(
        start: isize,
        shape: [usize; 3],
        strides: [isize; 3],
        itemsize: usize,
    ) -> Footprint {
        Footprint {
            origin: start,
            start,
            shape,
            strides,
            data: Vec::new(),
            itemsize,
        }
    }

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
    pub fn random(state: &mut u64, below: u64) -> u64 {
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
            let mut draw = || {
                footprint(
                    1000 + random(&mut state, 120) as isize,
                    std::array::from_fn(|_| 1 + random(&mut state, 4) as usize),
                    std::array::from_fn(|_| random(&mut state, 60) as isize - 30),
                    [1, 2, 4, 8][random(&mut state, 4) as usize],
                )
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
            let footprint = footprint(
                0,
                std::array::from_fn(|_| 1 + random(&mut state, 3) as usize),
                std::array::from_fn(|_| 8 * (random(&mut state, 40) as isize - 20)),
                8,
            );
            let points: usize = footprint.shape.iter().product();
            if bytes(&footprint).len() < points * 8 {
                assert!(footprint.shared_dimension().is_some(), "{footprint:?}");
            }
        }
    }

    #[test]
    fn usual_views_are_told_apart() {
        let at = |start, shape, strides| footprint(start, shape, strides, 8);
        let whole = at(0, [10, 10, 10], [800, 80, 8]);
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
        assert_eq!(whole.shared_dimension(), None);
        assert_eq!(at(0, [10, 10, 5], [800, 0, 8]).shared_dimension(), Some(1));
    }
}
