//! Random sequences of accesses to two copies, on a device that counts and poisons, against a model of both.

mod model;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

use fieldstone_device::{
    Accelerator, Contents, POISON, Simulated, SimulatedOptions, Stream, Transfers,
};
use fieldstone_storage::{Access, Allocation, Layout, Lease, Pair, Side, Spec, SyncState, View};
use model::Model;
use proptest::prelude::*;
use support::{Choice, elements, window, windows};

/// What a program does with a window of the whole.
#[derive(Clone, Debug)]
enum Action {
    Read(Side),
    /// Writes every element.
    Overwrite(Side),
    /// Writes every so many elements.
    Update(Side, usize),
    /// Hands an array out.
    Lease(Side),
    /// Writes through an array that is out, if there is one.
    Poke(usize),
    /// Drops one.
    Release(usize),
    /// An explicit transfer to a side.
    Transfer(Side, bool),
    Synchronize,
    /// Says who is ahead, true or not.
    Declare(Option<Side>),
}

/// Whose memory the two copies are.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Ours,
    OfHost,
    OfDevice,
    OfBoth,
}

/// The memory of a pair: the window that `choices` make of an allocation.
#[derive(Clone, Debug)]
struct Memory {
    spec: Spec,
    choices: Vec<Choice>,
    origin: Origin,
    /// Whether the device leaves work undone until somebody waits for it.
    asynchronous: bool,
}

fn sides() -> impl Strategy<Value = Side> {
    prop::sample::select(vec![Side::Host, Side::Device])
}

fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => sides().prop_map(Action::Read),
        3 => sides().prop_map(Action::Overwrite),
        4 => (sides(), 1usize..4).prop_map(|(side, every)| Action::Update(side, every)),
        1 => prop::sample::select(vec![Side::Host, Side::Host, Side::Device]).prop_map(Action::Lease),
        2 => any::<usize>().prop_map(Action::Poke),
        1 => any::<usize>().prop_map(Action::Release),
        2 => (sides(), prop::bool::weighted(0.3)).prop_map(|(side, force)| Action::Transfer(side, force)),
        1 => Just(Action::Synchronize),
        1 => prop::sample::select(vec![None, Some(Side::Host), Some(Side::Device)]).prop_map(Action::Declare),
    ]
}

fn steps(most: usize) -> impl Strategy<Value = Vec<(Action, Vec<Choice>)>> {
    prop::collection::vec((actions(), windows(4)), 1..most)
}

fn small() -> impl Strategy<Value = Memory> {
    let shapes = prop::collection::vec(prop::sample::select(vec![0usize, 1, 2, 3, 4, 5, 6]), 0..4);
    let origins = vec![
        Origin::Ours,
        Origin::OfHost,
        Origin::OfDevice,
        Origin::OfBoth,
    ];
    (
        shapes.prop_flat_map(|shape| {
            let ranks = Just((0..shape.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(shape), ranks)
        }),
        prop::sample::select(vec![1usize, 2, 4, 8, 24]),
        prop::sample::select(vec![1usize, 32, 64]),
        windows(3),
        prop::sample::select(origins),
        any::<bool>(),
    )
        .prop_map(
            |((shape, ranks), itemsize, alignment, choices, origin, asynchronous)| Memory {
                spec: Spec {
                    aligned_index: shape.iter().map(|_| 0).collect(),
                    shape: shape.into(),
                    itemsize,
                    layout: Layout::new(ranks).unwrap(),
                    alignment,
                },
                choices,
                origin,
                asynchronous,
            },
        )
}

/// Blocks of many granules, with elements so large that they are quickly gone through.
fn large() -> impl Strategy<Value = Memory> {
    let shapes = prop::sample::select(vec![vec![40usize], vec![5, 8], vec![2, 3, 7]]);
    let choices = prop_oneof![2 => Just(vec![]), 1 => windows(2)];
    (
        shapes,
        prop::sample::select(vec![Origin::Ours, Origin::OfHost, Origin::OfDevice]),
        choices,
        any::<bool>(),
    )
        .prop_map(|(shape, origin, choices, asynchronous)| Memory {
            spec: Spec::packed(shape, 64 << 10),
            choices,
            origin,
            asynchronous,
        })
}

/// A pair and its model, side by side.
struct Both {
    pair: Arc<Pair>,
    device: Arc<Simulated>,
    whole: View,
    leases: Vec<(Lease, Side, View)>,
    model: Model,
    /// Memory of somebody else, and the elements in it, at addresses of this process.
    foreign: Vec<(View, View)>,
    /// Transfers that made it.
    before: Transfers,
    value: u8,
}

impl Both {
    fn new(memory: &Memory) -> Self {
        let options = SimulatedOptions {
            asynchronous: memory.asynchronous,
            memory: None,
        };
        let device = Arc::new(Simulated::with(0, options));
        let base = base(&device, &memory.spec);
        let whole = match memory.origin {
            Origin::Ours => base.clone(),
            _ => {
                number(&base);
                window(&base, &memory.choices)
            }
        };
        let accelerator: Arc<dyn Accelerator> = Arc::clone(&device) as _;
        let sync = Arc::new(SyncState::new());
        let mut foreign = vec![];
        let (whole, pair) = match memory.origin {
            Origin::Ours => {
                let pair = Pair::of_new(&whole, accelerator, Contents::Uninitialised, 1);
                (whole, pair)
            }
            Origin::OfHost => {
                foreign.push((base.clone(), whole.clone()));
                let pair = Pair::of_host(&whole, accelerator, sync);
                (whole, pair)
            }
            Origin::OfDevice => {
                let there = uploaded(&device, &base, &whole);
                foreign.extend(here(&device, &base, &whole, &there));
                let here = pinned(&device, &whole);
                let pair = Pair::of_device(&here, &there, accelerator, sync);
                (here, pair)
            }
            Origin::OfBoth => {
                let there = uploaded(&device, &base, &whole);
                foreign.extend(here(&device, &base, &whole, &there));
                foreign.push((base.clone(), whole.clone()));
                let pair = Pair::of_both(&whole, &there, accelerator, sync);
                (whole, pair)
            }
        };
        let pair = pair.unwrap();
        let unit = unit(&whole);
        let model = Model {
            unit,
            held: [vec![], vec![]],
            truth: vec![],
            newer: vec![],
            elements: units(&whole, &whole, unit),
            gaps: [false; 2],
            leases: vec![],
            moved: Transfers::default(),
            is_at_least: false,
        };
        let mut both = Self {
            before: device.transfers(),
            pair,
            device,
            whole,
            leases: vec![],
            model,
            foreign,
            value: 0,
        };
        both.start(memory.origin);
        both
    }

    /// What the model knows of the memory it is about.
    fn start(&mut self, origin: Origin) {
        let count = self.whole.bounds().len() / self.model.unit;
        let held = |side| (0..count).map(|unit| self.byte(side, unit)).collect();
        let (host, device): (Vec<_>, Vec<_>) = (held(Side::Host), held(Side::Device));
        let is_dense = self.whole.len() * self.whole.itemsize() == self.whole.bounds().len();
        let (gaps, ahead) = match origin {
            Origin::Ours => ([false, false], None),
            Origin::OfHost => ([!is_dense, false], Some(Side::Host)),
            Origin::OfDevice => ([false, !is_dense], Some(Side::Device)),
            Origin::OfBoth => ([!is_dense, !is_dense], None),
        };
        self.model.truth = if ahead == Some(Side::Device) {
            device.clone()
        } else {
            host.clone()
        };
        self.model.held = [host, device];
        self.model.newer = vec![ahead; count];
        self.model.gaps = gaps;
    }

    /// Where a unit is on one side, in this process.
    fn place(&self, side: Side, unit: usize) -> *mut u8 {
        let whole = match side {
            Side::Host => self.whole.clone(),
            Side::Device => self.pair.on_device(&self.whole),
        };
        let place = whole
            .pointer()
            .with_addr(whole.bounds().start + unit * self.model.unit);
        match side {
            Side::Host => place,
            Side::Device => self.device.reachable(place).unwrap(),
        }
    }

    /// What a kernel does before it starts.
    fn wait(&self, side: Side) {
        if side == Side::Device {
            self.device.synchronize(Stream::DEFAULT).unwrap();
        }
    }

    /// The value of a unit, unless it is poison.
    fn byte(&self, side: Side, unit: usize) -> Option<u8> {
        // SAFETY: a unit of the whole, which lives as long as this.
        let bytes = unsafe { std::slice::from_raw_parts(self.place(side, unit), self.model.unit) };
        (bytes[0] != POISON).then_some(bytes[0])
    }

    fn units(&self, view: &View) -> Vec<usize> {
        units(&self.whole, view, self.model.unit)
    }

    fn set(&self, side: Side, unit: usize, value: u8) {
        // SAFETY: as in `byte`.
        unsafe { self.place(side, unit).write_bytes(value, self.model.unit) };
    }

    fn act(&mut self, action: &Action, view: &View) {
        match *action {
            Action::Read(side) => {
                self.model.access(side, &self.units(view), Access::Read);
                self.pair.access(side, view, Access::Read).unwrap();
                self.wait(side);
                for unit in self.units(view) {
                    let (byte, truth) = (self.byte(side, unit), self.model.truth[unit]);
                    assert_eq!(
                        byte, self.model.held[side as usize][unit],
                        "unit {unit} on {side:?}"
                    );
                    assert!(
                        truth.is_none() || byte == truth,
                        "{byte:?} of unit {unit} is stale on {side:?}"
                    );
                }
            }
            Action::Overwrite(side) => self.write(side, view, Access::Write, 1),
            Action::Update(side, every) => self.write(side, view, Access::ReadWrite, every),
            Action::Lease(side) => {
                self.model.lease(side, &self.units(view));
                let lease = self.pair.lease(side, view).unwrap();
                self.leases.push((lease, side, view.clone()));
            }
            Action::Poke(n) => self.poke(n),
            Action::Release(n) if !self.leases.is_empty() => {
                let place = n % self.leases.len();
                self.model.release(place);
                drop(self.leases.remove(place));
            }
            Action::Release(_) => {}
            Action::Transfer(side, force) => {
                self.model.transfer(side, force);
                self.pair.bring_to(side, force).unwrap();
            }
            Action::Synchronize => {
                let ahead = self.model.ahead();
                let targets =
                    ahead.map_or(vec![Side::Device, Side::Host], |ahead| vec![ahead.other()]);
                targets
                    .into_iter()
                    .for_each(|side| self.model.transfer(side, false));
                self.pair.synchronize().unwrap();
            }
            Action::Declare(ahead) => {
                self.model.declare(ahead);
                self.pair.sync().declare(ahead);
            }
        }
    }

    fn next_value(&mut self) -> u8 {
        self.value = (self.value + 1) % POISON;
        self.value
    }

    fn write(&mut self, side: Side, view: &View, access: Access, every: usize) {
        let (value, units) = (self.next_value(), self.units(view));
        self.model.access(side, &units, access);
        self.pair.access(side, view, access).unwrap();
        self.wait(side);
        let each = view.itemsize() / self.model.unit;
        let units: Vec<_> = units
            .chunks(each)
            .step_by(every)
            .flatten()
            .copied()
            .collect();
        units.iter().for_each(|&unit| self.set(side, unit, value));
        self.model.write(side, &units, value);
        self.pair.settle(side).unwrap();
    }

    fn poke(&mut self, n: usize) {
        let value = self.next_value();
        let Some((_, side, view)) = self.leases.get(n % self.leases.len().max(1)) else {
            return;
        };
        let (side, units) = (*side, self.units(view));
        self.wait(side);
        let each = view.itemsize() / self.model.unit;
        let written = units
            .chunks(each)
            .nth(n % view.len().max(1))
            .unwrap_or_default();
        for &unit in written {
            self.set(side, unit, value);
            self.model.poke(side, unit, value);
        }
    }

    /// All that lies between the elements in memory of somebody else.
    fn between(&self) -> Vec<u8> {
        let mut between = vec![];
        for (all, whole) in &self.foreign {
            let first = all.bounds().start;
            let mut is_element = vec![false; all.bounds().len()];
            for element in elements(whole) {
                is_element[element.addr() - first..][..whole.itemsize()].fill(true);
            }
            let others = (0..is_element.len()).filter(|&n| !is_element[n]);
            // SAFETY: bytes of memory that this keeps.
            between.extend(others.map(|n| unsafe { *all.pointer().with_addr(first + n) }));
        }
        between
    }

    fn check(&mut self) {
        let (moved, before) = (self.device.transfers(), self.before);
        let moved = Transfers {
            uploads: moved.uploads - before.uploads,
            uploaded_bytes: moved.uploaded_bytes - before.uploaded_bytes,
            downloads: moved.downloads - before.downloads,
            downloaded_bytes: moved.downloaded_bytes - before.downloaded_bytes,
        };
        let expected = self.model.moved;
        if !std::mem::take(&mut self.model.is_at_least) {
            assert_eq!(moved, expected);
        }
        assert!(moved.uploads >= expected.uploads && moved.downloads >= expected.downloads);
        assert!(moved.uploaded_bytes >= expected.uploaded_bytes);
        assert!(moved.downloaded_bytes >= expected.downloaded_bytes);
        self.model.moved = moved;
        if !self.whole.is_empty() {
            assert_eq!(self.pair.sync().ahead(), self.model.ahead());
        }
    }
}

/// New host memory for the elements of a view.
fn pinned(device: &Simulated, whole: &View) -> View {
    let bounds = whole.bounds();
    let block = base(device, &Spec::packed(vec![bounds.len()], 1));
    let lead = whole.pointer().addr() - bounds.start;
    whole.at_address(block.pointer().wrapping_add(lead), block.owner().cloned())
}

/// Host memory that no one has written to.
fn base(device: &Simulated, spec: &Spec) -> View {
    let allocate =
        |bytes, alignment| device.allocate_pinned(bytes, alignment, Contents::Uninitialised);
    Allocation::by(spec, allocate).unwrap().1
}

/// Gives each element bytes of one value.
fn number(view: &View) {
    for (n, element) in elements(view).into_iter().enumerate() {
        // SAFETY: an element of a view that owns its memory.
        unsafe { element.write_bytes((n * 7 % 251) as u8, view.itemsize()) };
    }
}

/// The window of a copy on the device of all that `base` reaches.
fn uploaded(device: &Simulated, base: &View, whole: &View) -> View {
    let bounds = base.bounds();
    let spec = Spec::packed(vec![bounds.len()], 1);
    let (buffer, block) = Allocation::on(device, &spec, Contents::Uninitialised).unwrap();
    let first = base.pointer().with_addr(bounds.start);
    // SAFETY: both are that long.
    unsafe { device.upload(first, block.pointer(), bounds.len(), Stream::DEFAULT) }.unwrap();
    device.synchronize(Stream::DEFAULT).unwrap();
    let offset = whole.pointer().addr().wrapping_sub(bounds.start);
    whole.at_address(block.pointer().wrapping_add(offset), Some(buffer))
}

/// Such a copy, and its window, at addresses of this process.
fn here(device: &Simulated, base: &View, whole: &View, there: &View) -> Option<(View, View)> {
    let window = there.at_address(device.reachable(there.pointer())?, there.owner().cloned());
    let offset = base.pointer().addr().wrapping_sub(whole.pointer().addr());
    let start = window
        .pointer()
        .with_addr(window.pointer().addr().wrapping_add(offset));
    Some((base.at_address(start, there.owner().cloned()), window))
}

/// The largest piece of memory of which elements and strides are multiples.
fn unit(whole: &View) -> usize {
    let strides = whole.shape().iter().zip(whole.strides());
    let strides = strides
        .filter(|(size, _)| **size > 1)
        .map(|(_, stride)| stride.unsigned_abs());
    strides.fold(whole.itemsize(), |mut a, mut b| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    })
}

/// The units of each element of a view of the whole.
fn units(whole: &View, view: &View, unit: usize) -> Vec<usize> {
    let first = whole.bounds().start;
    let of_element = |place: *mut u8| {
        (0..view.itemsize() / unit).map(move |n| (place.addr() - first) / unit + n)
    };
    elements(view).into_iter().flat_map(of_element).collect()
}

fn run(both: &mut Both, steps: &[(Action, Vec<Choice>)]) {
    both.check();
    for (action, choices) in steps {
        let view = window(&both.whole, choices);
        both.act(action, &view);
        both.check();
    }
}

proptest! {
    #[test]
    fn two_copies_hold_and_move_what_the_model_says(memory in small(), steps in steps(40)) {
        let mut both = Both::new(&memory);
        let between = both.between();
        run(&mut both, &steps);
        prop_assert_eq!(both.between(), between);
    }

    #[test]
    fn of_large_blocks_parts_are_moved(memory in large(), steps in steps(30)) {
        run(&mut Both::new(&memory), &steps);
    }
}
