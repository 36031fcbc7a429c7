//! The LLVM IR of kernels for blocks of threads.

mod support;

use fieldstone_codegen::choices::Choices;
use fieldstone_codegen::gpu::plan::{Launch, Plan};
use fieldstone_codegen::llvm::{Layout, Target};
use fieldstone_stencil::Axis;
use support::{HORIZONTAL_DIFFUSION, THOMAS, program};

fn target(triple: &str, cpu: &str) -> Target {
    Target {
        triple: triple.to_owned(),
        cpu: cpu.to_owned(),
        features: String::new(),
    }
}

fn nvidia() -> Target {
    target("nvptx64-nvidia-cuda", "sm_80")
}

fn host() -> Target {
    target("x86_64-unknown-linux-gnu", "x86-64")
}

fn plan(text: &str, fields: usize, target: &Target) -> Plan {
    let program = program(text, &vec!["IJK float64"; fields]).for_schedule().0;
    let layout = Layout(vec![Some(Axis::I); fields]);
    Plan::new(&program, &layout, target, &Choices::default())
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
            levels
        }]
    );
    assert_eq!(
        launch(plan(THOMAS, 5, &nvidia())),
        [Launch {
            kernel: 0,
            grid: [4, 25, 1],
            levels
        }]
    );
}
