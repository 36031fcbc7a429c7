//! Random intervals whose bounds are known at run time only.

use super::expression::{binary, cast, int, untyped};
use super::{Generator, Kind, Levels, Place};
use crate::bounds::{guard, guarded};
use crate::dtype::DType;
use crate::grid::{Axis, Bound, Interval, Level, Offset};
use crate::ir::{BinaryOp, Computation, Expr, ExprKind, FieldId, Order, ScalarId, Section, Target};
use crate::source::Span;

impl Generator<'_> {
    /// A computation over such an interval; `None` where no parameter can be a bound.
    pub(super) fn bounded(&mut self) -> Option<Computation> {
        let order = self
            .random
            .pick(&[Order::Parallel, Order::Forward, Order::Backward]);
        let first = self.bound()?;
        let second = self.bound()?;
        let mut interval = Interval::FULL;
        let ((start, end), levels) = match self.random.below(3) {
            0 => {
                interval.end.offset = -(self.random.below(2) as i32);
                ((Some(first.0), None), first.1)
            }
            1 => {
                interval.start = Bound {
                    level: Level::Start,
                    offset: self.random.below(3) as i32,
                };
                ((None, Some(second.0)), second.1)
            }
            _ => {
                let levels = match first.1 {
                    Levels::Computed => second.1,
                    other => other,
                };
                ((Some(first.0), Some(second.0)), levels)
            }
        };
        let rest = self.rest(order);
        let mut place = Place {
            levels,
            moved: self.may_move(order, &rest),
            ..Place::new(order, interval, rest.iter().copied().collect())
        };
        let body = self.section(&[], &rest, &mut place);
        let condition = guard(start, end)?;
        let body: Vec<_> = (body.into_iter())
            .map(|stmt| guarded(&condition, stmt))
            .collect();
        Some(Computation {
            order,
            sections: vec![Section {
                interval,
                body,
                span: Span::default(),
            }],
            span: Span::default(),
        })
    }

    /// An integer of the call, or of the column.
    fn bound(&mut self) -> Option<(Expr, Levels)> {
        let scalars = (0..self.scalars.len() as u32).map(ScalarId);
        let mut found: Vec<(ExprKind, Levels)> = scalars
            .filter(|id| Kind::of(self.scalars[id.0 as usize].dtype) == Kind::Int)
            .map(|id| (ExprKind::Scalar(id), Levels::Computed))
            .collect();
        let fields = (0..self.inputs as u32).map(|n| Target::Field(FieldId(n)));
        let fields: Vec<Target> = fields
            .filter(|target| {
                self.kind(*target) == Kind::Int
                    && !self.axes(*target).contains(Axis::K)
                    && self.data_dims(*target).is_empty()
            })
            .collect();
        for field in fields {
            found.push((ExprKind::read(field, Offset::ZERO), Levels::PerColumn));
        }
        if found.is_empty() {
            return None;
        }
        let choice = self.random.below(found.len());
        let (kind, levels) = found.swap_remove(choice);
        let value = untyped(kind);
        // Levels of every domain of four.
        let value = match self.random.below(4) {
            0 => binary(BinaryOp::Mod, value, int(4)),
            1 => binary(BinaryOp::Mod, value, int(5)),
            2 => binary(
                BinaryOp::Mod,
                binary(BinaryOp::FloorDiv, value, int(2)),
                int(5),
            ),
            _ => {
                let down = 1 + self.random.below(3) as i64;
                let inside = binary(BinaryOp::Mod, value, int(4));
                // Without a sign there are no levels that count from the last one.
                binary(BinaryOp::Sub, cast(DType::Int64, inside), int(down))
            }
        };
        Some((value, levels))
    }
}
