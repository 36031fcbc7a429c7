//! The stencil IR: fields, scalars, temporaries, and statements over them.
//!
//! A [`Stencil`] comes out of the front end *untyped*: the `dtype` of temporaries without annotation and of expressions is
//! `None`. Type resolution fills every one and makes each conversion an explicit [`ExprKind::Cast`]; from there on operands
//! of an operation have one type and every later pass may rely on it.
//!
//! Statements run in order; each runs over the whole domain (extended by what later statements read) before the next starts.
//! In a `PARALLEL` computation that holds for all levels at once, in `FORWARD` and `BACKWARD` level by level. Functions are
//! inlined and externals are literals by the time a program is IR.

use crate::dtype::DType;
use crate::fast_math::FastMath;
use crate::grid::{Area, Axes, Axis, Interval, Offset};
use crate::source::{SourceMap, Span};

/// Index into [`Stencil::fields`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub u32);

/// Index into [`Stencil::scalars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScalarId(pub u32);

/// Index into [`Stencil::temporaries`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TempId(pub u32);

/// A compiled unit: one gtscript definition with its functions inlined and its externals bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Stencil {
    /// Name of the definition.
    pub name: String,
    /// Parameters in the order of the signature.
    pub params: Vec<Param>,
    /// Array parameters.
    pub fields: Vec<Field>,
    /// Scalar parameters.
    pub scalars: Vec<Scalar>,
    /// Names assigned in the body that are no parameters.
    pub temporaries: Vec<Temporary>,
    /// What runs, in order.
    pub computations: Vec<Computation>,
    /// What compiled arithmetic may do to results.
    pub fast_math: FastMath,
    /// The texts that spans point into.
    pub sources: SourceMap,
}

/// One parameter of the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// An array.
    Field(FieldId),
    /// A number.
    Scalar(ScalarId),
}

/// An array parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name in the signature.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Axes it extends along. A table that is the same at all points has none.
    pub axes: Axes,
    /// Sizes of the data dimensions, behind the axes of the grid.
    pub data_dims: Vec<u32>,
    /// Where it is declared.
    pub span: Span,
}

/// A scalar parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// Name in the signature.
    pub name: String,
    /// Type.
    pub dtype: DType,
    /// Where it is declared.
    pub span: Span,
}

/// A field that lives for one call only.
#[derive(Clone, Debug, PartialEq)]
pub struct Temporary {
    /// Name in the source; inlined functions' names are made unique, as in `lap@2.flux`.
    pub name: String,
    /// Element type; `None` until types are resolved.
    pub dtype: Option<DType>,
    /// Axes it extends along.
    pub axes: Axes,
    /// Sizes of the data dimensions, behind the axes of the grid.
    pub data_dims: Vec<u32>,
    /// Where it is first assigned.
    pub span: Span,
}

/// The vertical order of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// All levels at once.
    Parallel,
    /// From the first level to the last.
    Forward,
    /// From the last level to the first.
    Backward,
}

/// `with computation(order)` and its intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Computation {
    /// Vertical order.
    pub order: Order,
    /// Intervals that do not overlap, in the order in which they run.
    pub sections: Vec<Section>,
    /// The `with` statement.
    pub span: Span,
}

/// `with interval(…)` and its statements.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Levels.
    pub interval: Interval,
    /// Statements, in order.
    pub body: Vec<Stmt>,
    /// The `interval(…)`.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Writes a value to the point itself, or to another level of its column.
    Assign {
        /// What is written.
        target: Target,
        /// Where the target stands in the source.
        target_span: Span,
        /// Where it is written, from the point that is computed. Zero along I and J.
        offset: Offset,
        /// What the offset does not say: a level that is computed, indices of data dimensions.
        subscript: Option<Box<Subscript>>,
        /// The value.
        value: Expr,
    },
    /// Runs `then` at points where the condition holds and `orelse` at the others. The condition is evaluated once, before
    /// either branch.
    If {
        /// A boolean.
        condition: Expr,
        /// Where it holds.
        then: Vec<Stmt>,
        /// Where it does not.
        orelse: Vec<Stmt>,
    },
    /// Repeats the body at points where the condition holds, each point by itself, until it holds no longer.
    While {
        /// A boolean, evaluated before each round.
        condition: Expr,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// Ends the call with an error if the bounds of intervals, which show at run time, are not what they have to be: one
    /// interval has levels of the domain only, two have none in common.
    Require {
        /// A boolean: whether they are.
        condition: Expr,
        /// Of each interval the first level and the one behind the last, counted from the first level of the domain.
        bounds: Vec<Expr>,
        /// Where the intervals stand in the source.
        intervals: Vec<Span>,
    },
    /// Runs the body at the points of a part of the horizontal plane.
    Region {
        /// The part.
        area: Area,
        /// What runs there.
        body: Vec<Stmt>,
    },
}

/// What an access says beside its constant offset.
///
/// The operands are the level, if it is computed, and behind it one index for each data dimension of the target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subscript {
    /// How the level is given.
    pub level: LevelIndex,
    /// Integers.
    pub operands: Vec<Expr>,
}

/// How an access says which level it is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LevelIndex {
    /// By the K component of its offset.
    #[default]
    Constant,
    /// By the first operand, added to the level that is computed and to the offset.
    Offset,
    /// By the first operand, counted from the first level of the domain.
    Absolute,
}

impl Subscript {
    /// The level, if it is computed.
    pub fn level(&self) -> Option<&Expr> {
        match self.level {
            LevelIndex::Constant => None,
            LevelIndex::Offset | LevelIndex::Absolute => self.operands.first(),
        }
    }

    /// One index for each data dimension.
    pub fn indices(&self) -> &[Expr] {
        &self.operands[usize::from(self.level != LevelIndex::Constant)..]
    }

    /// Whether the level or an index shows at run time only.
    pub fn is_computed(&self) -> bool {
        let known = |index: &Expr| crate::elements::constant(index).is_some();
        self.level != LevelIndex::Constant || !self.indices().iter().all(known)
    }
}

/// What can be read with an offset and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A parameter.
    Field(FieldId),
    /// A temporary.
    Temp(TempId),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Type of the value; `None` until types are resolved.
    pub dtype: Option<DType>,
    /// Where it stands.
    pub span: Span,
}

impl Stmt {
    /// An assignment of a value to the point itself.
    pub fn assign(target: Target, target_span: Span, value: Expr, span: Span) -> Stmt {
        Stmt {
            kind: StmtKind::Assign {
                target,
                target_span,
                offset: Offset::ZERO,
                subscript: None,
                value,
            },
            span,
        }
    }
}

impl ExprKind {
    /// The read of a target at an offset.
    pub fn read(target: Target, offset: Offset) -> ExprKind {
        ExprKind::Access {
            target,
            offset,
            subscript: None,
        }
    }
}

impl Expr {
    /// An expression whose type is not resolved yet.
    pub fn untyped(kind: ExprKind, span: Span) -> Expr {
        Expr {
            kind,
            dtype: None,
            span,
        }
    }

    /// Type of the value.
    ///
    /// # Panics
    ///
    /// Before types are resolved.
    pub fn dtype(&self) -> DType {
        self.dtype.expect("types are resolved")
    }
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number. Without a type it takes the type of what it is combined with.
    Literal(Literal),
    /// A scalar parameter.
    Scalar(ScalarId),
    /// A field or temporary at an offset.
    Access {
        /// What is read.
        target: Target,
        /// Where, from the point that is computed. Zero along axes the target does not have.
        offset: Offset,
        /// What the offset does not say: a level that is computed, indices of data dimensions.
        subscript: Option<Box<Subscript>>,
    },
    /// The index of the point that is computed along an axis, counted from the first point of the domain.
    Position(Axis),
    /// The number of points of the domain along an axis.
    Size(Axis),
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Two operands, a boolean.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `a if condition else b`: condition, `a`, `b`. Both values are defined at every point.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A maths function.
    Call(Builtin, Vec<Expr>),
    /// Conversion to [`Expr::dtype`], which is set from the start for a cast the user wrote.
    Cast(Box<Expr>),
    /// An index of a data dimension, unchanged. Only [`crate::elements`] makes it: where the elements of a target are told
    /// apart by comparisons, nothing else would notice an index outside.
    Checked(Box<Expr>, DataDimension),
}

/// What an index has to lie inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataDimension {
    /// What has the data dimension, or one of its elements.
    pub of: Target,
    /// Elements along it.
    pub size: u32,
}

/// A number in the source, or the value of an external.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
}

impl Literal {
    /// Zero as a type writes it.
    pub fn zero(dtype: DType) -> Literal {
        match dtype {
            DType::Bool => Literal::Bool(false),
            dtype if dtype.is_float() => Literal::Float(0.0),
            _ => Literal::Int(0),
        }
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `not x`, on booleans
    Not,
    /// `~x`, on integers and booleans
    Invert,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`, always a real number
    Div,
    /// `a // b`, rounded towards minus infinity
    FloorDiv,
    /// `a % b`, with the sign of `b`
    Mod,
    /// `a ** b`
    Pow,
    /// `a and b`, on booleans; both are evaluated
    And,
    /// `a or b`, on booleans; both are evaluated
    Or,
    /// `a & b`, on integers and booleans
    BitAnd,
    /// `a | b`, on integers and booleans
    BitOr,
    /// `a ^ b`, on integers and booleans
    BitXor,
    /// `a << b`, on integers
    ShiftLeft,
    /// `a >> b`, on integers, keeps the sign
    ShiftRight,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
}

/// Functions of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of gtscript")]
pub enum Builtin {
    Abs,
    /// Two operands, of equal ones the first; a NaN in either is the result, as `numpy.minimum`.
    Min,
    /// Two operands, of equal ones the first; a NaN in either is the result, as `numpy.maximum`.
    Max,
    /// As `%`: the sign of the divisor.
    Mod,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Sqrt,
    Exp,
    Log,
    Log10,
    Gamma,
    Cbrt,
    IsFinite,
    IsInf,
    IsNan,
    Floor,
    Ceil,
    Trunc,
    Erf,
    Erfc,
    /// To the nearest integer, ties to even.
    Round,
    /// To the nearest integer, ties away from zero.
    RoundAwayFromZero,
    Pow,
}

impl Builtin {
    /// Every function with its gtscript name.
    pub const ALL: [(Builtin, &'static str); 33] = [
        (Builtin::Abs, "abs"),
        (Builtin::Min, "min"),
        (Builtin::Max, "max"),
        (Builtin::Mod, "mod"),
        (Builtin::Sin, "sin"),
        (Builtin::Cos, "cos"),
        (Builtin::Tan, "tan"),
        (Builtin::Asin, "asin"),
        (Builtin::Acos, "acos"),
        (Builtin::Atan, "atan"),
        (Builtin::Sinh, "sinh"),
        (Builtin::Cosh, "cosh"),
        (Builtin::Tanh, "tanh"),
        (Builtin::Asinh, "asinh"),
        (Builtin::Acosh, "acosh"),
        (Builtin::Atanh, "atanh"),
        (Builtin::Sqrt, "sqrt"),
        (Builtin::Exp, "exp"),
        (Builtin::Log, "log"),
        (Builtin::Log10, "log10"),
        (Builtin::Gamma, "gamma"),
        (Builtin::Cbrt, "cbrt"),
        (Builtin::IsFinite, "isfinite"),
        (Builtin::IsInf, "isinf"),
        (Builtin::IsNan, "isnan"),
        (Builtin::Floor, "floor"),
        (Builtin::Ceil, "ceil"),
        (Builtin::Trunc, "trunc"),
        (Builtin::Erf, "erf"),
        (Builtin::Erfc, "erfc"),
        (Builtin::Round, "round"),
        (Builtin::RoundAwayFromZero, "round_away_from_zero"),
        (Builtin::Pow, "pow"),
    ];

    /// The function of a gtscript name.
    pub fn from_name(name: &str) -> Option<Builtin> {
        Builtin::ALL
            .into_iter()
            .find(|(_, known)| *known == name)
            .map(|(builtin, _)| builtin)
    }

    /// The gtscript name.
    pub fn name(self) -> &'static str {
        Builtin::ALL
            .into_iter()
            .find(|(builtin, _)| *builtin == self)
            .map_or("?", |(_, name)| name)
    }

    /// How many operands it takes in the IR. The front end folds calls of `min` and `max` with more into several.
    pub fn arity(self) -> usize {
        match self {
            Builtin::Min | Builtin::Max | Builtin::Mod | Builtin::Pow => 2,
            _ => 1,
        }
    }
}

impl Temporary {
    /// A temporary with one element at each point of the grid.
    pub fn at_every_point(name: String, dtype: Option<DType>, span: Span) -> Temporary {
        Temporary {
            name,
            dtype,
            axes: Axes::IJK,
            data_dims: Vec::new(),
            span,
        }
    }

    /// The name it has in the source: without what makes names of inlined functions unique.
    pub fn source_name(&self) -> &str {
        let name = self.name.rsplit('.').next().unwrap_or_default();
        name.split('@').next().unwrap_or_default()
    }

    /// The name in the source without the index of an element.
    pub fn whole_name(&self) -> &str {
        self.source_name().split('[').next().unwrap_or_default()
    }

    /// Whether it is one element of a temporary with data dimensions, taken apart.
    pub fn is_element(&self) -> bool {
        self.name.ends_with(']')
    }

    /// Whether it belongs to a function that was inlined, or to nothing the source names.
    pub fn is_inlined(&self) -> bool {
        self.name.contains('@')
    }
}

impl Stencil {
    /// A field by id.
    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.0 as usize]
    }

    /// A scalar by id.
    pub fn scalar(&self, id: ScalarId) -> &Scalar {
        &self.scalars[id.0 as usize]
    }

    /// A temporary by id.
    pub fn temporary(&self, id: TempId) -> &Temporary {
        &self.temporaries[id.0 as usize]
    }

    /// The name a target has in the IR, which nothing else has.
    pub fn target_name(&self, target: Target) -> &str {
        match target {
            Target::Field(id) => &self.field(id).name,
            Target::Temp(id) => &self.temporary(id).name,
        }
    }

    /// The name a target has in the source; several temporaries may have the same.
    pub fn source_name(&self, target: Target) -> &str {
        match target {
            Target::Field(id) => &self.field(id).name,
            Target::Temp(id) => self.temporary(id).source_name(),
        }
    }

    /// The element type of a target.
    ///
    /// # Panics
    ///
    /// Before types are resolved.
    pub fn target_dtype(&self, target: Target) -> DType {
        match target {
            Target::Field(id) => self.field(id).dtype,
            Target::Temp(id) => self.temporary(id).dtype.expect("types are resolved"),
        }
    }

    /// The axes a target extends along.
    pub fn target_axes(&self, target: Target) -> Axes {
        match target {
            Target::Field(id) => self.field(id).axes,
            Target::Temp(id) => self.temporary(id).axes,
        }
    }

    /// Sizes of the data dimensions of a target.
    pub fn data_dims(&self, target: Target) -> &[u32] {
        match target {
            Target::Field(id) => &self.field(id).data_dims,
            Target::Temp(id) => &self.temporary(id).data_dims,
        }
    }
}

impl UnaryOp {
    /// How gtscript writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "not",
            UnaryOp::Invert => "~",
        }
    }
}

impl BinaryOp {
    /// Every operator.
    pub const ALL: [BinaryOp; 14] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::FloorDiv,
        BinaryOp::Mod,
        BinaryOp::Pow,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::BitAnd,
        BinaryOp::BitOr,
        BinaryOp::BitXor,
        BinaryOp::ShiftLeft,
        BinaryOp::ShiftRight,
    ];

    /// How gtscript writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Mod => "%",
            BinaryOp::Pow => "**",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
        }
    }
}

impl CompareOp {
    /// Every comparison.
    pub const ALL: [CompareOp; 6] = [
        CompareOp::Eq,
        CompareOp::Ne,
        CompareOp::Lt,
        CompareOp::Le,
        CompareOp::Gt,
        CompareOp::Ge,
    ];

    /// How gtscript writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
        }
    }
}
