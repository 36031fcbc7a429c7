//! The type that several values have in common.

use crate::dtype::DType;

/// The type that two values have in common: as `numpy.promote_types`, but an integer beside a real number is of its type.
pub fn promote(a: DType, b: DType) -> DType {
    Common::default()
        .with(Ty::Strong(a))
        .with(Ty::Strong(b))
        .ty()
        .dtype()
}

/// The kind of number a literal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weak {
    Int,
    Float,
}

/// What is known of the type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// Nothing: the value is a temporary's whose assignments were not seen yet.
    Unknown,
    /// It takes the type of what it meets.
    Weak(Weak),
    Strong(DType),
}

impl Ty {
    /// The type of a value that meets nothing else.
    pub(super) fn dtype(self) -> DType {
        match self {
            Ty::Strong(dtype) => dtype,
            Ty::Weak(Weak::Int) => DType::Int64,
            Ty::Weak(Weak::Float) | Ty::Unknown => DType::Float64,
        }
    }

    pub(super) fn is_bool(self) -> bool {
        self == Ty::Strong(DType::Bool)
    }

    pub(super) fn is_int(self) -> bool {
        match self {
            Ty::Unknown => false,
            Ty::Weak(weak) => weak == Weak::Int,
            Ty::Strong(dtype) => dtype.is_int(),
        }
    }

    pub(super) fn is_float(self) -> bool {
        match self {
            Ty::Unknown => false,
            Ty::Weak(weak) => weak == Weak::Float,
            Ty::Strong(dtype) => dtype.is_float(),
        }
    }

    /// How messages call it.
    pub(super) fn describe(self) -> String {
        match self {
            Ty::Unknown => "unknown".to_string(),
            Ty::Weak(Weak::Int) => "an integer literal".to_string(),
            Ty::Weak(Weak::Float) => "a real literal".to_string(),
            Ty::Strong(dtype) => dtype.to_string(),
        }
    }
}

/// The types of several values, for the type they have in common. The order in which they are added does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Common {
    /// One bit per strong type.
    strong: u16,
    weak: Option<Weak>,
}

impl Common {
    pub(super) fn with(mut self, ty: Ty) -> Common {
        match ty {
            Ty::Unknown => {}
            Ty::Weak(weak) => self.weak = self.weak.max(Some(weak)),
            Ty::Strong(dtype) => self.strong |= 1 << dtype as u16,
        }
        self
    }

    pub(super) fn join(self, other: Common) -> Common {
        Common {
            strong: self.strong | other.strong,
            weak: self.weak.max(other.weak),
        }
    }

    fn strong_types(self) -> impl Iterator<Item = DType> {
        DType::ALL
            .into_iter()
            .filter(move |dtype| self.strong & (1 << *dtype as u16) != 0)
    }

    pub(super) fn ty(self) -> Ty {
        if self.strong == 0 {
            return self.weak.map_or(Ty::Unknown, Ty::Weak);
        }
        Ty::Strong(match (self.promoted(), self.weak) {
            (dtype, None) => dtype,
            (dtype, Some(_)) if dtype.is_float() => dtype,
            (_, Some(Weak::Float)) => DType::Float64,
            (DType::Bool, Some(Weak::Int)) => DType::Int64,
            (dtype, Some(Weak::Int)) => dtype,
        })
    }

    /// The type that all strong types have in common.
    fn promoted(self) -> DType {
        let widest = |which: fn(DType) -> bool| {
            (self.strong_types().filter(|dtype| which(*dtype)))
                .map(DType::size)
                .max()
                .unwrap_or(0)
        };
        // `float16` is not among them, see `DType::in_arithmetic`.
        let float = widest(DType::is_float);
        let signed = widest(DType::is_signed);
        let unsigned = widest(|dtype| dtype.is_int() && !dtype.is_signed());
        if float > 0 {
            // As in C and GT4Py: a model of single precision stays one where it counts.
            return if float == 8 {
                DType::Float64
            } else {
                DType::Float32
            };
        }
        if signed > 0 && unsigned >= signed {
            return int_type(unsigned * 2, true).unwrap_or(DType::Float64);
        }
        int_type(signed.max(unsigned), signed > 0).unwrap_or(DType::Bool)
    }
}

/// The integer type of so many bytes.
fn int_type(bytes: usize, signed: bool) -> Option<DType> {
    DType::ALL
        .into_iter()
        .find(|dtype| dtype.is_int() && dtype.size() == bytes && dtype.is_signed() == signed)
}
