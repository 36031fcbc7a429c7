//! The statements of a stage on one vector of points.
//!
//! | module | what lives there |
//! |---|---|
//! | `expression` | values of expressions |
//! | `access` | values of targets: known, read and stored |
//! | `unseen` | operands whose NaN a result need not keep |

mod access;
mod expression;
mod unseen;

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::ir::{Expr, LevelIndex, Stmt, StmtKind, Target};
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::{Area, Axis, Bound, DType, Offset};

use super::arithmetic::Arithmetic;
use super::builder::Builder;
use super::entry::{Context, Entry};
use super::level;
use super::memory::{lane_indices, splat};
use super::past::{Rest, ToLines};
use super::place::{self, Row};
use super::preheader::{Preheader, visit};
use super::range::{bound, in_area};
use super::types::Lanes;
use super::{Failure, Wrong};

/// What is known of targets at offsets.
pub(super) type Known = HashMap<(Target, Offset), String>;

/// Neighbouring vectors of a row that are in registers.
#[derive(Clone)]
pub(super) struct Blocks {
    /// Whether a stage made them, so that they have all points that any region reads.
    pub made: bool,
    /// How many vectors the first is ahead of the one that is computed.
    pub ahead: i64,
    /// Each one behind the one before it.
    pub vectors: Vec<String>,
}

/// How the regions among the statements of a stage are computed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Regions {
    /// At all points, like what a condition holds for.
    Inside,
    /// Only in vectors that have points of theirs.
    Apart,
    /// Only those that the vector has points of, which is known: its first lane is there.
    At(Bound),
    /// There is none in these vectors.
    Absent,
}

/// Which results are stored past the caches, of those that may be.
#[derive(Clone, Copy)]
pub(super) enum Streaming<'a> {
    Never,
    /// Aligned ones.
    Always,
    /// All, line by line.
    Lines(&'a [ToLines<'a>]),
    /// The last points of such rows.
    Rest(Rest<'a>),
    /// All, where a condition holds.
    Where(&'a str),
}

/// The statements of a stage on one vector of points.
pub(super) struct Body<'a, 'b> {
    pub(super) context: &'a Context<'a>,
    pub(super) entry: &'a Entry,
    pub(super) b: &'b mut Builder,
    pub(super) lanes: Lanes,
    pub(super) row: &'a Row,
    pub(super) preheader: &'a Preheader,
    /// Targets that are read from and written to memory at once.
    through: HashSet<Target>,
    /// Operands of `min` and `max` whose NaN nobody sees.
    unseen: unseen::Nodes,
    /// Index of the first lane along the row.
    pub(super) first: &'a str,
    /// The same as an index and points behind it, where others share that index.
    pub(super) anchor: Option<(&'a str, i64)>,
    /// Lanes inside the row, `None` where all are.
    pub(super) mask: Option<String>,
    /// Lanes at which the value counts that is computed, `None` where all do.
    pub(super) guard: Option<String>,
    /// Whether a value is the same in all lanes and the first one stands for them, whichever those are that count.
    pub(super) all_count: bool,
    pub(super) streaming: Streaming<'a>,
    /// Lanes that are stored where the mask has all, `None` where all are.
    pub(super) stored: Option<String>,
    /// What is read and stored at all lanes, whatever the masks say.
    pub(super) loose: HashSet<Target>,
    /// What is not stored.
    pub(super) kept: HashSet<Target>,
    pub(super) regions: Regions,
    /// Whether a region is being computed that is apart.
    pub(super) in_region: bool,
    /// Rows of which vectors are in registers, by target and offset across the row.
    pub(super) blocks: HashMap<(Target, Offset), Blocks>,
    pub(super) values: Known,
    /// Targets whose value must be stored, with the offset at which.
    changed: Vec<(Target, Offset)>,
}

impl<'a, 'b> Body<'a, 'b> {
    pub(super) fn new(
        (context, entry, b): (&'a Context<'a>, &'a Entry, &'b mut Builder),
        lanes: Lanes,
        (row, preheader): (&'a Row, &'a Preheader),
        first: &'a str,
        mask: Option<String>,
    ) -> Body<'a, 'b> {
        Body {
            context,
            entry,
            b,
            lanes,
            row,
            preheader,
            through: HashSet::new(),
            unseen: unseen::Nodes::new(),
            first,
            anchor: None,
            mask,
            guard: None,
            all_count: false,
            streaming: Streaming::Never,
            stored: None,
            loose: HashSet::new(),
            kept: HashSet::new(),
            regions: Regions::Inside,
            in_region: false,
            blocks: HashMap::new(),
            values: HashMap::new(),
            changed: Vec::new(),
        }
    }

    /// Computes a stage and stores what it changed.
    pub(super) fn stage(&mut self, stage: &Stage) {
        self.through = level::written_through(&stage.statements);
        self.unseen = unseen::operands(&stage.statements, |target| {
            place::in_registers(self.context, target)
        });
        for statement in &stage.statements {
            match &statement.kind {
                // The loops around are cut to the area of the stage.
                StmtKind::Region { area, body } if *area == stage.area => {
                    self.statements(body, None);
                }
                StmtKind::Region { .. } if self.regions == Regions::Absent => {}
                StmtKind::Region { area, body } if self.regions != Regions::Inside => {
                    self.region(*area, body);
                }
                _ => self.statement(statement, None),
            }
        }
        self.store_changes();
    }
}

impl Body<'_, '_> {
    pub(super) fn arithmetic(&mut self) -> Arithmetic<'_> {
        let row = self.mask.as_deref().or(self.stored.as_deref());
        Arithmetic {
            b: self.b,
            lanes: self.lanes,
            seen: match self.all_count {
                true => [None; 2],
                false => [row, self.guard.as_deref()],
            },
            fast_math: self.context.program.stencil.fast_math,
        }
    }

    pub(super) fn statements(&mut self, statements: &[Stmt], condition: Option<&str>) {
        for statement in statements {
            self.statement(statement, condition);
        }
    }

    fn statement(&mut self, statement: &Stmt, condition: Option<&str>) {
        self.guard = condition.map(str::to_owned);
        match &statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                offset,
                subscript,
                value,
            } => {
                let value = self.expression(value);
                match subscript.as_deref() {
                    Some(subscript) => {
                        let place = (*target, *target_span);
                        self.write_at(place, *offset, subscript, value, condition);
                    }
                    None => self.assign(*target, *offset, value, condition),
                }
            }
            StmtKind::While {
                condition: test,
                body,
            } => self.repeat(test, body, condition),
            StmtKind::Require {
                condition: test,
                intervals,
                ..
            } => {
                let holds = self.expression(test);
                let fails = self.arithmetic().not(&holds);
                let failure = Failure {
                    what: Wrong::Intervals(intervals.clone()),
                    span: statement.span,
                };
                self.note(&fails, failure, self.lanes);
            }
            StmtKind::Region { area, body } => {
                let inside = self.inside(*area);
                let condition = match inside {
                    Some(inside) => Some(self.both(condition, &inside)),
                    None => condition.map(str::to_owned),
                };
                self.statements(body, condition.as_deref());
            }
            StmtKind::If {
                condition: test,
                then,
                orelse,
            } => {
                let test = self.expression(test);
                let holds = self.both(condition, &test);
                self.statements(then, Some(&holds));
                if !orelse.is_empty() {
                    let otherwise = self.arithmetic().not(&test);
                    let fails = self.both(condition, &otherwise);
                    self.statements(orelse, Some(&fails));
                }
            }
        }
    }

    /// Which lanes are in a part of the plane; `None` where all of every row are.
    pub(super) fn inside(&mut self, area: Area) -> Option<String> {
        let mut inside: Option<String> = None;
        for axis in [Axis::I, Axis::J] {
            let test = if axis == self.row.lanes() {
                self.lanes_in_area(area, axis)
            } else {
                let index = match axis == self.row.vector {
                    true => self.first,
                    false => &self.row.index[axis.index()],
                };
                let test = in_area(self.entry, self.b, area, axis, index);
                test.map(|test| splat(self.b, self.lanes, "i1", &test))
            };
            inside = match (inside, test) {
                (Some(inside), Some(test)) => Some(self.arithmetic().and(&inside, &test)),
                (inside, test) => inside.or(test),
            };
        }
        inside
    }

    fn lanes_in_area(&mut self, area: Area, axis: Axis) -> Option<String> {
        let part = area.along(axis);
        let indices = lane_indices(self.b, self.lanes, self.first);
        let kind = self.lanes.of("i64");
        let mut inside: Option<String> = None;
        for (comparison, limit) in [("sge", part.start), ("slt", part.end)] {
            let Some(limit) = limit else { continue };
            let limit = bound(self.entry, self.b, axis, limit);
            let limit = splat(self.b, self.lanes, "i64", &limit);
            let test = (self.b).value(format_args!("icmp {comparison} {kind} {indices}, {limit}"));
            inside = match inside {
                Some(inside) => Some(self.arithmetic().and(&inside, &test)),
                None => Some(test),
            };
        }
        inside
    }

    /// Rounds over the lanes that are still active, until none is.
    fn repeat(&mut self, test: &Expr, body: &[Stmt], condition: Option<&str>) {
        let mut written = Vec::new();
        for statement in body {
            visit(statement, &mut |_| {}, &mut |target, offset, level| {
                let key = (target, offset);
                let in_memory = self.through.contains(&target)
                    || level != LevelIndex::Constant
                    || !place::is_number(self.context, target);
                if !in_memory && !written.contains(&key) {
                    written.push(key);
                }
            });
        }
        let active = match (condition.map(str::to_owned), self.mask.clone()) {
            (Some(condition), Some(mask)) => self.arithmetic().and(&condition, &mask),
            (condition, mask) => condition
                .or(mask)
                .unwrap_or_else(|| self.lanes.constant(DType::Bool, "true")),
        };
        let mut values = vec![(self.lanes.of("i1"), active)];
        for (target, offset) in &written {
            let kind = self.lanes.value(place::dtype(self.context, *target));
            values.push((kind, self.read(*target, *offset)));
        }
        let (name, names) = self.b.begin_repeat(&values);
        for (key, name) in written.iter().zip(&names[1..]) {
            self.values.insert(*key, name.clone());
        }
        let known = self.values.clone();
        self.guard = Some(names[0].clone());
        let holds = self.expression(test);
        let active = self.arithmetic().and(&names[0], &holds);
        let any = self.b.any(self.lanes, &active);
        self.b.repeat_while(&name, &any);
        self.statements(body, Some(&active));
        values[0].1 = active;
        for ((_, value), key) in values[1..].iter_mut().zip(&written) {
            value.clone_from(&self.values[key]);
        }
        self.b.end_repeat(&name, &values);
        // What was loaded inside of the loop is not known behind it.
        self.values = known;
        for key in written {
            if !self.changed.contains(&key) {
                self.changed.push(key);
            }
        }
    }

    fn both(&mut self, condition: Option<&str>, test: &str) -> String {
        match condition {
            None => test.to_string(),
            Some(condition) => self.arithmetic().and(condition, test),
        }
    }

    fn assign(&mut self, target: Target, offset: Offset, value: String, condition: Option<&str>) {
        if self.through.contains(&target) {
            self.masked(condition, |body| body.store_value(target, offset, value));
            return;
        }
        let value = match condition {
            None => value,
            Some(condition) => {
                let old = self.read(target, offset);
                let dtype = place::dtype(self.context, target);
                self.arithmetic().select(condition, dtype, &value, &old)
            }
        };
        let key = (target, offset);
        self.values.insert(key, value);
        if !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }
}
