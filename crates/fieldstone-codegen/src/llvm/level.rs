//! Accesses at levels that are computed.

use std::collections::HashSet;

use fieldstone_stencil::ir::{Expr, ExprKind, LevelIndex, Stmt, Subscript, Target};
use fieldstone_stencil::visit::accesses;
use fieldstone_stencil::{Axis, DType, Offset, Span};

use super::body::Body;
use super::memory::{lane_indices, load_scalar, splat};
use super::place::{self, Spacing};
use super::types::{self, Lanes};
use super::{Failure, Wrong};

/// Targets that statements write, and access at levels that are computed: whether that is an element written before shows
/// at run time, so every access goes to memory at once.
pub(super) fn written_through(statements: &[Stmt]) -> HashSet<Target> {
    let (mut written, mut computed) = (HashSet::new(), HashSet::new());
    accesses(statements, &mut |access| {
        if access.write {
            written.insert(access.target);
        }
        if access.level != LevelIndex::Constant {
            computed.insert(access.target);
        }
    });
    written.retain(|target| computed.contains(target));
    written
}

/// How the level of an access is given, with a constant offset.
pub(super) fn of(subscript: Option<&Subscript>) -> LevelIndex {
    subscript.map_or(LevelIndex::Constant, |subscript| subscript.level)
}

/// Where the points of a vector lie.
pub(super) enum Place {
    /// One address for all, or for the first of contiguous lanes.
    One(String, Spacing),
    /// One for each lane.
    Each(String),
}

impl Body<'_, '_> {
    /// Reads a target at a level or at indices that are computed.
    pub(super) fn read_at(
        &mut self,
        target: Target,
        offset: Offset,
        subscript: &Subscript,
        span: Span,
    ) -> String {
        let dtype = place::dtype(self.context, target);
        match self.place_of(target, offset, subscript, span) {
            Place::One(address, Spacing::Contiguous) => self.load(dtype, &address),
            Place::One(address, _) => {
                let value = load_scalar(self.b, dtype, &address);
                splat(self.b, self.lanes, types::register(dtype), &value)
            }
            Place::Each(addresses) => self.gather(dtype, &addresses),
        }
    }

    /// Writes a target at a level or at indices that are computed, where `condition` holds.
    pub(super) fn write_at(
        &mut self,
        (target, span): (Target, Span),
        offset: Offset,
        subscript: &Subscript,
        value: String,
        condition: Option<&str>,
    ) {
        let place = self.place_of(target, offset, subscript, span);
        let dtype = place::dtype(self.context, target);
        let value = self.in_memory(dtype, value);
        self.masked(condition, |body| match &place {
            Place::One(address, _) => body.store(dtype, &value, address),
            Place::Each(addresses) => body.scatter(dtype, &value, addresses),
        });
    }

    fn place_of(
        &mut self,
        target: Target,
        offset: Offset,
        subscript: &Subscript,
        span: Span,
    ) -> Place {
        let place = match subscript.level {
            LevelIndex::Constant => self.point_place(target, offset),
            LevelIndex::Offset | LevelIndex::Absolute => {
                self.level_place(target, offset, subscript, span)
            }
        };
        self.element_place(place, target, subscript, span)
    }

    fn level_place(
        &mut self,
        target: Target,
        offset: Offset,
        subscript: &Subscript,
        span: Span,
    ) -> Place {
        let vector = self.row.vector;
        let key = base(offset, vector);
        let (row, pitch) = self.preheader.levels[&(target, key)].clone();
        let operand = subscript.level().expect("the level is computed");
        let from_here = subscript.level == LevelIndex::Offset;
        let is_uniform = is_uniform(operand, vector);
        let level = self.index(operand, is_uniform);
        let lanes = self.lanes;
        let uniform = is_uniform && !(from_here && vector == Axis::K);
        if uniform {
            let level = self.first_lane(&level);
            let here = if from_here {
                self.row.index[2].as_str()
            } else {
                "0"
            };
            let here = self.b.add(here, offset.along(Axis::K));
            self.lanes = Lanes { width: 1 };
            let level = self.wrapping_add(&level, &here);
            let level = self.nearest_level(target, span, level, lanes);
            self.lanes = lanes;
            let bytes = self.b.mul(&level, &pitch);
            let at_level = self.b.offset(&row.pointer, bytes);
            if vector == Axis::K || row.spacing == Spacing::Uniform {
                return Place::One(at_level, Spacing::Uniform);
            }
            let ahead = offset.along(vector);
            return match &row.spacing {
                Spacing::Strided(stride) => Place::Each(self.addresses(&at_level, stride, ahead)),
                Spacing::Point(stride) => {
                    Place::One(self.neighbour(&at_level, stride, ahead), Spacing::Uniform)
                }
                _ => {
                    let size = place::dtype(self.context, target).size();
                    Place::One(self.address(&at_level, size, ahead), Spacing::Contiguous)
                }
            };
        }
        let here = match (from_here, vector) {
            (true, Axis::K) => lane_indices(self.b, lanes, self.first),
            (true, _) => splat(self.b, lanes, "i64", &self.row.index[2]),
            (false, _) => lanes.splat("i64", "0"),
        };
        let level = self.wrapping_add(&level, &here);
        let shift = lanes.splat("i64", &offset.along(Axis::K).to_string());
        let level = self.wrapping_add(&level, &shift);
        let level = self.nearest_level(target, span, level, lanes);
        let kind = lanes.of("i64");
        let pitch = splat(self.b, lanes, "i64", &pitch);
        let bytes = self.b.value(format_args!("mul {kind} {level}, {pitch}"));
        let start = match &row.spacing {
            _ if vector == Axis::K => row.pointer.clone(),
            Spacing::Contiguous => {
                let size = place::dtype(self.context, target).size().to_string();
                self.addresses(&row.pointer, &size, offset.along(vector))
            }
            Spacing::Strided(stride) => self.addresses(&row.pointer, stride, offset.along(vector)),
            Spacing::Point(stride) => self.neighbour(&row.pointer, stride, offset.along(vector)),
            Spacing::Uniform | Spacing::Register => row.pointer.clone(),
        };
        let is_one = vector == Axis::K || row.spacing == Spacing::Uniform || lanes.width == 1;
        let pointers = if is_one {
            "ptr".to_owned()
        } else {
            lanes.of("ptr")
        };
        Place::Each(self.b.value(format_args!(
            "getelementptr i8, {pointers} {start}, {kind} {bytes}"
        )))
    }

    fn wrapping_add(&mut self, a: &str, b: &str) -> String {
        let kind = self.lanes.of("i64");
        self.b.value(format_args!("add {kind} {a}, {b}"))
    }

    pub(super) fn first_lane(&mut self, value: &str) -> String {
        if self.lanes.width == 1 {
            return value.to_owned();
        }
        let kind = self.lanes.of("i64");
        self.b
            .value(format_args!("extractelement {kind} {value}, i64 0"))
    }

    /// The nearest levels that an array has; where others were wanted at points that count, notes the access. `row` are the
    /// lanes of the row, the level is of [`Body::lanes`].
    fn nearest_level(&mut self, target: Target, span: Span, level: String, row: Lanes) -> String {
        let (first, end) = self.entry.array_levels[&target].clone();
        let last = self.b.add(&end, -1);
        let [first, last] = [first, last].map(|bound| splat(self.b, self.lanes, "i64", &bound));
        let nearest = self.arithmetic().clamp(&level, &first, &last);
        let kind = self.lanes.of("i64");
        let outside = self
            .b
            .value(format_args!("icmp ne {kind} {level}, {nearest}"));
        let what = Wrong::Level(target);
        self.note(&outside, Failure { what, span }, row);
        nearest
    }

    /// Notes a failure where it happens at points that count. `row` are the lanes of the row, `fails` has those of
    /// [`Body::lanes`].
    pub(super) fn note(&mut self, fails: &str, failure: Failure, row: Lanes) {
        let mut fails = fails.to_owned();
        let narrow = self.lanes;
        let counts = self.guard.clone();
        let counts = match (counts, self.mask.clone()) {
            (Some(guard), Some(mask)) => {
                self.lanes = row;
                let both = self.arithmetic().and(&guard, &mask);
                self.lanes = narrow;
                Some(both)
            }
            (guard, mask) => guard.or(mask),
        };
        if let Some(counts) = counts {
            let counts = match narrow == row {
                true => counts,
                false => self.b.any(row, &counts),
            };
            fails = self.arithmetic().and(&fails, &counts);
        }
        let fails = self.b.any(narrow, &fails);
        let mut failures = self.context.failures.borrow_mut();
        let known = failures.iter().position(|known| *known == failure);
        let number = known.unwrap_or_else(|| {
            failures.push(failure);
            failures.len() - 1
        });
        let flag = &self.entry.outside;
        self.b.when(&fails, |b| {
            b.effect(format_args!(
                "store atomic i64 {}, ptr {flag} monotonic, align 8",
                number + 1
            ));
        });
    }
}

/// The offset of a row whose level is computed.
pub(super) fn base(offset: Offset, vector: Axis) -> Offset {
    let mut base = offset;
    base.0[vector.index()] = 0;
    base.0[2] = 0;
    base
}

/// Whether a value is the same for all points of a row.
pub(super) fn is_uniform(expr: &Expr, vector: Axis) -> bool {
    let mut uniform = expr.dtype() == DType::Int64;
    expr.walk(|node| {
        uniform &= match node.kind {
            ExprKind::Access { .. } => false,
            ExprKind::Position(axis) => axis != vector,
            _ => true,
        };
    });
    uniform
}
