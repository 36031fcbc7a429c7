//! Host memory as its users see it.

use fieldstone_device::{Contents, Device, DeviceError, Host, HostMemory};

fn bytes(memory: &HostMemory) -> &[u8] {
    // SAFETY: the block was allocated zeroed and nobody writes to it.
    unsafe { std::slice::from_raw_parts(memory.pointer(), memory.bytes()) }
}

#[test]
fn blocks_are_aligned_and_zeros_are_zero() {
    for size in [0, 1, 100, 64 << 10, 4 << 20, (9 << 20) + 3] {
        for alignment in [1, 64, 4096, 4 << 20] {
            let memory = HostMemory::new(size, alignment, Contents::Zeroed).unwrap();
            assert_eq!(memory.pointer().addr() % alignment, 0);
            assert_eq!(bytes(&memory), vec![0; size]);
        }
    }
}

/// Pages are kept for the next block of about the same size, whatever its alignment and whatever it holds.
#[test]
fn zeros_are_zero_where_a_block_was() {
    for size in [4 << 20, (5 << 20) + 77, 40 << 20] {
        for alignment in [64, 4 << 20] {
            let used = HostMemory::new(size, 64, Contents::Uninitialised).unwrap();
            // SAFETY: the block is that long.
            unsafe { used.pointer().write_bytes(255, size) };
            drop(used);
            for size in [size - 100, size] {
                let memory = HostMemory::new(size, alignment, Contents::Zeroed).unwrap();
                assert_eq!(memory.pointer().addr() % alignment, 0);
                assert!(bytes(&memory).iter().all(|&byte| byte == 0));
            }
        }
    }
}

#[test]
fn large_blocks_begin_at_different_places_of_a_page() {
    let blocks: Vec<_> = (0..4)
        .map(|_| HostMemory::new(4 << 20, 64, Contents::Uninitialised).unwrap())
        .collect();
    let mut places: Vec<_> = blocks.iter().map(|b| b.pointer().addr() % 4096).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 4);
}

#[test]
fn what_cannot_be_allocated_is_an_error() {
    for size in [usize::MAX, isize::MAX as usize, 1 << 60] {
        let error = HostMemory::new(size, 64, Contents::Zeroed).unwrap_err();
        assert!(matches!(error, DeviceError::OutOfMemory { .. }));
    }
    let error = HostMemory::new(8, 24, Contents::Zeroed).unwrap_err();
    assert_eq!(error, DeviceError::Alignment { alignment: 24 });
}

#[test]
fn the_host_is_a_device() {
    let device: &dyn Device = &Host;
    let memory = device.allocate(3 << 20, 64, Contents::Zeroed).unwrap();
    assert_eq!(memory.device(), device.id());
    assert_eq!(device.id().to_string(), "cpu");
}
