//! What every accelerator promises, whatever drives it.

use std::thread;

use fieldstone_device::{Accelerator, Contents, DeviceError, Memory, Rows, Stream};

/// Bytes of a large block, and how often something is tried; Miri takes its time.
const LARGE: usize = if cfg!(miri) { 1 << 12 } else { 1 << 20 };
const ROUNDS: usize = if cfg!(miri) { 2 } else { 20 };

/// All of it.
pub fn hold(device: &dyn Accelerator) {
    blocks_are_as_aligned_as_they_should_be(device);
    zeroed_blocks_are_zero(device);
    blocks_of_no_bytes_are_blocks(device);
    what_cannot_be_allocated_is_an_error(device);
    bytes_go_up_and_down(device);
    rows_go_up_and_down(device);
    bytes_move_within_the_device(device);
    pinned_memory_is_the_hosts(device);
    managed_memory_is_both_sides(device);
    addresses_belong_to_whom_they_belong(device);
    streams_keep_their_order(device);
    streams_wait_for_events(device);
    the_default_stream_waits_for_others(device);
    fences_hold_streams_of_copies(device);
    events_tell_time(device);
    threads_work_at_the_same_time(device);
}

type Allocate<'a> = &'a dyn Fn(usize, usize, Contents) -> Result<Box<dyn Memory>, DeviceError>;

/// For every way to allocate.
fn each_way(device: &dyn Accelerator, check: impl Fn(&str, Allocate<'_>)) {
    check("device", &|bytes, alignment, contents| {
        device.allocate(bytes, alignment, contents)
    });
    check("pinned", &|bytes, alignment, contents| {
        device.allocate_pinned(bytes, alignment, contents)
    });
    if device.properties().managed_memory {
        check("managed", &|bytes, alignment, contents| {
            device.allocate_managed(bytes, alignment, contents)
        });
    }
}

fn uninitialised(device: &dyn Accelerator, bytes: usize) -> Box<dyn Memory> {
    device.allocate(bytes, 1, Contents::Uninitialised).unwrap()
}

/// Host memory that transfers do not wait for.
fn pinned(device: &dyn Accelerator, content: &[u8]) -> Box<dyn Memory> {
    let block = device
        .allocate_pinned(content.len(), 1, Contents::Uninitialised)
        .unwrap();
    // SAFETY: the block is host memory of this length.
    unsafe {
        block
            .pointer()
            .copy_from_nonoverlapping(content.as_ptr(), content.len())
    };
    block
}

/// What host memory holds now.
fn read(block: &dyn Memory) -> Vec<u8> {
    // SAFETY: the block is host memory of this length, and nothing is under way.
    unsafe { std::slice::from_raw_parts(block.pointer(), block.bytes()) }.to_vec()
}

fn upload(device: &dyn Accelerator, source: &[u8], target: &dyn Memory) {
    assert!(source.len() <= target.bytes());
    // SAFETY: both are this long, and the source stays until the stream is synchronised.
    unsafe {
        device
            .upload(
                source.as_ptr(),
                target.pointer(),
                source.len(),
                Stream::DEFAULT,
            )
            .unwrap();
    }
    device.synchronize(Stream::DEFAULT).unwrap();
}

fn download(device: &dyn Accelerator, source: &dyn Memory) -> Vec<u8> {
    let mut target = vec![0; source.bytes()];
    // SAFETY: both are this long, and the target stays until the stream is synchronised.
    unsafe {
        device
            .download(
                source.pointer(),
                target.as_mut_ptr(),
                target.len(),
                Stream::DEFAULT,
            )
            .unwrap();
    }
    device.synchronize(Stream::DEFAULT).unwrap();
    target
}

fn numbers(count: usize) -> Vec<u8> {
    (0..count).map(|number| (number % 251) as u8).collect()
}

fn blocks_are_as_aligned_as_they_should_be(device: &dyn Accelerator) {
    each_way(device, |way, allocate| {
        for alignment in (0..=16).map(|power| 1 << power) {
            for bytes in [1, 1000] {
                let block = allocate(bytes, alignment, Contents::Uninitialised).unwrap();
                assert_eq!(block.pointer().addr() % alignment, 0, "{way}, {alignment}");
                assert_eq!(block.bytes(), bytes);
            }
        }
    });
}

fn zeroed_blocks_are_zero(device: &dyn Accelerator) {
    for bytes in [1, 4097, LARGE] {
        let block = device.allocate(bytes, 64, Contents::Zeroed).unwrap();
        assert!(
            download(device, block.as_ref())
                .iter()
                .all(|&byte| byte == 0)
        );
        let block = device.allocate_pinned(bytes, 64, Contents::Zeroed).unwrap();
        assert!(read(block.as_ref()).iter().all(|&byte| byte == 0));
    }
}

fn blocks_of_no_bytes_are_blocks(device: &dyn Accelerator) {
    each_way(device, |_, allocate| {
        let block = allocate(0, 64, Contents::Zeroed).unwrap();
        assert_eq!((block.bytes(), block.pointer().addr() % 64), (0, 0));
        // SAFETY: nothing is accessed.
        unsafe {
            let stream = Stream::DEFAULT;
            device
                .upload(block.pointer(), block.pointer(), 0, stream)
                .unwrap();
            device
                .download(block.pointer(), block.pointer(), 0, stream)
                .unwrap();
            device
                .copy(block.pointer(), block.pointer(), 0, stream)
                .unwrap();
            device.fill(block.pointer(), 1, 0, stream).unwrap();
        }
    });
}

fn what_cannot_be_allocated_is_an_error(device: &dyn Accelerator) {
    each_way(device, |way, allocate| {
        for alignment in [0, 3, 48] {
            let error = allocate(8, alignment, Contents::Zeroed).unwrap_err();
            assert_eq!(error, DeviceError::Alignment { alignment }, "{way}");
        }
    });
    // Miri ends the program instead.
    let too_many: &[usize] = match cfg!(miri) {
        true => &[usize::MAX],
        false => &[1 << 50, isize::MAX as usize, usize::MAX],
    };
    for &bytes in too_many {
        let error = device.allocate(bytes, 64, Contents::Zeroed).unwrap_err();
        let expected = DeviceError::OutOfMemory {
            bytes,
            alignment: 64,
            device: device.id(),
        };
        assert_eq!(error, expected);
    }
}

fn bytes_go_up_and_down(device: &dyn Accelerator) {
    let content = numbers(5000);
    let block = uninitialised(device, 5000);
    device.reset_transfers();
    upload(device, &content, block.as_ref());
    assert_eq!(download(device, block.as_ref()), content);
    let transfers = device.transfers();
    assert_eq!((transfers.uploads, transfers.uploaded_bytes), (1, 5000));
    assert_eq!((transfers.downloads, transfers.downloaded_bytes), (1, 5000));
}

fn rows_go_up_and_down(device: &dyn Accelerator) {
    let rows = Rows {
        bytes: 3,
        count: 4,
        source_pitch: 5,
        target_pitch: 7,
    };
    let back = Rows {
        source_pitch: 7,
        target_pitch: 3,
        ..rows
    };
    let block = uninitialised(device, rows.target_reach());
    let pageable = numbers(rows.source_reach());
    let held = pinned(device, &pageable);
    let result = pinned(device, &[0; 12]);
    let mut copy = [0; 12];
    for source in [pageable.as_ptr(), held.pointer().cast_const()] {
        device.reset_transfers();
        // SAFETY: all are long enough for the rows, and alive until the stream is synchronised.
        unsafe {
            let stream = Stream::DEFAULT;
            device
                .fill(block.pointer(), 99, block.bytes(), stream)
                .unwrap();
            device
                .upload_rows(source, block.pointer(), rows, stream)
                .unwrap();
            device
                .download_rows(block.pointer(), result.pointer(), back, stream)
                .unwrap();
            device
                .download_rows(block.pointer(), copy.as_mut_ptr(), back, stream)
                .unwrap();
        }
        device.synchronize(Stream::DEFAULT).unwrap();
        let expected = [0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17];
        assert_eq!(
            (read(result.as_ref()), copy.as_slice()),
            (Vec::from(expected), expected.as_slice())
        );
        let transfers = device.transfers();
        assert_eq!((transfers.uploads, transfers.uploaded_bytes), (1, 12));
        assert_eq!((transfers.downloads, transfers.downloaded_bytes), (2, 24));
        let gaps = download(device, block.as_ref());
        assert_eq!(gaps[3..7], [99; 4]);
    }
}

fn bytes_move_within_the_device(device: &dyn Accelerator) {
    let (one, other) = (uninitialised(device, 1000), uninitialised(device, 1000));
    upload(device, &numbers(1000), one.as_ref());
    // SAFETY: all places are within the two blocks.
    unsafe {
        let stream = Stream::DEFAULT;
        device.fill(other.pointer(), 7, 1000, stream).unwrap();
        device
            .copy(
                one.pointer().wrapping_add(10),
                other.pointer().wrapping_add(20),
                30,
                stream,
            )
            .unwrap();
    }
    let mut expected = vec![7; 1000];
    expected[20..50].copy_from_slice(&numbers(1000)[10..40]);
    assert_eq!(download(device, other.as_ref()), expected);
}

fn pinned_memory_is_the_hosts(device: &dyn Accelerator) {
    let (from, to) = (pinned(device, &numbers(3000)), pinned(device, &[0; 3000]));
    let block = uninitialised(device, 3000);
    // SAFETY: all are that long and alive until the stream is synchronised.
    unsafe {
        let stream = Stream::DEFAULT;
        device
            .upload(from.pointer(), block.pointer(), 3000, stream)
            .unwrap();
        device
            .download(block.pointer(), to.pointer(), 3000, stream)
            .unwrap();
    }
    device.synchronize(Stream::DEFAULT).unwrap();
    assert_eq!(read(to.as_ref()), numbers(3000));
}

fn managed_memory_is_both_sides(device: &dyn Accelerator) {
    if !device.properties().managed_memory {
        let error = device.allocate_managed(8, 8, Contents::Zeroed).unwrap_err();
        assert!(
            error.to_string().contains("has no managed memory"),
            "{error}"
        );
        return;
    }
    let block = device.allocate_managed(100, 64, Contents::Zeroed).unwrap();
    assert_eq!(block.device(), device.id());
    assert_eq!(read(block.as_ref()), [0; 100]);
    let other = uninitialised(device, 100);
    upload(device, &numbers(100), other.as_ref());
    // SAFETY: both are that long.
    unsafe {
        device
            .copy(other.pointer(), block.pointer(), 100, Stream::DEFAULT)
            .unwrap();
    }
    device.synchronize(Stream::DEFAULT).unwrap();
    assert_eq!(read(block.as_ref()), numbers(100));
}

fn addresses_belong_to_whom_they_belong(device: &dyn Accelerator) {
    let block = uninitialised(device, 100);
    let first = block.pointer();
    assert!(device.owns(first) && device.owns(first.wrapping_add(99)));
    let host = Vec::from([0u8; 100]);
    assert!(!device.owns(host.as_ptr()) && !device.owns(std::ptr::null()));
    assert!(!device.owns(pinned(device, &host).pointer()));
    if device.properties().managed_memory {
        let managed = device.allocate_managed(8, 8, Contents::Zeroed).unwrap();
        assert!(device.owns(managed.pointer()));
    }
    drop(block);
    assert!(!device.owns(first));
}

fn streams_keep_their_order(device: &dyn Accelerator) {
    let queue = device.create_stream().unwrap();
    let stream = queue.stream();
    assert_ne!(stream, Stream::DEFAULT);
    let (block, result) = (uninitialised(device, 64), pinned(device, &[0; 64]));
    // SAFETY: all are that long and alive until the stream is synchronised.
    unsafe {
        device.fill(block.pointer(), 1, 64, stream).unwrap();
        device.fill(block.pointer(), 2, 32, stream).unwrap();
        device
            .download(block.pointer(), result.pointer(), 64, stream)
            .unwrap();
        device.fill(block.pointer(), 3, 64, stream).unwrap();
    }
    device.synchronize(stream).unwrap();
    assert_eq!(read(result.as_ref()), [[2; 32], [1; 32]].concat());
}

fn streams_wait_for_events(device: &dyn Accelerator) {
    let (first, second) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let event = device.create_event().unwrap();
    assert_eq!(event.device(), device.id());
    let (block, result) = (uninitialised(device, 64), pinned(device, &[0; 64]));
    // SAFETY: all are that long and alive until the stream is synchronised.
    unsafe {
        device.fill(block.pointer(), 5, 64, first.stream()).unwrap();
        event.record(first.stream()).unwrap();
        event.hold(second.stream()).unwrap();
        device
            .download(block.pointer(), result.pointer(), 64, second.stream())
            .unwrap();
    }
    device.synchronize(second.stream()).unwrap();
    assert_eq!(read(result.as_ref()), [5; 64]);
    assert!(event.is_done().unwrap());
}

fn fences_hold_streams_of_copies(device: &dyn Accelerator) {
    let copies = device.copies().unwrap();
    assert!(!device.waits_for_default(copies.up()).unwrap());
    assert!(!device.waits_for_default(copies.down()).unwrap());
    assert!(device.waits_for_default(Stream::DEFAULT).unwrap());
    let (block, source) = (uninitialised(device, 64), pinned(device, &[3; 64]));
    let result = pinned(device, &[0; 64]);
    for round in 1..=3 {
        // SAFETY: all are that long and alive until the fences are waited for.
        unsafe {
            source.pointer().write_bytes(round, 64);
            let stream = copies.up();
            device
                .upload(source.pointer(), block.pointer(), 64, stream)
                .unwrap();
            let fence = copies.fence(stream).unwrap();
            assert_eq!(fence.stream(), stream);
            fence.hold(Stream::DEFAULT).unwrap();
            device
                .fill(block.pointer(), 9, 32, Stream::DEFAULT)
                .unwrap();
            let fence = copies.fence(Stream::DEFAULT).unwrap();
            fence.hold(copies.down()).unwrap();
            device
                .download(block.pointer(), result.pointer(), 64, copies.down())
                .unwrap();
            let fence = copies.fence(copies.down()).unwrap();
            fence.synchronize().unwrap();
            assert!(fence.is_done().unwrap());
        }
        assert_eq!(read(result.as_ref()), [[9; 32], [round; 32]].concat());
    }
    // All who need them at a time have the same ones.
    assert_eq!(device.copies().unwrap().up(), copies.up());
}

fn the_default_stream_waits_for_others(device: &dyn Accelerator) {
    let queue = device.create_stream().unwrap();
    let (block, result) = (uninitialised(device, 64), pinned(device, &[0; 64]));
    // SAFETY: all are that long and alive until the stream is synchronised.
    unsafe {
        device
            .fill(block.pointer(), 1, 64, Stream::DEFAULT)
            .unwrap();
        device.fill(block.pointer(), 6, 32, queue.stream()).unwrap();
        device
            .download(block.pointer(), result.pointer(), 64, Stream::DEFAULT)
            .unwrap();
    }
    // Work that is still in a stream is done although the stream is gone.
    drop(queue);
    device.synchronize(Stream::DEFAULT).unwrap();
    assert_eq!(read(result.as_ref()), [[6; 32], [1; 32]].concat());
    device.synchronize(Stream::OF_THREAD).unwrap();
    device.synchronize_all().unwrap();
}

fn events_tell_time(device: &dyn Accelerator) {
    let (from, to) = (
        device.create_event().unwrap(),
        device.create_event().unwrap(),
    );
    assert!(
        from.is_done().unwrap(),
        "nothing to wait for before it is recorded"
    );
    from.synchronize().unwrap();
    let error = to.milliseconds_since(from.as_ref()).unwrap_err();
    assert!(error.to_string().contains("was never recorded"), "{error}");
    from.record(Stream::DEFAULT).unwrap();
    let block = uninitialised(device, LARGE);
    // SAFETY: the block is that long.
    unsafe {
        device
            .fill(block.pointer(), 0, LARGE, Stream::DEFAULT)
            .unwrap()
    };
    to.record(Stream::DEFAULT).unwrap();
    to.synchronize().unwrap();
    assert!(from.is_done().unwrap() && to.is_done().unwrap());
    assert!(to.milliseconds_since(from.as_ref()).unwrap() >= 0.0);
}

fn threads_work_at_the_same_time(device: &dyn Accelerator) {
    thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let content = vec![(thread * ROUNDS + round) as u8; 1000];
                    let block = uninitialised(device, 1000);
                    upload(device, &content, block.as_ref());
                    assert_eq!(download(device, block.as_ref()), content);
                }
            });
        }
    });
}

/// Beside the promises: hardware that reaches all memory of the host need not refuse it.
#[allow(dead_code, reason = "not a promise of every device")]
pub fn host_memory_is_refused(device: &dyn Accelerator) {
    let mut host = [1u8; 8];
    let block = uninitialised(device, 8);
    let stream = Stream::DEFAULT;
    // SAFETY: host memory is that long; what is no memory of the device is refused before it is accessed.
    let refused = unsafe {
        [
            device.upload(host.as_ptr(), host.as_mut_ptr(), 8, stream),
            device.download(host.as_ptr(), host.as_mut_ptr(), 8, stream),
            device.fill(host.as_mut_ptr(), 0, 8, stream),
            device.copy(block.pointer(), host.as_mut_ptr(), 8, stream),
            device.copy(host.as_ptr(), block.pointer(), 8, stream),
        ]
    };
    for (case, result) in refused.into_iter().enumerate() {
        assert!(result.is_err(), "case {case}");
    }
    device.synchronize_all().unwrap();
    assert_eq!(host, [1; 8]);
}
