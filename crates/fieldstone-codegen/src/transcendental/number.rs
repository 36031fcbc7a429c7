//! The numbers that functions are written for: values that run, or instructions that are written.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A real number, or a vector of them.
///
/// Every operation has the one result that IEEE 754 defines, so whatever a function makes out of them has the same bits
/// wherever it runs. All lanes do the same: nothing branches but [`Real::rarely`].
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The bits of a number.
    type Bits: Bits<Real = Self, Mask = Self::Mask>;
    /// A truth for each lane.
    type Mask: Mask;
    /// Bits of the fraction.
    const FRACTION: u32;
    /// What stands for the exponent zero.
    const BIAS: u64;

    /// A constant, rounded to the type.
    fn of(value: f64) -> Self;
    /// `self * factor + addend`, rounded once.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// The distance from zero.
    fn abs(self) -> Self;
    /// The distance of `self` from zero with the sign of another number.
    fn copysign(self, sign: Self) -> Self;
    /// The square root, rounded to nearest.
    fn sqrt(self) -> Self;
    /// `self < other`; false for NaN.
    fn below(self, other: Self) -> Self::Mask;
    /// `self <= other`; false for NaN.
    fn at_most(self, other: Self) -> Self::Mask;
    /// `self == other`; false for NaN, true for zeros of either sign.
    fn equals(self, other: Self) -> Self::Mask;
    /// `a` where the mask holds, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// The bits.
    fn bits(self) -> Self::Bits;

    /// `2^n` of an integer `n`, where that is a normal number.
    #[inline(always)]
    fn power_of_two(n: Self) -> Self {
        // The lowest bits of the sum are the integer.
        let rounding = Self::of(1.5 * (1u64 << Self::FRACTION) as f64);
        ((n + rounding).bits().up(Self::FRACTION) + Self::of(1.0).bits()).real()
    }

    /// Roughly `1 / self` of a positive number, off by up to a tenth: for the last digits of a quotient.
    ///
    /// Bits as an integer are nearly a logarithm.
    #[inline(always)]
    fn near_reciprocal(self) -> Self {
        let one = (1u64 << Self::FRACTION) as f64;
        let twice = (2.0 * Self::BIAS as f64 - 0.101) * one;
        (Self::Bits::of(twice as u64) - self.bits()).real()
    }

    /// A number of a row of some pieces: that of the piece which the lowest bits of the index say.
    fn of_piece(pieces: &'static Pieces, row: usize, index: Self::Bits) -> Self;

    /// `rare()` if the mask holds in any lane, else `usual`.
    ///
    /// So `rare` must give the same as `usual` in lanes where the mask does not hold: it begins with a selection, or ends
    /// with one.
    fn rarely<const N: usize>(
        mask: Self::Mask,
        usual: [Self; N],
        rare: impl FnOnce() -> [Self; N],
    ) -> [Self; N];
}

/// Numbers to look up.
pub struct Table {
    /// What sets it apart from other tables.
    pub name: &'static str,
    /// The numbers.
    pub values: &'static [f64],
}

/// Numbers that depend on the piece of a function's domain, so few of each kind that a register holds them: one instruction looks up
/// those of all lanes.
pub struct Pieces {
    /// What sets them apart from others.
    pub name: &'static str,
    /// Numbers of the same kind, one for each piece: 8 of 64 bits, or 16 of 32 bits.
    pub rows: &'static [&'static [f64]],
}

/// A number of 32 bits.
pub trait Single: Real {
    /// The number of 64 bits.
    type Wide: Double<Narrow = Self, Mask = Self::Mask>;

    /// The same number with 64 bits.
    fn widen(self) -> Self::Wide;
}

/// A number of 64 bits.
pub trait Double: Real {
    /// The number of 32 bits.
    type Narrow: Single<Wide = Self, Mask = Self::Mask>;

    /// The nearest number of 32 bits.
    fn narrow(self) -> Self::Narrow;

    /// A number of a table, which must have it.
    fn lookup(table: &'static Table, index: Self::Bits) -> Self;
}

/// The bits of a [`Real`] as an unsigned integer.
pub trait Bits:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    /// The number that has the bits.
    type Real: Real<Bits = Self, Mask = Self::Mask>;
    /// A truth for each lane.
    type Mask: Mask;

    /// A constant, cut to the type.
    fn of(value: u64) -> Self;
    /// Moved towards the high end.
    fn up(self, bits: u32) -> Self;
    /// Moved towards the low end, with zeros behind.
    fn down(self, bits: u32) -> Self;
    /// Whether all bits are equal.
    fn equals(self, other: Self) -> Self::Mask;
    /// The number with these bits.
    fn real(self) -> Self::Real;
}

/// A truth for each lane.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {}
