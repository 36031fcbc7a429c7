//! Intervals whose bounds are known at run time only: as conditions on the level.
//!
//! ```text
//! with interval(start, None):                 interval [0, end) {
//!     out = inp[0, 0, 1]            becomes     if K >= start counted from its end:
//!                                                 out = inp[0, 0, 0 + 1]
//! ```

use crate::grid::{Axis, Bound, Level, Offset};
use crate::ir::{
    BinaryOp, Builtin, CompareOp, Expr, ExprKind, LevelIndex, Literal, Stmt, StmtKind, Subscript,
};
use crate::source::Span;

/// First level and the one behind the last, each only if it is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds<'a> {
    /// The first level.
    pub start: Option<&'a Expr>,
    /// The level behind the last one.
    pub end: Option<&'a Expr>,
}

/// `K compare bound`, where a negative bound counts from the last level.
fn within(compare: CompareOp, bound: Expr) -> Expr {
    let make = |kind| Expr::untyped(kind, bound.span);
    let here = make(ExprKind::Position(Axis::K));
    make(ExprKind::Compare(
        compare,
        Box::new(here),
        Box::new(level(bound.clone())),
    ))
}

/// First level of an interval and the one behind the last, counted from the first level of the domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Covered {
    /// The first level.
    pub start: Expr,
    /// The level behind the last one.
    pub end: Expr,
    /// Where the interval stands.
    pub span: Span,
}

/// A known bound as a value.
pub fn known(bound: Bound, span: Span) -> Expr {
    let make = |kind| Expr::untyped(kind, span);
    let offset = make(ExprKind::Literal(Literal::Int(bound.offset.into())));
    match bound.level {
        Level::Start => offset,
        Level::End => {
            let size = Box::new(make(ExprKind::Size(Axis::K)));
            make(ExprKind::Binary(BinaryOp::Add, size, Box::new(offset)))
        }
    }
}

/// A computed bound as a level: a negative one counts from the last level.
pub fn level(bound: Expr) -> Expr {
    let span = bound.span;
    let make = |kind| Expr::untyped(kind, span);
    let zero = make(ExprKind::Literal(Literal::Int(0)));
    let negative = ExprKind::Compare(CompareOp::Lt, Box::new(bound.clone()), Box::new(zero));
    let size = make(ExprKind::Size(Axis::K));
    let from_end = ExprKind::Binary(BinaryOp::Add, Box::new(size), Box::new(bound.clone()));
    make(ExprKind::Select(
        Box::new(make(negative)),
        Box::new(make(from_end)),
        Box::new(bound),
    ))
}

impl Covered {
    /// That both bounds are levels of the domain, or the one behind it.
    pub fn inside(&self) -> Stmt {
        let span = self.span;
        let make = |kind| Expr::untyped(kind, span);
        let bounds = || [self.start.clone(), self.end.clone()].into_iter();
        let pair = |builtin| make(ExprKind::Call(builtin, bounds().collect()));
        let zero = make(ExprKind::Literal(Literal::Int(0)));
        let (least, most) = (pair(Builtin::Min), pair(Builtin::Max));
        let size = make(ExprKind::Size(Axis::K));
        let condition = ExprKind::Binary(
            BinaryOp::And,
            Box::new(make(ExprKind::Compare(
                CompareOp::Ge,
                least.into(),
                zero.into(),
            ))),
            Box::new(make(ExprKind::Compare(
                CompareOp::Le,
                most.into(),
                size.into(),
            ))),
        );
        Stmt {
            kind: StmtKind::Require {
                condition: make(condition),
                bounds: bounds().collect(),
                intervals: vec![span],
            },
            span,
        }
    }

    /// That an interval of the same computation has no level in common with this one.
    pub fn apart(&self, earlier: &Covered) -> Stmt {
        let span = self.span;
        let make = |kind| Expr::untyped(kind, span);
        let of = |builtin, a: &Expr, b: &Expr| {
            Box::new(make(ExprKind::Call(builtin, vec![a.clone(), b.clone()])))
        };
        // One of them may be empty.
        let start = of(Builtin::Max, &earlier.start, &self.start);
        let end = of(Builtin::Min, &earlier.end, &self.end);
        let bounds = [&earlier.start, &earlier.end, &self.start, &self.end];
        Stmt {
            kind: StmtKind::Require {
                condition: make(ExprKind::Compare(CompareOp::Ge, start, end)),
                bounds: bounds.into_iter().cloned().collect(),
                intervals: vec![earlier.span, span],
            },
            span,
        }
    }
}

/// The condition under which a level lies between computed bounds; `None` where there are none.
pub fn guard(start: Option<Expr>, end: Option<Expr>) -> Option<Expr> {
    let start = start.map(|bound| within(CompareOp::Ge, bound));
    let end = end.map(|bound| within(CompareOp::Lt, bound));
    match (start, end) {
        (Some(start), Some(end)) => {
            let span = start.span;
            let both = ExprKind::Binary(BinaryOp::And, Box::new(start), Box::new(end));
            Some(Expr::untyped(both, span))
        }
        (one, other) => one.or(other),
    }
}

/// The bounds that [`guard`] made a condition of.
pub fn of_guard(condition: &Expr) -> Option<Bounds<'_>> {
    let (mut start, mut end) = (None, None);
    let parts = match &condition.kind {
        ExprKind::Binary(BinaryOp::And, a, b) => vec![&**a, &**b],
        _ => vec![condition],
    };
    for part in parts {
        let ExprKind::Compare(compare, here, level) = &part.kind else {
            return None;
        };
        let ExprKind::Select(_, _, bound) = &level.kind else {
            return None;
        };
        if here.kind != ExprKind::Position(Axis::K) || *part != within(*compare, (**bound).clone())
        {
            return None;
        }
        match compare {
            CompareOp::Ge if start.is_none() && end.is_none() => start = Some(&**bound),
            CompareOp::Lt if end.is_none() => end = Some(&**bound),
            _ => return None,
        }
    }
    Some(Bounds { start, end })
}

/// A statement of an interval whose levels show at run time. What it accesses at other levels is accessed as if these were
/// computed: they need not exist where the interval does not reach.
pub fn guarded(guard: &Expr, mut statement: Stmt) -> Stmt {
    let span = statement.span;
    statement.walk_mut(&mut |statement| {
        for expr in statement.expressions_mut() {
            expr.walk_mut(|node| {
                let span = node.span;
                if let ExprKind::Access {
                    offset, subscript, ..
                } = &mut node.kind
                {
                    compute(offset, subscript, span);
                }
            });
        }
        if let StmtKind::Assign {
            offset,
            subscript,
            target_span,
            ..
        } = &mut statement.kind
        {
            compute(offset, subscript, *target_span);
        }
    });
    Stmt {
        kind: StmtKind::If {
            condition: guard.clone(),
            then: vec![statement],
            orelse: Vec::new(),
        },
        span,
    }
}

/// Makes the level of an access one that is computed, if it is another level.
fn compute(offset: &mut Offset, subscript: &mut Option<Box<Subscript>>, span: Span) {
    let up = std::mem::take(&mut offset.0[Axis::K.index()]);
    if up == 0 {
        return;
    }
    let literal = Expr::untyped(ExprKind::Literal(Literal::Int(up.into())), span);
    match subscript {
        None => {
            *subscript = Some(Box::new(Subscript {
                level: LevelIndex::Offset,
                operands: vec![literal],
            }));
        }
        Some(subscript) if subscript.level == LevelIndex::Constant => {
            subscript.level = LevelIndex::Offset;
            subscript.operands.insert(0, literal);
        }
        Some(_) => offset.0[Axis::K.index()] = up,
    }
}
