//! Random expressions.

use super::{Generator, Kind, Place};
use crate::dtype::DType;
use crate::ir::{
    BinaryOp, Builtin, CompareOp, Expr, ExprKind, FieldId, Literal, ScalarId, Target, TempId,
    UnaryOp,
};
use crate::source::Span;

pub(super) fn untyped(kind: ExprKind) -> Expr {
    Expr::untyped(kind, Span::default())
}

pub(super) fn int(n: i64) -> Expr {
    untyped(ExprKind::Literal(Literal::Int(n)))
}

fn real(x: f64) -> Expr {
    untyped(ExprKind::Literal(Literal::Float(x)))
}

pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    untyped(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

fn call(builtin: Builtin, operands: Vec<Expr>) -> Expr {
    untyped(ExprKind::Call(builtin, operands))
}

pub(super) fn cast(dtype: DType, a: Expr) -> Expr {
    Expr {
        kind: ExprKind::Cast(Box::new(a)),
        dtype: Some(dtype),
        span: Span::default(),
    }
}

fn is_constant(expr: &Expr) -> bool {
    let mut found = true;
    expr.walk(|node| {
        found &= !matches!(
            node.kind,
            ExprKind::Access { .. } | ExprKind::Scalar(_) | ExprKind::Position(_)
        );
    });
    found
}

impl Generator<'_> {
    // -- expressions

    pub(super) fn expr(&mut self, kind: Kind, depth: usize, place: &Place) -> Expr {
        if depth == 0 || self.random.chance(15) {
            return self.leaf(kind, place);
        }
        let depth = depth - 1;
        match kind {
            Kind::Bool => self.boolean(depth, place),
            Kind::Int => {
                let value = self.integer(depth, place);
                // Numbers that are computed from nothing else may fit none of the types around them.
                match is_constant(&value) {
                    true => self.literal(kind),
                    false => value,
                }
            }
            Kind::Real => self.number(depth, place),
        }
    }

    fn select(&mut self, kind: Kind, depth: usize, place: &Place) -> Expr {
        let condition = self.expr(Kind::Bool, depth, place);
        let (a, b) = (self.expr(kind, depth, place), self.expr(kind, depth, place));
        untyped(ExprKind::Select(
            Box::new(condition),
            Box::new(a),
            Box::new(b),
        ))
    }

    fn boolean(&mut self, depth: usize, place: &Place) -> Expr {
        use BinaryOp::{And, BitAnd, BitOr, BitXor, Or};
        match self.random.below(10) {
            0..=5 => {
                let op = self.random.pick(&CompareOp::ALL);
                let kind = self.random.pick(&[Kind::Real, Kind::Real, Kind::Int]);
                let (a, b) = (self.expr(kind, depth, place), self.expr(kind, depth, place));
                untyped(ExprKind::Compare(op, Box::new(a), Box::new(b)))
            }
            6 | 7 => {
                let op = self.random.pick(&[And, Or, And, Or, BitAnd, BitOr, BitXor]);
                let a = self.expr(Kind::Bool, depth, place);
                let b = self.expr(Kind::Bool, depth, place);
                binary(op, a, b)
            }
            8 => {
                let a = self.expr(Kind::Bool, depth, place);
                untyped(ExprKind::Unary(UnaryOp::Not, Box::new(a)))
            }
            _ => {
                let a = self.expr(Kind::Real, depth, place);
                let test = [Builtin::IsNan, Builtin::IsInf, Builtin::IsFinite];
                call(self.random.pick(&test), vec![a])
            }
        }
    }

    fn integer(&mut self, depth: usize, place: &Place) -> Expr {
        use BinaryOp::{Add, BitAnd, BitOr, BitXor, FloorDiv, Mod, Mul, Pow, Sub};
        let choice = self.random.below(12);
        if choice == 0 {
            return self.select(Kind::Int, depth, place);
        }
        let a = self.expr(Kind::Int, depth, place);
        match choice {
            1 => call(Builtin::Abs, vec![a]),
            2 => binary(Pow, a, int(self.random.below(4) as i64)),
            3 => binary(
                self.random.pick(&[FloorDiv, Mod]),
                a,
                int(1 + self.random.below(7) as i64),
            ),
            4 => binary(
                self.random
                    .pick(&[BinaryOp::ShiftLeft, BinaryOp::ShiftRight]),
                cast(DType::Int64, a),
                int(self.random.below(5) as i64),
            ),
            5 => cast(self.random.pick(&[DType::Int32, DType::Int64]), a),
            6 => {
                let b = self.expr(Kind::Int, depth, place);
                call(self.random.pick(&[Builtin::Min, Builtin::Max]), vec![a, b])
            }
            7 => {
                let b = self.expr(Kind::Int, depth, place);
                binary(self.random.pick(&[BitAnd, BitOr, BitXor]), a, b)
            }
            _ => {
                let b = self.expr(Kind::Int, depth, place);
                binary(self.random.pick(&[Add, Sub, Mul]), a, b)
            }
        }
    }

    fn number(&mut self, depth: usize, place: &Place) -> Expr {
        use BinaryOp::{Add, Div, FloorDiv, Mod, Mul, Sub};
        let choice = self.random.below(16);
        if choice == 0 {
            return self.select(Kind::Real, depth, place);
        }
        let a = self.expr(Kind::Real, depth, place);
        match choice {
            1 => untyped(ExprKind::Unary(UnaryOp::Neg, Box::new(a))),
            2 => {
                let b = self.expr(Kind::Real, depth, place);
                binary(self.random.pick(&[Div, FloorDiv, Mod]), a, self.divisor(b))
            }
            3 => {
                let powers = [-3, -2, -1, 0, 1, 2, 3, 5];
                let n = self.random.pick(&powers);
                let base = if n < 0 { self.divisor(a) } else { a };
                binary(BinaryOp::Pow, base, int(n))
            }
            4 => {
                let b = self.expr(Kind::Int, depth, place);
                binary(self.random.pick(&[Add, Sub, Mul]), a, b)
            }
            5 | 6 => {
                let b = self.expr(Kind::Real, depth, place);
                call(self.random.pick(&[Builtin::Min, Builtin::Max]), vec![a, b])
            }
            7 => {
                let rounding = [
                    Builtin::Floor,
                    Builtin::Ceil,
                    Builtin::Trunc,
                    Builtin::Round,
                    Builtin::RoundAwayFromZero,
                    Builtin::Abs,
                ];
                call(self.random.pick(&rounding), vec![a])
            }
            8 => call(Builtin::Sqrt, vec![call(Builtin::Abs, vec![a])]),
            9 => cast(self.random.pick(&[DType::Float32, DType::Float64]), a),
            10 if !self.shape.exact => {
                let functions = [
                    Builtin::Sin,
                    Builtin::Cos,
                    Builtin::Tanh,
                    Builtin::Atan,
                    Builtin::Asinh,
                    Builtin::Cbrt,
                    Builtin::Erf,
                ];
                call(self.random.pick(&functions), vec![a])
            }
            _ => {
                let b = self.expr(Kind::Real, depth, place);
                binary(self.random.pick(&[Add, Sub, Mul]), a, b)
            }
        }
    }

    /// A number that is at least 1.
    fn divisor(&mut self, a: Expr) -> Expr {
        binary(BinaryOp::Add, call(Builtin::Abs, vec![a]), real(1.0))
    }

    fn literal(&mut self, kind: Kind) -> Expr {
        match kind {
            Kind::Bool => {
                let value = self.random.chance(50);
                untyped(ExprKind::Literal(Literal::Bool(value)))
            }
            Kind::Int => int(self.random.below(10) as i64),
            Kind::Real => {
                let quarters = self.random.below(33) as f64 - 16.0;
                match self.random.below(3) {
                    0 => int(self.random.below(4) as i64),
                    1 => real(quarters / 4.0),
                    _ => real(quarters / 10.0),
                }
            }
        }
    }

    fn leaf(&mut self, kind: Kind, place: &Place) -> Expr {
        if self.random.chance(20) {
            return self.literal(kind);
        }
        if kind == Kind::Int && self.random.chance(12) {
            return self.position();
        }
        let scalars: Vec<ScalarId> = (0..self.scalars.len() as u32)
            .map(ScalarId)
            .filter(|id| Kind::of(self.scalars[id.0 as usize].dtype) == kind)
            .collect();
        if !scalars.is_empty() && self.random.chance(15) {
            return untyped(ExprKind::Scalar(self.random.pick(&scalars)));
        }
        let fields = (0..self.fields.len() as u32).map(|n| Target::Field(FieldId(n)));
        let temporaries = (0..self.temporaries.len() as u32).map(|n| Target::Temp(TempId(n)));
        let targets: Vec<Target> = fields
            .chain(temporaries)
            .filter(|target| self.kind(*target) == kind)
            .collect();
        if targets.is_empty() {
            return self.literal(kind);
        }
        for _ in 0..4 {
            let target = self.random.pick(&targets);
            if self.random.chance(12)
                && let Some(read) = self.read_at_level(target, place)
            {
                return read;
            }
            if let Some(offset) = self.offset(target, place) {
                return self.read(target, offset, None, place);
            }
        }
        self.literal(kind)
    }
}
