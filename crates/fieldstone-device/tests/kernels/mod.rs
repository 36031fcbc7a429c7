//! What every accelerator promises of kernels: with one that adds a number to elements, in the code of each kind of device.
#![allow(dead_code, reason = "not every test needs all of it")]

use fieldstone_device::{
    Accelerator, Address, Code, Contents, DeviceError, Kind, Launch, Memory, Module, Node, Stream,
    Symbol,
};

/// Threads of a block.
const THREADS: u32 = 64;

/// Each thread adds the third word to an element at the address that is the first, if the second says that there are as many.
pub const PTX: &str = "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry add(.param .align 8 .b8 words[24])
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2;
    cvt.u64.u32 %rd0, %r3;
    ld.param.u64 %rd1, [words];
    ld.param.u64 %rd2, [words+8];
    ld.param.u64 %rd3, [words+16];
    setp.ge.u64 %p, %rd0, %rd2;
    @%p bra done;
    cvta.to.global.u64 %rd4, %rd1;
    shl.b64 %rd5, %rd0, 3;
    add.u64 %rd6, %rd4, %rd5;
    ld.global.u64 %rd7, [%rd6];
    add.u64 %rd7, %rd7, %rd3;
    st.global.u64 [%rd6], %rd7;
done:
    ret;
}
";

/// The same for blocks of [`THREADS`] threads, as a function.
unsafe extern "C" fn add(words: *const u64, begin: i64, end: i64, _shared: *mut u8) {
    // SAFETY: there are three words, and the first is the address of as many elements as the second says.
    unsafe {
        let (elements, count) = (words.read() as usize, words.add(1).read());
        let elements = std::ptr::with_exposed_provenance_mut::<u64>(elements);
        let threads = begin as u64 * u64::from(THREADS)..end as u64 * u64::from(THREADS);
        for thread in threads.filter(|thread| *thread < count) {
            *elements.add(thread as usize) += words.add(2).read();
        }
    }
}

/// The kernel for a device.
pub fn load(device: &dyn Accelerator, label: &str) -> Box<dyn Module> {
    let symbols = [Symbol {
        name: "add",
        shared_bytes: 0,
    }];
    let code = match device.id().kind {
        Kind::Cuda => Code::Image(PTX.as_bytes()),
        _ => Code::Functions(vec![add], Box::new(())),
    };
    device.load(label, code, &symbols).unwrap()
}

/// Elements on a device, all of the same value.
pub fn elements(device: &dyn Accelerator, count: usize, value: u64) -> Box<dyn Memory> {
    let block = device.allocate(count * 8, 8, Contents::Zeroed).unwrap();
    let host = vec![value; count];
    // SAFETY: both are that long, and the host's stays until the stream is synchronised.
    unsafe {
        let stream = Stream::DEFAULT;
        device
            .upload(host.as_ptr().cast(), block.pointer(), count * 8, stream)
            .unwrap();
    }
    device.synchronize(Stream::DEFAULT).unwrap();
    block
}

/// What the elements are now.
pub fn values(device: &dyn Accelerator, block: &dyn Memory) -> Vec<u64> {
    let mut host = vec![0u64; block.bytes() / 8];
    // SAFETY: both are that long, and the host's stays until the stream is synchronised.
    unsafe {
        let (target, stream) = (host.as_mut_ptr().cast(), Stream::DEFAULT);
        device
            .download(block.pointer(), target, block.bytes(), stream)
            .unwrap();
    }
    device.synchronize(Stream::DEFAULT).unwrap();
    host
}

/// What one launch is made of.
pub struct Added {
    words: [u64; 3],
    addresses: [Address; 1],
}

impl Added {
    /// Adds a number to each of the first elements.
    pub fn new(block: &dyn Memory, count: usize, number: u64) -> Self {
        Self {
            words: [
                block.pointer().expose_provenance() as u64,
                count as u64,
                number,
            ],
            addresses: [Address {
                word: 0,
                low: 0,
                high: count as isize * 8,
            }],
        }
    }

    pub fn launch(&self) -> Launch<'_> {
        Launch {
            kernel: 0,
            grid: [self.words[1].div_ceil(u64::from(THREADS)) as u32, 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            words: &self.words,
            addresses: &self.addresses,
        }
    }

    /// # Safety
    /// The block must stay until the stream is synchronised.
    pub unsafe fn put(&self, module: &dyn Module, stream: Stream) -> Result<(), DeviceError> {
        // SAFETY: as the caller says.
        unsafe { module.launch(&self.launch(), stream) }
    }
}

/// All of it.
pub fn hold(device: &dyn Accelerator) {
    kernels_compute(device);
    kernels_keep_the_order_of_their_stream(device);
    a_grid_without_blocks_is_nothing(device);
    graphs_repeat_their_work(device);
    a_graph_waits_for_its_launch_before(device);
    memory_and_code_stay_until_the_work_is_done(device);
    what_cannot_be_launched_is_an_error(device);
}

fn kernels_compute(device: &dyn Accelerator) {
    let module = load(device, "a test");
    assert_eq!(module.device(), device.id());
    for count in [1, 63, 64, 65, 1000] {
        let block = elements(device, count + 1, 7);
        // SAFETY: the block stays, and is that long.
        unsafe { Added::new(block.as_ref(), count, 3).put(module.as_ref(), Stream::DEFAULT) }
            .unwrap();
        let mut expected = vec![10; count];
        expected.push(7);
        assert_eq!(values(device, block.as_ref()), expected);
    }
}

fn kernels_keep_the_order_of_their_stream(device: &dyn Accelerator) {
    let module = load(device, "a test");
    let block = elements(device, 100, 0);
    let queue = device.create_stream().unwrap();
    // SAFETY: the block stays, and is that long.
    unsafe {
        let stream = queue.stream();
        let add = |number| Added::new(block.as_ref(), 100, number).put(module.as_ref(), stream);
        add(1).unwrap();
        device.fill(block.pointer(), 0, 400, stream).unwrap();
        add(5).unwrap();
        // The default stream waits.
        let last = Added::new(block.as_ref(), 50, 100);
        last.put(module.as_ref(), Stream::DEFAULT).unwrap();
    }
    let expected = [vec![105; 50], vec![6; 50]].concat();
    assert_eq!(values(device, block.as_ref()), expected);
}

fn a_grid_without_blocks_is_nothing(device: &dyn Accelerator) {
    let module = load(device, "a test");
    let block = elements(device, 10, 1);
    // SAFETY: nothing is accessed.
    unsafe { Added::new(block.as_ref(), 0, 3).put(module.as_ref(), Stream::DEFAULT) }.unwrap();
    assert_eq!(values(device, block.as_ref()), [1; 10]);
}

fn graphs_repeat_their_work(device: &dyn Accelerator) {
    let module = load(device, "a test");
    let block = elements(device, 100, 0);
    let (one, other) = (
        Added::new(block.as_ref(), 100, 1),
        Added::new(block.as_ref(), 50, 10),
    );
    let cleared = elements(device, 100, 7);
    let nodes = [
        Node::Launch(module.as_ref(), one.launch()),
        Node::Clear(cleared.pointer(), 400),
        Node::Launch(module.as_ref(), other.launch()),
    ];
    // SAFETY: the block stays, and is that long.
    unsafe {
        let graph = device.graph(&nodes).unwrap();
        assert_eq!(
            values(device, block.as_ref()),
            [0; 100],
            "to record is not to do"
        );
        let queue = device.create_stream().unwrap();
        for _ in 0..3 {
            graph.launch(queue.stream()).unwrap();
        }
        device.synchronize(queue.stream()).unwrap();
    }
    let expected = [vec![33; 50], vec![3; 50]].concat();
    assert_eq!(values(device, block.as_ref()), expected);
    let expected = [vec![0; 50], vec![7; 50]].concat();
    assert_eq!(values(device, cleared.as_ref()), expected);
}

fn a_graph_waits_for_its_launch_before(device: &dyn Accelerator) {
    let module = load(device, "a test");
    let block = elements(device, 100, 1);
    let added = Added::new(block.as_ref(), 100, 1);
    let nodes = [
        Node::Clear(block.pointer(), 800),
        Node::Launch(module.as_ref(), added.launch()),
    ];
    let queues = [(); 2].map(|()| device.create_stream().unwrap());
    // SAFETY: the block stays, and is that long.
    unsafe {
        let graph = device.graph(&nodes).unwrap();
        for queue in &queues {
            graph.launch(queue.stream()).unwrap();
        }
    }
    device.synchronize(queues[1].stream()).unwrap();
    device.synchronize(queues[0].stream()).unwrap();
    assert_eq!(values(device, block.as_ref()), [1; 100]);
}

/// A driver waits before it takes memory or code away.
fn memory_and_code_stay_until_the_work_is_done(device: &dyn Accelerator) {
    let block = elements(device, 1000, 0);
    for number in 0..3 {
        let module = load(device, "a test");
        // SAFETY: memory is given back only when the work is done.
        unsafe { Added::new(block.as_ref(), 1000, number).put(module.as_ref(), Stream::DEFAULT) }
            .unwrap();
    }
    assert_eq!(values(device, block.as_ref()), [3; 1000]);
    let module = load(device, "a test");
    // SAFETY: as above.
    unsafe { Added::new(block.as_ref(), 1000, 1).put(module.as_ref(), Stream::DEFAULT) }.unwrap();
    drop(block);
    device.synchronize_all().unwrap();
}

fn what_cannot_be_launched_is_an_error(device: &dyn Accelerator) {
    let module = load(device, "stencil 'lap'");
    let block = elements(device, 10, 1);
    let added = Added::new(block.as_ref(), 10, 1);
    let too_many = Launch {
        block: [2048, 1, 1],
        ..added.launch()
    };
    // SAFETY: nothing is accessed.
    let error = unsafe { module.launch(&too_many, Stream::DEFAULT) }.unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("kernel 'add' of stencil 'lap'"),
        "{error}"
    );
    let much = 1 << 20;
    let symbols = [Symbol {
        name: "add",
        shared_bytes: much,
    }];
    let code = match device.id().kind {
        Kind::Cuda => Code::Image(PTX.as_bytes()),
        _ => Code::Functions(vec![add], Box::new(())),
    };
    let error = device.load("stencil 'lap'", code, &symbols).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("kernel 'add' cannot have 1048576 bytes of shared memory"),
        "{error}"
    );
}
