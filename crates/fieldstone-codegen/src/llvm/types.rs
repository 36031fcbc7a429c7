//! LLVM's names of types and constants.

use fieldstone_stencil::DType;

/// A vector of `width` lanes, or a scalar where `width` is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lanes {
    pub width: usize,
}

impl Lanes {
    /// The type of lanes of `element`.
    pub fn of(self, element: &str) -> String {
        match self.width {
            1 => element.to_string(),
            width => format!("<{width} x {element}>"),
        }
    }

    /// The type of a value in registers.
    pub fn value(self, dtype: DType) -> String {
        self.of(register(dtype))
    }

    /// The type of a value in memory.
    pub fn memory(self, dtype: DType) -> String {
        self.of(memory(dtype))
    }

    /// The suffix LLVM gives the type in the names of intrinsics.
    pub fn suffix(self, dtype: DType) -> String {
        self.suffix_of(register(dtype))
    }

    /// The suffix of lanes of `element`.
    pub fn suffix_of(self, element: &str) -> String {
        let element = match element {
            "half" => "f16",
            "float" => "f32",
            "double" => "f64",
            integer => integer,
        };
        match self.width {
            1 => element.to_string(),
            width => format!("v{width}{element}"),
        }
    }

    /// The same constant in every lane.
    pub fn constant(self, dtype: DType, value: &str) -> String {
        self.splat(register(dtype), value)
    }

    /// The same constant of an LLVM type in every lane.
    pub fn splat(self, element: &str, value: &str) -> String {
        match self.width {
            1 => value.to_string(),
            _ => format!("splat ({element} {value})"),
        }
    }
}

/// The type of one value in a register.
pub(super) fn register(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "i1",
        DType::Int8 | DType::UInt8 => "i8",
        DType::Int16 | DType::UInt16 => "i16",
        DType::Int32 | DType::UInt32 => "i32",
        DType::Int64 | DType::UInt64 => "i64",
        DType::Float16 => "half",
        DType::Float32 => "float",
        DType::Float64 => "double",
    }
}

/// The type of an argument of a function that is not of this module: integers fill a register.
pub(super) fn argument(dtype: DType) -> String {
    let kind = register(dtype);
    match dtype {
        DType::Bool | DType::UInt8 | DType::UInt16 | DType::UInt32 => format!("{kind} zeroext"),
        DType::Int8 | DType::Int16 | DType::Int32 => format!("{kind} signext"),
        _ => kind.to_owned(),
    }
}

/// The type of one value in memory.
pub(super) fn memory(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "i8",
        other => register(other),
    }
}

/// A real constant; LLVM writes `float` with the digits of the equal `double`.
pub(super) fn real(dtype: DType, value: f64) -> String {
    let exact = match dtype {
        DType::Float32 => f64::from(value as f32),
        _ => value,
    };
    format!("0x{:016X}", exact.to_bits())
}
