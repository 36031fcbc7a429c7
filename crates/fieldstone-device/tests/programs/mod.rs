//! Random programs of streams, events and copies, for two accelerators to do alike.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Contents, Copies, Event, Memory, Queue, Stream};
use proptest::prelude::*;

/// Bytes of every block; each holds one value.
const BYTES: usize = 16;
const BLOCKS: usize = 3;
const QUEUES: usize = 2;
const EVENTS: usize = 2;

/// One step of a program. Blocks, streams and events are numbers.
#[derive(Clone, Debug)]
pub enum Step {
    Fill(usize, u8, usize),
    Copy(usize, usize, usize),
    /// Host memory of this number, pinned, to a block.
    Upload(usize, usize, usize),
    Download(usize, usize, usize),
    /// As they are, but with memory that is not pinned.
    UploadPageable(u8, usize, usize),
    DownloadPageable(usize, usize),
    Record(usize, usize),
    Hold(usize, usize),
    AskEvent(usize),
    SynchronizeEvent(usize),
    Synchronize(usize),
    SynchronizeAll,
}

/// Programs of up to so many steps.
pub fn programs(steps: usize) -> impl Strategy<Value = Vec<Step>> {
    let (block, event) = (0..BLOCKS, 0..EVENTS);
    // The default stream, the thread's, those of copies, and some of one's own.
    let stream = 0..QUEUES + 4;
    let step = prop_oneof![
        (block.clone(), any::<u8>(), stream.clone()).prop_map(|(b, v, s)| Step::Fill(b, v, s)),
        (block.clone(), 1..BLOCKS, stream.clone()).prop_map(|(a, d, s)| Step::Copy(
            a,
            (a + d) % BLOCKS,
            s
        )),
        (block.clone(), block.clone(), stream.clone()).prop_map(|(a, b, s)| Step::Upload(a, b, s)),
        (block.clone(), block.clone(), stream.clone())
            .prop_map(|(a, b, s)| Step::Download(a, b, s)),
        (any::<u8>(), block.clone(), stream.clone())
            .prop_map(|(v, b, s)| Step::UploadPageable(v, b, s)),
        (block, stream.clone()).prop_map(|(b, s)| Step::DownloadPageable(b, s)),
        (event.clone(), stream.clone()).prop_map(|(e, s)| Step::Record(e, s)),
        (event.clone(), stream.clone()).prop_map(|(e, s)| Step::Hold(e, s)),
        event.clone().prop_map(Step::AskEvent),
        event.prop_map(Step::SynchronizeEvent),
        stream.prop_map(Step::Synchronize),
        Just(Step::SynchronizeAll),
    ];
    prop::collection::vec(step, 1..steps)
}

/// What a program works with.
struct Bench<'a> {
    device: &'a dyn Accelerator,
    blocks: Vec<Box<dyn Memory>>,
    pinned: Vec<Box<dyn Memory>>,
    queues: Vec<Box<dyn Queue>>,
    copies: Arc<Copies>,
    events: Vec<Box<dyn Event>>,
}

impl<'a> Bench<'a> {
    fn new(device: &'a dyn Accelerator) -> Self {
        let bench = Self {
            device,
            blocks: (0..BLOCKS)
                .map(|_| device.allocate(BYTES, 1, Contents::Zeroed).unwrap())
                .collect(),
            pinned: (0..BLOCKS)
                .map(|_| device.allocate_pinned(BYTES, 1, Contents::Zeroed).unwrap())
                .collect(),
            queues: (0..QUEUES)
                .map(|_| device.create_stream().unwrap())
                .collect(),
            copies: device.copies().unwrap(),
            events: (0..EVENTS)
                .map(|_| device.create_event().unwrap())
                .collect(),
        };
        for (number, block) in bench.pinned.iter().enumerate() {
            // SAFETY: the block is host memory of this length.
            unsafe { block.pointer().write_bytes(number as u8 + 1, BYTES) };
        }
        bench
    }

    fn stream(&self, number: usize) -> Stream {
        match number {
            0 => Stream::DEFAULT,
            1 => Stream::OF_THREAD,
            2 => self.copies.up(),
            3 => self.copies.down(),
            own => self.queues[own - 4].stream(),
        }
    }

    /// Does a step, and returns what it shows.
    fn step(&self, step: &Step) -> u8 {
        let device = self.device;
        let (block, pinned) = (
            |number: usize| self.blocks[number].pointer(),
            |number: usize| self.pinned[number].pointer(),
        );
        let mut seen = [0; BYTES];
        // SAFETY: all blocks are that long and alive until the end of the program.
        let result = unsafe {
            match *step {
                Step::Fill(a, value, s) => device.fill(block(a), value, BYTES, self.stream(s)),
                Step::Copy(a, b, s) => device.copy(block(a), block(b), BYTES, self.stream(s)),
                Step::Upload(a, b, s) => device.upload(pinned(a), block(b), BYTES, self.stream(s)),
                Step::Download(a, b, s) => {
                    device.download(block(a), pinned(b), BYTES, self.stream(s))
                }
                Step::UploadPageable(value, b, s) => {
                    device.upload([value; BYTES].as_ptr(), block(b), BYTES, self.stream(s))
                }
                Step::DownloadPageable(a, s) => {
                    device.download(block(a), seen.as_mut_ptr(), BYTES, self.stream(s))
                }
                Step::Record(e, s) => self.events[e].record(self.stream(s)),
                Step::Hold(e, s) => self.events[e].hold(self.stream(s)),
                Step::AskEvent(e) => self.events[e]
                    .is_done()
                    .map(|done| seen[0] = u8::from(done)),
                Step::SynchronizeEvent(e) => self.events[e].synchronize(),
                Step::Synchronize(s) => device.synchronize(self.stream(s)),
                Step::SynchronizeAll => device.synchronize_all(),
            }
        };
        result.unwrap();
        seen[0]
    }

    /// What the pinned memory holds now: only what has been waited for.
    fn look(&self) -> Vec<u8> {
        self.pinned
            .iter()
            // SAFETY: the block is host memory of this length, and whoever writes to it does so in this thread.
            .map(|block| unsafe { block.pointer().read() })
            .collect()
    }
}

/// What is to be seen after every step of a program, on an accelerator that leaves work undone until somebody waits for it.
pub fn seen(device: &dyn Accelerator, program: &[Step]) -> Vec<(u8, Vec<u8>)> {
    let bench = Bench::new(device);
    let seen = program
        .iter()
        .map(|step| (bench.step(step), bench.look()))
        .collect();
    // No memory goes before the work with it is done.
    device.synchronize_all().unwrap();
    seen
}
