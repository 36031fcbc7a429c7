//! Whether strided views share memory.
//!
//! Two views share a byte if `a + Σ sᵢ xᵢ + u = b + Σ tⱼ yⱼ + v` has a solution with each index inside its axis and `u`, `v` inside
//! an element: a linear Diophantine equation with bounds. Going from the largest stride to the smallest, what the smaller terms can
//! still reach leaves one or two candidates for each index in the views that occur in practice.

/// Steps after which the search gives up and says that memory may be shared.
const PATIENCE: usize = 10_000;

/// A term `stride * x` with `0 <= x <= most`, the stride being positive.
#[derive(Clone, Copy, Debug)]
struct Term {
    stride: i128,
    most: i128,
}

/// A view's address, shape, strides and element size.
pub(crate) struct Extent<'a> {
    pub start: usize,
    pub shape: &'a [usize],
    pub strides: &'a [isize],
    pub itemsize: usize,
}

/// Whether two views share a byte; also true if that is too hard to tell.
pub(crate) fn overlap(a: &Extent<'_>, b: &Extent<'_>) -> bool {
    let mut terms = Vec::with_capacity(a.shape.len() + b.shape.len() + 2);
    // Σ of the terms must equal this: each term of `a` counted from its lower end, each of `b` from its upper.
    let mut target = b.start as i128 - a.start as i128;
    for (view, sign) in [(a, 1), (b, -1)] {
        let element = [(1, view.itemsize)];
        let axes = view.strides.iter().copied().zip(view.shape.iter().copied());
        for (stride, size) in axes.chain(element) {
            if size == 0 {
                return false;
            }
            let (stride, most) = (sign * stride as i128, size as i128 - 1);
            if stride < 0 {
                target -= stride * most;
            }
            add(
                &mut terms,
                Term {
                    stride: stride.abs(),
                    most,
                },
            );
        }
    }
    solvable(terms, target)
}

/// Whether two different elements of one view share a byte; also true if that is too hard to tell.
pub(crate) fn overlaps_itself(view: &Extent<'_>) -> bool {
    if view.shape.contains(&0) {
        return false;
    }
    let mut axes: Vec<(i128, i128)> = view
        .strides
        .iter()
        .zip(view.shape)
        .filter(|&(_, &size)| size > 1)
        .map(|(&stride, &size)| (i128::from(stride as i64).abs(), size as i128))
        .collect();
    axes.sort_unstable();
    // Enough in practice: each stride steps over all that the smaller ones reach.
    let mut reach = view.itemsize as i128;
    for (stride, size) in axes {
        if stride < reach {
            return true;
        }
        reach += stride * (size - 1);
    }
    false
}

fn add(terms: &mut Vec<Term>, term: Term) {
    if term.stride == 0 || term.most == 0 {
        return;
    }
    match terms.iter_mut().find(|other| other.stride == term.stride) {
        Some(other) => other.most += term.most,
        None => terms.push(term),
    }
}

/// Whether Σ of the terms can be `target`.
fn solvable(mut terms: Vec<Term>, target: i128) -> bool {
    terms.sort_unstable_by_key(|term| std::cmp::Reverse(term.stride));
    let mut reach = vec![0; terms.len() + 1];
    for (place, term) in terms.iter().enumerate().rev() {
        reach[place] = reach[place + 1] + term.stride * term.most;
    }
    let mut patience = PATIENCE;
    search(&terms, &reach, target, &mut patience)
}

fn search(terms: &[Term], reach: &[i128], target: i128, patience: &mut usize) -> bool {
    if target < 0 || target > reach[0] {
        return false;
    }
    let Some((term, rest)) = terms.split_first() else {
        return true;
    };
    let first = (target - reach[1] + term.stride - 1)
        .div_euclid(term.stride)
        .max(0);
    let last = (target / term.stride).min(term.most);
    for x in first..=last {
        if *patience == 0 {
            return true;
        }
        *patience -= 1;
        if search(rest, &reach[1..], target - x * term.stride, patience) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn bytes(view: &Extent<'_>) -> Vec<usize> {
        let mut starts = vec![view.start];
        for (&size, &stride) in view.shape.iter().zip(view.strides) {
            starts = starts
                .iter()
                .flat_map(|start| {
                    (0..size).map(move |i| start.wrapping_add_signed(i as isize * stride))
                })
                .collect();
        }
        starts
            .iter()
            .flat_map(|start| (0..view.itemsize).map(move |byte| start + byte))
            .collect()
    }

    fn views() -> impl Strategy<Value = (usize, Vec<usize>, Vec<isize>, usize)> {
        (0usize..4).prop_flat_map(|ndim| {
            (
                1000usize..1060,
                prop::collection::vec(0usize..5, ndim),
                prop::collection::vec(-20isize..20, ndim),
                1usize..5,
            )
        })
    }

    proptest! {
        #[test]
        fn overlap_means_a_common_byte(a in views(), b in views()) {
            let a = Extent { start: a.0, shape: &a.1, strides: &a.2, itemsize: a.3 };
            let b = Extent { start: b.0, shape: &b.1, strides: &b.2, itemsize: b.3 };
            let of_a: HashSet<_> = bytes(&a).into_iter().collect();
            prop_assert_eq!(overlap(&a, &b), bytes(&b).iter().any(|byte| of_a.contains(byte)));
        }

        #[test]
        fn what_is_called_disjoint_is_disjoint(a in views()) {
            let a = Extent { start: a.0, shape: &a.1, strides: &a.2, itemsize: a.3 };
            let all = bytes(&a);
            let different: HashSet<_> = all.iter().collect();
            prop_assert!(overlaps_itself(&a) || different.len() == all.len());
        }
    }

    #[test]
    fn interleaved_views_are_apart() {
        let strides = [16];
        let at = |start| Extent {
            start,
            shape: &[1_000_000],
            strides: &strides,
            itemsize: 8,
        };
        assert!(!overlap(&at(0), &at(8)));
        assert!(overlap(&at(0), &at(16)));
        assert!(overlap(&at(0), &at(12)));
    }
}
