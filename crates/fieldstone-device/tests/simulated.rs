//! What a simulated device promises: memory of its own, checked accesses, counted transfers.

mod kernels;
mod promises;

use fieldstone_device::{
    Accelerator, Address, Capacity, Code, Contents, Device, DeviceError, Launch, Memory, Node,
    POISON, Simulated, SimulatedOptions, Simulation, Stream, Symbol, accelerator, owner,
};

/// A device that leaves its work undone until somebody waits for it.
fn asynchronous() -> Simulated {
    let options = SimulatedOptions {
        asynchronous: true,
        ..SimulatedOptions::default()
    };
    Simulated::with(0, options)
}

/// The first byte of host memory.
fn first(block: &dyn Memory) -> u8 {
    // SAFETY: the block is host memory, and whatever writes to it is done by this thread.
    unsafe { block.pointer().read() }
}

#[test]
fn the_promises_hold() {
    promises::hold(&Simulated::new(0));
    promises::host_memory_is_refused(&Simulated::new(0));
}

#[test]
fn the_promises_hold_for_an_asynchronous_one() {
    promises::hold(&asynchronous());
    promises::host_memory_is_refused(&asynchronous());
}

#[test]
fn the_promises_of_kernels_hold() {
    kernels::hold(&Simulated::new(0));
    kernels::hold(&asynchronous());
}

#[test]
fn kernels_wait_until_somebody_waits_for_them() {
    let device = asynchronous();
    let module = kernels::load(&device, "a test");
    let block = kernels::elements(&device, 1, 1);
    let result = device.allocate_pinned(8, 8, Contents::Zeroed).unwrap();
    // SAFETY: both are that long and stay.
    unsafe {
        let added = kernels::Added::new(block.as_ref(), 1, 1);
        added.put(module.as_ref(), Stream::DEFAULT).unwrap();
        device
            .download(block.pointer(), result.pointer(), 8, Stream::DEFAULT)
            .unwrap();
        assert_eq!(first(result.as_ref()), 0);
        device.synchronize(Stream::DEFAULT).unwrap();
        assert_eq!(first(result.as_ref()), 2);
    }
}

#[test]
fn a_kernel_that_would_leave_its_memory_is_named() {
    let device = Simulated::new(0);
    let module = kernels::load(&device, "stencil 'lap'");
    let block = kernels::elements(&device, 10, 1);
    let beyond = kernels::Added::new(block.as_ref(), 11, 1);
    // SAFETY: what is no memory of the device is refused before it is accessed.
    let error = unsafe { beyond.put(module.as_ref(), Stream::DEFAULT) }.unwrap_err();
    let expected = "kernel 'add' of stencil 'lap': 88 bytes at address ";
    assert!(error.to_string().starts_with(expected), "{error}");
    let added = kernels::Added::new(block.as_ref(), 10, 1);
    drop(block);
    // SAFETY: as above.
    let error = unsafe { added.put(module.as_ref(), Stream::DEFAULT) }.unwrap_err();
    assert!(error.to_string().contains("they were freed"), "{error}");
}

#[test]
fn a_graph_whose_memory_is_gone_is_refused_as_a_whole() {
    let device = Simulated::new(0);
    let module = kernels::load(&device, "stencil 'lap'");
    let (kept, gone) = (
        kernels::elements(&device, 10, 1),
        kernels::elements(&device, 10, 1),
    );
    let added = [&kept, &gone].map(|block| kernels::Added::new(block.as_ref(), 10, 1));
    let nodes = (added.each_ref()).map(|added| Node::Launch(module.as_ref(), added.launch()));
    // SAFETY: what is no memory of the device is refused before it is accessed.
    let error = unsafe {
        let graph = device.graph(&nodes).unwrap();
        drop(gone);
        graph.launch(Stream::DEFAULT).unwrap_err()
    };
    assert!(error.to_string().contains("they were freed"), "{error}");
    assert_eq!(kernels::values(&device, kept.as_ref()), [1; 10]);
}

#[test]
fn every_block_finds_shared_memory_poisoned() {
    unsafe extern "C" fn look(words: *const u64, begin: i64, _end: i64, shared: *mut u8) {
        // SAFETY: the first word is the address of a byte for each block; there are 8 bytes of shared memory.
        unsafe {
            let seen = std::ptr::with_exposed_provenance_mut::<u8>(words.read() as usize);
            let found = std::slice::from_raw_parts_mut(shared, 8);
            let poisoned = found.iter().all(|&byte| byte == POISON);
            found.fill(7);
            *seen.add(begin as usize) = u8::from(poisoned);
        }
    }
    let device = Simulated::new(0);
    let symbols = [Symbol {
        name: "look",
        shared_bytes: 8,
    }];
    let code = Code::Functions(vec![look], Box::new(()));
    let module = device.load("a test", code, &symbols).unwrap();
    let block = device.allocate(12, 8, Contents::Zeroed).unwrap();
    let launch = Launch {
        kernel: 0,
        grid: [2, 3, 2],
        block: [1, 1, 1],
        shared_bytes: 8,
        words: &[block.pointer().expose_provenance() as u64],
        addresses: &[Address {
            word: 0,
            low: 0,
            high: 12,
        }],
    };
    // SAFETY: the block stays, and has a byte for each block of threads.
    unsafe { module.launch(&launch, Stream::DEFAULT) }.unwrap();
    assert_eq!(download(&device, block.pointer(), 12), Ok(vec![1; 12]));
}

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
fn whoever_does_not_wait_finds_old_data() {
    let device = asynchronous();
    let block = device.allocate(8, 1, Contents::Zeroed).unwrap();
    let [source, result] = [0, 1].map(|_| device.allocate_pinned(8, 1, Contents::Zeroed).unwrap());
    let other = device.create_stream().unwrap();
    // SAFETY: all are that long; what is under way is done by this thread, when it waits.
    unsafe {
        device
            .upload(source.pointer(), block.pointer(), 8, other.stream())
            .unwrap();
        source.pointer().write(1);
        device
            .download(block.pointer(), result.pointer(), 8, other.stream())
            .unwrap();
        device.synchronize(Stream::OF_THREAD).unwrap();
        assert_eq!(first(result.as_ref()), 0);
        device.synchronize(other.stream()).unwrap();
        // The source was overwritten too early.
        assert_eq!(first(result.as_ref()), 1);
    }
}

#[test]
fn a_kernel_comes_after_the_work_before_it() {
    let device = asynchronous();
    let block = device.allocate(8, 1, Contents::Zeroed).unwrap();
    // SAFETY: the block is that long, and nobody else accesses it.
    unsafe {
        device.fill(block.pointer(), 1, 8, Stream::DEFAULT).unwrap();
        let here = device.reachable(block.pointer()).unwrap();
        assert_eq!(here.read(), 1);
        here.write(2);
    }
    assert_eq!(download(&device, block.pointer(), 2), Ok(vec![2, 1]));
}

#[test]
fn streams_that_do_not_wait_for_one_another_are_not_in_order() {
    let device = asynchronous();
    let block = device.allocate(8, 1, Contents::Zeroed).unwrap();
    let [one, other] = [0, 1].map(|_| device.create_stream().unwrap());
    let result = device.allocate_pinned(8, 1, Contents::Zeroed).unwrap();
    // SAFETY: all are that long; what is under way is done by this thread, when it waits.
    unsafe {
        device.fill(block.pointer(), 1, 8, one.stream()).unwrap();
        device
            .download(block.pointer(), result.pointer(), 8, other.stream())
            .unwrap();
    }
    device.synchronize(other.stream()).unwrap();
    assert_eq!(first(result.as_ref()), 0);
    device.synchronize_all().unwrap();
    assert_eq!(download(&device, block.pointer(), 1), Ok(vec![1]));
}

#[test]
fn copies_go_beside_the_default_stream() {
    let device = asynchronous();
    let copies = device.copies().unwrap();
    let [busy, block] = [0, 1].map(|_| device.allocate(8, 1, Contents::Zeroed).unwrap());
    let [source, result] = [0, 1].map(|_| device.allocate_pinned(8, 1, Contents::Zeroed).unwrap());
    // SAFETY: all are that long; what is under way is done by this thread, when it waits.
    unsafe {
        source.pointer().write_bytes(3, 8);
        device.fill(busy.pointer(), 1, 8, Stream::DEFAULT).unwrap();
        device
            .upload(source.pointer(), block.pointer(), 8, copies.up())
            .unwrap();
        let up = copies.fence(copies.up()).unwrap();
        up.hold(copies.down()).unwrap();
        device
            .download(block.pointer(), result.pointer(), 8, copies.down())
            .unwrap();
    }
    copies.fence(copies.down()).unwrap().synchronize().unwrap();
    assert_eq!(first(result.as_ref()), 3);
    assert_eq!(device.undone(), ["fill"]);
    device.synchronize(Stream::DEFAULT).unwrap();
    assert!(device.undone().is_empty());
    // Nor does who waits for the default stream wait for them.
    // SAFETY: as above.
    unsafe {
        device
            .upload(source.pointer(), block.pointer(), 8, copies.up())
            .unwrap()
    };
    device.synchronize(Stream::DEFAULT).unwrap();
    assert_eq!(device.undone(), ["copy"]);
    device.synchronize_all().unwrap();
}

#[test]
fn memory_that_goes_before_its_work_is_done_is_found_out() {
    let device = asynchronous();
    let block = device.allocate(8, 1, Contents::Zeroed).unwrap();
    let result = device.allocate_pinned(8, 1, Contents::Zeroed).unwrap();
    // SAFETY: both are that long; the device notices that one is gone.
    unsafe {
        device
            .download(block.pointer(), result.pointer(), 8, Stream::DEFAULT)
            .unwrap()
    };
    drop(result);
    let error = device.synchronize(Stream::DEFAULT).unwrap_err();
    assert!(matches!(error, DeviceError::Address { bytes: 8, .. }));
    device.synchronize(Stream::DEFAULT).unwrap();
}

#[test]
fn events_that_are_asked_for_again_and_again_have_an_end() {
    let device = asynchronous();
    let event = device.create_event().unwrap();
    event.record(Stream::DEFAULT).unwrap();
    let error = event.milliseconds_since(event.as_ref()).unwrap_err();
    assert!(error.to_string().contains("is not done yet"), "{error}");
    assert_eq!([event.is_done(), event.is_done()], [Ok(false), Ok(true)]);
}

#[test]
fn streams_that_are_none_are_refused() {
    for device in [Simulated::new(0), asynchronous()] {
        let stream = device.create_stream().unwrap().stream();
        let error = DeviceError::Stream {
            stream: stream.0,
            device: device.id(),
        };
        assert_eq!(device.synchronize(stream), Err(error.clone()));
        assert_eq!(device.create_event().unwrap().record(stream), Err(error));
        assert!(device.synchronize(Stream(12345)).is_err());
    }
}

#[test]
fn memory_has_an_end() {
    let options = SimulatedOptions {
        memory: Some(1000),
        ..SimulatedOptions::default()
    };
    let device = Simulated::with(3, options);
    let (total, free) = (1000, 400);
    let block = device.allocate(600, 8, Contents::Uninitialised).unwrap();
    assert_eq!(device.capacity(), Ok(Capacity { total, free }));
    let exhausted = DeviceError::OutOfMemory {
        bytes: 500,
        alignment: 8,
        device: device.id(),
    };
    assert_eq!(
        device.allocate(500, 8, Contents::Zeroed).err(),
        Some(exhausted.clone())
    );
    assert_eq!(
        device.allocate_managed(500, 8, Contents::Zeroed).err(),
        Some(exhausted)
    );
    device.allocate_pinned(500, 8, Contents::Zeroed).unwrap();
    drop(block);
    device.allocate(1000, 8, Contents::Zeroed).unwrap();
}

#[test]
fn devices_copy_to_one_another() {
    for [one, other] in [
        [Simulated::new(0), Simulated::new(1)],
        [asynchronous(), asynchronous()],
    ] {
        let from = one.allocate(8, 1, Contents::Uninitialised).unwrap();
        let to = other.allocate(8, 1, Contents::Uninitialised).unwrap();
        // SAFETY: both are that long.
        unsafe {
            one.fill(from.pointer(), 4, 8, Stream::DEFAULT).unwrap();
            one.copy_to_peer(from.pointer(), &other, to.pointer(), 8, Stream::DEFAULT)
                .unwrap();
            assert!(
                one.copy_to_peer(from.pointer(), &one, to.pointer(), 8, Stream::DEFAULT)
                    .is_err()
            );
        }
        assert_eq!(download(&other, to.pointer(), 8), Ok(vec![4; 8]));
    }
}

#[test]
fn a_fork_has_a_device_of_its_own() {
    let device = Simulated::new(0);
    let block = device.allocate(8, 8, Contents::Zeroed).unwrap();
    // SAFETY: the child only does what is tested here, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the block is that long.
        let filled = unsafe { device.fill(block.pointer(), 1, 8, Stream::DEFAULT) };
        let works = filled.is_ok() && download(&device, block.pointer(), 8) == Ok(vec![1; 8]);
        // SAFETY: ends the child at once. By a signal, because tools that look for leaks when a process exits take what the
        // parent's threads hold, which are not here, for lost.
        unsafe { libc::raise(if works { libc::SIGKILL } else { libc::SIGABRT }) };
    }
    let mut status = 0;
    // SAFETY: the child is ours, and the status one number.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL);
    assert_eq!(download(&device, block.pointer(), 8), Ok(vec![0; 8]));
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
    let block = outer.devices()[0].allocate(8, 8, Contents::Zeroed).unwrap();
    assert_eq!(
        owner(block.pointer()).unwrap().map(|device| device.id()),
        Some(block.device())
    );
    drop(outer);
    // What was allocated outlives the simulation.
    drop(block);
}
