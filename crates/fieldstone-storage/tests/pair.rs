//! Which bytes move between two copies, and when.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Contents, Simulated, Stream};
use fieldstone_storage::{Access, Allocation, Pair, Side, Spec, SyncState, View, fill};

use Access::{Read, ReadWrite, Write};
use Side::{Device, Host};

/// A pair of vectors of as many bytes, zero on both sides.
fn vectors(bytes: usize) -> (Arc<Pair>, View) {
    let device = Arc::new(Simulated::new(0));
    let (_, view) = Allocation::zeroed(&Spec::packed(vec![bytes], 1)).unwrap();
    let pair = Pair::of_new(&view, device, Contents::Zeroed, 1).unwrap();
    (pair, view)
}

fn part(view: &View, start: usize, length: usize) -> View {
    view.slice(0, start, 1, length).unwrap()
}

/// Writes `value` on a side, as whoever computes there.
fn set(pair: &Pair, side: Side, view: &View, access: Access, value: u8) {
    pair.access(side, view, access).unwrap();
    let place = match side {
        Host => view.clone(),
        Device => kernel(pair, view),
    };
    // SAFETY: both copies live as long as the pair.
    unsafe { fill(&place, &[value], 1).unwrap() };
    pair.settle(side).unwrap();
}

/// Where the simulated device's kernels find a view.
fn kernel(pair: &Pair, view: &View) -> View {
    let there = pair.on_device(view);
    let here = pair.accelerator().reachable(there.pointer()).unwrap();
    there.at_address(here, None)
}

/// The first byte of a view, as a side sees it, which moves bytes unless the view is current there.
fn get(pair: &Pair, side: Side, view: &View) -> u8 {
    let (is_current, before) = (pair.is_current(side, view), moved(pair));
    pair.access(side, view, Read).unwrap();
    assert_eq!(is_current, moved(pair) == before);
    assert_ne!(pair.ahead_in(view), Some(side.other()));
    let place = match side {
        Host => view.clone(),
        Device => kernel(pair, view),
    };
    // SAFETY: as in `set`.
    unsafe { *place.pointer() }
}

/// Bytes moved up and down so far, and by how many transfers.
fn moved(pair: &Pair) -> (usize, usize, usize, usize) {
    let moved = pair.accelerator().transfers();
    (
        moved.uploads,
        moved.uploaded_bytes,
        moved.downloads,
        moved.downloaded_bytes,
    )
}

#[test]
fn bytes_move_when_they_are_needed_and_only_then() {
    let (pair, view) = vectors(100);
    assert_eq!((get(&pair, Device, &view), moved(&pair)), (0, (0, 0, 0, 0)));
    set(&pair, Host, &view, Write, 1);
    set(&pair, Host, &view, ReadWrite, 2);
    assert_eq!(
        (pair.sync().ahead(), moved(&pair)),
        (Some(Host), (0, 0, 0, 0))
    );
    assert_eq!(
        (get(&pair, Device, &view), get(&pair, Device, &view)),
        (2, 2)
    );
    assert_eq!((pair.sync().ahead(), moved(&pair)), (None, (1, 100, 0, 0)));
    set(&pair, Device, &view, ReadWrite, 3);
    assert_eq!(
        (get(&pair, Host, &view), moved(&pair)),
        (3, (1, 100, 1, 100))
    );
    // What is overwritten need not come first.
    set(&pair, Device, &view, Write, 4);
    set(&pair, Host, &view, Write, 5);
    assert_eq!(
        (get(&pair, Device, &view), moved(&pair)),
        (5, (2, 200, 1, 100))
    );
}

#[test]
fn a_write_to_a_part_needs_the_rest() {
    let (pair, view) = vectors(100);
    set(&pair, Device, &view, Write, 1);
    set(&pair, Host, &part(&view, 10, 5), Write, 2);
    assert_eq!(moved(&pair), (0, 0, 1, 100));
    assert_eq!(get(&pair, Device, &part(&view, 50, 1)), 1);
    assert_eq!(get(&pair, Device, &part(&view, 10, 1)), 2);
    assert_eq!(moved(&pair), (1, 5, 1, 100));
}

#[test]
fn of_large_blocks_only_the_part_that_is_needed_moves() {
    const PART: usize = 256 << 10;
    let (pair, view) = vectors(8 * PART);
    set(&pair, Device, &view, Write, 7);
    assert_eq!(get(&pair, Host, &part(&view, 3 * PART + 5, 1)), 7);
    assert_eq!(get(&pair, Host, &part(&view, 3 * PART + 9, 9)), 7);
    assert_eq!(
        (pair.sync().ahead(), moved(&pair)),
        (Some(Device), (0, 0, 1, PART))
    );
    assert_eq!(get(&pair, Host, &view), 7);
    assert_eq!(
        (pair.sync().ahead(), moved(&pair)),
        (None, (0, 0, 3, 8 * PART))
    );
}

#[test]
fn explicit_transfers_move_what_is_ahead_or_are_forced() {
    let (pair, view) = vectors(10);
    pair.bring_to(Device, false).unwrap();
    pair.synchronize().unwrap();
    assert_eq!(moved(&pair), (0, 0, 0, 0));
    pair.sync().declare(Some(Host));
    pair.bring_to(Host, false).unwrap();
    assert_eq!(
        (pair.sync().ahead(), moved(&pair)),
        (Some(Host), (0, 0, 0, 0))
    );
    pair.bring_to(Device, false).unwrap();
    assert_eq!((pair.sync().ahead(), moved(&pair)), (None, (1, 10, 0, 0)));
    pair.bring_to(Host, true).unwrap();
    assert_eq!(moved(&pair), (1, 10, 1, 10));
    pair.sync().declare(Some(Device));
    pair.synchronize().unwrap();
    assert_eq!(moved(&pair), (1, 10, 2, 20));
    assert_eq!(get(&pair, Host, &view), 0);
}

#[test]
fn an_array_that_is_out_is_never_stale_and_no_write_through_it_lost() {
    let (pair, view) = vectors(10);
    let lease = pair.lease(Host, &view).unwrap();
    // SAFETY: the memory lives as long as the view.
    let write = |value: u8| unsafe { *view.pointer() = value };
    for round in 1..4 {
        write(round);
        assert_eq!(get(&pair, Device, &view), round);
        set(&pair, Device, &view, Write, 10 + round);
        // SAFETY: the memory lives as long as the view.
        assert_eq!(unsafe { *view.pointer() }, 10 + round);
    }
    assert_eq!(moved(&pair), (3, 30, 3, 30));
    write(9);
    drop(lease);
    assert_eq!(
        (get(&pair, Device, &view), get(&pair, Device, &view)),
        (9, 9)
    );
    assert_eq!(moved(&pair), (4, 40, 3, 30));
}

#[test]
fn explicit_transfers_move_what_may_have_been_written_through_an_array_that_is_out() {
    let (pair, view) = vectors(10);
    let lease = pair.lease(Host, &view).unwrap();
    for round in 1..4 {
        pair.bring_to(Device, false).unwrap();
        assert_eq!((pair.sync().ahead(), moved(&pair).0), (None, 2 * round - 1));
        pair.synchronize().unwrap();
        assert_eq!((pair.sync().ahead(), moved(&pair).0), (None, 2 * round));
    }
    pair.bring_to(Host, false).unwrap();
    assert_eq!(moved(&pair), (6, 60, 0, 0));
    drop(lease);
    pair.synchronize().unwrap();
    pair.synchronize().unwrap();
    assert_eq!(moved(&pair), (7, 70, 0, 0));
    let _lease = pair.lease(Device, &view).unwrap();
    pair.synchronize().unwrap();
    pair.synchronize().unwrap();
    assert_eq!(moved(&pair), (7, 70, 2, 20));
}

#[test]
fn bytes_between_the_elements_of_somebody_else_stay() {
    let device = Arc::new(Simulated::new(0));
    let (_, whole) = Allocation::zeroed(&Spec::packed(vec![4, 3], 1)).unwrap();
    let column = whole.drop_axis(1, 1).unwrap();
    let pair = Pair::of_host(&column, device, Arc::new(SyncState::new())).unwrap();
    assert_eq!(pair.sync().ahead(), Some(Host));
    set(&pair, Device, &column, Write, 5);
    // SAFETY: the block has that many bytes.
    unsafe {
        fill(&whole.drop_axis(1, 0).unwrap(), &[8], 1).unwrap();
        assert_eq!(get(&pair, Host, &column), 5);
        let bytes = std::slice::from_raw_parts(whole.pointer(), 12);
        assert_eq!(bytes, [8, 5, 0, 8, 5, 0, 8, 5, 0, 8, 5, 0]);
    }
}

#[test]
fn a_state_belongs_to_one_memory() {
    let (pair, _) = vectors(10);
    let (_, other) = Allocation::zeroed(&Spec::packed(vec![10], 1)).unwrap();
    let device: Arc<dyn Accelerator> = Arc::new(Simulated::new(0));
    let error = Pair::of_host(&other, device, Arc::clone(pair.sync())).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("sync_state belongs to the memory of another storage")
    );
    pair.accelerator().synchronize(Stream::DEFAULT).unwrap();
}

#[test]
fn as_many_elements_as_there_are_need_not_be_all_bytes() {
    let device = Arc::new(Simulated::new(0));
    let (_, view) = Allocation::zeroed(&Spec::packed(vec![5], 2)).unwrap();
    let pair = Pair::of_new(&view, device, Contents::Zeroed, 1).unwrap();
    set(&pair, Device, &bytes_of(&view, 1), Write, 7);
    set(&pair, Host, &bytes_of(&view, 0), Write, 8);
    assert_eq!(get(&pair, Host, &bytes_of(&view, 1)), 7);
    assert_eq!(get(&pair, Device, &bytes_of(&view, 0)), 8);
}

/// One byte of each element of two.
fn bytes_of(view: &View, which: isize) -> View {
    let start = view.pointer().wrapping_offset(which);
    // SAFETY: these are bytes of the elements.
    unsafe {
        View::new(
            start,
            view.shape(),
            view.strides(),
            1,
            view.owner().cloned(),
        )
    }
    .unwrap()
}

#[test]
fn an_array_that_is_only_read_is_never_stale_and_writes_nothing() {
    let (pair, view) = vectors(10);
    let shown = [Host, Device].map(|side| pair.show(side, &view).unwrap());
    set(&pair, Device, &part(&view, 0, 5), Write, 7);
    assert_eq!((pair.sync().ahead(), moved(&pair)), (None, (0, 0, 1, 5)));
    set(&pair, Host, &part(&view, 5, 5), Write, 8);
    assert_eq!((pair.sync().ahead(), moved(&pair)), (None, (1, 5, 1, 5)));
    drop(shown);
    assert_eq!(pair.sync().ahead(), None);
    set(&pair, Device, &view, Write, 9);
    assert_eq!(pair.sync().ahead(), Some(Device));
}

#[test]
fn repeated_elements_are_not_everything() {
    let (pair, view) = vectors(100);
    set(&pair, Device, &view, Write, 3);
    let repeated = part(&view, 0, 1).broadcast(&[100]).unwrap();
    pair.access(Host, &repeated, Write).unwrap();
    assert_eq!(get(&pair, Host, &part(&view, 50, 1)), 3);
}
