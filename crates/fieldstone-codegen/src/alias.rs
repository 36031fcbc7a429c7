//! Whether arguments of a call overlap in memory, and whether that changes the result.

use fieldstone_stencil::ir::{FieldId, LevelIndex, Stmt, StmtKind, Target};
use fieldstone_stencil::{Axis, Extent, Offset, Program, elements, visit};
use smallvec::SmallVec;

use crate::domain::Requirement;
use crate::error::{CallError, Reader};

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
    fn dimensions(&self) -> impl Iterator<Item = (usize, isize)> + '_ {
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

/// For each pair of fields whether the first may be written in place of the second: the same memory as both.
#[derive(Clone, Debug)]
pub struct InPlace {
    pairs: Vec<Option<Reader>>,
    fields: usize,
}

impl InPlace {
    /// What follows from the accesses of a program.
    pub fn of(program: &Program) -> InPlace {
        let fields = program.stencil.fields.len();
        let accesses = in_order(program);
        let pair = |n| in_place(&accesses, n / fields, n % fields);
        InPlace {
            pairs: (0..fields * fields).map(pair).collect(),
            fields,
        }
    }

    /// Why field `written` must not be the same memory as field `other`; `None` if it may.
    pub fn obstacle(&self, written: usize, other: usize) -> Option<Reader> {
        self.pairs[written * self.fields + other]
    }
}

struct Access {
    field: usize,
    /// Which element of the data dimensions; empty where it may be any.
    element: Vec<u32>,
    kind: Kind,
    /// Number of the computation, and of the section in it.
    computation: usize,
    section: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    Write,
    /// To another level than the one that is computed.
    WriteElsewhere,
    /// Of the point that is computed, in a statement that is computed on the domain only.
    ReadPoint,
    ReadElsewhere,
}

/// Whether there is a `while` in a statement.
fn repeats(statement: &Stmt) -> bool {
    let mut found = false;
    statement.walk(&mut |inner| found |= matches!(inner.kind, StmtKind::While { .. }));
    found
}

/// Every access to a field, in the order in which it happens at one point.
fn in_order(program: &Program) -> Vec<Access> {
    let mut accesses = Vec::new();
    let (apart, elements) =
        elements::of_everything(program.stencil.clone(), elements::Indices::Constant);
    let computations = (apart.computations.iter()).zip(&program.analysis.extents);
    for (c, (computation, extents)) in computations.enumerate() {
        for (s, (section, extents)) in computation.sections.iter().zip(extents).enumerate() {
            for (statement, extent) in section.body.iter().zip(extents) {
                // What a round of a loop writes the next one may read.
                let rounds = vec![statement.clone(); 1 + usize::from(repeats(statement))];
                visit::accesses(&rounds, &mut |access| {
                    let Target::Field(FieldId(id)) = access.target else {
                        return;
                    };
                    let here =
                        access.offset == Offset::ZERO && access.level == LevelIndex::Constant;
                    let kind = if access.write && here {
                        Kind::Write
                    } else if access.write {
                        Kind::WriteElsewhere
                    } else if here && *extent == Extent::ZERO {
                        Kind::ReadPoint
                    } else {
                        Kind::ReadElsewhere
                    };
                    accesses.push(Access {
                        field: elements[id as usize].field.0 as usize,
                        element: elements[id as usize].indices.clone(),
                        kind,
                        computation: c,
                        section: s,
                    });
                });
            }
        }
    }
    accesses
}

/// Whether two accesses may be to the same element of the data dimensions.
fn may_be_same(a: &[u32], b: &[u32]) -> bool {
    a.is_empty() || b.is_empty() || a == b
}

fn in_place(accesses: &[Access], written: usize, other: usize) -> Option<Reader> {
    let moved =
        |access: &Access| access.field == written && matches!(access.kind, Kind::WriteElsewhere);
    let mut obstacle = accesses.iter().any(moved).then_some(Reader::Level);
    for (n, access) in accesses
        .iter()
        .enumerate()
        .filter(|(_, access)| access.field == other)
    {
        let found = match access.kind {
            Kind::Write | Kind::WriteElsewhere => return Some(Reader::Written),
            Kind::ReadElsewhere => Some(Reader::Offset),
            // Sections of one computation have no level in common, so that none sees what another writes to the point.
            Kind::ReadPoint => accesses[..n]
                .iter()
                .filter(|before| before.field == written && matches!(before.kind, Kind::Write))
                .filter(|before| may_be_same(&before.element, &access.element))
                .any(|before| {
                    before.computation != access.computation || before.section == access.section
                })
                .then_some(Reader::Later),
        };
        obstacle = obstacle.or(found);
    }
    obstacle
}

/// Whether it is plain that no written argument shares memory, from the whole arrays (`None` for a field that is not
/// accessed): they lie one behind the other, and their points are apart. That is so in nearly all calls, and quickly found.
pub fn apart(fields: &[Requirement], whole: impl Fn(usize) -> Option<Footprint>) -> bool {
    let written = |n: &usize| fields[*n].writes;
    (0..fields.len()).filter(written).all(|w| {
        let Some(array) = whole(w) else { return true };
        let (low, high) = array.range();
        let behind = |other: Footprint| {
            let (other_low, other_high) = other.range();
            high <= other_low || other_high <= low
        };
        let mut others = (0..fields.len()).filter(|n| *n != w).filter_map(&whole);
        array.shared_dimension().is_none() && others.all(behind)
    })
}

/// Refuses a written argument whose memory is shared in a way that changes the result.
///
/// `footprints` are those of the fields, `None` for one that is not accessed.
///
/// # Errors
///
/// [`CallError::Overlap`] and [`CallError::SharedPoints`].
pub fn check(
    fields: &[Requirement],
    footprints: &[Option<Footprint>],
    in_place: &InPlace,
) -> Result<(), CallError> {
    let present = |n: usize| footprints[n].as_ref().map(|footprint| (n, footprint));
    let writes = (0..fields.len())
        .filter(|n| fields[*n].writes)
        .filter_map(present);
    for (w, footprint) in writes {
        if let Some(n) = footprint.shared_dimension() {
            let (size, stride) = footprint.dimensions().nth(n).unwrap_or_default();
            return Err(CallError::SharedPoints {
                argument: fields[w].name.clone(),
                dimension: match n {
                    0..3 => Axis::ALL[n].to_string(),
                    _ => format!("data dimension {}", n - 3),
                },
                stride,
                size,
            });
        }
        let others = (0..fields.len()).filter(|n| *n != w).filter_map(present);
        for (n, other) in others.filter(|(_, other)| footprint.overlaps(other)) {
            let obstacle = if footprint.same(other) {
                in_place.obstacle(w, n)
            } else {
                Some(Reader::Shifted)
            };
            if let Some(reason) = obstacle {
                return Err(CallError::Overlap {
                    written: fields[w].name.clone(),
                    other: fields[n].name.clone(),
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

    fn footprint(
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
    fn what_is_plainly_apart_does_not_overlap() {
        let field = |name: &str, writes: bool| Requirement {
            name: name.into(),
            dtype: fieldstone_stencil::DType::Float64,
            axes: fieldstone_stencil::Axes::IJK,
            data_dims: Vec::new(),
            extent: Extent::ZERO,
            any_level: false,
            reads: true,
            writes,
        };
        let mut state = 3;
        let mut found = [0; 2];
        for _ in 0..5000 {
            let mut draw = || {
                footprint(
                    8 * random(&mut state, 60) as isize,
                    std::array::from_fn(|_| 1 + random(&mut state, 3) as usize),
                    std::array::from_fn(|_| 8 * (random(&mut state, 20) as isize - 10)),
                    8,
                )
            };
            let arrays = [draw(), draw(), draw()];
            let writes = [true, random(&mut state, 2) == 0, false];
            let fields = [0, 1, 2].map(|n| field("f", writes[n]));
            let plain = apart(&fields, |n| Some(arrays[n].clone()));
            found[usize::from(plain)] += 1;
            for w in (0..3).filter(|w| plain && writes[*w]) {
                assert!(arrays[w].shared_dimension().is_none());
                assert!((0..3).all(|n| n == w || !arrays[w].overlaps(&arrays[n])));
            }
        }
        assert!(found.iter().all(|count| *count > 100), "{found:?}");
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

    /// Whether `out` may be written in place of `inp`, in a stencil of these statements.
    fn obstacle(computations: &str) -> Option<Reader> {
        let text = format!(
            "stencil s {{ field inp: float64[IJK] field out: float64[IJK] field more: float64[IJK] temp t {computations} }}"
        );
        let stencil = fieldstone_stencil::text::parse("s", &text).expect("the text is valid");
        let program = Program::new(stencil, Default::default()).expect("the stencil is valid");
        InPlace::of(&program).obstacle(1, 0)
    }

    #[test]
    fn what_may_be_written_in_place_follows_from_the_order_of_accesses() {
        let cases = [
            ("parallel { interval 0..end { out = inp } }", None),
            (
                "parallel { interval 0..end { t = inp out = t more = t } }",
                None,
            ),
            (
                "parallel { interval 0..end { out = inp[1, 0, 0] } }",
                Some(Reader::Offset),
            ),
            (
                "parallel { interval 0..end { t = inp out = t[0, 1, 0] } }",
                Some(Reader::Offset),
            ),
            (
                "parallel { interval 1..end { out = inp[0, 0, -1] } }",
                Some(Reader::Offset),
            ),
            (
                "parallel { interval 0..end { out = inp more = inp } }",
                Some(Reader::Later),
            ),
            (
                "parallel { interval 0..end { more = inp out = inp } }",
                None,
            ),
            (
                "parallel { interval 0..end { out = 1.0 } } parallel { interval 0..end { more = inp } }",
                Some(Reader::Later),
            ),
            (
                "parallel { interval 0..end { out = 1.0 } } parallel { interval 0..end { inp = 1.0 } }",
                Some(Reader::Written),
            ),
            (
                "forward { interval 0..1 { out = inp } interval 1..end { out = (out[0, 0, -1] + inp) } }",
                None,
            ),
            (
                "parallel { interval 0..end { if (inp > 0.0) { out = inp } } }",
                None,
            ),
            (
                "parallel { interval 0..end { if (inp > 0.0) { out = 1.0 } else { more = inp } } }",
                Some(Reader::Later),
            ),
        ];
        for (computations, expected) in cases {
            assert_eq!(obstacle(computations), expected, "{computations}");
        }
    }
}
