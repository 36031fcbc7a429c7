//! Transcendental functions, written once for all backends.
//!
//! A function is generic over [`number::Real`]: on `f64` it computes a value, which is what the interpreter does, and on
//! [`llvm`](crate::llvm)'s values it writes the instructions that compute a vector of them. Every operation has one result,
//! so both give the same bits. All are within one unit in the last digit of the exact value.
//!
//! | module | what lives there |
//! |---|---|
//! | [`number`] | the operations that functions are made of |
//! | `scalar` | those on one number |
//! | [`polynomial`] | polynomials, and sums of two numbers with twice the digits |
//! | [`reduction`] | angles less multiples of half pi |
//! | [`exponential`], [`logarithm`], [`power`], [`cube_root`] | powers and their inverses |
//! | [`trigonometric`], [`inverse`] | functions of angles, and their inverses |
//! | [`hyperbolic`], [`inverse_hyperbolic`] | functions of areas, and their inverses |
//! | [`error_function`], [`gamma`] | functions of probability |
//! | [`single`] | what is computed with 64 bits and rounded |
//!
//! The methods are those of Muller et al., *Handbook of Floating-Point Arithmetic* (2018), and Muller, *Elementary Functions*
//! (2016). Each polynomial says how far it is off; `tests/polynomials.py` finds them anew, with Sollya's `fpminimax` but for those of
//! `erf` and `erfc` in pieces.

/// A function for numbers of 64 bits and one for those of 32, which have the constants `DOUBLE` and `SINGLE` of its module.
macro_rules! of_both_types {
    ($($function:ident $double:ident $single:ident;)*) => {$(
        #[doc = concat!("`", stringify!($function), "(x)` in 64 bits.")]
        #[inline(always)]
        pub fn $double<R: Real>(x: R) -> R {
            $function(x, &DOUBLE)
        }

        #[doc = concat!("`", stringify!($function), "(x)` in 32 bits.")]
        #[inline(always)]
        pub fn $single<R: Real>(x: R) -> R {
            $function(x, &SINGLE)
        }
    )*};
}

pub mod cube_root;
pub mod error_function;
pub mod exponential;
pub mod gamma;
pub mod hyperbolic;
pub mod inverse;
pub mod inverse_hyperbolic;
pub mod logarithm;
pub mod number;
pub mod polynomial;
pub mod power;
pub mod reduction;
mod scalar;
pub mod single;
pub mod trigonometric;

use fieldstone_stencil::ir::Builtin;

use crate::math::{Binary, Unary};
use number::{Double, Single};

/// A function compiled twice, since few compilers may take for granted that a processor can multiply and add at once.
macro_rules! machine_code {
    ($function:path, $type:ident $(, $operand:ident)*) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "fma")]
        fn fused($($operand: $type),*) -> $type {
            $function($($operand),*)
        }
        extern "C" fn function($($operand: $type),*) -> $type {
            #[cfg(target_arch = "x86_64")]
            if std::is_x86_feature_detected!("fma") {
                // SAFETY: the processor has what the function needs.
                return unsafe { fused($($operand),*) };
            }
            $function($($operand),*)
        }
        function
    }};
}

/// The functions with their names in the language, in 64 bits and in 32 bits.
macro_rules! functions {
    (
        one { $($one:ident $one_double:path, $one_single:path;)* }
        two { $($two:ident $two_double:path, $two_single:path;)* }
    ) => {
        /// How many operands a function has, `None` where it is not one of these.
        pub fn operands(builtin: Builtin) -> Option<usize> {
            match builtin {
                $(Builtin::$one)|* => Some(1),
                $(Builtin::$two)|* => Some(2),
                _ => None,
            }
        }

        /// A function of numbers of 64 bits, `None` where it does not have these [`operands`].
        pub fn double<R: Double>(builtin: Builtin, operands: &[R]) -> Option<R> {
            Some(match (builtin, operands) {
                $((Builtin::$one, &[x]) => $one_double(x),)*
                $((Builtin::$two, &[x, y]) => $two_double(x, y),)*
                _ => return None,
            })
        }

        /// A function of numbers of 32 bits, `None` where it does not have these [`operands`].
        pub fn single<R: Single>(builtin: Builtin, operands: &[R]) -> Option<R> {
            Some(match (builtin, operands) {
                $((Builtin::$one, &[x]) => $one_single(x),)*
                $((Builtin::$two, &[x, y]) => $two_single(x, y),)*
                _ => return None,
            })
        }

        /// [`double`] as machine code for one number.
        pub fn of_double(builtin: Builtin) -> Option<Unary<f64>> {
            Some(match builtin {
                $(Builtin::$one => machine_code!($one_double, f64, x),)*
                _ => return None,
            })
        }

        /// [`double`] as machine code for one pair of numbers.
        pub fn of_doubles(builtin: Builtin) -> Option<Binary<f64>> {
            Some(match builtin {
                $(Builtin::$two => machine_code!($two_double, f64, x, y),)*
                _ => return None,
            })
        }

        /// [`single`] as machine code for one number.
        pub fn of_single(builtin: Builtin) -> Option<Unary<f32>> {
            Some(match builtin {
                $(Builtin::$one => machine_code!($one_single, f32, x),)*
                _ => return None,
            })
        }

        /// [`single`] as machine code for one pair of numbers.
        pub fn of_singles(builtin: Builtin) -> Option<Binary<f32>> {
            Some(match builtin {
                $(Builtin::$two => machine_code!($two_single, f32, x, y),)*
                _ => return None,
            })
        }
    };
}

functions! {
    one {
        Exp exponential::exp_double, exponential::exp_single;
        Log logarithm::log_double, logarithm::log_single;
        Log10 logarithm::log10_double, logarithm::log10_single;
        Cbrt cube_root::cbrt_double, cube_root::cbrt_single;
        Sin trigonometric::sin, trigonometric::sin_single;
        Cos trigonometric::cos, trigonometric::cos_single;
        Tan trigonometric::tan, trigonometric::tan_single;
        Asin inverse::asin_double, inverse::asin_single;
        Acos inverse::acos_double, inverse::acos_single;
        Atan inverse::atan_double, inverse::atan_single;
        Sinh hyperbolic::sinh_double, hyperbolic::sinh_single;
        Cosh hyperbolic::cosh_double, hyperbolic::cosh_single;
        Tanh hyperbolic::tanh_double, hyperbolic::tanh_single;
        Asinh inverse_hyperbolic::asinh_double, inverse_hyperbolic::asinh_single;
        Acosh inverse_hyperbolic::acosh_double, inverse_hyperbolic::acosh_single;
        Atanh inverse_hyperbolic::atanh_double, inverse_hyperbolic::atanh_single;
        Erf error_function::erf_double, error_function::erf_single;
        Erfc error_function::erfc, error_function::erfc_single;
        Gamma gamma::gamma, single::gamma;
    }
    two {
        Pow power::pow, power::pow_single;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    /// The smallest positive number.
    const TINY: f64 = 5e-324;

    /// Bits, with those of one NaN for all.
    fn bits(value: f64) -> u64 {
        if value.is_nan() {
            NAN.to_bits()
        } else {
            value.to_bits()
        }
    }

    /// Checks in 64 bits, and in 32 where operands and result are the same there.
    #[track_caller]
    fn check(builtin: Builtin, operands: &[f64], expected: f64) {
        let found = double(builtin, operands).unwrap();
        assert_eq!(
            bits(found),
            bits(expected),
            "{builtin:?}{operands:?} is {found}, expected {expected}"
        );
        let narrow = |value: &f64| *value as f32;
        let is_same = |value: &f64| bits(f64::from(narrow(value))) == bits(*value);
        if operands.iter().all(is_same) && is_same(&expected) {
            let operands: Vec<f32> = operands.iter().map(narrow).collect();
            let found = f64::from(single(builtin, &operands).unwrap());
            assert_eq!(
                bits(found),
                bits(expected),
                "{builtin:?}{operands:?} is {found} in 32 bits, expected {expected}"
            );
        }
    }

    /// Annex F of the C standard, and results that are exact.
    #[test]
    fn functions_of_one_number_at_the_edges() {
        use Builtin::*;
        let cases = [
            (Exp, 0.0, 1.0),
            (Exp, -0.0, 1.0),
            (Exp, INF, INF),
            (Exp, -INF, 0.0),
            (Exp, NAN, NAN),
            (Exp, 709.782712893384, 1.7976931348622732e308),
            (Exp, 709.7827128933841, INF),
            (Exp, -745.1332191019411, TINY),
            (Exp, -745.1332191019412, 0.0),
            (Exp, f64::MAX, INF),
            (Exp, f64::MIN, 0.0),
            (Exp, TINY, 1.0),
            (Log, 1.0, 0.0),
            (Log, 0.0, -INF),
            (Log, -0.0, -INF),
            (Log, INF, INF),
            (Log, -INF, NAN),
            (Log, -1.0, NAN),
            (Log, -TINY, NAN),
            (Log, NAN, NAN),
            (Log, TINY, -744.4400719213812),
            (Log, f64::MAX, 709.782712893384),
            (Log10, 1.0, 0.0),
            (Log10, 1000.0, 3.0),
            (Log10, 1e22, 22.0),
            (Log10, 0.0, -INF),
            (Log10, -1.0, NAN),
            (Log10, INF, INF),
            (Log10, NAN, NAN),
            (Log10, TINY, -323.3062153431158),
            (Cbrt, 27.0, 3.0),
            (Cbrt, -0.125, -0.5),
            (Cbrt, 0.0, 0.0),
            (Cbrt, -0.0, -0.0),
            (Cbrt, INF, INF),
            (Cbrt, -INF, -INF),
            (Cbrt, NAN, NAN),
            (Cbrt, 1e-300, 1e-100),
            (Cbrt, TINY, 1.7031839360032603e-108),
            (Sin, 0.0, 0.0),
            (Sin, -0.0, -0.0),
            (Sin, INF, NAN),
            (Sin, -INF, NAN),
            (Sin, NAN, NAN),
            (Sin, TINY, TINY),
            (Sin, 1e22, -0.8522008497671888),
            (Sin, f64::MAX, 0.004961954789184062),
            (Cos, 0.0, 1.0),
            (Cos, INF, NAN),
            (Cos, NAN, NAN),
            (Cos, 1e22, 0.523214785395139),
            (Cos, f64::MAX, -0.9999876894265599),
            (Tan, 0.0, 0.0),
            (Tan, -0.0, -0.0),
            (Tan, INF, NAN),
            (Tan, NAN, NAN),
            (Tan, std::f64::consts::FRAC_PI_2, 1.633123935319537e16),
            (Asin, 0.0, 0.0),
            (Asin, -0.0, -0.0),
            (Asin, 1.0, std::f64::consts::FRAC_PI_2),
            (Asin, -1.0, -std::f64::consts::FRAC_PI_2),
            (Asin, 1.0000000000000002, NAN),
            (Asin, INF, NAN),
            (Asin, NAN, NAN),
            (Acos, 1.0, 0.0),
            (Acos, -1.0, std::f64::consts::PI),
            (Acos, 0.0, std::f64::consts::FRAC_PI_2),
            (Acos, -1.5, NAN),
            (Acos, NAN, NAN),
            (Atan, 0.0, 0.0),
            (Atan, -0.0, -0.0),
            (Atan, 1.0, std::f64::consts::FRAC_PI_4),
            (Atan, INF, std::f64::consts::FRAC_PI_2),
            (Atan, -INF, -std::f64::consts::FRAC_PI_2),
            (Atan, f64::MAX, std::f64::consts::FRAC_PI_2),
            (Atan, NAN, NAN),
            (Atan, TINY, TINY),
            (Sinh, 0.0, 0.0),
            (Sinh, -0.0, -0.0),
            (Sinh, INF, INF),
            (Sinh, -INF, -INF),
            (Sinh, NAN, NAN),
            (Sinh, TINY, TINY),
            (Sinh, 710.5, INF),
            (Cosh, 0.0, 1.0),
            (Cosh, INF, INF),
            (Cosh, -INF, INF),
            (Cosh, NAN, NAN),
            (Cosh, -710.5, INF),
            (Tanh, 0.0, 0.0),
            (Tanh, -0.0, -0.0),
            (Tanh, INF, 1.0),
            (Tanh, -INF, -1.0),
            (Tanh, NAN, NAN),
            (Tanh, TINY, TINY),
            (Asinh, 0.0, 0.0),
            (Asinh, -0.0, -0.0),
            (Asinh, INF, INF),
            (Asinh, -INF, -INF),
            (Asinh, NAN, NAN),
            (Asinh, TINY, TINY),
            (Asinh, f64::MAX, 710.475860073944),
            (Acosh, 1.0, 0.0),
            (Acosh, 0.5, NAN),
            (Acosh, -2.0, NAN),
            (Acosh, INF, INF),
            (Acosh, -INF, NAN),
            (Acosh, NAN, NAN),
            (Acosh, f64::MAX, 710.475860073944),
            (Atanh, 0.0, 0.0),
            (Atanh, -0.0, -0.0),
            (Atanh, 1.0, INF),
            (Atanh, -1.0, -INF),
            (Atanh, 1.5, NAN),
            (Atanh, INF, NAN),
            (Atanh, NAN, NAN),
            (Atanh, TINY, TINY),
            (Erf, 0.0, 0.0),
            (Erf, -0.0, -0.0),
            (Erf, INF, 1.0),
            (Erf, -INF, -1.0),
            (Erf, NAN, NAN),
            (Erfc, 0.0, 1.0),
            (Erfc, INF, 0.0),
            (Erfc, -INF, 2.0),
            (Erfc, NAN, NAN),
            (Erfc, 27.3, 0.0),
            (Gamma, 1.0, 1.0),
            (Gamma, 5.0, 24.0),
            (Gamma, 23.0, 1.1240007277776077e21),
            (Gamma, 0.0, INF),
            (Gamma, -0.0, -INF),
            (Gamma, -3.0, NAN),
            (Gamma, -1e300, NAN),
            (Gamma, INF, INF),
            (Gamma, -INF, NAN),
            (Gamma, NAN, NAN),
            (Gamma, 172.0, INF),
            (Gamma, -190.5, -0.0),
            (Gamma, TINY, INF),
        ];
        for (builtin, x, expected) in cases {
            check(builtin, &[x], expected);
        }
    }

    /// Annex F of the C standard, and results that are exact.
    #[test]
    fn powers_at_the_edges() {
        let cases = [
            (0.0, -3.0, INF),
            (-0.0, -3.0, -INF),
            (-0.0, -2.0, INF),
            (-0.0, -INF, INF),
            (-0.0, -0.5, INF),
            (0.0, 3.0, 0.0),
            (-0.0, 3.0, -0.0),
            (-0.0, 2.0, 0.0),
            (-0.0, INF, 0.0),
            (-1.0, INF, 1.0),
            (-1.0, -INF, 1.0),
            (1.0, NAN, 1.0),
            (1.0, INF, 1.0),
            (NAN, 0.0, 1.0),
            (NAN, -0.0, 1.0),
            (INF, 0.0, 1.0),
            (NAN, 1.0, NAN),
            (-1.0, NAN, NAN),
            (2.0, NAN, NAN),
            (-2.0, 0.5, NAN),
            (-2.0, INF, INF),
            (0.5, INF, 0.0),
            (0.5, -INF, INF),
            (-0.5, INF, 0.0),
            (2.0, -INF, 0.0),
            (-INF, -3.0, -0.0),
            (-INF, -2.0, 0.0),
            (-INF, 3.0, -INF),
            (-INF, 2.0, INF),
            (-INF, 0.5, INF),
            (INF, -1.0, 0.0),
            (INF, 1.0, INF),
            (2.0, 10.0, 1024.0),
            (-2.0, 3.0, -8.0),
            (3.0, 20.0, 3486784401.0),
            (10.0, -1.0, 0.1),
            (0.25, -0.5, 2.0),
            (9.0, 1.5, 27.0),
            (2.0, -1074.0, TINY),
            (2.0, -1075.0, 0.0),
            (2.0, 1024.0, INF),
            (-2.0, 1025.0, -INF),
            (-1.0, 9007199254740991.0, -1.0),
            (-1.0, 9007199254740992.0, 1.0),
            (TINY, 1.0, TINY),
            (TINY, -1.0, INF),
            (f64::MAX, 1.0, f64::MAX),
        ];
        for (x, y, expected) in cases {
            check(Builtin::Pow, &[x, y], expected);
        }
    }

    #[test]
    fn machine_code_gives_the_same_bits() {
        for (builtin, _) in Builtin::ALL {
            for n in -40..40 {
                let (x, y) = (f64::from(n) * 0.37, f64::from(n * n % 17) - 8.5);
                if let Some(function) = of_double(builtin) {
                    assert_eq!(bits(function(x)), bits(double(builtin, &[x]).unwrap()));
                }
                if let Some(function) = of_doubles(builtin) {
                    assert_eq!(
                        bits(function(x, y)),
                        bits(double(builtin, &[x, y]).unwrap())
                    );
                }
            }
        }
    }
}
