//! Random stencils for tests: well-formed, untyped IR that every backend must agree on.
//!
//! A [`Shape`] says how large they are; a seed which one it is. The same seed gives the same stencil for ever, on every
//! machine. Stencils pass [`Program::new`](crate::Program::new) and can be written as gtscript with
//! [`text::gtscript`](crate::text::gtscript()):
//!
//! - fields of several types, lower-dimensional ones too; the first ones are only read, the last ones written;
//! - PARALLEL, FORWARD and BACKWARD, with one to three intervals; values carried from level to level;
//! - offsets along all axes, `if` and conditional expressions, temporaries with and without annotation;
//! - temporaries are assigned at every point at which they are read, so no backend's choice of a default shows.
//!
//! Values stay tame for inputs of the order of 1: divisors are at least 1 in magnitude, reals are not converted to integers.
//! With [`Shape::exact`] only functions are used whose every bit IEEE 754 prescribes, so that NumPy must agree too.

use std::collections::HashSet;

use crate::dtype::DType;
use crate::grid::{Axes, Axis, Bound, Interval, Level, Offset};
use crate::ir::{
    BinaryOp, Builtin, CompareOp, Computation, Expr, ExprKind, Field, FieldId, Literal, Order,
    Param, Scalar, ScalarId, Section, Stencil, Stmt, StmtKind, Target, TempId, Temporary, UnaryOp,
};
use crate::program::Program;
use crate::source::Span;
use crate::types::Precision;

/// How large a random stencil is, and what may be in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Fields that are only read.
    pub inputs: usize,
    /// Fields that are written.
    pub outputs: usize,
    /// Scalar parameters.
    pub scalars: usize,
    /// Computations, at most.
    pub computations: usize,
    /// Statements per section, at most.
    pub statements: usize,
    /// Operations on top of each other, at most.
    pub depth: usize,
    /// The largest offset.
    pub reach: i32,
    /// Types of fields and scalars; booleans come from comparisons.
    pub dtypes: Vec<DType>,
    /// Only operations whose every bit is prescribed: no transcendental functions, no real powers.
    pub exact: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            inputs: 4,
            outputs: 2,
            scalars: 2,
            computations: 3,
            statements: 4,
            depth: 3,
            reach: 2,
            dtypes: vec![
                DType::Float64,
                DType::Float64,
                DType::Float32,
                DType::Int32,
                DType::Int64,
                DType::Bool,
            ],
            exact: true,
        }
    }
}

/// The stencil of a seed.
///
/// # Panics
///
/// If the shape has no outputs or no types.
pub fn stencil(seed: u64, shape: &Shape) -> Stencil {
    assert!(
        shape.outputs > 0 && !shape.dtypes.is_empty(),
        "a stencil needs outputs and types"
    );
    // Rarely, what was drawn has an extent that grows with every level; the next try is drawn on.
    let mut random = Random(seed);
    loop {
        let stencil = Generator::new(&mut random, shape).stencil(seed);
        if Program::new(stencil.clone(), Precision::default()).is_ok() {
            return stencil;
        }
    }
}

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014): SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What an expression has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Real,
}

impl Kind {
    fn of(dtype: DType) -> Kind {
        match dtype {
            DType::Bool => Kind::Bool,
            _ if dtype.is_int() => Kind::Int,
            _ => Kind::Real,
        }
    }
}

struct Generator<'a> {
    random: &'a mut Random,
    shape: &'a Shape,
    fields: Vec<Field>,
    scalars: Vec<Scalar>,
    temporaries: Vec<Temporary>,
    /// Per temporary.
    kinds: Vec<Kind>,
    /// Temporaries with a value at every level of the domain.
    everywhere: HashSet<TempId>,
}

/// Where an expression stands.
#[derive(Clone, Debug)]
struct Place {
    order: Order,
    interval: Interval,
    /// What the computation writes.
    written: HashSet<Target>,
    /// Temporaries that have a value at this level.
    here: HashSet<TempId>,
    /// Temporaries that the computation writes first of all, at every level.
    carried: HashSet<TempId>,
    /// The target of the statement.
    target: Option<Target>,
}

fn untyped(kind: ExprKind) -> Expr {
    Expr::untyped(kind, Span::default())
}

fn int(n: i64) -> Expr {
    untyped(ExprKind::Literal(Literal::Int(n)))
}

fn real(x: f64) -> Expr {
    untyped(ExprKind::Literal(Literal::Float(x)))
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    untyped(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

fn call(builtin: Builtin, operands: Vec<Expr>) -> Expr {
    untyped(ExprKind::Call(builtin, operands))
}

fn cast(dtype: DType, a: Expr) -> Expr {
    Expr {
        kind: ExprKind::Cast(Box::new(a)),
        dtype: Some(dtype),
        span: Span::default(),
    }
}

fn statement(kind: StmtKind) -> Stmt {
    Stmt {
        kind,
        span: Span::default(),
    }
}

fn assign(target: Target, value: Expr) -> Stmt {
    statement(StmtKind::Assign {
        target,
        target_span: Span::default(),
        value,
    })
}

impl<'a> Generator<'a> {
    fn new(random: &'a mut Random, shape: &'a Shape) -> Self {
        Generator {
            random,
            shape,
            fields: Vec::new(),
            scalars: Vec::new(),
            temporaries: Vec::new(),
            kinds: Vec::new(),
            everywhere: HashSet::new(),
        }
    }

    fn stencil(mut self, seed: u64) -> Stencil {
        self.parameters();
        let count = 1 + self.random.below(self.shape.computations.max(1));
        let mut computations: Vec<Computation> = (0..count).map(|_| self.computation()).collect();
        computations.extend(self.missing_outputs(&computations));
        let fields = (0..self.fields.len() as u32).map(|n| Param::Field(FieldId(n)));
        let scalars = (0..self.scalars.len() as u32).map(|n| Param::Scalar(ScalarId(n)));
        Stencil {
            name: format!("random_{seed}"),
            params: fields.chain(scalars).collect(),
            fields: self.fields,
            scalars: self.scalars,
            temporaries: self.temporaries,
            computations,
            sources: Default::default(),
        }
    }

    fn parameters(&mut self) {
        const LOWER: [Axes; 4] = [
            Axes([true, true, false]),
            Axes([false, false, true]),
            Axes([true, false, false]),
            Axes([false, true, false]),
        ];
        for n in 0..self.shape.inputs {
            // The first is three-dimensional, so that there is a domain to speak of.
            let axes = if n > 0 && self.random.chance(30) {
                self.random.pick(&LOWER)
            } else {
                Axes::IJK
            };
            self.field(format!("in{n}"), axes);
        }
        for n in 0..self.shape.outputs {
            let axes = if n > 0 && self.random.chance(20) {
                LOWER[0]
            } else {
                Axes::IJK
            };
            self.field(format!("out{n}"), axes);
        }
        for n in 0..self.shape.scalars {
            let dtype = self.random.pick(&self.shape.dtypes);
            self.scalars.push(Scalar {
                name: format!("s{n}"),
                dtype,
                span: Span::default(),
            });
        }
    }

    fn field(&mut self, name: String, axes: Axes) {
        let dtype = self.random.pick(&self.shape.dtypes);
        self.fields.push(Field {
            name,
            dtype,
            axes,
            span: Span::default(),
        });
    }

    fn temporary(&mut self) -> TempId {
        let id = TempId(self.temporaries.len() as u32);
        let kind = self
            .random
            .pick(&[Kind::Real, Kind::Real, Kind::Real, Kind::Int, Kind::Bool]);
        let annotation = match kind {
            Kind::Real => self.random.pick(&[DType::Float32, DType::Float64]),
            Kind::Int => self.random.pick(&[DType::Int32, DType::Int64]),
            Kind::Bool => DType::Bool,
        };
        let annotated = self.random.chance(25);
        self.temporaries.push(Temporary {
            name: format!("t{}", id.0),
            dtype: annotated.then_some(annotation),
            span: Span::default(),
        });
        self.kinds.push(kind);
        id
    }

    fn outputs(&self) -> std::ops::Range<u32> {
        self.shape.inputs as u32..self.fields.len() as u32
    }

    // -- computations

    /// Intervals that cover the domain, in the order in which they run.
    fn intervals(&mut self, order: Order) -> Vec<Interval> {
        let start = |offset| Bound {
            level: Level::Start,
            offset,
        };
        let end = |offset| Bound {
            level: Level::End,
            offset,
        };
        let cuts = match self.random.below(4) {
            0 => vec![start(0), end(0)],
            1 => vec![start(0), start(1), end(0)],
            2 => vec![start(0), end(-1), end(0)],
            _ => vec![start(0), start(2), end(-1), end(0)],
        };
        let mut intervals: Vec<Interval> = (cuts.windows(2))
            .map(|pair| Interval {
                start: pair[0],
                end: pair[1],
            })
            .collect();
        if order == Order::Backward {
            intervals.reverse();
        }
        intervals
    }

    fn computation(&mut self) -> Computation {
        let order = self.random.pick(&[
            Order::Parallel,
            Order::Parallel,
            Order::Forward,
            Order::Backward,
        ]);
        let mut intervals = self.intervals(order);
        // What every level writes first, for later statements, levels and computations to read.
        let first: Vec<TempId> = (0..self.random.below(3))
            .map(|_| self.temporary())
            .collect();
        // What may be written, wherever.
        let mut rest: Vec<Target> = (self.outputs())
            .map(|n| Target::Field(FieldId(n)))
            .filter(|target| order != Order::Parallel || self.axes(*target) == Axes::IJK)
            .collect();
        let everywhere: Vec<TempId> = self.sorted(&self.everywhere);
        for id in everywhere {
            if self.random.chance(30) {
                rest.push(Target::Temp(id));
            }
        }
        if first.is_empty() && self.random.chance(30) {
            // Only part of the domain.
            let drop = self.random.below(intervals.len());
            if intervals.len() > 1 {
                intervals.remove(drop);
            }
        }
        let mut written: HashSet<Target> = rest.iter().copied().collect();
        written.extend(first.iter().map(|id| Target::Temp(*id)));
        let carried: HashSet<TempId> = match order {
            Order::Parallel => HashSet::new(),
            _ => first.iter().copied().collect(),
        };
        let sections = (intervals.into_iter())
            .map(|interval| {
                let mut place = Place {
                    order,
                    interval,
                    written: written.clone(),
                    here: HashSet::new(),
                    carried: carried.clone(),
                    target: None,
                };
                let body = self.section(&first, &rest, &mut place);
                Section {
                    interval,
                    body,
                    span: Span::default(),
                }
            })
            .collect();
        self.everywhere.extend(first);
        Computation {
            order,
            sections,
            span: Span::default(),
        }
    }

    fn sorted(&self, set: &HashSet<TempId>) -> Vec<TempId> {
        let mut all: Vec<TempId> = set.iter().copied().collect();
        all.sort();
        all
    }

    fn section(&mut self, first: &[TempId], rest: &[Target], place: &mut Place) -> Vec<Stmt> {
        let mut body = Vec::new();
        for id in first {
            body.push(self.assignment(Target::Temp(*id), place));
            place.here.insert(*id);
        }
        let mut targets = rest.to_vec();
        targets.extend(first.iter().map(|id| Target::Temp(*id)));
        for _ in 0..1 + self.random.below(self.shape.statements.max(1)) {
            if self.random.chance(25) {
                // A temporary of this section only.
                let id = self.temporary();
                body.push(self.assignment(Target::Temp(id), place));
                place.here.insert(id);
                targets.push(Target::Temp(id));
                // At other levels, and in other sections, it has no value.
                place.written.insert(Target::Temp(id));
            } else if !targets.is_empty() {
                body.push(self.statement(&targets, place, 2));
            }
        }
        body
    }

    /// Assigns the outputs that nothing assigns yet.
    fn missing_outputs(&mut self, computations: &[Computation]) -> Option<Computation> {
        let mut assigned = HashSet::new();
        for section in computations.iter().flat_map(|c| &c.sections) {
            for stmt in &section.body {
                crate::analysis::access::each_access(stmt, &mut |target, _, write, _| {
                    if write {
                        assigned.insert(target);
                    }
                });
            }
        }
        let missing: Vec<Target> = (self.outputs())
            .map(|n| Target::Field(FieldId(n)))
            .filter(|target| !assigned.contains(target))
            .collect();
        if missing.is_empty() {
            return None;
        }
        let mut place = Place {
            order: Order::Forward,
            interval: Interval::FULL,
            written: missing.iter().copied().collect(),
            here: HashSet::new(),
            carried: HashSet::new(),
            target: None,
        };
        let body = (missing.into_iter())
            .map(|target| self.assignment(target, &mut place))
            .collect();
        Some(Computation {
            order: Order::Forward,
            sections: vec![Section {
                interval: Interval::FULL,
                body,
                span: Span::default(),
            }],
            span: Span::default(),
        })
    }

    // -- statements

    fn statement(&mut self, targets: &[Target], place: &mut Place, nesting: usize) -> Stmt {
        if nesting == 0 || self.random.chance(70) {
            let target = self.random.pick(targets);
            return self.assignment(target, place);
        }
        place.target = None;
        let condition = self.expr(Kind::Bool, self.shape.depth, place);
        let mut branch = |generator: &mut Self, least: usize| -> Vec<Stmt> {
            (0..least + generator.random.below(2))
                .map(|_| generator.statement(targets, place, nesting - 1))
                .collect()
        };
        let then = branch(self, 1);
        let orelse = branch(self, 0);
        statement(StmtKind::If {
            condition,
            then,
            orelse,
        })
    }

    fn assignment(&mut self, target: Target, place: &mut Place) -> Stmt {
        place.target = Some(target);
        let kind = self.kind(target);
        // What is assigned may be of a lesser kind.
        let kind = match kind {
            Kind::Real if self.random.chance(10) => Kind::Int,
            kind => kind,
        };
        let value = self.expr(kind, self.shape.depth, place);
        place.target = None;
        assign(target, value)
    }

    fn kind(&self, target: Target) -> Kind {
        match target {
            Target::Field(id) => Kind::of(self.fields[id.0 as usize].dtype),
            Target::Temp(id) => self.kinds[id.0 as usize],
        }
    }

    fn axes(&self, target: Target) -> Axes {
        match target {
            Target::Field(id) => self.fields[id.0 as usize].axes,
            Target::Temp(_) => Axes::IJK,
        }
    }

    // -- expressions

    fn expr(&mut self, kind: Kind, depth: usize, place: &Place) -> Expr {
        if depth == 0 || self.random.chance(15) {
            return self.leaf(kind, place);
        }
        let depth = depth - 1;
        match kind {
            Kind::Bool => self.boolean(depth, place),
            Kind::Int => self.integer(depth, place),
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
            if let Some(offset) = self.offset(target, place) {
                return untyped(ExprKind::Access { target, offset });
            }
        }
        self.literal(kind)
    }

    /// An offset at which a target can be read, if there is one.
    fn offset(&mut self, target: Target, place: &Place) -> Option<Offset> {
        let axes = self.axes(target);
        let ours = place.written.contains(&target);
        let vertical = self.vertical(target, place, ours)?;
        let behind = match place.order {
            Order::Parallel => 0,
            Order::Forward => -vertical,
            Order::Backward => vertical,
        };
        // Of what a vertical loop writes, it reads the own column; else the extent could grow with the levels.
        let may_move = !ours
            || (place.order == Order::Parallel && place.target != Some(target))
            || (place.order != Order::Parallel && behind < 0);
        let mut offset = [0, 0, vertical];
        for axis in [Axis::I, Axis::J] {
            if may_move && axes.contains(axis) && self.random.chance(35) {
                offset[axis.index()] = self.shift();
            }
        }
        Some(Offset(offset))
    }

    fn shift(&mut self) -> i32 {
        let reach = self.shape.reach.max(0);
        self.random.below(2 * reach as usize + 1) as i32 - reach
    }

    fn vertical(&mut self, target: Target, place: &Place, ours: bool) -> Option<i32> {
        let axes = self.axes(target);
        if !axes.contains(Axis::K) {
            return Some(0);
        }
        let wanted = if self.random.chance(30) {
            self.shift()
        } else {
            0
        };
        let behind = match place.order {
            Order::Parallel => 0,
            Order::Forward => -wanted,
            Order::Backward => wanted,
        };
        let inside = self.stays_inside(place.interval, wanted);
        match target {
            // Inputs have a halo along K; what is written has values of other kinds there, which is fine.
            Target::Field(_) if !ours || place.order != Order::Parallel => Some(wanted),
            Target::Field(_) => Some(0),
            Target::Temp(id) => {
                let complete = self.everywhere.contains(&id);
                if place.here.contains(&id) {
                    let may = behind > 0 && place.carried.contains(&id) && inside;
                    Some(if may { wanted } else { 0 })
                } else if complete {
                    Some(if inside && (!ours || behind != 0) {
                        wanted
                    } else {
                        0
                    })
                } else if place.carried.contains(&id) && behind > 0 && inside {
                    Some(wanted)
                } else {
                    None
                }
            }
        }
    }

    /// Whether levels of an interval, moved by so many, are levels of every domain that is not lower than four.
    fn stays_inside(&self, interval: Interval, moved: i32) -> bool {
        let first = match interval.start.level {
            Level::Start => interval.start.offset + moved >= 0,
            Level::End => moved >= -2,
        };
        let last = match interval.end.level {
            Level::Start => moved <= 1,
            Level::End => interval.end.offset + moved <= 0,
        };
        first && last
    }
}
