//! What a stencil is made from: the text of its definition and the values of the names it does not define itself.

use std::collections::{BTreeMap, HashMap};

use fieldstone_stencil::ir::Literal;
use fieldstone_stencil::{Axes, Axis, Bound, DType, Source};

use crate::keyword::Keyword;

/// A stencil before it is compiled.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Name of the stencil.
    pub name: String,
    /// The text, one `def` with its decorators.
    pub source: Source,
    /// The signature with evaluated annotations, in order.
    pub parameters: Vec<Parameter>,
    /// Values of the free names of the text.
    pub environment: Environment,
    /// Every function reachable from the text; [`Value::Function`] points in here.
    pub functions: Vec<Function>,
    /// Names that `from __externals__ import` may import.
    pub externals: Vec<String>,
    /// Types that annotations of temporaries may name by a string.
    pub dtypes: HashMap<String, DType>,
}

/// One parameter of the signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What its annotation says.
    pub kind: ParameterKind,
}

/// What the annotation of a parameter says.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterKind {
    /// `Field[axes, dtype]`
    Field {
        /// Element type.
        dtype: DType,
        /// Axes it extends along.
        axes: Axes,
        /// Sizes of the data dimensions.
        data_dims: Vec<u32>,
    },
    /// A type of number.
    Scalar {
        /// Its type.
        dtype: DType,
    },
    /// There is no annotation.
    Missing,
    /// The annotation means nothing.
    Invalid {
        /// Why, as a clause ("`list` is no type of a field").
        reason: String,
        /// The word in it that is not known, if it is one.
        unknown: Option<String>,
        /// Words that could stand there.
        known: Vec<String>,
        /// What to write where none of them is close.
        help: Option<String>,
    },
    /// The default value is none that the parameter can have; the reason, as a clause.
    WrongDefault(String),
}

/// Index into [`Definition::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub usize);

/// A `gtscript.function`.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name in its `def`.
    pub name: String,
    /// Its text.
    pub source: Source,
    /// Values of its free names.
    pub environment: Environment,
    /// Values of its default arguments.
    pub defaults: HashMap<String, Value>,
}

/// The values of the free names of one text.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// By path as written: `dt`, `constants.g`. A path that does not exist is missing; of a path that exists in part, the
    /// longest prefix is there as a [`Value::Namespace`].
    pub values: BTreeMap<String, Value>,
    /// Other names that could have been written, for suggestions.
    pub visible: Vec<String>,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A Python number: it takes the type of what it is combined with.
    Literal(Literal),
    /// A NumPy scalar: a number with a type.
    Typed(Literal, DType),
    /// A function that can be called.
    Function(FunctionId),
    /// A word of the language.
    Keyword(Keyword),
    /// A point along an axis, counted from the first or from one past the last of the domain: `gtscript.I[0] + 2`.
    Point(Axis, Bound),
    /// A module or another object of which only the attributes mean something.
    Namespace {
        /// What it is, as in "module `constants`".
        description: String,
        /// Names of its attributes.
        members: Vec<String>,
    },
    /// An object that means nothing in a stencil.
    Unsupported {
        /// What it is, as in "a list".
        description: String,
    },
}
