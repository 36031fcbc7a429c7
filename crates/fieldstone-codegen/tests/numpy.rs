//! The NumPy text that users read.

mod support;

use support::{HORIZONTAL_DIFFUSION, THOMAS, program};

/// The text after the functions every module has.
fn function(text: &str) -> &str {
    &text[text.rfind("\ndef ").expect("a function") + 1..]
}

#[test]
fn a_module() {
    let program = program(HORIZONTAL_DIFFUSION, &["IJK float32"; 3]);
    insta::assert_snapshot!(fieldstone_codegen::numpy::emit(&program));
}

#[test]
fn vertical_loops() {
    let program = program(THOMAS, &["IJK float64"; 5]);
    insta::assert_snapshot!(function(&fieldstone_codegen::numpy::emit(&program)));
}

#[test]
fn masks_and_names() {
    let text = "\
def masks(np, box, mask1, flag, surface, limit):
    with computation(PARALLEL), interval(1, -3):
        if limit > 1.0:
            np = np + 1.0
        if flag:
            k = np * surface
            if k > limit and not (k == 3.0):
                box = -k ** 3
            else:
                box = abs(k) ** limit
        else:
            mask1 = 7 // mask1 - (mask1 - 5) % 3 << mask1
";
    let kinds = [
        "IJK float64",
        "IJK float64",
        "IJK int32",
        "IJK bool",
        "IJ float64",
        "float64",
    ];
    insta::assert_snapshot!(function(&fieldstone_codegen::numpy::emit(&program(
        text, &kinds
    ))));
}
