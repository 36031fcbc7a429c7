//! One number at a time: functions as the interpreter runs them.

use std::num::Wrapping;

use super::number::{Bits, Double, Mask, Pieces, Real, Single, Table};

impl Mask for bool {}

macro_rules! scalar {
    ($real:ident, $bits:ident) => {
        impl Real for $real {
            type Bits = Wrapping<$bits>;
            type Mask = bool;
            const FRACTION: u32 = $real::MANTISSA_DIGITS - 1;
            const BIAS: u64 = $real::MAX_EXP as u64 - 1;

            #[inline(always)]
            fn of(value: f64) -> $real {
                value as $real
            }

            #[inline(always)]
            fn mul_add(self, factor: $real, addend: $real) -> $real {
                $real::mul_add(self, factor, addend)
            }

            #[inline(always)]
            fn abs(self) -> $real {
                $real::abs(self)
            }

            #[inline(always)]
            fn copysign(self, sign: $real) -> $real {
                $real::copysign(self, sign)
            }

            #[inline(always)]
            fn sqrt(self) -> $real {
                $real::sqrt(self)
            }

            #[inline(always)]
            fn below(self, other: $real) -> bool {
                self < other
            }

            #[inline(always)]
            fn at_most(self, other: $real) -> bool {
                self <= other
            }

            #[inline(always)]
            fn equals(self, other: $real) -> bool {
                self == other
            }

            #[inline(always)]
            fn select(mask: bool, a: $real, b: $real) -> $real {
                if mask { a } else { b }
            }

            #[inline(always)]
            fn bits(self) -> Wrapping<$bits> {
                Wrapping(self.to_bits())
            }

            #[inline(always)]
            fn of_piece(pieces: &'static Pieces, row: usize, index: Wrapping<$bits>) -> $real {
                let row = pieces.rows[row];
                row[index.0 as usize % row.len()] as $real
            }

            #[inline(always)]
            fn rarely<const N: usize>(
                mask: bool,
                usual: [$real; N],
                rare: impl FnOnce() -> [$real; N],
            ) -> [$real; N] {
                if mask { rare() } else { usual }
            }
        }

        impl Bits for Wrapping<$bits> {
            type Real = $real;
            type Mask = bool;

            #[inline(always)]
            fn of(value: u64) -> Self {
                Wrapping(value as $bits)
            }

            #[inline(always)]
            fn up(self, bits: u32) -> Self {
                self << bits as usize
            }

            #[inline(always)]
            fn down(self, bits: u32) -> Self {
                self >> bits as usize
            }

            #[inline(always)]
            fn equals(self, other: Self) -> bool {
                self == other
            }

            #[inline(always)]
            fn real(self) -> $real {
                $real::from_bits(self.0)
            }
        }
    };
}

scalar!(f32, u32);
scalar!(f64, u64);

impl Single for f32 {
    type Wide = f64;

    #[inline(always)]
    fn widen(self) -> f64 {
        self.into()
    }
}

impl Double for f64 {
    type Narrow = f32;

    #[inline(always)]
    fn narrow(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn lookup(table: &'static Table, index: Wrapping<u64>) -> f64 {
        table.values[index.0 as usize]
    }
}
