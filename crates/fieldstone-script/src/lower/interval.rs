//! `interval(start, end)`.

use fieldstone_stencil::bounds::{self, Covered};
use fieldstone_stencil::ir::{self, BinaryOp, ExprKind, Literal, Target};
use fieldstone_stencil::{Axis, Bound, Interval, Level};
use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use super::{Lowering, Reported};
use crate::{constant, rule};

/// The levels of an interval.
#[derive(Clone)]
pub(super) struct Levels {
    /// All that it may have.
    pub interval: Interval,
    /// Which of them it has, where that shows at run time.
    pub guard: Option<ir::Expr>,
    pub covered: Covered,
}

/// A bound of an interval.
enum End {
    Known(Bound),
    /// An integer; a negative one counts from the last level.
    Computed(ir::Expr),
}

impl Lowering<'_> {
    pub(super) fn interval(&mut self, call: &ExprCall) -> Result<Levels, Reported> {
        let span = self.span(call);
        let mut guard = None;
        let mut covered = Covered {
            start: bounds::known(Bound::START, span),
            end: bounds::known(Bound::END, span),
            span,
        };
        let interval = match (
            call.arguments.args.as_ref(),
            call.arguments.keywords.is_empty(),
        ) {
            ([Expr::EllipsisLiteral(_)], true) => Interval::FULL,
            ([start, end], true) => {
                let start = self.bound(start, Bound::START);
                let end = self.bound(end, Bound::END);
                let (start, end) = (start?, end?);
                let value = |end: &End| match end {
                    End::Known(bound) => bounds::known(*bound, span),
                    End::Computed(bound) => bounds::level(bound.clone()),
                };
                (covered.start, covered.end) = (value(&start), value(&end));
                let known = |end: End, open: Bound| match end {
                    End::Known(bound) => (bound, None),
                    End::Computed(bound) => (open, Some(bound)),
                };
                let (start, first) = known(start, Bound::START);
                let (end, last) = known(end, Bound::END);
                guard = bounds::guard(first, last);
                Interval { start, end }
            }
            _ => {
                return Err(self.report(
                    rule::INTERVAL
                        .at(span, "`interval` takes a first level and one past the last, or `...`")
                        .with_help("write `interval(...)` for all levels, `interval(0, 1)` for the first, `interval(-1, None)` for the last"),
                ));
            }
        };
        if interval.start.level == interval.end.level
            && interval.start.offset >= interval.end.offset
            || interval.start.level == Level::End && interval.end.level == Level::Start
        {
            let mut diagnostic = rule::EMPTY_INTERVAL
                .at(span, "the interval has no levels")
                .with_label(format!(
                    "from {} to before {}",
                    words(interval.start),
                    words(interval.end)
                ));
            if interval.end == Bound::START {
                diagnostic =
                    diagnostic.with_help("write `None` as the end to include the last level");
            } else if interval.start.level == interval.end.level {
                diagnostic = diagnostic
                    .with_help("the first bound is the first level, the second one past the last");
            } else {
                diagnostic = diagnostic.with_help("a negative bound counts from the last level; the first bound must lie below the second");
            }
            return Err(self.report(diagnostic));
        }
        Ok(Levels {
            interval,
            guard,
            covered,
        })
    }

    fn bound(&mut self, bound: &Expr, open: Bound) -> Result<End, Reported> {
        if matches!(bound, Expr::NoneLiteral(_)) {
            return Ok(End::Known(open));
        }
        let span = self.span(bound.range());
        let mut value = Err(Reported);
        let called = self.collect(|lowering| value = lowering.expression(bound));
        let value = value?;
        if !called.is_empty() {
            return Err(self.report(
                rule::INTERVAL
                    .at(
                        span,
                        "a bound of an interval calls a function that assigns names",
                    )
                    .with_help("compute the bound before the call and give it as a parameter"),
            ));
        }
        match constant::known(&value) {
            Some(Literal::Int(offset)) if offset.unsigned_abs() <= super::offset::FARTHEST => {
                Ok(End::Known(Bound {
                    level: if offset < 0 { Level::End } else { Level::Start },
                    offset: offset as i32,
                }))
            }
            Some(Literal::Int(_)) => Err(self.report(
                rule::INTERVAL
                    .at(span, "no grid has as many levels")
                    .with_help("`None` is the open end, `-1` the last level"),
            )),
            Some(_) => Err(self.report(
                rule::INTERVAL
                    .at(span, "a bound of an interval is an integer or `None`")
                    .with_help("`0` is the first level, `-1` the last, `None` the open end"),
            )),
            None => {
                if let Some(why) = self.no_bound(&value) {
                    return Err(self.report(
                        rule::INTERVAL
                            .at(span, "this cannot be a bound of an interval")
                            .with_label(why)
                            .with_help("a bound is an integer: a number, an external, a scalar parameter, or a field without K axis"),
                    ));
                }
                Ok(End::Computed(value))
            }
        }
    }

    /// Why a value cannot bound an interval.
    fn no_bound(&self, value: &ir::Expr) -> Option<&'static str> {
        let mut why = None;
        let mut todo = vec![value];
        while let Some(node) = todo.pop() {
            let real = match &node.kind {
                ExprKind::Literal(literal) => matches!(literal, Literal::Float(_)),
                ExprKind::Scalar(id) => self.stencil.scalar(*id).dtype.is_float(),
                ExprKind::Access { target, .. } => {
                    if self.stencil.target_axes(*target).contains(Axis::K) {
                        why = Some("it differs from level to level");
                    }
                    matches!(target, Target::Field(id) if self.stencil.field(*id).dtype.is_float())
                }
                ExprKind::Position(_) => {
                    why = Some("it differs from level to level");
                    false
                }
                ExprKind::Binary(BinaryOp::Div, ..) => true,
                ExprKind::Cast(_) => continue,
                _ => false,
            };
            if real {
                why = Some("it is a real number");
            }
            todo.extend(node.operands());
        }
        why
    }
}

/// The bound behind the first level.
pub(super) fn first_level() -> Bound {
    Bound {
        offset: 1,
        ..Bound::START
    }
}

/// A bound as a reader says it.
fn words(bound: Bound) -> String {
    match (bound.level, bound.offset) {
        (Level::Start, offset) => format!("level {offset}"),
        (Level::End, 0) => "the end".to_string(),
        (Level::End, -1) => "the last level".to_string(),
        (Level::End, offset) => format!("level {offset}"),
    }
}
