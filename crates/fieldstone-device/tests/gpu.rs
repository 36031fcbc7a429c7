//! What a real GPU does. Not run where there is none: `cargo test --test gpu -- --ignored` on a machine that has one.

mod kernels;
mod promises;

use std::sync::Arc;

use fieldstone_device::{Accelerator, Contents, Kind, Stream, accelerators};

/// The GPUs of this machine, of which there must be one.
fn gpus() -> Vec<Arc<dyn Accelerator>> {
    let mut devices = accelerators().unwrap();
    devices.retain(|device| device.id().kind == Kind::Cuda && !device.name().contains("Double"));
    if devices.is_empty() {
        let reason = fieldstone_device::accelerator(0).map(|device| device.id().to_string());
        panic!("these tests need an NVIDIA GPU, and there is none: {reason:?}");
    }
    devices
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_promises_hold() {
    for device in gpus() {
        println!(
            "{}: {:?}, {:?}",
            device.name(),
            device.properties(),
            device.capacity()
        );
        promises::hold(device.as_ref());
        kernels::hold(device.as_ref());
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn large_transfers_by_pinned_memory_are_exact() {
    let device = &gpus()[0];
    let count = 64 << 20;
    let [from, to] = [0, 1].map(|_| {
        device
            .allocate_pinned(count, 4096, Contents::Zeroed)
            .unwrap()
    });
    let block = device
        .allocate(count, 256, Contents::Uninitialised)
        .unwrap();
    let queue = device.create_stream().unwrap();
    // SAFETY: all are that long, and nobody else accesses them before the stream is synchronised.
    let (from, to) = unsafe {
        let from = std::slice::from_raw_parts_mut(from.pointer(), count);
        for (place, byte) in from.iter_mut().enumerate() {
            *byte = (place.wrapping_mul(2_654_435_761) >> 13) as u8;
        }
        device
            .upload(from.as_ptr(), block.pointer(), count, queue.stream())
            .unwrap();
        device
            .download(block.pointer(), to.pointer(), count, queue.stream())
            .unwrap();
        device.synchronize(queue.stream()).unwrap();
        (from, std::slice::from_raw_parts(to.pointer(), count))
    };
    assert!(from == to);
}

#[test]
#[ignore = "needs two NVIDIA GPUs"]
fn gpus_copy_to_one_another() {
    let devices = gpus();
    let [one, other, ..] = devices.as_slice() else {
        panic!("this test needs two NVIDIA GPUs, and there is one");
    };
    let from = one.allocate(1000, 1, Contents::Zeroed).unwrap();
    let to = other.allocate(1000, 1, Contents::Zeroed).unwrap();
    let mut copy = vec![0; 1000];
    // SAFETY: all are that long, and alive until the streams are synchronised.
    unsafe {
        one.fill(from.pointer(), 9, 1000, Stream::DEFAULT).unwrap();
        one.copy_to_peer(
            from.pointer(),
            other.as_ref(),
            to.pointer(),
            1000,
            Stream::DEFAULT,
        )
        .unwrap();
        one.synchronize(Stream::DEFAULT).unwrap();
        other
            .download(to.pointer(), copy.as_mut_ptr(), 1000, Stream::DEFAULT)
            .unwrap();
        other.synchronize(Stream::DEFAULT).unwrap();
    }
    assert_eq!(copy, [9; 1000]);
}
