//! What the axes of a storage mean, and how that follows the views made of it.

use fieldstone_storage::{Dim, Layout};

/// Labels, halo, origin and aligned index of a storage; one entry per axis in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    /// Labels, or `None` for a storage whose axes are known by position only.
    pub dims: Option<Vec<Dim>>,
    /// Points around the compute domain.
    pub halo: Vec<(usize, usize)>,
    /// First point of the compute domain where it was given apart from the halo.
    pub explicit_origin: Option<Vec<usize>>,
    /// Index whose address is aligned.
    pub aligned_index: Vec<usize>,
    /// Order of the strides. Kept apart from them, since those of axes with one point say nothing.
    pub layout: Layout,
}

impl Axes {
    /// Index of the first point of the compute domain.
    pub fn origin(&self) -> Vec<usize> {
        match &self.explicit_origin {
            Some(origin) => origin.clone(),
            None => self.halo.iter().map(|&(lower, _)| lower).collect(),
        }
    }

    /// Removes an axis at which one index was taken.
    pub fn drop_axis(&mut self, axis: usize) {
        if let Some(dims) = &mut self.dims {
            dims.remove(axis);
        }
        if let Some(origin) = &mut self.explicit_origin {
            origin.remove(axis);
        }
        self.halo.remove(axis);
        self.aligned_index.remove(axis);
        let order = self
            .layout
            .order()
            .into_iter()
            .filter(|&other| other != axis);
        self.layout = in_order(
            order
                .map(|other| if other > axis { other - 1 } else { other })
                .collect(),
        );
    }

    /// Adds an axis of one point; only positional storages can, since a new axis has no label.
    pub fn insert_axis(&mut self, axis: usize) {
        debug_assert!(self.dims.is_none());
        if let Some(origin) = &mut self.explicit_origin {
            origin.insert(axis, 0);
        }
        self.halo.insert(axis, (0, 0));
        self.aligned_index.insert(axis, 0);
        let order = self.layout.order().into_iter();
        let moved = order.map(|other| if other >= axis { other + 1 } else { other });
        self.layout = in_order(std::iter::once(axis).chain(moved).collect());
    }

    /// Keeps `len` points `start, start + step, ...` of the `size` along an axis: what is left of the halo is what was
    /// taken of it.
    pub fn slice(&mut self, axis: usize, size: usize, start: usize, step: isize, len: usize) {
        let (lower, upper) = self.halo[axis];
        let before = taken_below(start, step, len, lower);
        let not_after = taken_below(start, step, len, size - upper);
        self.halo[axis] = if step > 0 {
            (before, len - not_after)
        } else {
            (len - not_after, before)
        };
        if let Some(origin) = &mut self.explicit_origin {
            origin[axis] = position(start, step, len, origin[axis]);
        }
        self.aligned_index[axis] = position(start, step, len, self.aligned_index[axis]);
    }

    /// Reorders the axes: new axis `n` is old axis `permutation[n]`.
    pub fn transpose(&self, permutation: &[usize]) -> Self {
        fn permuted<T: Clone>(entries: &[T], permutation: &[usize]) -> Vec<T> {
            permutation
                .iter()
                .map(|&axis| entries[axis].clone())
                .collect()
        }
        Self {
            dims: self.dims.as_ref().map(|dims| permuted(dims, permutation)),
            halo: permuted(&self.halo, permutation),
            explicit_origin: self
                .explicit_origin
                .as_ref()
                .map(|origin| permuted(origin, permutation)),
            aligned_index: permuted(&self.aligned_index, permutation),
            layout: ranked(permuted(self.layout.ranks(), permutation)),
        }
    }
}

/// The layout with these axes from the largest stride to the smallest, each once.
fn in_order(axes: Vec<usize>) -> Layout {
    Layout::from_order(&axes).unwrap_or_else(|_| Layout::c(axes.len()))
}

/// The layout with these ranks, each once.
fn ranked(ranks: Vec<usize>) -> Layout {
    let ndim = ranks.len();
    Layout::new(ranks).unwrap_or_else(|_| Layout::c(ndim))
}

/// How many of the points `start, start + step, ...` have an index below `bound`.
fn taken_below(start: usize, step: isize, len: usize, bound: usize) -> usize {
    let stride = step.unsigned_abs();
    if len == 0 {
        0
    } else if step > 0 {
        bound.saturating_sub(start).div_ceil(stride).min(len)
    } else {
        let last = start - (len - 1) * stride;
        bound.saturating_sub(last).div_ceil(stride).min(len)
    }
}

/// Where the old index `index` is among the points `start, start + step, ...`; the nearest end if it is outside, the
/// next point if it was stepped over.
fn position(start: usize, step: isize, len: usize, index: usize) -> usize {
    if step > 0 {
        taken_below(start, step, len, index)
    } else {
        len - taken_below(start, step, len, index + 1).min(len)
    }
}

/// Labels as Python writes a tuple of them.
pub fn show(dims: &[Dim]) -> String {
    tuple(dims.iter().map(|dim| format!("'{dim}'")))
}

/// Numbers as Python writes a tuple of them.
pub fn numbers(numbers: &[usize]) -> String {
    tuple(numbers.iter().map(usize::to_string))
}

fn tuple(entries: impl Iterator<Item = String>) -> String {
    match entries.collect::<Vec<_>>().as_slice() {
        [only] => format!("({only},)"),
        entries => format!("({})", entries.join(", ")),
    }
}
