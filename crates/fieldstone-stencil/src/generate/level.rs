//! Random levels that are computed, loops, and writes to other levels.

use std::collections::HashSet;

use super::expression::{binary, cast, int, untyped};
use super::{Generator, Kind, Levels, Place};
use crate::dtype::DType;
use crate::grid::{Axis, Offset};
use crate::ir::{
    BinaryOp, CompareOp, Expr, ExprKind, LevelIndex, Order, Stmt, StmtKind, Target, TempId,
    Temporary,
};
use crate::source::Span;

/// Levels that every domain has.
const LEVELS: i64 = 4;

impl Generator<'_> {
    /// The index of the level that is computed.
    pub(super) fn position(&self) -> Expr {
        untyped(ExprKind::Position(Axis::K))
    }

    /// A number from 0 to below `count`.
    fn below(&mut self, count: i64, place: &Place) -> Expr {
        let depth = self.random.below(2);
        let place = Place {
            whole: None,
            ..place.clone()
        };
        let value = self.expr(Kind::Int, depth, &place);
        let below = binary(BinaryOp::Mod, value, int(count));
        let unsigned = |dtype: &DType| dtype.is_int() && !dtype.is_signed();
        // What is subtracted from it may be more.
        match self.shape.dtypes.iter().any(unsigned) {
            true => cast(DType::Int64, below),
            false => below,
        }
    }

    /// A read at a level that is computed, where the target has a value at every level and no level waits for another.
    pub(super) fn read_at_level(&mut self, target: Target, place: &Place) -> Option<Expr> {
        let ours = place.written.contains(&target);
        let complete = match target {
            Target::Field(_) => !ours || place.order != Order::Parallel,
            Target::Temp(id) => !ours && self.everywhere.contains(&id),
        };
        if !complete || !self.axes(target).contains(Axis::K) || place.looped.contains(&target) {
            return None;
        }
        let mut offset = Offset::ZERO;
        for axis in [Axis::I, Axis::J] {
            if !ours && self.axes(target).contains(axis) && self.random.chance(25) {
                offset.0[axis.index()] = self.shift();
            }
        }
        let level = self.below(LEVELS, place);
        let (level, operand) = match self.random.below(3) {
            // Fields have a halo along K.
            0 if matches!(target, Target::Field(_)) => (
                LevelIndex::Offset,
                binary(BinaryOp::Sub, level, int(LEVELS / 2)),
            ),
            1 => {
                // Written `at(K=…)`, which has no place for other offsets.
                offset = Offset::ZERO;
                (LevelIndex::Absolute, level)
            }
            _ => (
                LevelIndex::Offset,
                binary(BinaryOp::Sub, level, self.position()),
            ),
        };
        Some(self.read(target, offset, Some((level, operand)), place))
    }

    /// Moves an assignment of a vertical loop to another level, where it may.
    pub(super) fn moved(&mut self, mut stmt: Stmt, place: &Place) -> Stmt {
        if let StmtKind::Assign {
            target,
            offset,
            subscript,
            ..
        } = &mut stmt.kind
            && place.moved.contains(target)
            && self.random.chance(35)
        {
            let is_field = matches!(target, Target::Field(_));
            let shift = self.shift();
            let inside = place.levels == Levels::Known && self.stays_inside(place.interval, shift);
            if (is_field || inside) && self.random.chance(60) {
                offset.0[2] = shift;
                return stmt;
            }
            // Fields have a halo along K, temporaries have none.
            let from = match is_field {
                true => int(LEVELS / 2),
                false => self.position(),
            };
            let level = binary(BinaryOp::Sub, self.below(LEVELS, place), from);
            let all = subscript.get_or_insert_default();
            all.level = LevelIndex::Offset;
            all.operands.insert(0, level);
        }
        stmt
    }

    /// A loop of a few rounds, behind the assignment that begins its count.
    pub(super) fn repeat(&mut self, targets: &[Target], place: &mut Place) -> [Stmt; 2] {
        let count = TempId(self.temporaries.len() as u32);
        let name = format!("t{}", count.0);
        let fresh = Temporary::at_every_point(name, Some(DType::Int64), Span::default());
        self.temporaries.push(fresh);
        self.kinds.push(Kind::Int);
        let count = Target::Temp(count);
        let begin = Stmt::assign(count, Span::default(), int(0), Span::default());
        if let Target::Temp(id) = count {
            place.here.insert(id);
        }
        place.written.insert(count);

        let some: Vec<Target> = (0..1 + self.random.below(2))
            .map(|_| self.random.pick(targets))
            .collect();
        let outer = std::mem::replace(&mut place.looped, some.iter().copied().collect());
        place.looped.insert(count);
        place.counter = Some(count);
        let read = || untyped(ExprKind::read(count, Offset::ZERO));
        let rounds = 1 + self.random.below(4) as i64;
        let more = ExprKind::Compare(CompareOp::Lt, Box::new(read()), Box::new(int(rounds)));
        place.target = None;
        let condition = match self.random.chance(60) {
            true => {
                let depth = self.shape.depth;
                let also = self.expr(Kind::Bool, depth, place);
                binary(BinaryOp::And, untyped(more), also)
            }
            false => untyped(more),
        };
        let mut body: Vec<Stmt> = (0..1 + self.random.below(2))
            .flat_map(|_| self.statement(&some, place, 1))
            .collect();
        let next = binary(BinaryOp::Add, read(), int(1));
        body.push(Stmt::assign(count, Span::default(), next, Span::default()));
        place.looped = outer;
        place.counter = None;
        let repeat = Stmt {
            kind: StmtKind::While { condition, body },
            span: Span::default(),
        };
        [begin, repeat]
    }

    /// What a vertical loop may write at other levels.
    pub(super) fn may_move(&mut self, order: Order, rest: &[Target]) -> HashSet<Target> {
        let mut found = HashSet::new();
        for target in rest {
            let has_levels = self.axes(*target).contains(Axis::K);
            if order != Order::Parallel && has_levels && self.random.chance(30) {
                found.insert(*target);
            }
        }
        found
    }
}
