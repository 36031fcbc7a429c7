//! What the axes of a storage mean, and how that follows the views made of it.

use fieldstone_storage::{Dim, Layout, PerAxis};

pub use crate::interface::show;

/// Labels, halo, origin and aligned index of a storage; one entry per axis in each.
#[derive(Debug, PartialEq, Eq)]
pub struct Axes {
    /// Labels, or `None` for a storage whose axes are known by position only.
    pub dims: Option<PerAxis<Dim>>,
    /// Points around the compute domain.
    pub halo: PerAxis<(usize, usize)>,
    /// First point of the compute domain where it was given apart from the halo.
    pub explicit_origin: Option<PerAxis<usize>>,
    /// Index whose address is aligned.
    pub aligned_index: PerAxis<usize>,
    /// Order of the strides. Kept apart from them, since those of axes with one point say nothing.
    pub layout: Layout,
}

// By hand, since lists of numbers are copied as a whole, and not number by number.
impl Clone for Axes {
    fn clone(&self) -> Self {
        Self {
            dims: self.dims.as_deref().map(PerAxis::from_slice),
            halo: PerAxis::from_slice(&self.halo),
            explicit_origin: self.explicit_origin.as_deref().map(PerAxis::from_slice),
            aligned_index: PerAxis::from_slice(&self.aligned_index),
            layout: self.layout.clone(),
        }
    }
}

impl Axes {
    /// Axes that nothing is known of.
    pub fn plain(ndim: usize) -> Self {
        Self {
            dims: None,
            halo: PerAxis::from_elem((0, 0), ndim),
            explicit_origin: None,
            aligned_index: PerAxis::from_elem(0, ndim),
            layout: Layout::c(ndim),
        }
    }

    /// Takes back what does not fit into `shape`, and an origin that the halo says anyway.
    pub fn limit(&mut self, shape: &[usize]) {
        for (axis, &size) in shape.iter().enumerate() {
            let (lower, upper) = self.halo[axis];
            self.halo[axis] = (lower.min(size), upper.min(size - lower.min(size)));
            self.aligned_index[axis] = self.aligned_index[axis].min(size);
            if let Some(origin) = &mut self.explicit_origin {
                origin[axis] = origin[axis].min(size);
            }
        }
        let halo = &self.halo;
        self.explicit_origin.take_if(|origin| {
            origin
                .iter()
                .zip(halo)
                .all(|(&origin, &(lower, _))| origin == lower)
        });
    }

    /// Index of the first point of the compute domain.
    pub fn origin(&self) -> PerAxis<usize> {
        match &self.explicit_origin {
            Some(origin) => origin.clone(),
            None => self.halo.iter().map(|&(lower, _)| lower).collect(),
        }
    }

    /// What is left of the axes when of each some points are taken, and new ones of one point are put between them.
    ///
    /// New axes lie outermost. They have no labels, so that the others have none with them.
    pub fn select(&self, taken: &[Taken]) -> Self {
        let labelled = taken.iter().all(Option::is_some);
        let of_each = |own: &[usize]| -> PerAxis<usize> {
            let position = |&(axis, points): &(usize, Points)| points.position(own[axis]);
            let part = |part: &Taken| part.as_ref().map_or(0, position);
            taken.iter().map(part).collect()
        };
        let halo = |part: &Taken| match part {
            Some((axis, points)) => points.halo(self.halo[*axis]),
            None => (0, 0),
        };
        let label = |dims: &PerAxis<Dim>| -> PerAxis<Dim> {
            let axes = taken.iter().flatten();
            axes.map(|&(axis, _)| dims[axis]).collect()
        };
        Self {
            dims: self.dims.as_ref().filter(|_| labelled).map(label),
            halo: taken.iter().map(halo).collect(),
            explicit_origin: self.explicit_origin.as_deref().map(of_each),
            aligned_index: of_each(&self.aligned_index),
            layout: self.layout_of(taken),
        }
    }

    /// The order of the strides of a part.
    fn layout_of(&self, taken: &[Taken]) -> Layout {
        let keeps = |(place, part): (usize, &Taken)| part.is_some_and(|(axis, _)| axis == place);
        if taken.len() == self.halo.len() && taken.iter().enumerate().all(keeps) {
            return self.layout.clone();
        }
        let rank = |part: &Taken| part.map(|(axis, _)| self.layout.ranks()[axis]);
        let new = taken.iter().filter(|part| part.is_none()).count();
        let mut new_before = 0;
        let ranks: PerAxis<usize> = taken
            .iter()
            .map(|part| match rank(part) {
                Some(own) => {
                    let outer = |other: &&Taken| rank(other).is_some_and(|other| other < own);
                    new + taken.iter().filter(outer).count()
                }
                None => {
                    new_before += 1;
                    new_before - 1
                }
            })
            .collect();
        ranked(ranks)
    }

    /// These axes and, behind them, as many data dimensions as the elements carry, with the largest strides.
    pub fn with_data(&self, count: usize) -> Self {
        fn and<T: Copy>(entries: &[T], more: T, count: usize) -> PerAxis<T> {
            let mut entries = PerAxis::from(entries);
            entries.resize(entries.len() + count, more);
            entries
        }
        let ndim = self.halo.len();
        let order: PerAxis<usize> = (ndim..ndim + count).chain(self.layout.order()).collect();
        Self {
            dims: self.dims.as_ref().map(|dims| with_data_dims(dims, count)),
            halo: and(&self.halo, (0, 0), count),
            explicit_origin: self
                .explicit_origin
                .as_ref()
                .map(|origin| and(origin, 0, count)),
            aligned_index: and(&self.aligned_index, 0, count),
            layout: in_order(&order),
        }
    }

    /// Reorders the axes: new axis `n` is old axis `permutation[n]`.
    pub fn transpose(&self, permutation: &[usize]) -> Self {
        fn permuted<T: Copy>(entries: &[T], permutation: &[usize]) -> PerAxis<T> {
            permutation.iter().map(|&axis| entries[axis]).collect()
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

/// Labels and, behind them, those of more data dimensions: the first numbers that are free.
pub fn with_data_dims(dims: &[Dim], count: usize) -> PerAxis<Dim> {
    let free = (0..)
        .map(Dim::Data)
        .filter(|dim| !dims.contains(dim))
        .take(count);
    dims.iter().copied().chain(free).collect()
}

/// The layout with these axes from the largest stride to the smallest, each once.
fn in_order(axes: &[usize]) -> Layout {
    Layout::from_order(axes).unwrap_or_else(|_| Layout::c(axes.len()))
}

/// The layout with these ranks, each once.
fn ranked(ranks: PerAxis<usize>) -> Layout {
    let ndim = ranks.len();
    Layout::new(ranks).unwrap_or_else(|_| Layout::c(ndim))
}

/// One axis of a part: an old axis and the points taken of it, or a new axis.
pub type Taken = Option<(usize, Points)>;

/// The points `start, start + step, ...`, `len` of them, of the `size` along an axis.
#[derive(Clone, Copy, Debug)]
pub struct Points {
    pub size: usize,
    pub start: usize,
    pub step: isize,
    pub len: usize,
}

impl Points {
    /// All points of an axis.
    pub fn all(size: usize) -> Self {
        Self {
            size,
            start: 0,
            step: 1,
            len: size,
        }
    }

    /// How many of them have an index below `bound`.
    fn below(self, bound: usize) -> usize {
        let stride = self.step.unsigned_abs();
        let first = match self.step {
            // A division takes longer than all of the rest.
            1 => return bound.saturating_sub(self.start).min(self.len),
            _ if self.len == 0 => return 0,
            2.. => self.start,
            _ => self.start - (self.len - 1) * stride,
        };
        bound.saturating_sub(first).div_ceil(stride).min(self.len)
    }

    /// What is left of a halo: what was taken of it.
    fn halo(self, (lower, upper): (usize, usize)) -> (usize, usize) {
        let before = self.below(lower);
        let after = self.len - self.below(self.size - upper);
        if self.step > 0 {
            (before, after)
        } else {
            (after, before)
        }
    }

    /// Where the point at `index` is among them; the nearest end if it is outside, the next if it was stepped over.
    fn position(self, index: usize) -> usize {
        if self.step > 0 {
            self.below(index)
        } else {
            self.len - self.below(index + 1)
        }
    }
}

/// Numbers as Python writes a tuple of them.
pub fn numbers(numbers: &[impl ToString]) -> String {
    let entries: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match entries.as_slice() {
        [only] => format!("({only},)"),
        entries => format!("({})", entries.join(", ")),
    }
}
