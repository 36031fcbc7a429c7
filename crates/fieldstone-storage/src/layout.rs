//! The order of a field's axes in memory.

use crate::{PerAxis, StorageError};
use std::cmp::Reverse;

/// A permutation that ranks the axes by stride: entry `0` is the axis with the largest stride, the largest entry the one
/// with the smallest.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Layout(PerAxis<usize>);

impl Clone for Layout {
    #[inline]
    fn clone(&self) -> Self {
        Self(PerAxis::from_slice(&self.0))
    }
}

impl Layout {
    /// A layout from the rank of each axis.
    ///
    /// # Errors
    /// If `ranks` is no permutation of `0..ranks.len()`.
    pub fn new(ranks: impl Into<PerAxis<usize>>) -> Result<Self, StorageError> {
        let ranks = ranks.into();
        if is_permutation(&ranks) {
            Ok(Self(ranks))
        } else {
            let ndim = ranks.len();
            Err(StorageError::Layout {
                layout: ranks.into_vec(),
                ndim,
            })
        }
    }

    /// The last axis has the smallest stride, as in C.
    pub fn c(ndim: usize) -> Self {
        Self((0..ndim).collect())
    }

    /// The first axis has the smallest stride, as in Fortran.
    pub fn f(ndim: usize) -> Self {
        Self((0..ndim).rev().collect())
    }

    /// The layout that orders axes as `axes` does, which lists them from the largest stride to the smallest.
    ///
    /// # Errors
    /// If `axes` is no permutation of `0..axes.len()`.
    pub fn from_order(axes: &[usize]) -> Result<Self, StorageError> {
        let mut ranks = Self::new(axes)?.0;
        for (rank, &axis) in axes.iter().enumerate() {
            ranks[axis] = rank;
        }
        Ok(Self(ranks))
    }

    /// The layout of existing memory.
    ///
    /// Axes of size 1 have no order of their own; they go where they complete C or Fortran order if the others have it.
    /// Of axes with equal strides the first counts as having the larger one.
    ///
    /// # Errors
    /// If `shape` and `strides` differ in length.
    pub fn from_strides(shape: &[usize], strides: &[isize]) -> Result<Self, StorageError> {
        if shape.len() != strides.len() {
            return Err(StorageError::Rank {
                shape: shape.len(),
                strides: strides.len(),
            });
        }
        let ndim = shape.len();
        let mut axes: PerAxis<usize> = (0..ndim).collect();
        axes.sort_by_key(|&axis| Reverse(strides[axis].unsigned_abs()));
        let wide: PerAxis<usize> = axes
            .iter()
            .copied()
            .filter(|&axis| shape[axis] > 1)
            .collect();
        if wide.is_sorted() {
            Ok(Self::c(ndim))
        } else if wide.is_sorted_by_key(|&axis| Reverse(axis)) {
            Ok(Self::f(ndim))
        } else {
            Self::from_order(&axes)
        }
    }

    /// The number of axes.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.0.len()
    }

    /// The rank of each axis: 0 for the largest stride.
    #[inline]
    pub fn ranks(&self) -> &[usize] {
        &self.0
    }

    /// The axes from the largest stride to the smallest.
    pub fn order(&self) -> PerAxis<usize> {
        let mut axes = PerAxis::from_elem(0, self.0.len());
        for (axis, &rank) in self.0.iter().enumerate() {
            axes[rank] = axis;
        }
        axes
    }

    /// The axis with the smallest stride; none without axes.
    pub fn unit_axis(&self) -> Option<usize> {
        let last = self.ndim().checked_sub(1)?;
        self.0.iter().position(|&rank| rank == last)
    }
}

pub(crate) fn is_permutation(entries: &[usize]) -> bool {
    if let Some(all) = 1u64.checked_shl(entries.len() as u32) {
        let bit = |&entry: &usize| 1u64.checked_shl(u32::try_from(entry).unwrap_or(u32::MAX));
        let seen = entries
            .iter()
            .filter_map(bit)
            .fold(0, |seen, bit| seen | bit);
        return seen == all - 1;
    }
    let mut seen = vec![false; entries.len()];
    entries.iter().all(|&entry| {
        seen.get_mut(entry)
            .is_some_and(|seen| !std::mem::replace(seen, true))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_permutation_is_refused() {
        for ranks in [
            vec![1],
            vec![0, 0],
            vec![0, 2],
            vec![1, 2, 3],
            vec![0, usize::MAX],
        ] {
            let ndim = ranks.len();
            let expected: Vec<usize> = (0..ndim).collect();
            assert_eq!(
                Layout::new(ranks.clone()).unwrap_err().to_string(),
                format!(
                    "layout is {ranks:?}, but it must be a permutation of 0 to ndim - 1, here of {expected:?}"
                )
            );
        }
        assert_eq!(Layout::new(vec![]).unwrap(), Layout::c(0));
    }

    #[test]
    fn existing_memory_has_a_layout() {
        let table: [(&[usize], &[isize], &[usize]); 10] = [
            (&[], &[], &[]),
            (&[4, 5, 6], &[240, 48, 8], &[0, 1, 2]),
            (&[4, 5, 6], &[8, 32, 160], &[2, 1, 0]),
            (&[4, 5, 6], &[48, 192, 8], &[1, 0, 2]),
            (&[4, 5, 6], &[-240, 48, -8], &[0, 1, 2]),
            (&[4, 1, 6], &[48, 8, 8], &[0, 1, 2]),
            (&[4, 1, 6], &[8, 32, 32], &[2, 1, 0]),
            (&[1, 5, 1], &[1, 1, 7], &[0, 1, 2]),
            (&[4, 5, 6], &[0, 0, 8], &[1, 2, 0]),
            (&[4, 0, 6], &[8, 32, 32], &[2, 1, 0]),
        ];
        for (shape, strides, ranks) in table {
            let layout = Layout::from_strides(shape, strides).unwrap();
            assert_eq!(layout.ranks(), ranks, "{shape:?} {strides:?}");
        }
    }

    proptest! {
        #[test]
        fn ranks_and_order_are_inverse(ranks in (0usize..6).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle())) {
            let layout = Layout::new(ranks.clone()).unwrap();
            prop_assert_eq!(Layout::from_order(&layout.order()).unwrap(), layout.clone());
            prop_assert_eq!(layout.unit_axis(), layout.order().last().copied());
            let shape: Vec<usize> = vec![3; ranks.len()];
            let strides: Vec<isize> = ranks.iter().map(|&r| 3isize.pow((ranks.len() - r) as u32)).collect();
            prop_assert_eq!(Layout::from_strides(&shape, &strides).unwrap(), layout);
        }
    }
}
