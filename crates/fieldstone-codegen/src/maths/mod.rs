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
//! | [`exponential`], [`logarithm`], [`power`] | the functions |

pub mod exponential;
pub mod logarithm;
pub mod number;
pub mod polynomial;
pub mod power;
mod scalar;

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
