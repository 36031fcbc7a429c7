//! What tests of views share: the addresses and bytes of elements, found one by one, and random windows.
#![allow(dead_code, reason = "each test file uses what it needs of this")]

use fieldstone_storage::View;
use proptest::prelude::*;

/// Addresses of all elements, in index order.
pub fn elements(view: &View) -> Vec<*mut u8> {
    let mut pointers = vec![view.pointer()];
    for (&size, &stride) in view.shape().iter().zip(view.strides()) {
        pointers = pointers
            .iter()
            .flat_map(|pointer| {
                (0..size as isize).map(move |i| pointer.wrapping_offset(i * stride))
            })
            .collect();
    }
    pointers
}

/// The bytes of each element, in index order.
pub fn values(view: &View) -> Vec<Vec<u8>> {
    let read = |pointer: *mut u8| {
        // SAFETY: an element of a view that owns its memory; tests have one thread.
        unsafe { std::slice::from_raw_parts(pointer, view.itemsize()) }.to_vec()
    };
    elements(view).into_iter().map(read).collect()
}

/// All bytes of the view's buffer.
pub fn memory(view: &View) -> Vec<u8> {
    let buffer = view.owner().unwrap();
    // SAFETY: the buffer is initialised and nobody writes to it now.
    unsafe { std::slice::from_raw_parts(buffer.pointer(), buffer.bytes()) }.to_vec()
}

/// Writes different bytes to each byte of the view's buffer.
pub fn number(view: &View) {
    let buffer = view.owner().unwrap();
    for n in 0..buffer.bytes() {
        let value = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        // SAFETY: within the buffer.
        unsafe { buffer.pointer().add(n).write(value as u8) };
    }
}

/// What makes a view of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Slice {
        axis: usize,
        start: usize,
        step: isize,
        length: usize,
    },
    Drop {
        axis: usize,
        index: usize,
    },
    Insert {
        axis: usize,
    },
    Transpose {
        axes: Vec<usize>,
    },
    Broadcast {
        shape: Vec<usize>,
    },
}

impl Step {
    pub fn apply(&self, view: &View) -> View {
        match self {
            &Self::Slice {
                axis,
                start,
                step,
                length,
            } => view.slice(axis, start, step, length),
            &Self::Drop { axis, index } => view.drop_axis(axis, index),
            &Self::Insert { axis } => view.insert_axis(axis),
            Self::Transpose { axes } => view.transpose(axes),
            Self::Broadcast { shape } => view.broadcast(shape),
        }
        .unwrap()
    }
}

/// A step for a view whose shape is not known yet: numbers that are taken modulo what there is.
#[derive(Clone, Debug)]
pub struct Choice {
    kind: u8,
    numbers: [usize; 4],
}

impl Choice {
    /// The step for a view of this shape.
    pub fn step(&self, shape: &[usize]) -> Step {
        let [a, b, c, d] = self.numbers;
        let ndim = shape.len();
        match self.kind {
            0..=3 if ndim > 0 => Self::slice(a % ndim, shape[a % ndim], [b, c, d]),
            4 if ndim > 0 && shape[a % ndim] > 0 => Step::Drop {
                axis: a % ndim,
                index: b % shape[a % ndim],
            },
            5 if ndim < 6 => Step::Insert {
                axis: a % (ndim + 1),
            },
            6 => {
                let mut rest: Vec<_> = (0..ndim).collect();
                let pick = |n| rest.remove((a >> (4 * n)) % rest.len());
                Step::Transpose {
                    axes: (0..ndim).map(pick).collect(),
                }
            }
            7 if ndim < 6 => {
                let wide = |&size: &usize| if size == 1 { 1 + b % 3 } else { size };
                let front = (c % 2 == 0).then_some(d % 3);
                let shape = front.into_iter().chain(shape.iter().map(wide));
                Step::Broadcast {
                    shape: shape.collect(),
                }
            }
            _ => Step::Transpose {
                axes: (0..ndim).rev().collect(),
            },
        }
    }

    fn slice(axis: usize, size: usize, [start, step, length]: [usize; 3]) -> Step {
        // Mostly upwards and one by one, as slices are.
        let step = [1, 1, 1, -1, 2, -2, 3, -5][step % 8];
        if size == 0 {
            return Step::Slice {
                axis,
                start: 0,
                step,
                length: 0,
            };
        }
        let start = start % size;
        let ahead = if step > 0 { size - 1 - start } else { start };
        Step::Slice {
            axis,
            start,
            step,
            length: length % (ahead / step.unsigned_abs() + 2),
        }
    }
}

/// Steps that may also repeat elements.
pub fn choices(most: usize) -> impl Strategy<Value = Vec<Choice>> {
    of_kinds(0..8, most)
}

/// Steps that repeat no element.
pub fn windows(most: usize) -> impl Strategy<Value = Vec<Choice>> {
    of_kinds(0..7, most)
}

fn of_kinds(kinds: std::ops::Range<u8>, most: usize) -> impl Strategy<Value = Vec<Choice>> {
    let choice = (kinds, any::<[usize; 4]>());
    let choice = choice.prop_map(|(kind, numbers)| Choice { kind, numbers });
    prop::collection::vec(choice, 0..=most)
}

/// The view that a list of choices makes.
pub fn window(view: &View, choices: &[Choice]) -> View {
    choices.iter().fold(view.clone(), |view, choice| {
        choice.step(view.shape()).apply(&view)
    })
}
