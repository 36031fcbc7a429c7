//! Whether arguments of a call overlap in memory, and whether that changes the result.
//!
//! | module | what lives there |
//! |---|---|
//! | `footprint` | the memory that a call accesses through an argument |
//! | `in_place` | which fields may be the same memory |

mod footprint;
mod in_place;

use fieldstone_stencil::Axis;

use crate::domain::Requirement;
use crate::error::{CallError, Reader};

pub use footprint::Footprint;
pub use in_place::InPlace;

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
    use fieldstone_stencil::Extent;

    use super::footprint::tests::{footprint, random};
    use super::*;

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
}
