//! Random data dimensions and their elements.

use super::expression::{binary, int, untyped};
use super::{Generator, Kind, Place};
use crate::elements::every_index;
use crate::grid::{Axes, Offset};
use crate::ir::{BinaryOp, Expr, ExprKind, LevelIndex, Stmt, StmtKind, Subscript, Target};
use crate::source::Span;

impl Generator<'_> {
    /// Sizes of the data dimensions of a new field or temporary; mostly it has none. A table always has some.
    pub(super) fn data_dims_along(&mut self, axes: Axes) -> Vec<u32> {
        const SIZES: [&[u32]; 5] = [&[2], &[3], &[3], &[2, 2], &[4]];
        // More than a few.
        const LONG: &[u32] = &[40];
        if axes.is_empty() {
            return match self.random.chance(30) {
                true => LONG,
                false => self.random.pick(&SIZES),
            }
            .to_vec();
        }
        match self.random.chance(15) {
            true => self.random.pick(&SIZES).to_vec(),
            false => Vec::new(),
        }
    }

    /// The read of a target; of one element, if it has several, or of all of them where all are computed.
    pub(super) fn read(
        &mut self,
        target: Target,
        offset: Offset,
        level: Option<(LevelIndex, Expr)>,
        place: &Place,
    ) -> Expr {
        let sizes = self.data_dims(target).to_vec();
        let whole = place.whole.as_ref() == Some(&sizes) && self.random.chance(60);
        let (level, mut operands) = match level {
            Some((level, operand)) => (level, vec![operand]),
            None => (LevelIndex::Constant, Vec::new()),
        };
        if !whole {
            operands.extend(self.indices(&sizes, place));
        }
        let subscript = (!operands.is_empty()).then(|| Box::new(Subscript { level, operands }));
        untyped(ExprKind::Access {
            target,
            offset,
            subscript,
        })
    }

    /// The indices of some element.
    fn indices(&mut self, sizes: &[u32], place: &Place) -> Vec<Expr> {
        let plain = place.index;
        let place = Place {
            whole: None,
            index: true,
            ..place.clone()
        };
        (sizes.iter())
            .map(|size| self.index(i64::from(*size), plain, &place))
            .collect()
    }

    /// An index; a plain one inside of another, since comparisons tell elements apart, and each of them has a copy of it.
    fn index(&mut self, size: i64, plain: bool, place: &Place) -> Expr {
        match (self.random.below(10), place.counter) {
            (choice, None) if plain || choice < 5 => int(self.random.below(size as usize) as i64),
            (0..=4, _) => int(self.random.below(size as usize) as i64),
            (choice, Some(counter)) if plain || choice < 8 => {
                let count = untyped(ExprKind::read(counter, Offset::ZERO));
                binary(BinaryOp::Mod, count, int(size))
            }
            _ => {
                let depth = self.random.below(2);
                let value = self.expr(Kind::Int, depth, place);
                binary(BinaryOp::Mod, value, int(size))
            }
        }
    }

    /// Assigns a target: one element of it, if it has several.
    pub(super) fn assignment(&mut self, target: Target, place: &mut Place) -> Stmt {
        place.target = Some(target);
        let value = self.value(target, place);
        let sizes = self.data_dims(target).to_vec();
        let operands = self.indices(&sizes, place);
        place.target = None;
        assign_element(target, operands, value)
    }

    /// Assigns a target; every element of it, if it has several.
    pub(super) fn assignments(&mut self, target: Target, place: &mut Place) -> Vec<Stmt> {
        let sizes = self.data_dims(target).to_vec();
        if sizes.is_empty() {
            return vec![self.assignment(target, place)];
        }
        place.target = Some(target);
        let mut statements = Vec::new();
        if self.random.chance(60) {
            place.whole = Some(sizes.clone());
            let value = self.value(target, place);
            place.whole = None;
            for index in every_index(&sizes) {
                let value = self.element(&value, &index);
                statements.push(assign_element(target, literals(&index), value));
            }
        } else {
            for index in every_index(&sizes) {
                let value = self.value(target, place);
                statements.push(assign_element(target, literals(&index), value));
            }
        }
        place.target = None;
        statements
    }

    fn value(&mut self, target: Target, place: &Place) -> Expr {
        // What is assigned may be of a lesser kind.
        let kind = match self.kind(target) {
            Kind::Real if self.random.chance(10) => Kind::Int,
            kind => kind,
        };
        self.expr(kind, self.shape.depth, place)
    }

    /// One element of a value in which all elements are read.
    fn element(&self, value: &Expr, index: &[u32]) -> Expr {
        let mut element = value.clone();
        element.walk_mut(|node| {
            if let ExprKind::Access {
                target, subscript, ..
            } = &mut node.kind
                && !self.data_dims(*target).is_empty()
                && subscript.as_ref().is_none_or(|s| s.indices().is_empty())
            {
                let all = subscript.get_or_insert_default();
                all.operands.extend(literals(index));
            }
        });
        element
    }
}

fn literals(index: &[u32]) -> Vec<Expr> {
    index.iter().map(|n| int(i64::from(*n))).collect()
}

fn assign_element(target: Target, indices: Vec<Expr>, value: Expr) -> Stmt {
    let mut stmt = Stmt::assign(target, Span::default(), value, Span::default());
    if let StmtKind::Assign { subscript, .. } = &mut stmt.kind
        && !indices.is_empty()
    {
        *subscript = Some(Box::new(Subscript {
            level: LevelIndex::Constant,
            operands: indices,
        }));
    }
    stmt
}
