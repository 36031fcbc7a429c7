//! Functions of 32 bits that are computed with 64 and rounded.

use super::gamma;
use super::number::{Double, Single};

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
    gamma = gamma::gamma;
}
