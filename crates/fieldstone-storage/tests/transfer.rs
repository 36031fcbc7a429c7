//! Elements of any strides, to a device and back.

use fieldstone_device::{Accelerator, Contents, Simulated, Stream};
use fieldstone_storage::{Allocation, Layout, Spec, View, copy, download, fetched, fill, upload};
use proptest::prelude::*;

/// A view of part of a new block: every other axis may be padded, stepped over or reversed.
fn part(of: impl Fn(&Spec) -> View, shape: &[usize], order: &[usize], steps: &[isize]) -> View {
    let larger = shape
        .iter()
        .zip(steps)
        .map(|(size, step)| size * step.unsigned_abs() + 1);
    let mut spec = Spec::packed(larger.collect::<Vec<_>>(), 2);
    spec.layout = Layout::new(order.to_vec()).unwrap();
    let mut view = of(&spec);
    for (axis, (&size, &step)) in shape.iter().zip(steps).enumerate() {
        let start = if step < 0 {
            size * step.unsigned_abs()
        } else {
            0
        };
        view = view.slice(axis, start, step, size).unwrap();
    }
    view
}

fn bytes(view: &View) -> Vec<u8> {
    let (_, packed) = Allocation::new(&Spec::packed(view.shape().to_vec(), 2)).unwrap();
    // SAFETY: both are host memory of this test.
    unsafe {
        copy(view, &packed, 1).unwrap();
        std::slice::from_raw_parts(packed.pointer(), packed.len() * 2).to_vec()
    }
}

#[test]
fn regular_elements_are_one_transfer() {
    let device = Simulated::new(0);
    let (_, all) = Allocation::on(&device, &Spec::packed(vec![6, 8], 2), Contents::Zeroed).unwrap();
    for (view, bytes) in [
        (all.clone(), 96),
        (all.slice(0, 1, 1, 4).unwrap(), 64),
        (all.slice(1, 2, 1, 5).unwrap(), 60),
        (all.drop_axis(1, 3).unwrap(), 12),
        (all.slice(1, 7, -1, 8).unwrap(), 96),
        (all.transpose(&[1, 0]).unwrap(), 96),
    ] {
        let (_, host) = Allocation::zeroed(&Spec::packed(view.shape().to_vec(), 2)).unwrap();
        let before = device.transfers();
        // SAFETY: both live as long as this test.
        unsafe { upload(&device, &host, &view).unwrap() };
        let after = device.transfers();
        assert_eq!(after.uploads - before.uploads, 1, "{view:?}");
        assert_eq!(after.uploaded_bytes - before.uploaded_bytes, bytes);
        assert_eq!(after.downloads, before.downloads);
    }
}

#[test]
fn scattered_elements_move_with_what_lies_between() {
    let device = Simulated::new(0);
    let spec = Spec::packed(vec![600, 3, 4], 2);
    let (_, all) = Allocation::on(&device, &spec, Contents::Zeroed).unwrap();
    let part = all.slice(1, 0, 1, 2).unwrap().slice(2, 0, 1, 2).unwrap();
    let (_, host) = Allocation::zeroed(&Spec::packed(vec![600, 2, 2], 2)).unwrap();
    // SAFETY: both live as long as this test.
    unsafe { upload(&device, &host, &part).unwrap() };
    let transfers = device.transfers();
    assert_eq!((transfers.uploads, transfers.downloads), (1, 1));
    device.synchronize(Stream::DEFAULT).unwrap();
}

proptest! {
    #[test]
    fn elements_come_back_as_they_went_and_nothing_else_changes(
        shape in prop::collection::vec(1usize..5, 0..4),
        here in Just([0usize, 1, 2]).prop_shuffle(),
        there in Just([0usize, 1, 2]).prop_shuffle(),
        steps in prop::collection::vec(prop::sample::select(vec![1isize, 1, 2, 3, -1, -2]), 6),
    ) {
        let ndim = shape.len();
        let order = |order: [usize; 3]| order.into_iter().filter(|&rank| rank < ndim).collect::<Vec<_>>();
        let device = Simulated::new(0);
        let host = part(|spec| Allocation::new(spec).unwrap().1, &shape, &order(here), &steps[..ndim]);
        let whole = std::cell::RefCell::new(None);
        let on_device = part(
            |spec| {
                let (_, view) = Allocation::on(&device, spec, Contents::Zeroed).unwrap();
                *whole.borrow_mut() = Some(view.clone());
                view
            },
            &shape,
            &order(there),
            &steps[3..3 + ndim],
        );
        let whole = whole.into_inner().unwrap();
        // SAFETY: all of this is memory of this test.
        unsafe {
            fill(&host, &[7, 7], 1).unwrap();
            for (number, element) in std::slice::from_raw_parts_mut(host.pointer(), 2).iter_mut().enumerate() {
                *element = number as u8;
            }
            upload(&device, &host, &on_device).unwrap();
            let written = bytes(&fetched(&device, &whole).unwrap()).iter().filter(|&&byte| byte != 0).count();
            prop_assert_eq!(written, bytes(&host).iter().filter(|&&byte| byte != 0).count());
            prop_assert_eq!(bytes(&fetched(&device, &on_device).unwrap()), bytes(&host));
            let back = part(|spec| Allocation::zeroed(spec).unwrap().1, &shape, &order(there), &steps[..ndim]);
            download(&device, &on_device, &back).unwrap();
            prop_assert_eq!(bytes(&back), bytes(&host));
        }
    }
}
