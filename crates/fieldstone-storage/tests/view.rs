//! Views of views against arrays of element numbers that are indexed one by one.

mod support;

use std::collections::BTreeSet;

use fieldstone_storage::{Allocation, Layout, Spec, View, copy, fill};
use proptest::prelude::*;
use support::{Step, choices, elements, memory, number, values, window, windows};

/// What a view should be: a shape, and for each of its indices in order a place.
#[derive(Clone, Debug)]
struct Numbers {
    shape: Vec<usize>,
    places: Vec<usize>,
}

impl Numbers {
    fn of(view: &View) -> Self {
        let start = view.pointer().addr();
        Self {
            shape: view.shape().to_vec(),
            places: elements(view)
                .iter()
                .map(|place| place.addr() - start)
                .collect(),
        }
    }

    fn at(&self, index: &[usize]) -> usize {
        let flat = index.iter().zip(&self.shape);
        self.places[flat.fold(0, |flat, (index, size)| flat * size + index)]
    }

    /// For each index of the result, the index of this that it shows.
    fn indexed(&self, shape: Vec<usize>, index: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let mut indices = vec![vec![]];
        for &size in &shape {
            let longer =
                |head: &Vec<usize>| (0..size).map(|i| [&head[..], &[i]].concat()).collect();
            indices = indices.iter().flat_map::<Vec<_>, _>(longer).collect();
        }
        let places = indices.iter().map(|i| self.at(&index(i))).collect();
        Self { shape, places }
    }

    fn apply(&self, step: &Step) -> Self {
        let mut shape = self.shape.clone();
        match step {
            &Step::Slice {
                axis,
                start,
                step,
                length,
            } => {
                shape[axis] = length;
                self.indexed(shape, |index| {
                    let mut index = index.to_vec();
                    index[axis] = (start as isize + index[axis] as isize * step) as usize;
                    index
                })
            }
            &Step::Drop { axis, index: at } => {
                shape.remove(axis);
                self.indexed(shape, |index| {
                    [&index[..axis], &[at], &index[axis..]].concat()
                })
            }
            &Step::Insert { axis } => {
                shape.insert(axis, 1);
                self.indexed(shape, |index| [&index[..axis], &index[axis + 1..]].concat())
            }
            Step::Transpose { axes } => {
                let shape = axes.iter().map(|&axis| self.shape[axis]).collect();
                self.indexed(shape, |index| {
                    let mut from = index.to_vec();
                    axes.iter()
                        .zip(index)
                        .for_each(|(&axis, &i)| from[axis] = i);
                    from
                })
            }
            Step::Broadcast { shape } => {
                let more = shape.len() - self.shape.len();
                self.indexed(shape.clone(), |index| {
                    let last = index[more..].iter().zip(&self.shape);
                    last.map(|(&i, &size)| if size == 1 { 0 } else { i })
                        .collect()
                })
            }
        }
    }
}

fn bases() -> impl Strategy<Value = Spec> {
    (0usize..5).prop_flat_map(|ndim| {
        (
            prop::collection::vec(prop::sample::select(vec![0usize, 1, 1, 2, 3, 4, 6]), ndim),
            prop::sample::select(vec![1usize, 2, 3, 4, 8, 16, 24]),
            Just((0..ndim).collect::<Vec<_>>()).prop_shuffle(),
            prop::sample::select(vec![1usize, 16, 64]),
        )
            .prop_map(|(shape, itemsize, ranks, alignment)| Spec {
                aligned_index: vec![0; shape.len()].into(),
                shape: shape.into(),
                itemsize,
                layout: Layout::new(ranks).unwrap(),
                alignment,
            })
    })
}

/// A base whose memory is numbered.
fn base(spec: &Spec) -> View {
    let (_, view) = Allocation::zeroed(spec).unwrap();
    number(&view);
    view
}

/// All bytes of a view's elements.
fn bytes(view: &View) -> Vec<usize> {
    let of_element = |place: *mut u8| place.addr()..place.addr() + view.itemsize();
    elements(view).into_iter().flat_map(of_element).collect()
}

proptest! {
    #[test]
    fn views_of_views_show_the_elements_they_are_indexed_to(spec in bases(), choices in choices(7)) {
        let base = base(&spec);
        let (mut view, mut numbers) = (base.clone(), Numbers::of(&base));
        for choice in &choices {
            let step = choice.step(view.shape());
            (view, numbers) = (step.apply(&view), numbers.apply(&step));
            prop_assert_eq!(view.shape(), &numbers.shape[..]);
            prop_assert_eq!((view.len(), view.ndim()), (numbers.places.len(), numbers.shape.len()));
            prop_assert_eq!(view.is_empty(), numbers.places.is_empty());
            let start = base.pointer().addr();
            let shown: Vec<_> = elements(&view).iter().map(|place| place.addr() - start).collect();
            prop_assert_eq!(&shown, &numbers.places);
            let bounds = view.bounds();
            let lowest = shown.iter().min().map(|place| place + start);
            let highest = shown.iter().max().map(|place| place + start + spec.itemsize);
            prop_assert!(shown.is_empty() && bounds.is_empty() || (lowest, highest) == (Some(bounds.start), Some(bounds.end)));
        }
    }

    #[test]
    fn what_a_view_says_of_shared_memory_is_so(spec in bases(), a in choices(5), b in choices(5)) {
        let base = base(&spec);
        let (a, b) = (window(&base, &a), window(&base, &b));
        let (in_a, in_b) = (bytes(&a), bytes(&b));
        let (set_a, set_b): (BTreeSet<_>, BTreeSet<_>) = (in_a.iter().collect(), in_b.iter().collect());
        prop_assert_eq!(a.overlaps(&b), !set_a.is_disjoint(&set_b));
        prop_assert_eq!(b.overlaps(&a), a.overlaps(&b));
        // Windows of a base that shares nothing are regular enough to be told exactly.
        prop_assert_eq!(a.shares_elements(), set_a.len() < in_a.len());
    }

    #[test]
    fn windows_of_one_memory_are_copied_as_if_through_a_third(
        spec in bases(), from in choices(5), to in windows(5), threads in 1usize..4
    ) {
        let base = base(&spec);
        let target = window(&base, &to);
        // The source is brought to the target's shape, by repeating and cutting, or it is the target's own memory backwards.
        let source = fitted(window(&base, &from), &target);
        let before = values(&source);
        let mut expected = memory(&target);
        let first = target.owner().unwrap().pointer().addr();
        for (element, value) in elements(&target).iter().zip(&before) {
            expected[element.addr() - first..][..spec.itemsize].copy_from_slice(value);
        }
        // SAFETY: both views own their memory.
        unsafe { copy(&source, &target, threads) }.unwrap();
        prop_assert!(memory(&target) == expected);
    }

    #[test]
    fn fills_of_windows_set_their_elements_and_nothing_else(spec in bases(), to in windows(6), threads in 1usize..4) {
        let target = window(&base(&spec), &to);
        let element: Vec<u8> = (1..=spec.itemsize as u8).collect();
        let mut expected = memory(&target);
        let first = target.owner().unwrap().pointer().addr();
        for place in elements(&target) {
            expected[place.addr() - first..][..spec.itemsize].copy_from_slice(&element);
        }
        // SAFETY: the view owns its memory.
        unsafe { fill(&target, &element, threads) }.unwrap();
        prop_assert!(memory(&target) == expected);
    }

    #[test]
    fn what_repeats_elements_is_never_written_to(spec in bases(), to in choices(6)) {
        let target = window(&base(&spec), &to);
        let bytes = bytes(&target);
        let repeats = bytes.iter().collect::<BTreeSet<_>>().len() < bytes.len();
        let before = memory(&target);
        // SAFETY: the view owns its memory.
        let filled = unsafe { fill(&target, &vec![7; spec.itemsize], 1) };
        prop_assert_eq!(filled.is_err(), repeats);
        prop_assert!(!repeats || memory(&target) == before);
    }
}

/// A view of `source`'s memory in the shape of `target`.
fn fitted(source: View, target: &View) -> View {
    let mut view = source;
    while view.ndim() > target.ndim() {
        if view.shape()[0] == 0 {
            return reversed(target);
        }
        view = view.drop_axis(0, view.shape()[0] - 1).unwrap();
    }
    let missing = target.ndim() - view.ndim();
    for (axis, (&has, &needs)) in view
        .clone()
        .shape()
        .iter()
        .zip(&target.shape()[missing..])
        .enumerate()
    {
        view = match (has, needs) {
            (0, 1..) => return reversed(target),
            (_, _) if has >= needs => view.slice(axis, has - needs, 1, needs).unwrap(),
            _ => view.slice(axis, has - 1, 1, 1).unwrap(),
        };
    }
    view.broadcast(target.shape()).unwrap()
}

fn reversed(view: &View) -> View {
    (0..view.ndim()).fold(view.clone(), |view, axis| {
        let size = view.shape()[axis];
        view.slice(axis, size.saturating_sub(1), -1, size).unwrap()
    })
}
