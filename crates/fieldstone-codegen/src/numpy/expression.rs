//! Expressions as Python text.

use std::collections::BTreeMap;

use fieldstone_stencil::elements::constant;
use fieldstone_stencil::ir::{
    BinaryOp, Builtin, Expr, ExprKind, LevelIndex, Literal, Stencil, Subscript, Target, UnaryOp,
};
use fieldstone_stencil::{DType, Offset, Span};

use super::names::Names;
use crate::power;

/// How strongly Python binds the parts of a text, as in its reference's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Comparison,
    Or,
    Xor,
    And,
    Shift,
    Sum,
    Product,
    Sign,
    Atom,
}

impl Binding {
    /// What a right operand must have, so that it is not taken for a part of the operation.
    fn tighter(self) -> Binding {
        match self {
            Binding::Comparison => Binding::Or,
            Binding::Or => Binding::Xor,
            Binding::Xor => Binding::And,
            Binding::And => Binding::Shift,
            Binding::Shift => Binding::Sum,
            Binding::Sum => Binding::Product,
            Binding::Product => Binding::Sign,
            Binding::Sign | Binding::Atom => Binding::Atom,
        }
    }
}

/// Text and how strongly it binds.
struct Piece(String, Binding);

impl Piece {
    fn atom(text: impl Into<String>) -> Piece {
        Piece(text.into(), Binding::Atom)
    }

    /// The text, in parentheses where it binds less than wanted.
    fn at_least(self, wanted: Binding) -> String {
        if self.1 >= wanted {
            self.0
        } else {
            format!("({})", self.0)
        }
    }
}

/// An element of data dimensions, as text.
pub(super) enum Element {
    /// There are no data dimensions.
    Whole,
    /// At indices that are known.
    Constant(String),
    /// At an index for each point.
    Computed(String),
}

/// Writes expressions, and remembers which Python functions they need.
pub(super) struct Writer<'a> {
    stencil: &'a Stencil,
    pub(super) names: Names,
    functions: BTreeMap<usize, &'static str>,
    /// The mask of the points at which what is written counts.
    pub(super) mask: Option<String>,
}

/// Python functions by name, each after those it calls.
const FUNCTIONS: [(&str, &str); 16] = [
    ("_Field", include_str!("field.py")),
    ("_inside", include_str!("inside.py")),
    ("_require", include_str!("require.py")),
    ("_pick", include_str!("pick.py")),
    ("_put", include_str!("put.py")),
    ("_level", include_str!("levels.py")),
    ("_reciprocal", include_str!("reciprocal.py")),
    ("_power", include_str!("power.py")),
    ("_integer_power", include_str!("integer_power.py")),
    ("_integer", include_str!("integer.py")),
    (
        "_round_away_from_zero",
        include_str!("round_away_from_zero.py"),
    ),
    ("_larger", include_str!("larger.py")),
    ("_smaller", include_str!("smaller.py")),
    ("_gamma", include_str!("gamma.py")),
    ("_erf", include_str!("erf.py")),
    ("_erfc", include_str!("erfc.py")),
];

impl<'a> Writer<'a> {
    pub(super) fn new(stencil: &'a Stencil, names: Names) -> Writer<'a> {
        let mut writer = Writer {
            stencil,
            names,
            functions: BTreeMap::new(),
            mask: None,
        };
        writer.require("_Field");
        writer
    }

    /// Texts of the functions that are needed.
    pub(super) fn functions(&self) -> Vec<&'static str> {
        self.functions.values().copied().collect()
    }

    /// A typed expression, as the right side of an assignment or an argument.
    pub(super) fn expression(&mut self, expr: &Expr) -> String {
        self.piece(expr).0
    }

    /// Which element of the data dimensions an access is to.
    pub(super) fn element(
        &mut self,
        target: Target,
        subscript: Option<&Subscript>,
        span: Span,
    ) -> Element {
        let indices = subscript.map_or(&[][..], Subscript::indices);
        if indices.is_empty() {
            return Element::Whole;
        }
        let known: Option<Vec<u32>> = indices.iter().map(constant).collect();
        match known {
            Some(known) => {
                let known: Vec<String> = known.iter().map(u32::to_string).collect();
                Element::Constant(known.join(", "))
            }
            None => {
                let sizes = self.stencil.data_dims(target).iter();
                let (what, mask) = (self.what(target, span), self.where_it_counts());
                let index = |(index, size): (&Expr, &u32)| match constant(index) {
                    Some(known) => known.to_string(),
                    None => {
                        let inside = self.require("_inside");
                        format!(
                            "{inside}({}, {size}, {mask}, {what})",
                            self.expression(index)
                        )
                    }
                };
                let indices: Vec<String> = indices.iter().zip(sizes).map(index).collect();
                Element::Computed(indices.join(", "))
            }
        }
    }

    /// What to call an access in an error, as a Python string.
    fn what(&self, target: Target, span: Span) -> String {
        let place = match self.stencil.sources.locate(span) {
            Some((file, place)) => format!("{file}:{}: ", place.line),
            None => String::new(),
        };
        format!(
            "{:?}",
            format!("{place}`{}`", self.stencil.source_name(target))
        )
    }

    pub(super) fn require(&mut self, name: &'static str) -> &'static str {
        if let Some(index) = FUNCTIONS.iter().position(|(known, _)| *known == name) {
            self.functions.insert(index, FUNCTIONS[index].1);
        }
        name
    }

    fn piece(&mut self, expr: &Expr) -> Piece {
        match &expr.kind {
            ExprKind::Literal(literal) => {
                let number = number(*literal, expr.dtype());
                Piece::atom(format!("{}({number})", numpy_type(expr.dtype())))
            }
            ExprKind::Scalar(id) => {
                Piece::atom(self.names.of_parameter(&self.stencil.scalar(*id).name))
            }
            ExprKind::Position(_) => {
                let level = self.require("_level");
                Piece::atom(format!("{level}(box)"))
            }
            ExprKind::Size(axis) => {
                Piece::atom(format!("np.int64({})", ["ni", "nj", "nk"][axis.index()]))
            }
            ExprKind::Access {
                target,
                offset,
                subscript: Some(subscript),
            } if subscript.level != LevelIndex::Constant => {
                let place = self.level_place(*target, *offset, subscript, expr.span);
                let mask = self.where_it_counts();
                let (place, what) = place;
                let points = format!("_at({place}, {mask}, {what})");
                Piece::atom(match self.element(*target, Some(subscript), expr.span) {
                    Element::Whole => points,
                    Element::Constant(indices) => format!("{points}[..., {indices}]"),
                    Element::Computed(indices) => {
                        format!("{}({points}, {indices})", self.require("_pick"))
                    }
                })
            }
            ExprKind::Access {
                target,
                offset,
                subscript,
            } => {
                let name = self.names.of_target(*target);
                let points = match *offset {
                    Offset::ZERO => format!("{name}[box]"),
                    Offset([i, j, k]) => format!("{name}[box + ({i}, {j}, {k})]"),
                };
                Piece::atom(
                    match self.element(*target, subscript.as_deref(), expr.span) {
                        Element::Whole => points,
                        Element::Constant(indices) => format!("{points}[..., {indices}]"),
                        Element::Computed(indices) => {
                            format!("{}({points}, {indices})", self.require("_pick"))
                        }
                    },
                )
            }
            ExprKind::Unary(operation, operand) => {
                let sign = match operation {
                    UnaryOp::Neg => '-',
                    UnaryOp::Not | UnaryOp::Invert => '~',
                };
                Piece(
                    format!("{sign}{}", self.piece(operand).at_least(Binding::Sign)),
                    Binding::Sign,
                )
            }
            ExprKind::Binary(operation @ (BinaryOp::And | BinaryOp::Or), left, right)
                if right.may_miss() =>
            {
                let left = self.expression(left);
                let (sign, open, binding) = match operation {
                    BinaryOp::And => ("&", format!("({left})"), Binding::And),
                    _ => ("|", format!("~({left})"), Binding::Or),
                };
                let right = self.where_also(&open, |writer| writer.expression(right));
                Piece(format!("({left}) {sign} ({right})"), binding)
            }
            ExprKind::Binary(operation, left, right) => self.binary(*operation, left, right),
            ExprKind::Compare(operation, left, right) => {
                let sign = operation.symbol();
                // Python would chain comparisons, so neither side may be one.
                let (left, right) = self.operands(left, right);
                let (left, right) = (left.at_least(Binding::Or), right.at_least(Binding::Or));
                Piece(format!("{left} {sign} {right}"), Binding::Comparison)
            }
            ExprKind::Select(condition, then, orelse) if then.may_miss() || orelse.may_miss() => {
                let test = self.expression(condition);
                let then = self.where_also(&format!("({test})"), |writer| writer.expression(then));
                let fails = format!("~({test})");
                let orelse = self.where_also(&fails, |writer| writer.expression(orelse));
                Piece::atom(format!("np.where({test}, {then}, {orelse})"))
            }
            ExprKind::Select(condition, then, orelse) => {
                self.call("np.where", &[condition, then, orelse])
            }
            ExprKind::Call(builtin, operands) => self.builtin(*builtin, operands),
            ExprKind::Checked(index, _) => self.piece(index),
            ExprKind::Cast(operand) => self.cast(operand, expr.dtype()),
        }
    }

    /// A target and a level for each point, and what to call it in an error.
    pub(super) fn level_place(
        &mut self,
        target: Target,
        offset: Offset,
        subscript: &Subscript,
        span: Span,
    ) -> (String, String) {
        self.require("_level");
        let level = match subscript.level() {
            Some(level) => self.piece(level).at_least(Binding::Sum),
            None => String::new(),
        };
        let [i, j, k] = offset.0;
        let at = match offset {
            _ if offset.is_vertical() => "box".to_owned(),
            _ => format!("box + ({i}, {j}, 0)"),
        };
        let from = match (subscript.level, k) {
            (LevelIndex::Absolute, 0) => String::new(),
            (LevelIndex::Absolute, k) => format!("np.int64({k}) + "),
            (_, 0) => "_level(box) + ".to_owned(),
            (_, k) => format!("_level(box) + np.int64({k}) + "),
        };
        let name = self.names.of_target(target);
        (
            format!("{name}, {at}, {from}{level}"),
            self.what(target, span),
        )
    }

    pub(super) fn where_it_counts(&self) -> String {
        self.mask.clone().unwrap_or_else(|| "True".to_owned())
    }

    /// Writes what counts only where a condition holds as well.
    fn where_also<T>(&mut self, condition: &str, write: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.mask.clone();
        self.mask = Some(match &outer {
            None => condition.to_owned(),
            Some(mask) => format!("({mask} & {condition})"),
        });
        let written = write(self);
        self.mask = outer;
        written
    }

    fn binary(&mut self, operation: BinaryOp, left: &Expr, right: &Expr) -> Piece {
        let (sign, binding) = match operation {
            BinaryOp::Add => ("+", Binding::Sum),
            BinaryOp::Sub => ("-", Binding::Sum),
            BinaryOp::Mul => ("*", Binding::Product),
            BinaryOp::Div => ("/", Binding::Product),
            BinaryOp::FloorDiv => ("//", Binding::Product),
            BinaryOp::Mod => ("%", Binding::Product),
            BinaryOp::And | BinaryOp::BitAnd => ("&", Binding::And),
            BinaryOp::Or | BinaryOp::BitOr => ("|", Binding::Or),
            BinaryOp::BitXor => ("^", Binding::Xor),
            BinaryOp::Pow => return self.power(left, right),
            BinaryOp::ShiftLeft => return self.shift("<<", left, right),
            BinaryOp::ShiftRight => return self.shift(">>", left, right),
        };
        let (left, right) = self.operands(left, right);
        let (left, right) = (left.at_least(binding), right.at_least(binding.tighter()));
        Piece(format!("{left} {sign} {right}"), binding)
    }

    /// Both operands of an operator. A number beside something else may stand as it is: it takes the other's type.
    fn operands(&mut self, left: &Expr, right: &Expr) -> (Piece, Piece) {
        match (bare_number(left), bare_number(right)) {
            (Some(number), None) => (number, self.piece(right)),
            (None, Some(number)) => (self.piece(left), number),
            _ => (self.piece(left), self.piece(right)),
        }
    }

    /// The count is taken modulo the width of the type.
    fn shift(&mut self, sign: &str, value: &Expr, count: &Expr) -> Piece {
        let width = 8 * value.dtype().size() as i64;
        let count = match &count.kind {
            ExprKind::Literal(Literal::Int(count)) => {
                format!("{}({})", numpy_type(value.dtype()), count.rem_euclid(width))
            }
            _ => {
                let count = self.piece(count).at_least(Binding::And);
                format!("({count} & {})", width - 1)
            }
        };
        let value = self.piece(value).at_least(Binding::Shift);
        Piece(format!("{value} {sign} {count}"), Binding::Shift)
    }

    fn power(&mut self, base: &Expr, exponent: &Expr) -> Piece {
        if power::plan_of(exponent).is_some() {
            self.require("_reciprocal");
            let function = self.require("_power");
            let exponent = power::literal_exponent(exponent).unwrap_or_default();
            let base = self.expression(base);
            return Piece::atom(format!("{function}({base}, {exponent})"));
        }
        if base.dtype().is_float() {
            return self.call("np.power", &[base, exponent]);
        }
        self.require("_reciprocal");
        let function = self.require("_integer_power");
        self.call(function, &[base, exponent])
    }

    fn call(&mut self, function: &str, operands: &[&Expr]) -> Piece {
        let operands: Vec<_> = operands
            .iter()
            .map(|operand| self.expression(operand))
            .collect();
        Piece::atom(format!("{function}({})", operands.join(", ")))
    }

    fn builtin(&mut self, builtin: Builtin, operands: &[Expr]) -> Piece {
        use Builtin::*;
        let is_float = operands[0].dtype().is_float();
        let function = match builtin {
            Mod => return self.binary(BinaryOp::Mod, &operands[0], &operands[1]),
            Pow => return self.power(&operands[0], &operands[1]),
            Floor | Ceil | Trunc | Round | RoundAwayFromZero if !is_float => {
                return self.piece(&operands[0]);
            }
            Abs => "np.abs",
            Min if may_both_be_zero(operands) => self.require("_smaller"),
            Max if may_both_be_zero(operands) => self.require("_larger"),
            Min => "np.minimum",
            Max => "np.maximum",
            Sin => "np.sin",
            Cos => "np.cos",
            Tan => "np.tan",
            Asin => "np.arcsin",
            Acos => "np.arccos",
            Atan => "np.arctan",
            Sinh => "np.sinh",
            Cosh => "np.cosh",
            Tanh => "np.tanh",
            Asinh => "np.arcsinh",
            Acosh => "np.arccosh",
            Atanh => "np.arctanh",
            Sqrt => "np.sqrt",
            Exp => "np.exp",
            Log => "np.log",
            Log10 => "np.log10",
            Gamma => self.require("_gamma"),
            Cbrt => "np.cbrt",
            IsFinite => "np.isfinite",
            IsInf => "np.isinf",
            IsNan => "np.isnan",
            Floor => "np.floor",
            Ceil => "np.ceil",
            Trunc => "np.trunc",
            Erf => self.require("_erf"),
            Erfc => self.require("_erfc"),
            Round => "np.rint",
            RoundAwayFromZero => self.require("_round_away_from_zero"),
        };
        self.call(function, &operands.iter().collect::<Vec<_>>())
    }

    fn cast(&mut self, operand: &Expr, dtype: DType) -> Piece {
        if operand.dtype().is_float() && dtype.is_int() {
            let function = self.require("_integer");
            let operand = self.expression(operand);
            return Piece::atom(format!("{function}({operand}, {})", numpy_type(dtype)));
        }
        let operand = self.piece(operand).at_least(Binding::Atom);
        Piece::atom(format!("{operand}.astype({})", numpy_type(dtype)))
    }
}

/// NumPy's name of a type.
pub(super) fn numpy_type(dtype: DType) -> String {
    match dtype {
        DType::Bool => "np.bool_".to_owned(),
        _ => format!("np.{dtype}"),
    }
}

/// Whether two reals may be zeros of different sign.
fn may_both_be_zero(operands: &[Expr]) -> bool {
    operands.iter().all(|operand| match operand.kind {
        ExprKind::Literal(Literal::Float(value)) => value == 0.0,
        _ => operand.dtype().is_float(),
    })
}

/// Whether a value differs from point to point.
pub(super) fn reads_fields(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(|node| {
        found |= matches!(node.kind, ExprKind::Access { .. } | ExprKind::Position(_));
    });
    found
}

/// A literal as the Python number that means the same beside an operand of its type.
fn bare_number(expr: &Expr) -> Option<Piece> {
    let ExprKind::Literal(literal) = expr.kind else {
        return None;
    };
    let text = number(literal, expr.dtype());
    let binding = if text.starts_with('-') {
        Binding::Sign
    } else {
        Binding::Atom
    };
    Some(Piece(text, binding))
}

/// A number of a type as Python text.
fn number(literal: Literal, dtype: DType) -> String {
    let real = match literal {
        Literal::Bool(value) => f64::from(u8::from(value)),
        Literal::Int(value) => value as f64,
        Literal::Float(value) => value,
    };
    match (dtype, literal) {
        (DType::Bool, _) => if real != 0.0 { "True" } else { "False" }.to_owned(),
        (DType::Float32 | DType::Float64, _) if real.is_nan() => "np.nan".to_owned(),
        (DType::Float32 | DType::Float64, _) if real.is_infinite() => {
            if real > 0.0 { "np.inf" } else { "-np.inf" }.to_owned()
        }
        (DType::Float32 | DType::Float64, _) => format!("{real:?}"),
        (_, Literal::Int(value)) => value.to_string(),
        (_, Literal::Bool(value)) => u8::from(value).to_string(),
        // Only where a conversion was folded into the literal; Python integers have no limit to care for.
        (_, Literal::Float(value)) => (value as i64).to_string(),
    }
}
