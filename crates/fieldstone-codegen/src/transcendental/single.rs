//! Functions of 32 bits that are computed with 64 and rounded.

use super::number::{Double, Single};
use super::{cube_root, error_function, gamma, hyperbolic, inverse, trigonometric};

macro_rules! rounded {
    ($($function:ident = $double:path;)*) => {$(
        /// The function of 64 bits, rounded.
        #[inline(always)]
        pub fn $function<R: Single>(x: R) -> R {
            $double(x.widen()).narrow()
        }
    )*};
}

rounded! {
    cbrt = cube_root::cbrt;
    tan = trigonometric::tan;
    asin = inverse::asin;
    acos = inverse::acos;
    atan = inverse::atan;
    asinh = hyperbolic::asinh;
    acosh = hyperbolic::acosh;
    atanh = hyperbolic::atanh;
    erf = error_function::erf;
    erfc = error_function::erfc;
    gamma = gamma::gamma;
}
