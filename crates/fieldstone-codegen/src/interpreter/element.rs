//! Each element type as a Rust type, and what the operators do to it.

use fieldstone_stencil::DType;
use fieldstone_stencil::ir::{BinaryOp, Builtin, CompareOp, Literal, UnaryOp};

use crate::math::{Integer, Real};

/// Changes every value.
pub(super) type Map<T> = Box<dyn Fn(&mut [T]) + Send + Sync>;
/// Combines every value of the first list with that of the second.
pub(super) type Zip<T> = Box<dyn Fn(&mut [T], &[T]) + Send + Sync>;

/// A value of any type without loss, on its way to another type.
pub(super) enum Wide {
    Integer(i128),
    Real(f64),
}

/// A Rust type that holds elements of one [`DType`].
pub(super) trait Element: Copy + Default + PartialOrd + Send + Sync + 'static {
    const DTYPE: DType;

    /// # Safety
    ///
    /// `address` must be valid for reads of the type; it need not be aligned.
    unsafe fn read(address: *const u8) -> Self;

    /// # Safety
    ///
    /// `address` must be valid for writes of the type; it need not be aligned.
    unsafe fn write(address: *mut u8, value: Self);

    /// The value in the lowest bytes.
    fn from_bits(bits: u64) -> Self;

    fn widen(self) -> Wide;
    fn narrow(value: Wide) -> Self;

    fn from_literal(literal: Literal) -> Self {
        Self::narrow(match literal {
            Literal::Bool(value) => Wide::Integer(value.into()),
            Literal::Int(value) => Wide::Integer(value.into()),
            Literal::Float(value) => Wide::Real(value),
        })
    }

    /// `None` where the operation has no meaning on the type, here and below.
    fn unary(operation: UnaryOp) -> Option<Map<Self>>;
    fn binary(operation: BinaryOp) -> Option<Zip<Self>>;
    fn function(builtin: Builtin) -> Option<Map<Self>>;
    fn function_of_two(builtin: Builtin) -> Option<Zip<Self>>;
    fn test(builtin: Builtin) -> Option<fn(Self) -> bool>;
    /// One divided by a value: the last step of a negative power.
    fn reciprocal() -> Option<Map<Self>>;

    fn compare(operation: CompareOp) -> fn(Self, Self) -> bool {
        match operation {
            CompareOp::Eq => |a, b| a == b,
            CompareOp::Ne => |a, b| a != b,
            CompareOp::Lt => |a, b| a < b,
            CompareOp::Le => |a, b| a <= b,
            CompareOp::Gt => |a, b| a > b,
            CompareOp::Ge => |a, b| a >= b,
        }
    }
}

fn map<T: Copy>(function: impl Fn(T) -> T + Send + Sync + 'static) -> Option<Map<T>> {
    Some(Box::new(move |values| {
        for value in values {
            *value = function(*value);
        }
    }))
}

fn zip<T: Copy>(function: impl Fn(T, T) -> T + Send + Sync + 'static) -> Option<Zip<T>> {
    Some(Box::new(move |values, others| {
        for (value, other) in values.iter_mut().zip(others) {
            *value = function(*value, *other);
        }
    }))
}

impl Element for bool {
    const DTYPE: DType = DType::Bool;

    unsafe fn read(address: *const u8) -> bool {
        // SAFETY: forwarded to the caller.
        unsafe { address.read() != 0 }
    }

    unsafe fn write(address: *mut u8, value: bool) {
        // SAFETY: forwarded to the caller.
        unsafe { address.write(value.into()) }
    }

    fn from_bits(bits: u64) -> bool {
        bits & 0xff != 0
    }

    fn widen(self) -> Wide {
        Wide::Integer(self.into())
    }

    fn narrow(value: Wide) -> bool {
        match value {
            Wide::Integer(value) => value != 0,
            Wide::Real(value) => value != 0.0,
        }
    }

    fn unary(operation: UnaryOp) -> Option<Map<bool>> {
        match operation {
            UnaryOp::Not | UnaryOp::Invert => map(|a: bool| !a),
            UnaryOp::Neg => None,
        }
    }

    fn binary(operation: BinaryOp) -> Option<Zip<bool>> {
        match operation {
            BinaryOp::Add | BinaryOp::Or | BinaryOp::BitOr => zip(|a, b| a | b),
            BinaryOp::Mul | BinaryOp::And | BinaryOp::BitAnd => zip(|a, b| a & b),
            BinaryOp::BitXor => zip(|a, b| a ^ b),
            BinaryOp::Sub
            | BinaryOp::Div
            | BinaryOp::FloorDiv
            | BinaryOp::Mod
            | BinaryOp::Pow
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight => None,
        }
    }

    fn function(builtin: Builtin) -> Option<Map<bool>> {
        integral_function(builtin).then(|| map(|a| a))?
    }

    fn function_of_two(builtin: Builtin) -> Option<Zip<bool>> {
        match builtin {
            Builtin::Min => zip(|a, b| a & b),
            Builtin::Max => zip(|a, b| a | b),
            _ => None,
        }
    }

    fn test(builtin: Builtin) -> Option<fn(bool) -> bool> {
        integral_test(builtin)
    }

    fn reciprocal() -> Option<Map<bool>> {
        None
    }
}

/// What every number without a fractional part is the result of.
fn integral_function(builtin: Builtin) -> bool {
    matches!(
        builtin,
        Builtin::Abs
            | Builtin::Floor
            | Builtin::Ceil
            | Builtin::Trunc
            | Builtin::Round
            | Builtin::RoundAwayFromZero
    )
}

fn integral_test<T>(builtin: Builtin) -> Option<fn(T) -> bool> {
    match builtin {
        Builtin::IsFinite => Some(|_| true),
        Builtin::IsInf | Builtin::IsNan => Some(|_| false),
        _ => None,
    }
}

macro_rules! number {
    () => {
        unsafe fn read(address: *const u8) -> Self {
            // SAFETY: forwarded to the caller.
            unsafe { address.cast::<Self>().read_unaligned() }
        }

        unsafe fn write(address: *mut u8, value: Self) {
            // SAFETY: forwarded to the caller.
            unsafe { address.cast::<Self>().write_unaligned(value) }
        }

        fn narrow(value: Wide) -> Self {
            match value {
                Wide::Integer(value) => value as Self,
                Wide::Real(value) => value as Self,
            }
        }
    };
}

macro_rules! integer {
    ($($type:ident $dtype:ident $abs:expr;)*) => {$(
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            number!();

            fn from_bits(bits: u64) -> Self {
                bits as $type
            }

            fn widen(self) -> Wide {
                Wide::Integer(self as i128)
            }

            fn unary(operation: UnaryOp) -> Option<Map<Self>> {
                match operation {
                    UnaryOp::Neg => map($type::wrapping_neg),
                    UnaryOp::Invert => map(|a: $type| !a),
                    UnaryOp::Not => None,
                }
            }

            fn binary(operation: BinaryOp) -> Option<Zip<Self>> {
                match operation {
                    BinaryOp::Add => zip($type::wrapping_add),
                    BinaryOp::Sub => zip($type::wrapping_sub),
                    BinaryOp::Mul => zip($type::wrapping_mul),
                    BinaryOp::FloorDiv => zip(<$type as Integer>::floor_div),
                    BinaryOp::Mod => zip(<$type as Integer>::modulo),
                    BinaryOp::Pow => zip(|a, b| <$type as Integer>::pow(a, b)),
                    BinaryOp::BitAnd => zip(|a, b| a & b),
                    BinaryOp::BitOr => zip(|a, b| a | b),
                    BinaryOp::BitXor => zip(|a, b| a ^ b),
                    // `wrapping_` takes the count modulo the width.
                    BinaryOp::ShiftLeft => zip(|a: $type, b| a.wrapping_shl(b as u32)),
                    BinaryOp::ShiftRight => zip(|a: $type, b| a.wrapping_shr(b as u32)),
                    BinaryOp::Div | BinaryOp::And | BinaryOp::Or => None,
                }
            }

            fn function(builtin: Builtin) -> Option<Map<Self>> {
                match builtin {
                    Builtin::Abs => map($abs),
                    _ => integral_function(builtin).then(|| map(|a| a))?,
                }
            }

            fn function_of_two(builtin: Builtin) -> Option<Zip<Self>> {
                match builtin {
                    Builtin::Min => zip(|a: $type, b| a.min(b)),
                    Builtin::Max => zip(|a: $type, b| a.max(b)),
                    Builtin::Mod => Self::binary(BinaryOp::Mod),
                    Builtin::Pow => Self::binary(BinaryOp::Pow),
                    _ => None,
                }
            }

            fn test(builtin: Builtin) -> Option<fn(Self) -> bool> {
                integral_test(builtin)
            }

            fn reciprocal() -> Option<Map<Self>> {
                map(<$type as Integer>::reciprocal)
            }
        }
    )*};
}

integer! {
    i8 Int8 i8::wrapping_abs;
    i16 Int16 i16::wrapping_abs;
    i32 Int32 i32::wrapping_abs;
    i64 Int64 i64::wrapping_abs;
    u8 UInt8 |a| a;
    u16 UInt16 |a| a;
    u32 UInt32 |a| a;
    u64 UInt64 |a| a;
}

/// Only ever converted.
impl Element for half::f16 {
    const DTYPE: DType = DType::Float16;

    unsafe fn read(address: *const u8) -> Self {
        // SAFETY: forwarded to the caller.
        half::f16::from_bits(unsafe { address.cast::<u16>().read_unaligned() })
    }

    unsafe fn write(address: *mut u8, value: Self) {
        // SAFETY: forwarded to the caller.
        unsafe { address.cast::<u16>().write_unaligned(value.to_bits()) }
    }

    fn narrow(value: Wide) -> Self {
        match value {
            Wide::Integer(value) => half::f16::from_f32(value as f32),
            Wide::Real(value) => half::f16::from_f32(value as f32),
        }
    }

    fn from_bits(bits: u64) -> Self {
        half::f16::from_bits(bits as u16)
    }

    fn widen(self) -> Wide {
        Wide::Real(self.to_f64())
    }

    fn unary(_: UnaryOp) -> Option<Map<Self>> {
        None
    }

    fn binary(_: BinaryOp) -> Option<Zip<Self>> {
        None
    }

    fn function(_: Builtin) -> Option<Map<Self>> {
        None
    }

    fn function_of_two(_: Builtin) -> Option<Zip<Self>> {
        None
    }

    fn test(_: Builtin) -> Option<fn(Self) -> bool> {
        None
    }

    fn reciprocal() -> Option<Map<Self>> {
        None
    }
}

macro_rules! real {
    ($($type:ident $dtype:ident $bits:ident;)*) => {$(
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            number!();

            fn from_bits(bits: u64) -> Self {
                $type::from_bits(bits as $bits)
            }

            fn widen(self) -> Wide {
                Wide::Real(self.into())
            }

            fn unary(operation: UnaryOp) -> Option<Map<Self>> {
                match operation {
                    UnaryOp::Neg => map(|a: $type| -a),
                    UnaryOp::Not | UnaryOp::Invert => None,
                }
            }

            fn binary(operation: BinaryOp) -> Option<Zip<Self>> {
                match operation {
                    BinaryOp::Add => zip(|a: $type, b| a + b),
                    BinaryOp::Sub => zip(|a: $type, b| a - b),
                    BinaryOp::Mul => zip(|a: $type, b| a * b),
                    BinaryOp::Div => zip(|a: $type, b| a / b),
                    BinaryOp::FloorDiv => zip(|a, b| <$type as Real>::floor_div(a, b)),
                    BinaryOp::Mod => Self::function_of_two(Builtin::Mod),
                    BinaryOp::Pow => Self::function_of_two(Builtin::Pow),
                    BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::BitAnd
                    | BinaryOp::BitOr
                    | BinaryOp::BitXor
                    | BinaryOp::ShiftLeft
                    | BinaryOp::ShiftRight => None,
                }
            }

            fn function(builtin: Builtin) -> Option<Map<Self>> {
                let function = <$type as Real>::unary(builtin)?;
                map(move |a| function(a))
            }

            fn function_of_two(builtin: Builtin) -> Option<Zip<Self>> {
                let function = <$type as Real>::binary(builtin)?;
                zip(move |a, b| function(a, b))
            }

            fn test(builtin: Builtin) -> Option<fn(Self) -> bool> {
                <$type as Real>::test(builtin)
            }

            fn reciprocal() -> Option<Map<Self>> {
                map(|a: $type| 1.0 / a)
            }
        }
    )*};
}

real! {
    f32 Float32 u32;
    f64 Float64 u64;
}

/// Evaluates an expression with `$type` standing for the Rust type of a [`DType`].
macro_rules! dispatch {
    ($dtype:expr, $type:ident => $result:expr) => {
        $crate::interpreter::element::dispatch!(@ $dtype, $type, $result,
            Bool bool, Int8 i8, Int16 i16, Int32 i32, Int64 i64,
            UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64, Float16 half::f16, Float32 f32, Float64 f64)
    };
    (@ $dtype:expr, $type:ident, $result:expr, $($variant:ident $rust:ty),*) => {
        match $dtype {
            $(fieldstone_stencil::DType::$variant => {
                type $type = $rust;
                $result
            })*
        }
    };
}
pub(super) use dispatch;

#[cfg(test)]
mod tests {
    use super::*;

    fn apply<T: Element>(operation: BinaryOp, a: T, b: T) -> T {
        let mut values = [a];
        T::binary(operation).unwrap()(&mut values, &[b]);
        values[0]
    }

    fn cast<T: Element, U: Element>(value: T) -> U {
        U::narrow(value.widen())
    }

    #[test]
    fn integers_wrap_and_never_trap() {
        use BinaryOp::*;
        let cases = [
            (Add, i32::MAX, 1, i32::MIN),
            (Sub, i32::MIN, 1, i32::MAX),
            (Mul, 1 << 20, 1 << 20, 0),
            (FloorDiv, i32::MIN, -1, i32::MIN),
            (FloorDiv, 1, 0, 0),
            (Mod, i32::MIN, -1, 0),
            (Mod, 1, 0, 0),
            (ShiftLeft, 1, 33, 2),
            (ShiftLeft, 1, -31, 2),
            (ShiftRight, -8, 1, -4),
            (ShiftRight, -8, 33, -4),
        ];
        for (operation, a, b, expected) in cases {
            assert_eq!(apply(operation, a, b), expected, "{operation:?}({a}, {b})");
        }
        assert_eq!(apply(ShiftRight, 0x80u8, 9), 0x40);
        assert_eq!(apply(ShiftLeft, 1i8, 15), i8::MIN);
    }

    #[test]
    fn operations_without_a_meaning_do_not_exist() {
        assert!(bool::binary(BinaryOp::Sub).is_none());
        assert!(bool::unary(UnaryOp::Neg).is_none());
        assert!(i32::binary(BinaryOp::Div).is_none());
        assert!(<f64 as Element>::binary(BinaryOp::BitAnd).is_none());
        assert!(i32::function(Builtin::Sin).is_none());
    }

    #[test]
    fn casts_from_reals_truncate_and_saturate() {
        for (real, integer, byte) in [
            (1.9, 1, 1),
            (-1.9, -1, 0),
            (255.9, 255, 255),
            (256.0, 256, 255),
            (1e30, i32::MAX, 255),
            (f64::NEG_INFINITY, i32::MIN, 0),
            (f64::NAN, 0, 0),
        ] {
            assert_eq!(cast::<f64, i32>(real), integer, "int32({real})");
            assert_eq!(cast::<f64, u8>(real), byte, "uint8({real})");
        }
    }

    #[test]
    fn casts_from_integers_keep_the_low_bits_or_round_to_even() {
        assert_eq!(cast::<i32, i8>(300), 44);
        assert_eq!(cast::<i32, u8>(-1), 255);
        assert_eq!(cast::<i8, u64>(-1), u64::MAX);
        assert_eq!(cast::<u64, f32>(16_777_217), 16_777_216.0);
        assert_eq!(cast::<u64, f32>(u64::MAX), 18_446_744_073_709_551_615.0);
        // Halfway to single precision, but not in double precision: rounded once, not twice.
        assert_eq!(
            cast::<i64, f32>((1 << 54) + (1 << 30) + 1),
            18_014_400_656_965_632.0
        );
        assert_eq!(cast::<f64, f32>(1e300), f32::INFINITY);
    }

    #[test]
    fn casts_to_bool_ask_for_zero() {
        assert!(cast::<f64, bool>(f64::NAN));
        assert!(cast::<f64, bool>(1e-300));
        assert!(!cast::<f64, bool>(-0.0));
        assert!(cast::<i32, bool>(256));
        assert_eq!(cast::<bool, f32>(true), 1.0);
    }

    #[test]
    fn comparisons_with_nan_are_false_except_inequality() {
        let nan = f32::NAN;
        for (operation, expected) in [
            (CompareOp::Eq, false),
            (CompareOp::Ne, true),
            (CompareOp::Lt, false),
            (CompareOp::Le, false),
            (CompareOp::Gt, false),
            (CompareOp::Ge, false),
        ] {
            assert_eq!(f32::compare(operation)(nan, 1.0), expected, "{operation:?}");
            assert_eq!(f32::compare(operation)(1.0, nan), expected, "{operation:?}");
        }
    }

    #[test]
    fn functions_of_integers() {
        let mut values = [i32::MIN, -3, 3];
        i32::function(Builtin::Abs).unwrap()(&mut values);
        assert_eq!(values, [i32::MIN, 3, 3]);
        i32::function(Builtin::Floor).unwrap()(&mut values);
        assert_eq!(values, [i32::MIN, 3, 3]);
        assert!(i32::test(Builtin::IsFinite).unwrap()(7));
        assert!(!i32::test(Builtin::IsNan).unwrap()(7));
    }
}
