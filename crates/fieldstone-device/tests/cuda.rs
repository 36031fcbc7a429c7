//! The CUDA driver's functions are called as they should be, and what goes wrong in it is told.
//!
//! There is no GPU in these tests: they run in processes of their own that find a double of the driver in the place of its
//! library, `driver/libcuda.c`. What a GPU does is tested in `gpu.rs`.
#![cfg(target_os = "linux")]

mod kernels;
mod programs;
mod promises;

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::{Arc, LazyLock};
use std::{env, fs, thread};

use fieldstone_device::{
    Accelerator, Code, Contents, DeviceError, Kind, Simulated, SimulatedOptions, Stream, Symbol,
    accelerator, accelerators, owner,
};
use proptest::test_runner::{Config, TestRunner};

/// In the environment of a process that is to run the body of a test: which one.
const BODY: &str = "TEST_ON_DOUBLE";

/// Runs the body of a test in a process that finds a library in the place of the driver's. Returns what it printed.
fn run(test: &str, library: &Path, settings: &[(&str, &str)], body: fn()) -> String {
    if env::var(BODY).is_ok_and(|body| body == test) {
        body();
        return String::new();
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env_remove("FIELDSTONE_DEVICE")
        .env_remove("CUDA_VISIBLE_DEVICES")
        .envs([(BODY, test), ("DOUBLE_REPORT", "1")])
        .env("LD_LIBRARY_PATH", library.parent().unwrap())
        .envs(settings.iter().copied());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{test}:\n{text}");
    text
}

/// A compiled double of the driver.
fn double(variant: &str, flags: &[&str]) -> PathBuf {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{variant}-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libcuda.so.1");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver/libcuda.c");
    let compiled = Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-Werror",
        ])
        .args(flags)
        .arg("-o")
        .args([library.as_os_str(), source.as_ref()])
        .arg("-lpthread")
        .status();
    assert!(compiled.expect("a C compiler, cc").success());
    library
}

/// The double.
static DOUBLE: LazyLock<PathBuf> = LazyLock::new(|| double("double", &[]));

/// Declares tests whose bodies run on the double, with settings of it in the environment.
macro_rules! on_double {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident($($setting:ident = $value:literal),*) $body:block
    )*) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            let settings = [$((stringify!($setting), $value)),*];
            let text = run(stringify!($name), &DOUBLE, &settings, || $body);
            if env::var(BODY).is_err() {
                assert!(text.contains("left behind: 0 blocks, 0 streams, 0 events, 0 contexts, 0 modules, 0 graphs"), "{text}");
            }
        }
    )*};
}

fn devices() -> Vec<Arc<dyn Accelerator>> {
    accelerators().unwrap()
}

fn why_there_is_none() -> String {
    assert!(devices().is_empty());
    accelerator(0).unwrap_err().to_string()
}

on_double! {
    fn the_promises_hold() {
        promises::hold(devices()[0].as_ref());
    }

    fn the_promises_of_kernels_hold() {
        kernels::hold(devices()[0].as_ref());
    }

    fn the_promises_of_kernels_hold_on_a_second_device(DOUBLE_DEVICES = "2") {
        kernels::hold(devices()[1].as_ref());
    }

    fn what_was_assembled_is_loaded() {
        let device = accelerator(0).unwrap();
        let code = device.assemble("a test", kernels::PTX).unwrap();
        assert!(code.starts_with(b"\x7fELF"));
        let add = Symbol { name: "add", shared_bytes: 0 };
        let module = device.load("a test", Code::Image(&code), &[add]).unwrap();
        assert_eq!(module.resources(0).unwrap().unwrap().registers, 16);
        let block = kernels::elements(device.as_ref(), 10, 1);
        // SAFETY: the block stays, and is that long.
        unsafe { kernels::Added::new(block.as_ref(), 10, 1).put(module.as_ref(), Stream::DEFAULT) }.unwrap();
        assert_eq!(kernels::values(device.as_ref(), block.as_ref()), [2; 10]);
    }

    fn code_that_is_refused_is_told_with_what_the_driver_says() {
        let device = accelerator(0).unwrap();
        let wrong = "mistake in the code";
        let loaded = device.load("stencil 'lap'", Code::Image(wrong.as_bytes()), &[]);
        for error in [loaded.unwrap_err(), device.assemble("stencil 'lap'", wrong).unwrap_err()] {
            let error = error.to_string();
            let start = "device 'cuda:0' cannot load the code of stencil 'lap': cu";
            let end = "failed on device 'cuda:0': CUDA_ERROR_INVALID_PTX (218), a PTX JIT compilation failed\nptxas application \
                       ptx input, line 1; fatal : mistake in the code";
            assert!(error.starts_with(start) && error.ends_with(end), "{error}");
        }
        let subtract = Symbol { name: "subtract", shared_bytes: 0 };
        let error = device.load("stencil 'lap'", Code::Image(kernels::PTX.as_bytes()), &[subtract]).unwrap_err();
        let expected = "it has no kernel 'subtract' (cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500), named symbol not found)";
        assert!(error.to_string().ends_with(expected), "{error}");
        let functions = Code::Functions(Vec::new(), Box::new(()));
        let error = device.load("stencil 'lap'", functions, &[]).unwrap_err();
        assert!(error.to_string().ends_with("a GPU takes PTX, not functions of the host"), "{error}");
        assert!(device.load("stencil 'lap'", Code::Image(b"zero\0s"), &[]).is_err());
    }

    fn host_memory_is_refused() {
        promises::host_memory_is_refused(devices()[0].as_ref());
    }

    fn the_promises_hold_on_a_second_device(DOUBLE_DEVICES = "2") {
        promises::hold(devices()[1].as_ref());
    }

    fn the_promises_hold_if_the_driver_aligns_to_less(DOUBLE_MISALIGNED = "256") {
        promises::hold(devices()[0].as_ref());
    }

    fn the_promises_hold_for_rows_too_far_apart(DOUBLE_MAX_PITCH = "6") {
        promises::hold(devices()[0].as_ref());
    }

    fn the_promises_hold_without_managed_memory(DOUBLE_NO_MANAGED = "1") {
        promises::hold(devices()[0].as_ref());
    }

    fn devices_tell_what_they_are(DOUBLE_DEVICES = "2", DOUBLE_MEMORY = "1000000") {
        let devices = devices();
        assert_eq!(devices.len(), 2);
        for (index, device) in devices.iter().enumerate() {
            assert_eq!((device.id().kind, device.id().index), (Kind::Cuda, index));
            assert_eq!(device.name(), format!("Double of a GPU {index}"));
            let properties = device.properties();
            assert_eq!(properties.compute_capability, Some((9, index as u32)));
            assert_eq!(properties.multiprocessors, Some(100 + index as u32));
            assert!(properties.unified_addressing && properties.concurrent_managed_access);
        }
        let block = devices[1].allocate(1000, 1, Contents::Uninitialised).unwrap();
        let capacities = devices.iter().map(|device| device.capacity().unwrap());
        assert_eq!(
            capacities.map(|capacity| (capacity.free, capacity.total)).collect::<Vec<_>>(),
            [(1_000_000, 1_000_000), (999_000, 1_000_000)]
        );
        drop(block);
        assert!(accelerator(2).unwrap_err().to_string().contains("there are 2, of numbers 0 to 1"));
    }

    fn devices_copy_to_one_another(DOUBLE_DEVICES = "2") {
        let devices = devices();
        let [first, second] = [0, 1].map(|index| devices[index].allocate(64, 1, Contents::Zeroed).unwrap());
        assert!(devices[0].owns(first.pointer()) && !devices[1].owns(first.pointer()));
        assert_eq!(owner(second.pointer()).unwrap().unwrap().id(), devices[1].id());
        assert!(owner([0u8].as_ptr()).unwrap().is_none());
        let mut copy = [0u8; 64];
        // SAFETY: all are that long and alive until the streams are synchronised.
        unsafe {
            devices[0].fill(first.pointer(), 3, 64, Stream::DEFAULT).unwrap();
            devices[0]
                .copy_to_peer(first.pointer(), devices[1].as_ref(), second.pointer(), 64, Stream::DEFAULT)
                .unwrap();
            devices[0].synchronize(Stream::DEFAULT).unwrap();
            devices[1].download(second.pointer(), copy.as_mut_ptr(), 64, Stream::DEFAULT).unwrap();
            let other = Simulated::new(0);
            let error = devices[0]
                .copy_to_peer(first.pointer(), &other, second.pointer(), 64, Stream::DEFAULT)
                .unwrap_err();
            assert!(error.to_string().contains("different kinds"), "{error}");
        }
        assert_eq!(copy, [3; 64]);
        let events = [0, 1].map(|index| devices[index].create_event().unwrap());
        let error = events[0].milliseconds_since(events[1].as_ref()).unwrap_err();
        assert!(error.to_string().contains("is of another device"), "{error}");
    }

    /// The double has teeth: who does not wait finds old data.
    fn whoever_does_not_wait_finds_old_data() {
        let device = accelerator(0).unwrap();
        let block = device.allocate(8, 1, Contents::Zeroed).unwrap();
        let result = device.allocate_pinned(8, 1, Contents::Zeroed).unwrap();
        // SAFETY: both are that long; nobody but the double, when it is told to wait, writes to the result.
        unsafe {
            device.fill(block.pointer(), 1, 8, Stream::DEFAULT).unwrap();
            device.download(block.pointer(), result.pointer(), 8, Stream::DEFAULT).unwrap();
            assert_eq!(result.pointer().read(), 0);
            device.synchronize(Stream::DEFAULT).unwrap();
            assert_eq!(result.pointer().read(), 1);
        }
    }

    /// The simulated device and the double follow the same documentation in different ways.
    fn random_programs_do_what_they_do_on_a_simulated_device() {
        let device = accelerator(0).unwrap();
        let options = SimulatedOptions { asynchronous: true, memory: None };
        let settings = Config { cases: 500, failure_persistence: None, ..Config::default() };
        TestRunner::new(settings)
            .run(&programs::programs(40), |program| {
                let simulated = Simulated::with(0, options);
                assert_eq!(programs::seen(device.as_ref(), &program), programs::seen(&simulated, &program));
                Ok(())
            })
            .unwrap();
    }

    fn memory_outlives_the_last_handle_of_its_device() {
        let device = Arc::clone(&devices()[0]);
        let blocks = [
            device.allocate(8, 1, Contents::Zeroed).unwrap(),
            device.allocate_pinned(8, 1, Contents::Zeroed).unwrap(),
        ];
        drop(device);
        thread::spawn(move || drop(blocks)).join().unwrap();
    }

    fn exhausted_memory_is_told_and_survived(DOUBLE_OUT_OF_MEMORY = "2") {
        let device = accelerator(0).unwrap();
        let first = device.allocate(8, 1, Contents::Zeroed).unwrap();
        let error = device.allocate(16, 4, Contents::Zeroed).unwrap_err();
        assert_eq!(error.to_string(), "cannot allocate 16 bytes aligned to 4 on device 'cuda:0'");
        drop(first);
        device.allocate(16, 4, Contents::Zeroed).unwrap();
    }

    fn exhausted_memory_while_aligning_leaves_nothing_behind(
        DOUBLE_OUT_OF_MEMORY = "2", DOUBLE_MISALIGNED = "256"
    ) {
        let device = accelerator(0).unwrap();
        let error = device.allocate(16, 4096, Contents::Zeroed).unwrap_err();
        assert!(matches!(error, DeviceError::OutOfMemory { bytes: 16, alignment: 4096, .. }));
    }

    fn the_first_device_is_used_without_waking_the_second(DOUBLE_DEVICES = "2") {
        let devices = devices();
        let block = devices[0].allocate(8, 1, Contents::Zeroed).unwrap();
        assert!(!devices[1].owns(block.pointer()));
    }

    /// Other libraries of the process call the driver as well.
    fn the_context_of_a_thread_stays_as_it_was(DOUBLE_DEVICES = "2") {
        use std::ffi::c_void;
        type Ask = unsafe extern "C" fn(*mut *mut c_void) -> i32;
        type Push = unsafe extern "C" fn(*mut c_void) -> i32;
        let devices = devices();
        devices[0].synchronize_all().unwrap();
        let mut contexts = [std::ptr::null_mut(); 3];
        // SAFETY: the functions are the driver's, of these types.
        unsafe {
            let library = libloading::Library::new("libcuda.so.1").unwrap();
            let retain: unsafe extern "C" fn(*mut *mut c_void, i32) -> i32 =
                *library.get("cuDevicePrimaryCtxRetain").unwrap();
            let current: Ask = *library.get("cuCtxGetCurrent").unwrap();
            let push: Push = *library.get("cuCtxPushCurrent_v2").unwrap();
            let pop: Ask = *library.get("cuCtxPopCurrent_v2").unwrap();
            assert_eq!((current(&raw mut contexts[0]), contexts[0].is_null()), (0, true));
            assert_eq!(retain(&raw mut contexts[0], 1), 0);
            assert_eq!(push(contexts[0]), 0);
            let block = devices[0].allocate(8, 1, Contents::Zeroed).unwrap();
            assert!(devices[0].fill([0u8].as_mut_ptr(), 0, 1, Stream::DEFAULT).is_err());
            drop(block);
            assert_eq!((current(&raw mut contexts[1]), contexts[1]), (0, contexts[0]));
            assert_eq!(pop(&raw mut contexts[2]), 0);
        }
    }

    fn a_fork_is_told_to_keep_out() {
        let device = accelerator(0).unwrap();
        let block = device.allocate(8, 1, Contents::Zeroed).unwrap();
        let queue = device.create_stream().unwrap();
        // SAFETY: the child only does what is tested here, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let refused = device.allocate(8, 1, Contents::Zeroed).err() == Some(DeviceError::Forked)
                && device.synchronize(Stream::DEFAULT) == Err(DeviceError::Forked)
                && !device.owns(block.pointer());
            drop((block, queue));
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if refused { 0 } else { 1 }) };
        }
        let mut status = 1;
        // SAFETY: the child is ours, and the status one number.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
    }
}

#[test]
fn a_fault_of_the_device_is_told_as_what_it_is() {
    run(
        "a_fault_of_the_device_is_told_as_what_it_is",
        &DOUBLE,
        &[("DOUBLE_FAULT", "1")],
        || {
            let device = accelerator(0).unwrap();
            let block = device.allocate(8, 1, Contents::Uninitialised).unwrap();
            // SAFETY: the block is that long.
            unsafe { device.fill(block.pointer(), 0, 8, Stream::DEFAULT).unwrap() };
            let error = device.synchronize(Stream::DEFAULT).unwrap_err();
            assert_eq!(
                error.to_string(),
                "cuStreamSynchronize failed on device 'cuda:0': CUDA_ERROR_ILLEGAL_ADDRESS (700), an illegal memory access was \
             encountered; earlier work on the device failed, the device is lost to this process, which has to be started \
             anew"
            );
            assert!(device.create_event().is_err());
            assert!(device.allocate(8, 1, Contents::Zeroed).is_err());
        },
    );
}

#[test]
fn a_fault_of_a_kernel_names_those_launched_last() {
    run(
        "a_fault_of_a_kernel_names_those_launched_last",
        &DOUBLE,
        &[("DOUBLE_FAULT", "3")],
        || {
            let device = accelerator(0).unwrap();
            let block = kernels::elements(device.as_ref(), 10, 1);
            let names = ["stencil 'lap'", "stencil 'hdiff'"];
            let modules = names.map(|name| kernels::load(device.as_ref(), name));
            for module in &modules {
                let added = kernels::Added::new(block.as_ref(), 10, 1);
                // SAFETY: the block stays, and is that long.
                unsafe { added.put(module.as_ref(), Stream::DEFAULT) }.unwrap();
            }
            let error = device.synchronize(Stream::DEFAULT).unwrap_err().to_string();
            let end = "; launched last: 'add' of stencil 'lap', 'add' of stencil 'hdiff'";
            assert!(error.contains("(700)") && error.ends_with(end), "{error}");
        },
    );
}

#[test]
fn a_driver_that_does_not_start_says_why() {
    let name = "a_driver_that_does_not_start_says_why";
    for (settings, expected) in [
        (
            &[("DOUBLE_DEVICES", "0")][..],
            "the CUDA driver reports no device (cuInit: CUDA_ERROR_NO_DEVICE (100), no CUDA-capable device is detected)",
        ),
        (
            &[("DOUBLE_DEVICES", "0"), ("CUDA_VISIBLE_DEVICES", "-1")],
            "no device, where CUDA_VISIBLE_DEVICES is '-1' (cuInit: ",
        ),
        (
            &[("DOUBLE_INIT", "3")],
            "the CUDA driver does not start (cuInit: CUDA_ERROR_NOT_INITIALIZED (3), initialization error)",
        ),
        (
            &[("DOUBLE_INIT", "99999")],
            "cuInit: an error without a name (99999), of which the driver says nothing more",
        ),
    ] {
        let text = run(name, &DOUBLE, settings, || {
            println!("{}", why_there_is_none())
        });
        assert!(text.contains(expected) || env::var(BODY).is_ok(), "{text}");
    }
}

#[test]
fn a_driver_that_is_too_old_says_so() {
    let library = match env::var(BODY) {
        Err(_) => double("old", &["-DOLD"]),
        Ok(_) => PathBuf::new(),
    };
    let name = "a_driver_that_is_too_old_says_so";
    let text = run(name, &library, &[], || println!("{}", why_there_is_none()));
    let expected = "there is no GPU 0: the CUDA driver, for CUDA 10.2, has no function cuStreamWaitEvent, it is too old";
    assert!(text.contains(expected) || env::var(BODY).is_ok(), "{text}");
}

#[test]
fn a_library_that_cannot_be_loaded_says_why() {
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("broken/libcuda.so.1");
    if env::var(BODY).is_err() {
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        fs::write(&library, "this is no library, but it is long enough that nobody takes it for one that is cut off").unwrap();
    }
    let name = "a_library_that_cannot_be_loaded_says_why";
    let text = run(name, &library, &[], || println!("{}", why_there_is_none()));
    let expected = "there is no GPU 0: the CUDA driver's library libcuda.so.1 cannot be loaded (";
    assert!(text.contains(expected) || env::var(BODY).is_ok(), "{text}");
}
