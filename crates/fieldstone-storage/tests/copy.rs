//! Copies and fills against a loop over all indices.

mod support;

use fieldstone_storage::{Allocation, Layout, Spec, StorageError, View, copy, fill};
use proptest::prelude::*;
use support::{elements, memory, number, values};

/// A part of an allocation: per axis its size, the first index, the step.
#[derive(Clone, Debug)]
struct Part {
    ranks: Vec<usize>,
    alignment: usize,
    /// Per axis: elements before the part, step, elements behind.
    axes: Vec<(usize, isize, usize)>,
}

impl Part {
    fn view(&self, shape: &[usize], itemsize: usize) -> View {
        let full = shape
            .iter()
            .zip(&self.axes)
            .map(|(&size, &(before, step, behind))| {
                before + behind + (size.max(1) - 1) * step.unsigned_abs() + 1
            });
        let spec = Spec {
            shape: full.collect(),
            itemsize,
            layout: Layout::new(self.ranks.clone()).unwrap(),
            alignment: self.alignment,
            aligned_index: vec![0; shape.len()].into(),
        };
        let (_, mut view) = Allocation::zeroed(&spec).unwrap();
        number(&view);
        for (axis, (&size, &(before, step, _))) in shape.iter().zip(&self.axes).enumerate() {
            let reach = (size.max(1) - 1) * step.unsigned_abs();
            let start = if step < 0 { before + reach } else { before };
            view = view.slice(axis, start, step, size).unwrap();
        }
        view
    }
}

fn parts(ndim: usize) -> impl Strategy<Value = Part> {
    let step = prop::sample::select(vec![1isize, 1, 1, 1, -1, 2, -3]);
    (
        Just((0..ndim).collect::<Vec<_>>()).prop_shuffle(),
        prop::sample::select(vec![1usize, 32, 64]),
        prop::collection::vec((0usize..3, step, 0usize..2), ndim),
    )
        .prop_map(|(ranks, alignment, axes)| Part {
            ranks,
            alignment,
            axes,
        })
}

fn cases(sizes: std::ops::Range<usize>) -> impl Strategy<Value = (Vec<usize>, usize, Part, Part)> {
    (0usize..6).prop_flat_map(move |ndim| {
        let sizes = match ndim {
            0..4 => sizes.clone(),
            4 => 0..8,
            _ => 0..5,
        };
        (
            prop::collection::vec(sizes, ndim),
            prop::sample::select(vec![1usize, 2, 3, 4, 8, 16, 24]),
            parts(ndim),
            parts(ndim),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_copy_moves_each_element_and_nothing_else((shape, itemsize, from, to) in cases(0..24), threads in 1usize..4) {
        let (source, target) = (from.view(&shape, itemsize), to.view(&shape, itemsize));
        let before = values(&source);
        let mut expected = memory(&target);
        for (element, value) in elements(&target).iter().zip(&before) {
            let place = element.addr() - target.owner().unwrap().pointer().addr();
            expected[place..place + itemsize].copy_from_slice(value);
        }
        // SAFETY: both views own their memory.
        unsafe { copy(&source, &target, threads) }.unwrap();
        prop_assert_eq!(values(&source), before);
        prop_assert!(memory(&target) == expected);
    }

    #[test]
    fn repeated_elements_are_copied_to_each_place(
        (shape, itemsize, from, to) in cases(0..24), repeated in prop::collection::vec(any::<bool>(), 5), threads in 1usize..4
    ) {
        let once: Vec<usize> =
            shape.iter().zip(&repeated).map(|(&size, &repeated)| if repeated { 1 } else { size }).collect();
        let source = from.view(&once, itemsize).broadcast(&shape).unwrap();
        let target = to.view(&shape, itemsize);
        // SAFETY: both views own their memory.
        unsafe { copy(&source, &target, threads) }.unwrap();
        prop_assert!(values(&source) == values(&target));
    }

    #[test]
    fn a_fill_sets_each_element_and_nothing_else((shape, itemsize, _, to) in cases(0..24), threads in 1usize..4, uniform: bool) {
        let target = to.view(&shape, itemsize);
        let element: Vec<u8> = (1..=itemsize as u8).map(|byte| if uniform { 9 } else { byte }).collect();
        let mut expected = memory(&target);
        for pointer in elements(&target) {
            let place = pointer.addr() - target.owner().unwrap().pointer().addr();
            expected[place..place + itemsize].copy_from_slice(&element);
        }
        // SAFETY: the view owns its memory.
        unsafe { fill(&target, &element, threads) }.unwrap();
        prop_assert!(memory(&target) == expected);
    }

    #[test]
    fn overlapping_views_are_copied_as_if_through_a_third(
        size in 1usize..40, shift in 0usize..20, backwards: bool, transposed: bool
    ) {
        let (_, base) = Allocation::zeroed(&Spec::packed(vec![size + shift, size + shift], 8)).unwrap();
        number(&base);
        let part = |start| base.slice(0, start, 1, size).unwrap().slice(1, start, 1, size).unwrap();
        let mut source = part(shift);
        if backwards {
            source = source.slice(0, size - 1, -1, size).unwrap();
        }
        if transposed {
            source = source.transpose(&[1, 0]).unwrap();
        }
        let (target, expected) = (part(0), values(&source));
        // SAFETY: both views own their memory.
        unsafe { copy(&source, &target, 2) }.unwrap();
        prop_assert_eq!(values(&target), expected);
    }
}

/// Of more than one tile along each axis.
#[test]
fn elements_that_do_not_follow_each_other_are_copied_and_filled() {
    let part = |ranks: [usize; 2], axis: usize, step: isize| Part {
        ranks: ranks.to_vec(),
        alignment: 64,
        axes: (0..2)
            .map(|n| (1, if n == axis { step } else { 1 }, 2))
            .collect(),
    };
    for itemsize in [1, 2, 4, 8, 12, 16] {
        for (from, to) in [([0, 1], [0, 1]), ([0, 1], [1, 0]), ([1, 0], [0, 1])] {
            for (step_from, step_to) in [(2, 1), (1, 2), (-1, 1), (1, -2), (3, 2), (-2, -5)] {
                for axis in 0..2 {
                    let shape = [131, 1030 / itemsize];
                    let source = part(from, axis, step_from).view(&shape, itemsize);
                    let target = part(to, axis, step_to).view(&shape, itemsize);
                    // SAFETY: both views own their memory.
                    unsafe { copy(&source, &target, 2) }.unwrap();
                    assert!(equal(&source, &target));
                    let one = source.slice(0, 5, 1, 1).unwrap().slice(1, 7, 1, 1).unwrap();
                    // SAFETY: as above.
                    unsafe { fill(&target, &values(&one)[0], 2) }.unwrap();
                    assert!(equal(&one.broadcast(&shape).unwrap(), &target));
                }
            }
        }
    }
}

/// Larger than the caches of two cores, so that targets are written past it.
#[test]
fn large_copies_move_each_element() {
    for (itemsize, ranks, odd) in [
        (8, [2, 1, 0], 0),
        (8, [2, 1, 0], 1),
        (4, [2, 0, 1], 3),
        (16, [1, 2, 0], 0),
        (8, [0, 1, 2], 5),
        (2, [2, 1, 0], 3),
        (1, [2, 1, 0], 1),
    ] {
        let shape = vec![261, 130, (4 << 20) / itemsize / 261 / 130 * 2 + 1];
        let part = |ranks: [usize; 3], skip| Part {
            ranks: ranks.to_vec(),
            alignment: 64,
            axes: vec![(skip, 1, 0); 3],
        };
        let source = part([0, 1, 2], 0).view(&shape, itemsize);
        let target = part(ranks, odd).view(&shape, itemsize);
        // SAFETY: both views own their memory.
        unsafe { copy(&source, &target, 2) }.unwrap();
        assert!(equal(&source, &target));
        // SAFETY: as above.
        unsafe { fill(&target, &vec![9; itemsize], 2) }.unwrap();
        let nine = Allocation::new(&Spec::packed(vec![1], itemsize)).unwrap().1;
        // SAFETY: as above.
        unsafe { fill(&nine, &vec![9; itemsize], 1) }.unwrap();
        assert!(equal(&nine.broadcast(&shape).unwrap(), &target));
    }
}

/// Compares one element of each of many blocks that no tile is a multiple of.
fn equal(a: &View, b: &View) -> bool {
    let element = |view: &View, mut n: usize| {
        let mut pointer = view.pointer();
        for (&size, &stride) in view.shape().iter().zip(view.strides()).rev() {
            pointer = pointer.wrapping_offset((n % size) as isize * stride);
            n /= size;
        }
        // SAFETY: an element of a view that owns its memory.
        unsafe { std::slice::from_raw_parts(pointer, view.itemsize()) }
    };
    (0..b.len())
        .step_by(23)
        .all(|n| element(a, n) == element(b, n))
}

#[test]
fn what_does_not_fit_is_an_error_and_nothing_is_written() {
    let view = |shape: &[usize], itemsize| {
        let (_, view) = Allocation::zeroed(&Spec::packed(shape.to_vec(), itemsize)).unwrap();
        view
    };
    let target = view(&[2, 3], 8);
    let repeated = view(&[3], 8).broadcast(&[2, 3]).unwrap();
    let attempt = |source: &View, target: &View| -> StorageError {
        // SAFETY: all views own their memory.
        unsafe { copy(source, target, 1) }.unwrap_err()
    };
    for (error, message) in [
        (
            attempt(&view(&[3, 2], 8), &target),
            "the source has shape [3, 2] and the target [2, 3], but they must be the same",
        ),
        (
            attempt(&view(&[2, 3], 4), &target),
            "the source has elements of 4 bytes and the target of 8, but they must be the same",
        ),
        (
            attempt(&target, &repeated),
            "elements of the target with shape [2, 3] and strides [0, 8] share memory, so it cannot be written to",
        ),
    ] {
        assert_eq!(error.to_string(), message);
    }
    // SAFETY: as above.
    unsafe { fill(&target, &[1; 4], 1) }.unwrap_err();
    assert!(memory(&target).iter().all(|&byte| byte == 0));
}
