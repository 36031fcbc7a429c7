//! The interpreter against closed forms and plain loops, and its messages.

mod support;

use fieldstone_codegen::call::ScalarArgument;
use fieldstone_stencil::DType;
use support::{Grid, HORIZONTAL_DIFFUSION, THOMAS, interpret, program};

/// Axes from the fastest in memory to the slowest.
const ORDERS: [[usize; 3]; 3] = [[0, 1, 2], [2, 1, 0], [1, 2, 0]];

/// Numbers without a pattern.
fn noise([i, j, k]: [i64; 3]) -> f64 {
    let mixed = (i * 7919 + j * 104_729 + k * 1_299_709 + 12_345).wrapping_mul(2_654_435_761);
    (mixed.rem_euclid(1_000_003) as f64) / 1_000_003.0 - 0.5
}

fn float64(value: f64) -> ScalarArgument {
    ScalarArgument {
        dtype: DType::Float64,
        bits: value.to_bits(),
    }
}

#[test]
fn horizontal_diffusion_is_the_loop_a_model_would_have() {
    let program = program(HORIZONTAL_DIFFUSION, &["IJK float64"; 3]);
    let domain = [7, 5, 3];
    let lap = |i, j, k| {
        let at = |di, dj| noise([i + di, j + dj, k]);
        at(1, 0) + at(-1, 0) + at(0, 1) + at(0, -1) - 4.0 * at(0, 0)
    };
    let flux = |[i, j, k]: [i64; 3], [di, dj]: [i64; 2]| {
        let flux = lap(i + di, j + dj, k) - lap(i, j, k);
        let gradient = noise([i + di, j + dj, k]) - noise([i, j, k]);
        if flux * gradient > 0.0 { 0.0 } else { flux }
    };
    for order in ORDERS {
        let mut phi = Grid::new(domain, [2, 2, 0], order, noise);
        let mut coefficient =
            Grid::new(domain, [0, 0, 0], order, |[i, _, k]| 0.01 * (i + k) as f64);
        let mut phi_new = Grid::new(domain, [1, 1, 1], order, |_| 7.0);
        let fields = [&mut phi, &mut coefficient, &mut phi_new].map(|grid| grid.argument("IJK"));
        interpret(&program, &fields, &[], domain).unwrap();
        for k in 0..3 {
            for j in 0..5 {
                for i in 0..7 {
                    let at = [i, j, k];
                    let expected = noise(at)
                        - coefficient.get(at)
                            * (flux(at, [1, 0]) - flux([i - 1, j, k], [1, 0]) + flux(at, [0, 1])
                                - flux([i, j - 1, k], [0, 1]));
                    assert_eq!(phi_new.get(at).to_bits(), expected.to_bits(), "{at:?}");
                }
            }
        }
        assert_eq!(phi_new.get([-1, 0, 0]), 7.0, "the halo is not written");
        assert_eq!(phi_new.get([7, 5, 3]), 7.0, "the halo is not written");
    }
}

#[test]
fn thomas_solves_its_equations() {
    let program = program(THOMAS, &["IJK float64"; 5]);
    let domain = [3, 2, 9];
    let zero = [0; 3];
    for order in ORDERS {
        let mut lower = Grid::new(domain, zero, order, |at| noise(at) - 1.0);
        let mut diagonal = Grid::new(domain, zero, order, |at| 4.0 + noise(at));
        let mut upper = Grid::new(domain, zero, order, |[i, j, k]| noise([j, i, k]) - 1.0);
        let mut rhs = Grid::new(domain, zero, order, |[i, j, k]| noise([k, i, j]));
        let mut x = Grid::new(domain, zero, order, |_| f64::NAN);
        let fields = [&mut lower, &mut diagonal, &mut upper, &mut rhs, &mut x]
            .map(|grid| grid.argument("IJK"));
        interpret(&program, &fields, &[], domain).unwrap();
        for [i, j] in [[0, 0], [2, 1]] {
            for k in 0..9 {
                let at = [i, j, k];
                let below = if k == 0 {
                    0.0
                } else {
                    lower.get(at) * x.get([i, j, k - 1])
                };
                let above = if k == 8 {
                    0.0
                } else {
                    upper.get(at) * x.get([i, j, k + 1])
                };
                let residual = below + diagonal.get(at) * x.get(at) + above - rhs.get(at);
                assert!(residual.abs() < 1e-15, "row {k} leaves {residual}");
            }
        }
    }
}

#[test]
fn masked_statements_touch_their_points_only() {
    let text = "\
def clip(a, b, limit):
    with computation(PARALLEL), interval(...):
        if a > limit:
            b = limit
            if a > 2.0 * limit:
                b = -limit
            else:
                a = 0.0
        elif a < 0.0:
            b = 0.0
";
    let program = program(text, &["IJK float64", "IJK float64", "float64"]);
    let domain = [8, 1, 1];
    let mut a = Grid::new(domain, [0; 3], [0, 1, 2], |[i, ..]| i as f64 - 2.0);
    let mut b = Grid::new(domain, [0; 3], [0, 1, 2], |_| 9.0);
    let fields = [a.argument("IJK"), b.argument("IJK")];
    interpret(&program, &fields, &[float64(2.0)], domain).unwrap();
    let row = |grid: &mut Grid<f64>| (0..8).map(|i| grid.get([i, 0, 0])).collect::<Vec<_>>();
    assert_eq!(row(&mut a), [-2.0, -1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 5.0]);
    assert_eq!(row(&mut b), [0.0, 0.0, 9.0, 9.0, 9.0, 2.0, 2.0, -2.0]);
}

#[test]
fn lower_dimensional_fields_are_the_same_along_their_missing_axes() {
    let text = "\
def heights(a, b, surface, z):
    with computation(PARALLEL), interval(...):
        z = a + b * surface[1, 0]
";
    let kinds = ["K float32", "K float32", "IJ float32", "IJK float32"];
    let program = program(text, &kinds);
    let domain = [2, 3, 4];
    let mut a = Grid::new([1, 1, 4], [0; 3], [2, 0, 1], |[_, _, k]| k as f32);
    let mut b = Grid::new([1, 1, 4], [0; 3], [2, 0, 1], |[_, _, k]| {
        1.0 / (k + 1) as f32
    });
    let mut surface = Grid::new([2, 3, 1], [1, 0, 0], [1, 0, 2], |[i, j, _]| {
        (10 * i + j) as f32
    });
    let mut z = Grid::new(domain, [0; 3], [2, 0, 1], |_| 0.0);
    let fields = [
        a.argument("K"),
        b.argument("K"),
        surface.argument("IJ"),
        z.argument("IJK"),
    ];
    interpret(&program, &fields, &[], domain).unwrap();
    for [i, j, k] in [[0, 0, 0], [1, 2, 3], [1, 0, 2]] {
        let expected = k as f32 + 1.0 / (k + 1) as f32 * (10 * (i + 1) + j) as f32;
        assert_eq!(z.get([i, j, k]), expected);
    }
}

#[test]
fn vertical_loops_carry_values_and_intervals_cut_the_domain() {
    let text = "\
def sums(a, up, down):
    with computation(FORWARD):
        with interval(0, 2):
            up = a
        with interval(2, None):
            up = up[0, 0, -1] + a
    with computation(BACKWARD):
        with interval(-1, None):
            down = a
        with interval(0, -1):
            down = down[0, 0, 1] + a
";
    let program = program(text, &["IJK int32"; 3]);
    let domain = [1, 1, 5];
    let mut a = Grid::new(domain, [0; 3], [0, 1, 2], |[_, _, k]| 1i32 << k);
    let mut up = Grid::new(domain, [0; 3], [0, 1, 2], |_| 0i32);
    let mut down = Grid::new(domain, [0; 3], [0, 1, 2], |_| 0i32);
    let fields = [&mut a, &mut up, &mut down].map(|grid| grid.argument("IJK"));
    interpret(&program, &fields, &[], domain).unwrap();
    let column = |grid: &mut Grid<i32>| (0..5).map(|k| grid.get([0, 0, k])).collect::<Vec<_>>();
    assert_eq!(column(&mut up), [1, 2, 6, 14, 30]);
    assert_eq!(column(&mut down), [31, 30, 28, 24, 16]);
}

#[test]
fn values_are_computed_everywhere_before_they_are_stored() {
    // More points than one block has.
    let text = "\
def square(a):
    with computation(PARALLEL), interval(...):
        t = a
        a = t[1, 0, 0] * t[1, 0, 0]
";
    let program = program(text, &["IJK float64"]);
    let domain = [5000, 2, 1];
    let mut a = Grid::new(domain, [1, 0, 0], [0, 1, 2], noise);
    interpret(&program, &[a.argument("IJK")], &[], domain).unwrap();
    for i in 0..5000 {
        let expected = noise([i + 1, 1, 0]) * noise([i + 1, 1, 0]);
        assert_eq!(a.get([i, 1, 0]), expected, "at {i}");
    }
}

#[test]
fn accesses_outside_of_an_array_are_errors_with_line_and_index() {
    let text = "\
def difference(a, b):
    with computation(PARALLEL), interval(...):
        b = a[1, 0, 0] - a[-1, 0, 0]
";
    let program = program(text, &["IJK float64"; 2]);
    let domain = [4, 2, 3];
    let mut narrow = Grid::new(domain, [0; 3], [0, 1, 2], |_| 0.0);
    let mut wide = Grid::new(domain, [1, 0, 0], [0, 1, 2], |_| 0.0);
    let fields = [narrow.argument("IJK"), wide.argument("IJK")];
    let error = interpret(&program, &fields, &[], domain).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\
error[FS0601]: `a` is accessed at (4, 0, 0)
  --> model/stencils.py:13:13
   |
13 |         b = a[1, 0, 0] - a[-1, 0, 0]
   |             ^^^^^^^^^^ its array covers I 0..4, J 0..2, K 0..3
   = help: the domain starts at 0; give the array a larger halo, or the call a smaller domain"
    );
    let mut small = Grid::new([4, 2, 2], [0; 3], [0, 1, 2], |_| 0.0);
    let fields = [wide.argument("IJK"), small.argument("IJK")];
    let error = interpret(&program, &fields, &[], domain).unwrap_err();
    assert!(
        error.to_string().contains("`b` is accessed at (0, 0, 2)"),
        "{error}"
    );
}

#[test]
fn temporaries_read_where_nothing_was_written_are_errors() {
    let text = "\
def partly(a, b):
    with computation(PARALLEL), interval(...):
        if a > 0.0:
            t = a
        b = t
";
    let program = program(text, &["IJK float64"; 2]);
    let domain = [3, 3, 3];
    let hole = [1, 2, 0];
    let mut a = Grid::new(domain, [0; 3], [0, 1, 2], |at| {
        if at == hole { -1.0 } else { 1.0 }
    });
    let mut b = Grid::new(domain, [0; 3], [0, 1, 2], |_| 0.0);
    let fields = [a.argument("IJK"), b.argument("IJK")];
    let error = interpret(&program, &fields, &[], domain).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\
error[FS0602]: `t` is read at (1, 2, 0)
  --> model/stencils.py:15:13
   |
14 |             t = a
   |             - first assigned here
15 |         b = t
   |             ^ nothing was assigned there
   = help: assign `t` on every level and in every branch that this line can come from"
    );
}

#[test]
fn a_read_under_the_same_condition_is_fine() {
    let text = "\
def partly(a, b):
    with computation(PARALLEL), interval(...):
        if a > 0.0:
            t = 2.0 * a
            b = t
";
    let program = program(text, &["IJK float64"; 2]);
    let domain = [4, 1, 1];
    let mut a = Grid::new(domain, [0; 3], [0, 1, 2], |[i, ..]| i as f64 - 1.0);
    let mut b = Grid::new(domain, [0; 3], [0, 1, 2], |_| 5.0);
    let fields = [a.argument("IJK"), b.argument("IJK")];
    interpret(&program, &fields, &[], domain).unwrap();
    let row: Vec<f64> = (0..4).map(|i| b.get([i, 0, 0])).collect();
    assert_eq!(row, [5.0, 5.0, 2.0, 4.0]);
}

#[test]
fn a_call_with_other_arguments_is_an_error() {
    let program = program(THOMAS, &["IJK float64"; 5]);
    let error = interpret(&program, &[], &[float64(1.0)], [1, 1, 2]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "stencil 'thomas' takes 5 fields and the scalars (), but the call has 0 fields and the scalars (float64)"
    );
}
