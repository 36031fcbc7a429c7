//! What a simulated device promises: memory of its own, checked accesses, counted transfers.

use fieldstone_device::{
    Accelerator, Contents, Device, DeviceError, POISON, Simulated, Simulation, Stream, accelerator,
};

fn download(device: &Simulated, source: *const u8, bytes: usize) -> Result<Vec<u8>, DeviceError> {
    let mut copy = vec![0; bytes];
    // SAFETY: the target is this long.
    unsafe { device.download(source, copy.as_mut_ptr(), bytes, Stream::DEFAULT)? };
    Ok(copy)
}

#[test]
fn memory_is_poisoned_until_it_is_written() {
    let device = Simulated::new(0);
    let block = device.allocate(64, 64, Contents::Uninitialised).unwrap();
    assert_eq!(download(&device, block.pointer(), 64), Ok(vec![POISON; 64]));
    let zeros = device.allocate(64, 64, Contents::Zeroed).unwrap();
    assert_eq!(download(&device, zeros.pointer(), 64), Ok(vec![0; 64]));
}

#[test]
fn what_goes_up_comes_down_and_is_counted() {
    let device = Simulated::new(0);
    let block = device.allocate(8, 8, Contents::Uninitialised).unwrap();
    let other = device.allocate(8, 8, Contents::Uninitialised).unwrap();
    // SAFETY: the blocks are that long.
    unsafe {
        device
            .upload(
                [1, 2, 3].as_ptr(),
                block.pointer().wrapping_add(2),
                3,
                Stream::DEFAULT,
            )
            .unwrap();
        device
            .fill(block.pointer().wrapping_add(6), 9, 2, Stream::DEFAULT)
            .unwrap();
        device
            .copy(block.pointer(), other.pointer(), 8, Stream::DEFAULT)
            .unwrap();
    }
    let expected = vec![POISON, POISON, 1, 2, 3, POISON, 9, 9];
    assert_eq!(download(&device, other.pointer(), 8), Ok(expected));
    let transfers = device.transfers();
    assert_eq!((transfers.uploads, transfers.uploaded_bytes), (1, 3));
    assert_eq!((transfers.downloads, transfers.downloaded_bytes), (1, 8));
}

#[test]
fn what_is_no_memory_of_the_device_is_refused() {
    let device = Simulated::new(0);
    let block = device.allocate(8, 8, Contents::Zeroed).unwrap();
    let pointer = block.pointer();
    assert!(device.owns(pointer) && !Simulated::new(0).owns(pointer));
    let host = [0u8; 8];
    for (source, bytes) in [
        (host.as_ptr(), 8),
        (pointer.cast_const(), 9),
        (pointer.wrapping_add(8).cast_const(), 1),
        (pointer.wrapping_sub(1).cast_const(), 1),
    ] {
        assert!(matches!(
            download(&device, source, bytes),
            Err(DeviceError::Address { .. })
        ));
    }
    drop(block);
    assert!(download(&device, pointer, 1).is_err());
}

#[test]
fn kernels_reach_its_memory_at_another_address() {
    let device = Simulated::new(0);
    let block = device.allocate(8, 8, Contents::Zeroed).unwrap();
    let here = device.reachable(block.pointer()).unwrap();
    assert_ne!(here, block.pointer());
    // SAFETY: this is where the block lies in this process.
    unsafe { here.write(5) };
    assert_eq!(download(&device, block.pointer(), 1), Ok(vec![5]));
}

#[test]
fn a_simulation_stands_in_for_the_machine_while_it_lives() {
    let outer = Simulation::start(1);
    let inner = Simulation::start(2);
    assert_eq!(accelerator(1).unwrap().id(), inner.devices()[1].id());
    drop(inner);
    assert!(matches!(
        accelerator(1),
        Err(DeviceError::NoDevice { index: 1, .. })
    ));
    assert_eq!(accelerator(0).unwrap().id(), outer.devices()[0].id());
}
