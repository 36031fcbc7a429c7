//! What a stencil allows compiled arithmetic to do to its results, for speed.

use std::fmt;

/// Liberties with arithmetic on reals; none by default, so that results have the same bits everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FastMath {
    allowed: u8,
}

/// One liberty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liberty {
    /// A multiplication and the addition of its result are rounded once.
    Contract,
    /// Sums and products are computed in another order.
    Reassociate,
    /// A division is a multiplication by the reciprocal.
    Reciprocal,
    /// No operand of `min` and `max` is NaN; if one is, either operand may be the result.
    NoNans,
    /// The sign of a zero does not matter.
    NoSignedZeros,
}

impl Liberty {
    /// All of them.
    pub const ALL: [Liberty; 5] = [
        Liberty::Contract,
        Liberty::Reassociate,
        Liberty::Reciprocal,
        Liberty::NoNans,
        Liberty::NoSignedZeros,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Liberty::Contract => "contract",
            Liberty::Reassociate => "reassociate",
            Liberty::Reciprocal => "reciprocal",
            Liberty::NoNans => "no_nans",
            Liberty::NoSignedZeros => "no_signed_zeros",
        }
    }

    /// The one of a name.
    pub fn from_name(name: &str) -> Option<Liberty> {
        Liberty::ALL
            .into_iter()
            .find(|liberty| liberty.name() == name)
    }
}

impl FastMath {
    /// Allows one more.
    pub fn allow(&mut self, liberty: Liberty) {
        self.allowed |= 1 << liberty as u8;
    }

    /// Whether one is allowed.
    pub fn allows(self, liberty: Liberty) -> bool {
        self.allowed & 1 << liberty as u8 != 0
    }

    /// Whether none is.
    pub fn is_strict(self) -> bool {
        self.allowed == 0
    }
}

/// The names, as `contract, reciprocal`.
impl fmt::Display for FastMath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = Liberty::ALL.into_iter().filter(|one| self.allows(*one));
        let names: Vec<&str> = allowed.map(Liberty::name).collect();
        f.write_str(&names.join(", "))
    }
}
