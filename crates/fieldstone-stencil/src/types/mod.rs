//! Type resolution: every expression gets a type, every conversion becomes a [`ExprKind::Cast`].
//!
//! The rules are NumPy's (version 2): two typed operands meet in `numpy.promote_types`; a literal, and an expression of
//! literals only, is *weak*: it takes the type of what it meets, as long as that can hold its kind of number (an integer
//! literal is any number, a real literal makes integers `float64`). Weak expressions that meet nothing are `int64` and
//! `float64`, and expressions of several literals are computed in those before they are converted, as Python computes them.
//! [`Precision`] makes literals strong instead.
//!
//! What follows from that for the IR:
//!
//! - A literal keeps its kind: `2` beside a `float32` is `Literal::Int(2)` of type `float32`. So `x ** 2` is recognised by
//!   an exponent that is a [`Literal::Int`].
//! - `pow(a, b)` and `mod(a, b)` become [`BinaryOp::Pow`] and [`BinaryOp::Mod`]; the sign of a negative literal becomes part
//!   of it; `floor`, `ceil`, `trunc`, `round` and `round_away_from_zero` of integers vanish.
//! - Conditions and operands of `and`, `or`, `not` are booleans. Numbers have no truth value, but literals do.
//! - A boolean beside a number counts as 0 or 1; arithmetic on booleans alone is an error, for NumPy and Python disagree on it.
//! - A value is converted to the type of the target it is stored to, whatever that is, as NumPy's `a[...] = b` does.
//!
//! A temporary without annotation has the type that all values assigned to it have in common, wherever the assignments are.

use crate::diagnostic::{Category, Code, Diagnostic};
use crate::dtype::DType;
use crate::ir::{
    BinaryOp, Builtin, CompareOp, Expr, ExprKind, Literal, Stencil, Stmt, StmtKind, Target, TempId,
    UnaryOp,
};
use crate::source::Span;

/// Arithmetic on booleans, or a function of numbers on a boolean.
pub const BOOLEAN_ARITHMETIC: Code = Code(300);
/// `& | ^ ~ << >>` on real numbers, or on integers without a common integer type.
pub const BITWISE_OPERANDS: Code = Code(301);
/// `and`, `or`, `not` on numbers.
pub const LOGICAL_OPERANDS: Code = Code(302);
/// The condition of an `if`, or of a conditional expression, is a number.
pub const CONDITION: Code = Code(303);
/// A literal that the type it has to take cannot hold.
pub const LITERAL_RANGE: Code = Code(304);
/// An integer to a negative power.
pub const NEGATIVE_POWER: Code = Code(305);
/// A temporary that is computed from nothing but itself.
pub const UNKNOWN_TYPE: Code = Code(306);
/// An expression nested more deeply than [`MAX_DEPTH`].
pub const TOO_DEEP: Code = Code(307);
/// A literal precision that is no type.
pub const PRECISION: Code = Code(308);

/// Levels of nesting an expression, or `if` statements, may have. A sum of `n` terms without parentheses has `n - 1`.
///
/// Every later pass may recurse into expressions; the limit keeps it within a thread's stack.
pub const MAX_DEPTH: usize = 400;

/// Bits of literals that are not weak; `None` leaves them weak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Precision {
    /// Integers: 8, 16, 32 or 64.
    pub int: Option<u32>,
    /// Real numbers: 32 or 64.
    pub float: Option<u32>,
}

impl Precision {
    /// The types of integer and real literals.
    fn types(self) -> Result<(Ty, Ty), Diagnostic> {
        let int = match self.int {
            None => Ty::Weak(Weak::Int),
            Some(8) => Ty::Strong(DType::Int8),
            Some(16) => Ty::Strong(DType::Int16),
            Some(32) => Ty::Strong(DType::Int32),
            Some(64) => Ty::Strong(DType::Int64),
            Some(bits) => {
                return Err(bad_precision(
                    "literal_int_precision",
                    bits,
                    "8, 16, 32 or 64",
                ));
            }
        };
        let float = match self.float {
            None => Ty::Weak(Weak::Float),
            Some(32) => Ty::Strong(DType::Float32),
            Some(64) => Ty::Strong(DType::Float64),
            Some(bits) => return Err(bad_precision("literal_float_precision", bits, "32 or 64")),
        };
        Ok((int, float))
    }
}

fn bad_precision(option: &str, given: u32, expected: &str) -> Diagnostic {
    Diagnostic::error(
        PRECISION,
        Category::DataType,
        Span::default(),
        format!("`{option}` is {given}, but must be {expected}"),
    )
}

/// The smallest type that holds the values of both, as `numpy.promote_types`.
pub fn promote(a: DType, b: DType) -> DType {
    Common::default()
        .with(Ty::Strong(a))
        .with(Ty::Strong(b))
        .ty()
        .dtype()
}

/// Fills every type and makes every conversion a cast.
///
/// # Errors
///
/// Every place where types do not fit.
pub fn resolve(stencil: Stencil, precision: Precision) -> Result<Stencil, Vec<Diagnostic>> {
    let (int, float) = precision.types().map_err(|error| vec![error])?;
    let mut errors = Vec::new();
    let stencil = reject_deep(stencil, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut types = Types {
        int,
        float,
        fields: stencil.fields.iter().map(|field| field.dtype).collect(),
        scalars: stencil.scalars.iter().map(|scalar| scalar.dtype).collect(),
        temporaries: (stencil.temporaries.iter())
            .map(|temporary| temporary.dtype.map_or(Ty::Unknown, Ty::Strong))
            .collect(),
    };
    types.infer_temporaries(&stencil, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut stencil = stencil;
    for (temporary, ty) in stencil.temporaries.iter_mut().zip(&types.temporaries) {
        // A temporary that nothing assigns is never read either; any type will do.
        temporary.dtype = Some(ty.dtype());
    }
    for section in (stencil.computations.iter_mut()).flat_map(|c| &mut c.sections) {
        section.body = types.block(std::mem::take(&mut section.body), &mut errors);
    }
    if errors.is_empty() {
        Ok(stencil)
    } else {
        Err(errors)
    }
}

/// The kind of number a literal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weak {
    Int,
    Float,
}

/// What is known of the type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    /// Nothing: the value is a temporary's whose assignments were not seen yet.
    Unknown,
    /// It takes the type of what it meets.
    Weak(Weak),
    Strong(DType),
}

impl Ty {
    /// The type of a value that meets nothing else.
    fn dtype(self) -> DType {
        match self {
            Ty::Strong(dtype) => dtype,
            Ty::Weak(Weak::Int) => DType::Int64,
            Ty::Weak(Weak::Float) | Ty::Unknown => DType::Float64,
        }
    }

    fn is_bool(self) -> bool {
        self == Ty::Strong(DType::Bool)
    }

    fn is_int(self) -> bool {
        match self {
            Ty::Unknown => false,
            Ty::Weak(weak) => weak == Weak::Int,
            Ty::Strong(dtype) => dtype.is_int(),
        }
    }

    fn is_float(self) -> bool {
        match self {
            Ty::Unknown => false,
            Ty::Weak(weak) => weak == Weak::Float,
            Ty::Strong(dtype) => dtype.is_float(),
        }
    }

    /// How messages call it.
    fn describe(self) -> String {
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
struct Common {
    /// One bit per strong type.
    strong: u16,
    weak: Option<Weak>,
}

impl Common {
    fn with(mut self, ty: Ty) -> Common {
        match ty {
            Ty::Unknown => {}
            Ty::Weak(weak) => self.weak = self.weak.max(Some(weak)),
            Ty::Strong(dtype) => self.strong |= 1 << dtype as u16,
        }
        self
    }

    fn join(self, other: Common) -> Common {
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

    fn ty(self) -> Ty {
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

    /// `numpy.promote_types` of all strong types.
    fn promoted(self) -> DType {
        let widest = |which: fn(DType) -> bool| {
            (self.strong_types().filter(|dtype| which(*dtype)))
                .map(DType::size)
                .max()
                .unwrap_or(0)
        };
        let float = widest(DType::is_float);
        let signed = widest(DType::is_signed);
        let unsigned = widest(|dtype| dtype.is_int() && !dtype.is_signed());
        if float > 0 {
            // The 24 bits of a float32's mantissa hold integers of 16 bits, not of 32.
            return if float == 8 || signed.max(unsigned) >= 4 {
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

/// The least and the largest value of an integer type.
fn int_range(dtype: DType) -> (i128, i128) {
    let bits = dtype.size() as u32 * 8;
    if dtype.is_signed() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

/// What an operation makes of the types of its operands.
struct Signature {
    /// The type both operands are converted to.
    operands: Ty,
    result: Ty,
}

/// Why an operation has no meaning for its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misfit {
    BooleanArithmetic,
    Bitwise,
    NoCommonInteger,
    NegativePower,
}

/// Whether the operator does arithmetic, works on bits or on truth values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Arithmetic,
    Bitwise,
    Shift,
    Logical,
}

fn family(op: BinaryOp) -> Family {
    match op {
        BinaryOp::And | BinaryOp::Or => Family::Logical,
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => Family::Bitwise,
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => Family::Shift,
        _ => Family::Arithmetic,
    }
}

/// The types of a binary operation. `exponent` is the literal exponent of a power.
fn binary_signature(
    op: BinaryOp,
    a: Ty,
    b: Ty,
    exponent: Option<i64>,
) -> Result<Signature, Misfit> {
    let common = Common::default().with(a).with(b).ty();
    let same = |ty| {
        Ok(Signature {
            operands: ty,
            result: ty,
        })
    };
    match family(op) {
        Family::Logical => same(Ty::Strong(DType::Bool)),
        Family::Bitwise | Family::Shift => {
            if a.is_float() || b.is_float() {
                Err(Misfit::Bitwise)
            } else if common.is_float() {
                Err(Misfit::NoCommonInteger)
            } else if common.is_bool() && family(op) == Family::Shift {
                Err(Misfit::BooleanArithmetic)
            } else {
                same(common)
            }
        }
        Family::Arithmetic => {
            if common.is_bool() {
                return Err(Misfit::BooleanArithmetic);
            }
            let negative_power = op == BinaryOp::Pow && exponent.is_some_and(|n| n < 0);
            let real = match common {
                Ty::Weak(Weak::Int) => Ty::Weak(Weak::Float),
                Ty::Strong(dtype) if dtype.is_int() => Ty::Strong(DType::Float64),
                other => other,
            };
            match common {
                _ if op == BinaryOp::Div => same(real),
                Ty::Weak(_) if negative_power => same(real),
                _ if negative_power && common.is_int() => Err(Misfit::NegativePower),
                _ => same(common),
            }
        }
    }
}

/// The type of a function's operand and result, given the operand's.
fn call_signature(builtin: Builtin, a: Ty) -> Result<Signature, Misfit> {
    if a.is_bool() && !matches!(builtin, Builtin::Min | Builtin::Max) {
        return Err(Misfit::BooleanArithmetic);
    }
    let real = match a {
        Ty::Weak(_) => Ty::Weak(Weak::Float),
        Ty::Strong(dtype) if dtype.is_int() => Ty::Strong(DType::Float64),
        other => other,
    };
    Ok(match builtin {
        Builtin::Abs | Builtin::Min | Builtin::Max | Builtin::Mod | Builtin::Pow => Signature {
            operands: a,
            result: a,
        },
        _ if is_rounding(builtin) => Signature {
            operands: a,
            result: a,
        },
        Builtin::IsFinite | Builtin::IsInf | Builtin::IsNan => Signature {
            operands: real,
            result: Ty::Strong(DType::Bool),
        },
        _ => Signature {
            operands: real,
            result: real,
        },
    })
}

fn is_rounding(builtin: Builtin) -> bool {
    matches!(
        builtin,
        Builtin::Floor
            | Builtin::Ceil
            | Builtin::Trunc
            | Builtin::Round
            | Builtin::RoundAwayFromZero
    )
}

/// `pow` and `mod` are operators under another name.
fn as_operator(builtin: Builtin) -> Option<BinaryOp> {
    match builtin {
        Builtin::Pow => Some(BinaryOp::Pow),
        Builtin::Mod => Some(BinaryOp::Mod),
        _ => None,
    }
}

/// The value of an integer literal, with its sign.
fn literal_int(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(n)) => Some(*n),
        ExprKind::Unary(UnaryOp::Neg, inner) => literal_int(inner)?.checked_neg(),
        _ => None,
    }
}

/// The types of everything that has a name.
struct Types {
    int: Ty,
    float: Ty,
    fields: Vec<DType>,
    scalars: Vec<DType>,
    temporaries: Vec<Ty>,
}

// ---------------------------------------------------------------------------------------------------------------------
// What type an expression will have

impl Types {
    fn target(&self, target: Target) -> Ty {
        match target {
            Target::Field(id) => Ty::Strong(self.fields[id.0 as usize]),
            Target::Temp(id) => self.temporaries[id.0 as usize],
        }
    }

    fn literal(&self, literal: Literal) -> Ty {
        match literal {
            Literal::Bool(_) => Ty::Strong(DType::Bool),
            Literal::Int(_) => self.int,
            Literal::Float(_) => self.float,
        }
    }

    /// The type of an expression as far as it is known; what is wrong with it is reported later.
    fn infer(&self, expr: &Expr) -> Ty {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(*literal),
            ExprKind::Scalar(id) => Ty::Strong(self.scalars[id.0 as usize]),
            ExprKind::Access { target, .. } => self.target(*target),
            ExprKind::Unary(UnaryOp::Not, _) | ExprKind::Compare(..) => Ty::Strong(DType::Bool),
            ExprKind::Unary(_, a) => self.infer(a),
            ExprKind::Binary(op, a, b) => self.infer_binary(*op, a, b),
            ExprKind::Select(_, a, b) => self.common(&[&**a, &**b]),
            ExprKind::Call(builtin, operands) => match (as_operator(*builtin), &operands[..]) {
                (Some(op), [a, b]) => self.infer_binary(op, a, b),
                _ => call_signature(*builtin, self.common(operands))
                    .map_or(Ty::Unknown, |signature| signature.result),
            },
            ExprKind::Cast(_) => expr.dtype.map_or(Ty::Unknown, Ty::Strong),
        }
    }

    fn infer_binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Ty {
        binary_signature(op, self.infer(a), self.infer(b), literal_int(b))
            .map_or(Ty::Unknown, |signature| signature.result)
    }

    fn common<E: std::borrow::Borrow<Expr>>(&self, exprs: &[E]) -> Ty {
        (exprs.iter())
            .fold(Common::default(), |common, expr| {
                common.with(self.infer(expr.borrow()))
            })
            .ty()
    }

    /// Finds the types of temporaries without annotation.
    fn infer_temporaries(&mut self, stencil: &Stencil, errors: &mut Vec<Diagnostic>) {
        let annotated: Vec<bool> = (stencil.temporaries.iter())
            .map(|temporary| temporary.dtype.is_some())
            .collect();
        let mut assignments = Vec::new();
        for section in stencil.computations.iter().flat_map(|c| &c.sections) {
            collect_assignments(&section.body, &annotated, &mut assignments);
        }
        let mut seeds = vec![Common::default(); annotated.len()];
        self.iterate(&assignments, &seeds);
        // Temporaries of literals only are int64 and float64, which their readers have to know.
        for (seed, ty) in seeds.iter_mut().zip(&self.temporaries) {
            if let Ty::Weak(_) = ty {
                *seed = Common::default().with(Ty::Strong(ty.dtype()));
            }
        }
        self.iterate(&assignments, &seeds);

        let mut reported = vec![false; annotated.len()];
        for (TempId(n), value) in assignments {
            let n = n as usize;
            if self.temporaries[n] == Ty::Unknown && !reported[n] && !self.has_misfit(value) {
                reported[n] = true;
                errors.push(unknown_type(stencil, n, value.span));
            }
        }
    }

    /// Repeats inference until no temporary's type changes.
    fn iterate(&mut self, assignments: &[(TempId, &Expr)], seeds: &[Common]) {
        // Types found early may be too small or, where inference went in circles, of the wrong kind; so every round starts
        // afresh. A round that keeps what was found before ends for sure, and is the last resort.
        const FRESH_ROUNDS: usize = 16;
        for (ty, seed) in self.temporaries.iter_mut().zip(seeds) {
            if *seed != Common::default() {
                *ty = seed.ty();
            }
        }
        let mut found = seeds.to_vec();
        for round in 0.. {
            let before = found.clone();
            if round < FRESH_ROUNDS {
                found.copy_from_slice(seeds);
            }
            for (TempId(n), value) in assignments {
                let n = *n as usize;
                found[n] = found[n].with(self.infer(value));
                self.temporaries[n] = found[n].join(before[n]).ty();
            }
            for (TempId(n), _) in assignments {
                self.temporaries[*n as usize] = found[*n as usize].ty();
            }
            if found == before {
                break;
            }
        }
    }

    /// Whether an expression has an error of its own, which will be reported.
    fn has_misfit(&self, expr: &Expr) -> bool {
        self.expr(expr.clone()).is_err()
    }
}

/// Every assignment to a temporary without annotation, in order.
fn collect_assignments<'a>(
    body: &'a [Stmt],
    annotated: &[bool],
    found: &mut Vec<(TempId, &'a Expr)>,
) {
    for statement in body {
        match &statement.kind {
            StmtKind::Assign { target, value, .. } => {
                if let Target::Temp(id) = target
                    && !annotated[id.0 as usize]
                {
                    found.push((*id, value));
                }
            }
            StmtKind::If { then, orelse, .. } => {
                collect_assignments(then, annotated, found);
                collect_assignments(orelse, annotated, found);
            }
        }
    }
}

fn unknown_type(stencil: &Stencil, n: usize, value: Span) -> Diagnostic {
    let temporary = &stencil.temporaries[n];
    Diagnostic::error(
        UNKNOWN_TYPE,
        Category::DataType,
        value,
        format!("the type of `{}` cannot be found", temporary.source_name()),
    )
    .with_label(format!(
        "this is computed from `{}` itself",
        temporary.source_name()
    ))
    .with_help(format!(
        "annotate it where it is first assigned, as in `{}: Field[float] = 0.0`",
        temporary.source_name()
    ))
}

// ---------------------------------------------------------------------------------------------------------------------
// Writing the types down

/// A typed expression, and whether its type may still give way.
type Typed = (Expr, Ty);

impl Types {
    fn block(&self, body: Vec<Stmt>, errors: &mut Vec<Diagnostic>) -> Vec<Stmt> {
        body.into_iter()
            .map(|statement| self.statement(statement, errors))
            .collect()
    }

    fn statement(&self, statement: Stmt, errors: &mut Vec<Diagnostic>) -> Stmt {
        let mut checked = |result: Result<Expr, Box<Diagnostic>>, span| {
            result.unwrap_or_else(|error| {
                errors.push(*error);
                Expr::untyped(ExprKind::Literal(Literal::Bool(false)), span)
            })
        };
        let kind = match statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                value,
            } => {
                let span = value.span;
                let value = self
                    .expr(value)
                    .and_then(|value| coerce(value, self.target(target).dtype()));
                StmtKind::Assign {
                    target,
                    target_span,
                    value: checked(value, span),
                }
            }
            StmtKind::If {
                condition,
                then,
                orelse,
            } => {
                let span = condition.span;
                let condition = checked(self.condition(condition), span);
                StmtKind::If {
                    condition,
                    then: self.block(then, errors),
                    orelse: self.block(orelse, errors),
                }
            }
        };
        Stmt {
            kind,
            span: statement.span,
        }
    }

    fn condition(&self, expr: Expr) -> Result<Expr, Box<Diagnostic>> {
        condition(self.expr(expr)?)
    }

    /// The typed form of an expression; with a stack of its own, for resolving needs much of it.
    fn expr(&self, expr: Expr) -> Result<Typed, Box<Diagnostic>> {
        let mut todo = vec![Step::Resolve(expr)];
        let mut done: Vec<Typed> = Vec::new();
        while let Some(step) = todo.pop() {
            match step {
                Step::Resolve(expr) => match self.leaf(&expr) {
                    Some(leaf) => done.push(leaf),
                    None => open(expr, &mut todo),
                },
                Step::Build(operation, operands, span) => {
                    let operands = done.split_off(done.len() - operands);
                    done.push(build(operation, operands, span)?);
                }
            }
        }
        Ok(done.remove(0))
    }

    fn leaf(&self, expr: &Expr) -> Option<Typed> {
        let (kind, ty) = match expr.kind {
            ExprKind::Literal(literal) => (ExprKind::Literal(literal), self.literal(literal)),
            ExprKind::Scalar(id) => {
                let ty = Ty::Strong(self.scalars[id.0 as usize]);
                (ExprKind::Scalar(id), ty)
            }
            ExprKind::Access { target, offset } => {
                (ExprKind::Access { target, offset }, self.target(target))
            }
            _ => return None,
        };
        Some((typed(kind, ty, expr.span), ty))
    }
}

/// What is left to do for an expression.
enum Step {
    Resolve(Expr),
    /// Put an operation on top of so many operands.
    Build(Operation, usize, Span),
}

/// An expression without its operands.
enum Operation {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare(CompareOp),
    Select,
    Call(Builtin),
    Cast(DType),
}

/// Takes an expression apart: its operands are to be resolved first.
fn open(expr: Expr, todo: &mut Vec<Step>) {
    let (operation, operands) = match expr.kind {
        ExprKind::Literal(_) | ExprKind::Scalar(_) | ExprKind::Access { .. } => return,
        ExprKind::Unary(op, a) => (Operation::Unary(op), vec![*a]),
        ExprKind::Binary(op, a, b) => (Operation::Binary(op), vec![*a, *b]),
        ExprKind::Compare(op, a, b) => (Operation::Compare(op), vec![*a, *b]),
        ExprKind::Select(condition, a, b) => (Operation::Select, vec![*condition, *a, *b]),
        ExprKind::Call(builtin, operands) => match as_operator(builtin) {
            Some(op) => (Operation::Binary(op), operands),
            None => (Operation::Call(builtin), operands),
        },
        ExprKind::Cast(a) => match expr.dtype {
            Some(dtype) => (Operation::Cast(dtype), vec![*a]),
            // A conversion to nothing in particular.
            None => return todo.push(Step::Resolve(*a)),
        },
    };
    todo.push(Step::Build(operation, operands.len(), expr.span));
    todo.extend(operands.into_iter().rev().map(Step::Resolve));
}

fn build(
    operation: Operation,
    mut operands: Vec<Typed>,
    span: Span,
) -> Result<Typed, Box<Diagnostic>> {
    let boolean = Ty::Strong(DType::Bool);
    let mut next = || operands.remove(0);
    match operation {
        Operation::Unary(op) => unary(op, next(), span),
        Operation::Binary(op) => binary(op, next(), next(), span),
        Operation::Compare(op) => {
            let (a, b, _) = unify_for_comparison(next(), next())?;
            let kind = ExprKind::Compare(op, Box::new(a), Box::new(b));
            Ok((typed(kind, boolean, span), boolean))
        }
        Operation::Select => {
            let condition = condition(next())?;
            let (a, b, ty) = unify(next(), next())?;
            let kind = ExprKind::Select(Box::new(condition), Box::new(a), Box::new(b));
            Ok((typed(kind, ty, span), ty))
        }
        Operation::Call(builtin) => call(builtin, operands, span),
        Operation::Cast(dtype) => Ok((cast(next(), dtype, span), Ty::Strong(dtype))),
    }
}

fn condition(expr: Typed) -> Result<Expr, Box<Diagnostic>> {
    truth(expr, |span, ty| {
        Diagnostic::error(
            CONDITION,
            Category::DataType,
            span,
            "a condition must be a boolean",
        )
        .with_label(format!("this is {}", ty.describe()))
        .with_help("compare it with something, as in `x != 0`")
    })
}

fn unary(op: UnaryOp, (a, ty): Typed, span: Span) -> Result<Typed, Box<Diagnostic>> {
    match op {
        UnaryOp::Neg => {
            if let Some(literal) = negated(&a) {
                return Ok((typed(ExprKind::Literal(literal), ty, span), ty));
            }
            if ty.is_bool() {
                return Err(misfit(Misfit::BooleanArithmetic, "-", span, &[(&a, ty)]));
            }
        }
        UnaryOp::Not => {
            let a = truth((a, ty), |place, ty| logical("not", place, ty))?;
            let ty = Ty::Strong(DType::Bool);
            return Ok((typed(ExprKind::Unary(op, Box::new(a)), ty, span), ty));
        }
        UnaryOp::Invert => {
            if ty.is_float() {
                return Err(misfit(Misfit::Bitwise, "~", span, &[(&a, ty)]));
            }
        }
    }
    Ok((typed(ExprKind::Unary(op, Box::new(a)), ty, span), ty))
}

fn binary(op: BinaryOp, a: Typed, b: Typed, span: Span) -> Result<Typed, Box<Diagnostic>> {
    if family(op) == Family::Logical {
        let error = |place, ty| logical(op.symbol(), place, ty);
        let (a, b) = (truth(a, error)?, truth(b, error)?);
        let ty = Ty::Strong(DType::Bool);
        let kind = ExprKind::Binary(op, Box::new(a), Box::new(b));
        return Ok((typed(kind, ty, span), ty));
    }
    let Signature { operands, result } = binary_signature(op, a.1, b.1, literal_int(&b.0))
        .map_err(|reason| misfit(reason, op.symbol(), span, &[(&a.0, a.1), (&b.0, b.1)]))?;
    let dtype = operands.dtype();
    let (a, b) = (coerce(a, dtype)?, coerce(b, dtype)?);
    let kind = ExprKind::Binary(op, Box::new(a), Box::new(b));
    Ok((typed(kind, result, span), result))
}

fn call(builtin: Builtin, operands: Vec<Typed>, span: Span) -> Result<Typed, Box<Diagnostic>> {
    let common = (operands.iter())
        .fold(Common::default(), |common, (_, ty)| common.with(*ty))
        .ty();
    let signature = call_signature(builtin, common).map_err(|reason| {
        let operands: Vec<_> = operands.iter().map(|(expr, ty)| (expr, *ty)).collect();
        misfit(reason, builtin.name(), span, &operands)
    })?;
    let dtype = signature.operands.dtype();
    let mut operands: Vec<Expr> = operands
        .into_iter()
        .map(|operand| coerce(operand, dtype))
        .collect::<Result<_, _>>()?;
    if is_rounding(builtin)
        && !dtype.is_float()
        && let Some(operand) = operands.pop()
    {
        return Ok((operand, signature.result));
    }
    let kind = ExprKind::Call(builtin, operands);
    Ok((typed(kind, signature.result, span), signature.result))
}

/// As [`unify`], but a literal that is out of the other's range is compared all the same, as NumPy does.
fn unify_for_comparison(a: Typed, b: Typed) -> Result<(Expr, Expr, Ty), Box<Diagnostic>> {
    let widened = |operand: Typed, literal: &Typed| match (operand.1, &literal.0.kind) {
        (Ty::Strong(dtype), ExprKind::Literal(Literal::Int(n)))
            if dtype.is_int()
                && dtype != DType::UInt64
                && literal.1 == Ty::Weak(Weak::Int)
                && !fits(*n, dtype) =>
        {
            let span = operand.0.span;
            (cast(operand, DType::Int64, span), Ty::Strong(DType::Int64))
        }
        _ => operand,
    };
    let a = widened(a, &b);
    let b = widened(b, &a);
    unify(a, b)
}

/// Both values in the type they have in common.
fn unify(a: Typed, b: Typed) -> Result<(Expr, Expr, Ty), Box<Diagnostic>> {
    let ty = Common::default().with(a.1).with(b.1).ty();
    let dtype = ty.dtype();
    Ok((coerce(a, dtype)?, coerce(b, dtype)?, ty))
}

fn typed(kind: ExprKind, ty: Ty, span: Span) -> Expr {
    Expr {
        kind,
        dtype: Some(ty.dtype()),
        span,
    }
}

pub(crate) fn fits(n: i64, dtype: DType) -> bool {
    let (least, largest) = int_range(dtype);
    (least..=largest).contains(&i128::from(n))
}

/// The literal with the other sign, where that is a literal.
fn negated(expr: &Expr) -> Option<Literal> {
    match expr.kind {
        ExprKind::Literal(Literal::Int(n)) => n.checked_neg().map(Literal::Int),
        ExprKind::Literal(Literal::Float(x)) => Some(Literal::Float(-x)),
        _ => None,
    }
}

/// The literal as one of `dtype`, where that loses nothing that a cast would keep.
fn retyped(expr: &Expr, ty: Ty, dtype: DType) -> Option<Literal> {
    match expr.kind {
        ExprKind::Literal(Literal::Bool(b)) if dtype == DType::Bool => Some(Literal::Bool(b)),
        ExprKind::Literal(Literal::Int(n)) if dtype.is_int() && fits(n, dtype) => {
            Some(Literal::Int(n))
        }
        ExprKind::Literal(Literal::Int(n)) if dtype.is_float() => Some(Literal::Int(n)),
        // One that is already rounded to float32 stays so.
        ExprKind::Literal(Literal::Float(x))
            if dtype.is_float() && (ty == Ty::Weak(Weak::Float) || ty.dtype() == dtype) =>
        {
            Some(Literal::Float(x))
        }
        _ => None,
    }
}

/// Converts a value to the type it is needed in.
fn coerce((expr, ty): Typed, dtype: DType) -> Result<Expr, Box<Diagnostic>> {
    if let ExprKind::Literal(Literal::Int(n)) = expr.kind
        && ty == Ty::Weak(Weak::Int)
        && dtype.is_int()
        && !fits(n, dtype)
    {
        let (least, largest) = int_range(dtype);
        return Err(Box::new(
            Diagnostic::error(
                LITERAL_RANGE,
                Category::DataType,
                expr.span,
                format!("{n} does not fit {dtype}"),
            )
            .with_label(format!("{dtype} holds {least} to {largest}"))
            .with_help(format!(
                "convert the other operand to a wider type, or write `{dtype}({n})` to wrap around"
            )),
        ));
    }
    let span = expr.span;
    Ok(cast((expr, ty), dtype, span))
}

/// Converts a value, whatever is lost.
fn cast((expr, ty): Typed, dtype: DType, span: Span) -> Expr {
    let kind = match retyped(&expr, ty, dtype) {
        Some(literal) => ExprKind::Literal(literal),
        None if expr.dtype == Some(dtype) => return expr,
        None => ExprKind::Cast(Box::new(expr)),
    };
    typed(kind, Ty::Strong(dtype), span)
}

/// The truth value of an expression: of booleans and literals.
fn truth(
    (expr, ty): Typed,
    error: impl Fn(Span, Ty) -> Diagnostic,
) -> Result<Expr, Box<Diagnostic>> {
    let value = match expr.kind {
        _ if ty.is_bool() => return Ok(expr),
        ExprKind::Literal(Literal::Int(n)) => n != 0,
        ExprKind::Literal(Literal::Float(x)) => x != 0.0,
        _ => return Err(Box::new(error(expr.span, ty))),
    };
    let kind = ExprKind::Literal(Literal::Bool(value));
    Ok(typed(kind, Ty::Strong(DType::Bool), expr.span))
}

fn logical(op: &str, place: Span, ty: Ty) -> Diagnostic {
    Diagnostic::error(
        LOGICAL_OPERANDS,
        Category::DataType,
        place,
        format!("`{op}` needs booleans"),
    )
    .with_label(format!("this is {}", ty.describe()))
    .with_help("compare it with something, as in `x != 0`, or use `& | ~` for the bits of integers")
}

fn misfit(reason: Misfit, op: &str, span: Span, operands: &[(&Expr, Ty)]) -> Box<Diagnostic> {
    let (code, message, help) = match reason {
        Misfit::BooleanArithmetic => (
            BOOLEAN_ARITHMETIC,
            format!("`{op}` has no meaning for booleans"),
            "convert one to a number, as in `float(a)` or `int(a)`, or use `and`, `or`, `not`",
        ),
        Misfit::Bitwise => (
            BITWISE_OPERANDS,
            format!("`{op}` needs integers or booleans"),
            "convert the real number, as in `int(x)`",
        ),
        Misfit::NoCommonInteger => (
            BITWISE_OPERANDS,
            format!("`{op}` has operands without a common integer type"),
            "convert one to the other's type",
        ),
        Misfit::NegativePower => (
            NEGATIVE_POWER,
            "an integer has no negative powers".to_string(),
            "convert it to a real number first, as in `float(n) ** -2`",
        ),
    };
    let mut diagnostic = Diagnostic::error(code, Category::DataType, span, message).with_help(help);
    for (operand, ty) in operands {
        diagnostic = diagnostic.with_secondary(operand.span, format!("this is {}", ty.describe()));
    }
    Box::new(diagnostic)
}

// ---------------------------------------------------------------------------------------------------------------------
// Depth

/// Replaces expressions and bodies that later passes could not walk, and reports them.
fn reject_deep(mut stencil: Stencil, errors: &mut Vec<Diagnostic>) -> Stencil {
    for section in stencil
        .computations
        .iter_mut()
        .flat_map(|c| &mut c.sections)
    {
        let mut todo: Vec<(&mut Stmt, usize)> = section
            .body
            .iter_mut()
            .map(|statement| (statement, 0))
            .collect();
        while let Some((statement, depth)) = todo.pop() {
            let span = statement.span;
            match &mut statement.kind {
                StmtKind::Assign { value, .. } => reject_deep_expr(value, errors),
                StmtKind::If {
                    condition,
                    then,
                    orelse,
                } => {
                    reject_deep_expr(condition, errors);
                    if depth >= MAX_DEPTH {
                        errors.push(too_deep(span, "this `if` is nested"));
                        continue;
                    }
                    let inner = then.iter_mut().chain(orelse);
                    todo.extend(inner.map(|statement| (statement, depth + 1)));
                }
            }
        }
    }
    stencil
}

fn reject_deep_expr(expr: &mut Expr, errors: &mut Vec<Diagnostic>) {
    let mut todo = vec![(&*expr, 1)];
    let mut deepest = 0;
    while let Some((node, depth)) = todo.pop() {
        deepest = deepest.max(depth);
        todo.extend(node.operands().map(|operand| (operand, depth + 1)));
    }
    if deepest <= MAX_DEPTH {
        return;
    }
    errors.push(too_deep(expr.span, "this expression is nested"));
    // Dropped piece by piece, for the destructor of a tree recurses.
    let nothing = || ExprKind::Literal(Literal::Bool(false));
    let mut todo = vec![std::mem::replace(&mut expr.kind, nothing())];
    while let Some(kind) = todo.pop() {
        match kind {
            ExprKind::Literal(_) | ExprKind::Scalar(_) | ExprKind::Access { .. } => {}
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => todo.push(a.kind),
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
                todo.extend([a.kind, b.kind]);
            }
            ExprKind::Select(c, a, b) => todo.extend([c.kind, a.kind, b.kind]),
            ExprKind::Call(_, operands) => todo.extend(operands.into_iter().map(|o| o.kind)),
        }
    }
}

fn too_deep(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(
        TOO_DEEP,
        Category::Unsupported,
        span,
        format!("{what} more than {MAX_DEPTH} levels deep"),
    )
    .with_help("split it, and give the parts names")
}
