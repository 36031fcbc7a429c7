//! Every error this crate reports. A code has one meaning for ever; `docs/diagnostics.md` explains each.

use fieldstone_stencil::diagnostic::{Category, Code};

/// An error's code and the family it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable code.
    pub code: Code,
    /// Family, which decides the exception class.
    pub category: Category,
}

/// An expression or a condition is nested too deeply; the types' rule, found early.
pub const TOO_DEEP: Rule = Rule {
    code: fieldstone_stencil::types::TOO_DEEP,
    category: Category::Unsupported,
};

macro_rules! rules {
    ($($category:ident { $($(#[$doc:meta])+ $name:ident = $code:literal;)+ })+) => {
        $($(
            $(#[$doc])+
            pub const $name: Rule = Rule { code: Code($code), category: Category::$category };
        )+)+

        /// Every rule with the name of its constant.
        pub const ALL: &[(&str, Rule)] = &[$($((stringify!($name), $name),)+)+];
    };
}

rules! {
    Syntax {
        /// The text is not Python.
        PYTHON_SYNTAX = 1;
        /// A Python statement that is not part of gtscript.
        STATEMENT = 2;
        /// A Python expression that is not part of gtscript.
        EXPRESSION = 3;
        /// A statement that computes stands outside of `with computation(…), interval(…)`.
        OUTSIDE_COMPUTATION = 4;
        /// A `with` that names no computation or interval, or nests them in a way that means nothing.
        WITH = 5;
        /// The argument of `computation(…)` is no vertical order.
        ORDER = 6;
        /// The arguments of `interval(…)` are no range of levels.
        INTERVAL = 7;
        /// Something stands left of `=` that cannot be assigned to.
        TARGET = 8;
        /// A `return` in a stencil, or one that is not the last statement of a function.
        RETURN = 10;
        /// An import other than `from __externals__ import …`.
        IMPORT = 11;
        /// The definition is not one `def`.
        DEFINITION = 12;
        /// The arguments of `horizontal(…)` are no regions.
        REGION = 13;
        /// The number of indices is not the number of data dimensions.
        DATA_INDEX_COUNT = 40;
        /// An index outside of its data dimension.
        DATA_INDEX_RANGE = 41;
        /// An index of a data dimension that is no integer.
        DATA_INDEX_VALUE = 42;
    }
    Symbol {
        /// A name that is not defined.
        UNDEFINED_NAME = 101;
        /// A temporary is read before it is assigned.
        READ_BEFORE_ASSIGNED = 104;
        /// Assignment to a scalar parameter, an external, a function or a word of the language.
        ASSIGNED_CONSTANT = 105;
        /// A name is used as something it is not.
        WRONG_KIND = 106;
        /// A function calls itself.
        RECURSION = 108;
        /// The arguments of a call do not fit the function.
        ARGUMENTS = 109;
        /// A function ends without `return`.
        MISSING_RETURN = 110;
    }
    Definition {
        /// A kind of parameter that stencils and functions do not have, such as `*args`.
        PARAMETER = 9;
        /// A namespace does not have the attribute.
        UNDEFINED_ATTRIBUTE = 102;
        /// `from __externals__ import` of a name that `externals=` does not have.
        UNDEFINED_EXTERNAL = 103;
        /// A name stands for an object that means nothing in a stencil.
        UNSUPPORTED_OBJECT = 107;
        /// A parameter has no annotation.
        MISSING_ANNOTATION = 111;
        /// A field is read at a K offset and written in the same parallel computation.
        PARALLEL_K_RACE = 201;
        /// The intervals of a computation are not in the order in which they run.
        INTERVAL_ORDER = 202;
        /// An interval has no levels.
        EMPTY_INTERVAL = 203;
        /// The number of offsets is not the number of the field's axes.
        OFFSET_COUNT = 204;
        /// An offset along an axis that the field does not have.
        OFFSET_AXIS = 205;
        /// An offset on something that is no field.
        OFFSET_ON_SCALAR = 206;
        /// A horizontal offset that is not known at compile time, or is no integer.
        OFFSET_VALUE = 207;
        /// A write at a horizontal offset.
        WRITE_OFFSET = 208;
        /// A condition that must be known at compile time is not.
        NOT_CONSTANT = 209;
        /// The number of targets is not the number of values.
        UNPACK = 211;
        /// A number does not fit into 64 bits.
        NUMBER = 212;
        /// A function called under a condition reads neighbours of what it computes, which may not be computed there.
        MASKED_OFFSET_READ = 213;
        /// A stencil has no statements.
        EMPTY_STENCIL = 214;
        /// A region ends before it starts.
        REGION_ORDER = 215;
        /// Values whose data dimensions do not fit together.
        DATA_SIZES = 240;
        /// A value with data dimensions where a number is meant.
        NUMBER_EXPECTED = 241;
        /// A `while` whose condition nothing inside of it changes.
        ENDLESS_LOOP = 220;
        /// The arguments of `.at(…)` are not one level.
        ABSOLUTE_LEVEL = 221;
        /// Warning: a condition that is the same at every point and in every call.
        CONSTANT_CONDITION = 424;
        /// Warning: a comment or option that silences no warning there is.
        SILENCER = 425;
    }
    Value {
        /// An annotation means nothing.
        ANNOTATION = 112;
        /// A parameter cannot have the default value it is given.
        DEFAULT = 113;
    }
    Assertion {
        /// The condition of a `compile_assert` does not hold.
        COMPILE_ASSERT = 210;
    }
    Unsupported {
        /// Functions that call functions come to more operations than can be compiled.
        TOO_LARGE = 310;
        /// A product of vectors or matrices has more terms than can be compiled.
        TOO_MANY_TERMS = 311;
        /// The index along I or J as a value.
        AXIS_VALUE = 507;
    }
}

impl Rule {
    /// A warning of this rule at a place.
    pub fn warning_at(
        self,
        span: fieldstone_stencil::Span,
        message: impl Into<String>,
    ) -> fieldstone_stencil::Diagnostic {
        fieldstone_stencil::Diagnostic::warning(self.code, self.category, span, message)
    }

    /// An error of this rule at a place.
    pub fn at(
        self,
        span: fieldstone_stencil::Span,
        message: impl Into<String>,
    ) -> fieldstone_stencil::Diagnostic {
        fieldstone_stencil::Diagnostic::error(self.code, self.category, span, message)
    }
}
