//! `cbrt`: a third of the bits, read as an integer, is nearly a logarithm's third; iterations make that exact.

use super::number::{Bits, Real};

/// What depends on the type.
struct Constants {
    /// Below, and far above, what is left over by the last step is no normal number.
    usual: (f64, f64),
    /// A number and its cube root, by which small numbers are raised; large ones are lowered.
    raise: (f64, f64),
    /// Iterations that triple the number of right digits.
    iterations: usize,
    /// Bits that are lost where the others become an integer: those in front of the fraction.
    lost: u32,
}

const DOUBLE: Constants = Constants {
    usual: (1e-250, 1e250),
    raise: (3.2138760885179806e60, 1.4757395258967641e20),
    iterations: 2,
    lost: 12,
};

const SINGLE: Constants = Constants {
    usual: (1e-24, 1e24),
    raise: (1.5474250491067253e26, 536870912.0),
    iterations: 1,
    lost: 9,
};

of_both_types! {
    cbrt cbrt_double cbrt_single;
}

#[inline(always)]
fn cbrt<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let (least, most) = constants.usual;
    let is_usual = R::of(least).at_most(magnitude) & magnitude.at_most(R::of(most));
    let value = usual_root(magnitude, constants);
    let [value] = R::rarely(!is_usual, [value], || {
        let one = R::of(1.0);
        let (cube, root) = constants.raise;
        let is_small = magnitude.below(R::of(1.0));
        let by = R::select(is_small, R::of(cube), R::of(1.0 / cube));
        let back = R::select(is_small, R::of(1.0 / root), R::of(root));
        let scaled = magnitude * R::select(is_usual, one, by);
        let value = usual_root(scaled, constants) * R::select(is_usual, one, back);
        let is_itself = magnitude.equals(R::of(0.0)) | !magnitude.below(R::of(f64::INFINITY));
        [R::select(is_itself, magnitude, value)]
    });
    value.copysign(x)
}

/// The root of a number whose cubes and squares are normal numbers.
#[inline(always)]
fn usual_root<R: Real>(x: R, constants: &Constants) -> R {
    let mut guess = reciprocal(x, constants.lost);
    // With h = 1 - x guess^3 the reciprocal root is guess * (1 - h)^(-1/3), of which these are the first terms.
    for iteration in 0..constants.iterations {
        let h = (-(guess * guess)).mul_add(guess * x, R::of(1.0));
        let series = match iteration {
            0 => {
                let rest = h.mul_add(R::of(35.0 / 243.0), R::of(14.0 / 81.0));
                h.mul_add(rest, R::of(2.0 / 9.0))
            }
            _ => R::of(2.0 / 9.0),
        };
        let series = h.mul_add(series, R::of(1.0 / 3.0));
        guess = guess.mul_add(series * h, guess);
    }
    let square = guess * guess;
    let root = x * square;
    // One step of Newton's for the last digits.
    let excess = (root * root).mul_add(root, -x);
    (excess * square).mul_add(R::of(-1.0 / 3.0), root)
}

/// `x^(-1/3)`, off by a twentieth at most.
#[inline(always)]
fn reciprocal<R: Real>(x: R, lost: u32) -> R {
    // The leading bits as an integer, as the last bits of a number that is so large that it has no digits behind the point.
    let integers = (1u64 << R::FRACTION) as f64;
    let bits = (x.bits().down(lost) | R::of(integers).bits()).real();
    // An octave, and what the integer is of which the bits are those of one.
    let octave = (1u64 << (R::FRACTION - lost)) as f64;
    let one = R::BIAS as f64 * octave;
    let of_zero = (integers + one) * (4.0 / 3.0) - 0.0601 * octave;
    let third = bits.mul_add(R::of(-1.0 / 3.0), R::of(of_zero));
    third.bits().up(lost).real()
}
