//! The LLVM IR of kernels for blocks of threads.

mod support;

use fieldstone_codegen::choices::{Choices, Columns};
use fieldstone_codegen::gpu::plan::{Launch, Plan};
use fieldstone_codegen::gpu::{Draft, Need, Room, Shape};
use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::target::Target;
use fieldstone_device::{CoreCaches, Limits, Resources};
use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::Placement;
use support::{HORIZONTAL_DIFFUSION, THOMAS, program};

fn target(triple: &str, cpu: &str) -> Target {
    Target {
        triple: triple.to_owned(),
        cpu: cpu.to_owned(),
        features: String::new(),
        caches: CoreCaches::default(),
    }
}

fn nvidia() -> Target {
    target("nvptx64-nvidia-cuda", "sm_80")
}

fn host() -> Target {
    target("x86_64-unknown-linux-gnu", "x86-64")
}

/// NVIDIA's H100.
const HOPPER: Room = Room {
    multiprocessors: Some(132),
    limits: Limits {
        blocks_per_multiprocessor: 32,
        threads_per_multiprocessor: 2048,
        shared_per_block_optin: 227 << 10,
        shared_per_multiprocessor: 228 << 10,
        shared_reserved_per_block: 1 << 10,
        ..Room::LEAST.limits
    },
};

fn draft(text: &str, fields: usize, room: &Room) -> Draft {
    let program = program(text, &vec!["IJK float64"; fields]).for_schedule().0;
    let layout = Layout(vec![Some(Axis::I); fields]);
    Draft::new(
        &program,
        &layout,
        room,
        &Choices::default(),
        Columns::Arrays,
    )
}

fn plan_for(text: &str, fields: usize, room: &Room, target: &Target) -> Plan {
    let program = program(text, &vec!["IJK float64"; fields]).for_schedule().0;
    let draft = draft(text, fields, room);
    Plan::new(&program, &draft, &draft.shapes(None, &[]), target)
}

fn plan(text: &str, fields: usize, target: &Target) -> Plan {
    plan_for(text, fields, &Room::LEAST, target)
}

const COPY: &str = "\
def copy(a, b):
    with computation(PARALLEL), interval(...):
        b = a
";

#[test]
fn a_copy_on_an_accelerator() {
    insta::assert_snapshot!(plan(COPY, 2, &nvidia()).module.text);
}

#[test]
fn a_copy_on_a_processor_in_its_place() {
    insta::assert_snapshot!(plan(COPY, 2, &host()).module.text);
}

#[test]
fn every_machine_has_the_same_kernels() {
    for (text, fields) in [(HORIZONTAL_DIFFUSION, 3), (THOMAS, 5)] {
        let [first, second] = [nvidia(), host()].map(|target| plan(text, fields, &target));
        let shapes = |plan: &Plan| {
            let kernels = plan.module.kernels.iter();
            kernels
                .map(|kernel| (kernel.name.clone(), kernel.shape.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(shapes(&first), shapes(&second));
        let domain = [100, 50, 8];
        assert_eq!(first.launches(domain), second.launches(domain));
    }
}

#[test]
fn tiles_and_columns_cover_the_domain() {
    let launch = |plan: Plan| plan.launches([100, 50, 8]);
    let levels = [0, 8];
    assert_eq!(
        launch(plan(COPY, 2, &nvidia())),
        [Launch {
            kernel: 0,
            grid: [4, 7, 8],
            levels,
            shared_bytes: 0,
        }]
    );
    assert_eq!(
        launch(plan(THOMAS, 5, &nvidia())),
        [Launch {
            kernel: 0,
            grid: [4, 25, 1],
            levels,
            shared_bytes: 0,
        }]
    );
}

#[test]
fn small_domains_have_blocks_for_all_multiprocessors() {
    let threads = |text, fields, domain| {
        let shapes: Vec<Shape> = draft(text, fields, &HOPPER).shapes(domain, &[]);
        shapes[0].threads
    };
    for (domain, copied, solved) in [
        (None, 256, 64),
        (Some([1024, 1024, 80]), 256, 64),
        (Some([256, 256, 80]), 256, 64),
        (Some([64, 64, 10]), 64, 32),
        (Some([32, 32, 4]), 32, 32),
    ] {
        let found = [threads(COPY, 2, domain), threads(THOMAS, 5, domain)];
        assert_eq!(found, [copied, solved], "{domain:?}");
    }
}

/// Points around one, eight times, all of which are read in the end.
fn chain() -> String {
    let mut text = String::from(
        "def chain(phi, out):\n    with computation(PARALLEL), interval(...):\n        t0 = phi\n",
    );
    for n in 1..=8 {
        let p = n - 1;
        text += &format!(
            "        t{n} = t{p}[-1, 0, 0] + t{p}[1, 0, 0] + t{p}[0, -1, 0] + t{p}[0, 1, 0] + t{p}[1, 1, 0] + t{p}[-1, -1, 0]\n"
        );
    }
    let last: Vec<String> = (1..=8).map(|n| format!("t{n}[1, 0, 0]")).collect();
    text + &format!("        out = {}\n", last.join(" + "))
}

#[test]
fn blocks_share_as_much_memory_as_the_device_has() {
    let shared = |room: &Room, target: &Target| {
        let plan = plan_for(&chain(), 2, room, target);
        let shape = &plan.module.kernels[0].shape;
        let asked = plan.launches([100, 100, 10])[0].shared_bytes;
        (shape.threads, shape.shared_bytes, asked, plan.module.text)
    };
    for room in [Room::LEAST, HOPPER] {
        let (threads, bytes, asked, text) = shared(&room, &nvidia());
        assert!(
            threads > 256 && bytes > 48 << 10,
            "{threads} threads, {bytes} bytes"
        );
        assert!(bytes <= room.limits.shared_per_block_optin as usize);
        assert_eq!(asked, bytes);
        assert!(text.contains("_shared = external addrspace(3) global [0 x i8]"));
        assert_eq!(shared(&room, &host()).2, bytes);
    }
}

#[test]
fn blocks_are_smaller_where_threads_have_too_few_registers() {
    let draft = draft(COPY, 2, &HOPPER);
    let usual = draft.shapes(None, &[]).remove(0);
    for (registers, local_bytes, threads) in
        [(32, 0, 256), (255, 8, 256), (140, 0, 64), (64, 8, 256)]
    {
        let resources = Resources {
            registers,
            local_bytes,
            shared_bytes: 0,
            max_threads: 1024,
        };
        let mut had = usual.clone();
        if (registers, local_bytes) == (64, 8) {
            had.threads = 1024;
        }
        let need = Need::of(&resources, &had, &HOPPER);
        assert_eq!(draft.shapes(None, &[need])[0].threads, threads);
    }
}

#[test]
fn columns_of_small_domains_fit_into_shared_memory() {
    let program = program(THOMAS, &["IJK float64"; 5]).for_schedule().0;
    let layout = Layout(vec![Some(Axis::I); 5]);
    let [arrays, shared] = Columns::ALL
        .map(|columns| Draft::new(&program, &layout, &HOPPER, &Choices::default(), columns));
    for (domain, is_shared) in [
        ([64, 64, 80], true),
        ([128, 128, 80], true),
        ([1024, 1024, 80], false),
        ([64, 64, 400], true),
        ([64, 64, 1000], false),
    ] {
        assert_eq!(
            shared.is_better(&arrays, domain, false),
            is_shared,
            "{domain:?}"
        );
    }
    let plan = Plan::new(&program, &shared, &shared.shapes(None, &[]), &nvidia());
    let columns = plan.module.kernels[0].shape.threads;
    // Two numbers for each level of each column.
    assert_eq!(
        plan.launches([64, 64, 80])[0].shared_bytes,
        80 * columns * 2 * 8
    );
    assert_eq!(
        plan.schedule
            .temporaries
            .iter()
            .filter(|one| matches!(one, Placement::Array { .. }))
            .count(),
        0
    );
}

/// As NVIDIA's calculator of occupancy has it.
#[test]
fn blocks_of_a_multiprocessor() {
    for (room, threads, registers, shared, blocks) in [
        (HOPPER, 256, 32, 0, 8),
        (HOPPER, 256, 40, 0, 6),
        (HOPPER, 256, 140, 0, 1),
        (HOPPER, 128, 140, 0, 3),
        (HOPPER, 64, 128, 0, 8),
        (HOPPER, 32, 16, 0, 32),
        (HOPPER, 256, 32, 48 << 10, 4),
        (HOPPER, 512, 32, 227 << 10, 1),
        (HOPPER, 512, 32, 228 << 10, 0),
        (HOPPER, 1024, 65, 0, 0),
        (HOPPER, 2048, 16, 0, 0),
        (Room::LEAST, 256, 32, 0, 4),
        (Room::LEAST, 32, 16, 0, 16),
        (Room::LEAST, 256, 32, 64 << 10, 1),
    ] {
        assert_eq!(room.blocks(threads, registers, shared), blocks);
    }
}

#[test]
fn registers_are_shared_out() {
    let registers = [64, 512, 1024].map(|threads| HOPPER.registers(threads));
    assert_eq!(registers, [255, 128, 64]);
}
