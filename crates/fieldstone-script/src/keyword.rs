//! The words of gtscript that stand for no value of their own.

use fieldstone_stencil::ir::{Builtin, Order};
use fieldstone_stencil::{Axis, DType};

/// A word of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// `computation`
    Computation,
    /// `interval`
    Interval,
    /// `PARALLEL`, `FORWARD`, `BACKWARD`
    Order(Order),
    /// `I`, `J`, `K`
    Axis(Axis),
    /// `__INLINED`
    Inlined,
    /// `compile_assert`
    CompileAssert,
    /// `horizontal`
    Horizontal,
    /// `region`
    Region,
    /// `Field`
    Field,
    /// `GlobalTable`
    GlobalTable,
    /// A maths function.
    Builtin(Builtin),
    /// `float32`, `int`, …: a conversion or a type.
    Type(DType),
}

impl Keyword {
    /// The word of a gtscript name.
    pub fn from_name(name: &str) -> Option<Keyword> {
        Some(match name {
            "computation" => Keyword::Computation,
            "interval" => Keyword::Interval,
            "PARALLEL" => Keyword::Order(Order::Parallel),
            "FORWARD" => Keyword::Order(Order::Forward),
            "BACKWARD" => Keyword::Order(Order::Backward),
            "I" => Keyword::Axis(Axis::I),
            "J" => Keyword::Axis(Axis::J),
            "K" => Keyword::Axis(Axis::K),
            "__INLINED" => Keyword::Inlined,
            "compile_assert" => Keyword::CompileAssert,
            "horizontal" => Keyword::Horizontal,
            "region" => Keyword::Region,
            "Field" => Keyword::Field,
            "GlobalTable" => Keyword::GlobalTable,
            "float" => Keyword::Type(DType::Float64),
            "int" => Keyword::Type(DType::Int64),
            _ => match DType::from_name(name) {
                Some(dtype) => Keyword::Type(dtype),
                None => Keyword::Builtin(Builtin::from_name(name)?),
            },
        })
    }

    /// Whether the word shapes the text, so that a temporary may not have its name. `gamma`, `mod` or `K` may be hidden.
    pub(crate) fn is_structural(self) -> bool {
        !matches!(
            self,
            Keyword::Axis(_) | Keyword::Builtin(_) | Keyword::Type(_)
        )
    }

    /// The word of a function of Python, `math` or NumPy.
    pub fn from_library(name: &str) -> Option<Keyword> {
        let name = match name {
            "minimum" => "min",
            "maximum" => "max",
            "absolute" | "fabs" => "abs",
            "arcsin" => "asin",
            "arccos" => "acos",
            "arctan" => "atan",
            "arcsinh" => "asinh",
            "arccosh" => "acosh",
            "arctanh" => "atanh",
            "power" => "pow",
            "remainder" => "mod",
            "rint" => "round",
            // `math.gamma` and the others have gtscript's names.
            other => other,
        };
        Builtin::from_name(name).map(Keyword::Builtin)
    }

    /// Names that can be read or called in an expression, for suggestions.
    pub(crate) fn suggestions<'a>() -> impl Iterator<Item = &'a str> {
        Builtin::ALL.into_iter().map(|(_, name)| name).chain([
            "computation",
            "interval",
            "PARALLEL",
            "FORWARD",
            "BACKWARD",
            "horizontal",
            "region",
            "compile_assert",
            "__INLINED",
            "float",
            "int",
            "float32",
            "float64",
            "int32",
            "int64",
        ])
    }
}
