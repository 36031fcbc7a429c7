//! Values that are composed of several arrays before their columns are transposed.
//!
//! Where the levels of a column follow each other in memory, what a sweep reads is transposed. What is computed from elements of
//! several arrays at one point comes to the same whether columns or levels lie in the lanes of a vector: `a + b` takes two
//! transpositions if it is added behind them and one if before. So the arrays that nothing else needs are not transposed, the value is.

use fieldstone_stencil::ir::{
    BinaryOp, Builtin, Expr, ExprKind, Literal, ScalarId, Target, TempId, Temporary, UnaryOp,
};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{ColumnNest, Placement, Schedule, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axes, Axis, DType, Extent, Offset, Span};

use crate::transposed::{self, Transposed};

/// Values of a nest among which those worth it are looked for, at most.
const MOST: usize = 16;

/// A value that is computed along columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    /// It at the first of the points that are read, along the vertical and the vector axis.
    pub value: Expr,
    /// The arrays, with their offsets along the outer axis.
    pub sources: Vec<(Target, i32)>,
    /// The scalars.
    pub scalars: Vec<ScalarId>,
    /// Where it stands for the first time.
    pub span: Span,
}

impl Composed {
    fn shares(&self, other: &Composed) -> bool {
        self.sources
            .iter()
            .any(|source| other.sources.contains(source))
    }
}

/// A nest of columns that reads composed values as if they were arrays.
pub struct Composition {
    /// The program, in which they are temporaries.
    pub program: Program,
    /// Its schedule.
    pub schedule: Schedule,
    /// The nest.
    pub nest: ColumnNest,
    /// What is transposed for it.
    pub transposed: Vec<Transposed>,
}

impl Composition {
    /// Of a nest for which `transposed` is without it, where that makes fewer arrays to transpose.
    pub fn of(
        (program, schedule): (&Program, &Schedule),
        nest: &ColumnNest,
        transposed: &[Transposed],
    ) -> Option<Composition> {
        if transposed.len() < 2 {
            return None;
        }
        let search = Search {
            program,
            nest,
            transposed,
        };
        let values = search.worthwhile()?;
        let (program, nest) = search.with(&values);
        let mut schedule = schedule.clone();
        schedule.temporaries.resize(
            program.stencil.temporaries.len(),
            Placement::Array {
                extent: Extent::ZERO,
                zeroed: false,
            },
        );
        Some(Composition {
            transposed: search.transposed(&program, &nest, &values),
            program,
            schedule,
            nest,
        })
    }
}

struct Search<'a> {
    program: &'a Program,
    nest: &'a ColumnNest,
    transposed: &'a [Transposed],
}

impl Search<'_> {
    /// The values without any of which more would be transposed.
    fn worthwhile(&self) -> Option<Vec<Composed>> {
        let mut values: Vec<Composed> = Vec::new();
        let mut nest = self.nest.clone();
        self.each(&mut nest, &mut |value, _| {
            if values
                .iter()
                .all(|known| !is_same(&known.value, &value.value))
            {
                values.push(value.clone());
            }
            None
        });
        if values.is_empty() || values.len() > MOST {
            return None;
        }
        let mut fewest = self.loads(&values);
        // Those that share arrays may be of use together only, or not at all.
        for together in [true, false] {
            for number in (0..values.len()).rev() {
                let Some(value) = values.get(number).cloned() else {
                    continue;
                };
                let dropped =
                    |other: &Composed| *other == value || (together && other.shares(&value));
                let mut others = values.clone();
                others.retain(|other| !dropped(other));
                let loads = self.loads(&others);
                if loads <= fewest {
                    (values, fewest) = (others, loads);
                }
            }
        }
        (!values.is_empty()).then_some(values)
    }

    /// What is transposed on its way in with such values.
    fn loads(&self, values: &[Composed]) -> usize {
        let (program, nest) = self.with(values);
        let transposed = self.transposed(&program, &nest, values);
        transposed.iter().filter(|array| array.load).count()
    }

    fn transposed(
        &self,
        program: &Program,
        nest: &ColumnNest,
        values: &[Composed],
    ) -> Vec<Transposed> {
        let value = |target: Target| {
            let number = values.iter().enumerate();
            let mut found = number.filter(|(number, _)| self.target(*number) == target);
            found.next().map(|(_, value)| value)
        };
        let plain = |target: Target| self.transposed.iter().any(|array| array.target == target);
        let mut all = transposed::of(program, nest, |target| {
            plain(target) || value(target).is_some()
        });
        for array in &mut all {
            let Some(value) = value(array.target) else {
                continue;
            };
            // Every level that is read is one that all arrays have.
            let levels = (value.sources.iter()).filter_map(|source| self.source(*source));
            let levels = levels.map(|source| source.levels);
            let narrow = |a: (i32, i32), b: (i32, i32)| (a.0.min(b.0), a.1.min(b.1));
            array.levels = levels.reduce(narrow).unwrap_or_default();
            array.composed = Some(value.clone());
        }
        all
    }

    /// The temporary that stands for a value.
    fn target(&self, number: usize) -> Target {
        Target::Temp(TempId(
            (self.program.stencil.temporaries.len() + number) as u32,
        ))
    }

    /// The program and the nest, with temporaries for some values.
    fn with(&self, values: &[Composed]) -> (Program, ColumnNest) {
        let mut program = self.program.clone();
        let temporaries = values.iter().map(|composed| Temporary {
            name: String::from("composed"),
            dtype: composed.value.dtype,
            axes: Axes::IJK,
            data_dims: Vec::new(),
            span: composed.span,
        });
        program.stencil.temporaries.extend(temporaries);
        let mut nest = self.nest.clone();
        self.each(&mut nest, &mut |found, offset| {
            let same = |value: &Composed| is_same(&value.value, &found.value);
            let number = values.iter().position(same)?;
            Some(ExprKind::read(self.target(number), offset))
        });
        (program, nest)
    }

    fn source(&self, (target, outer): (Target, i32)) -> Option<&Transposed> {
        let same = |array: &&Transposed| (array.target, array.outer) == (target, outer);
        self.transposed.iter().find(same)
    }

    /// Calls `change` on every value that is composed of several arrays, with the point it is at, and puts in its place what that
    /// returns.
    fn each(
        &self,
        nest: &mut ColumnNest,
        change: &mut dyn FnMut(&Composed, Offset) -> Option<ExprKind>,
    ) {
        let mut written = Vec::new();
        for sweep in &mut nest.sweeps {
            written.extend(all_written(sweep));
            let inside = Inside {
                search: self,
                written: &written,
                change: &mut *change,
            };
            inside.of_sweep(sweep);
        }
    }
}

fn all_written(sweep: &Sweep) -> Vec<Target> {
    let stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
    let statements = stages.flat_map(|stage| &stage.statements);
    let accesses = statements.map(Accesses::of);
    accesses
        .flat_map(|accesses| accesses.written().collect::<Vec<_>>())
        .collect()
}

/// Whether two values are the same to the last bit, zeros with their signs.
fn is_same(a: &Expr, b: &Expr) -> bool {
    a == b && reals(a) == reals(b)
}

/// The bits of the real numbers that an expression contains.
fn reals(expr: &Expr) -> Vec<u64> {
    let mut found = Vec::new();
    expr.walk(|node| {
        if let ExprKind::Literal(Literal::Float(number)) = node.kind {
            found.push(number.to_bits());
        }
    });
    found
}

/// What an expression is computed from.
enum Origin {
    /// From numbers only.
    Numbers,
    /// From elements of arrays that lie so far away along K and the vector axis.
    Arrays([i32; 2]),
    /// From others too.
    Others,
}

/// The values inside a sweep.
struct Inside<'a> {
    search: &'a Search<'a>,
    /// What it and the sweeps before it write.
    written: &'a [Target],
    change: &'a mut dyn FnMut(&Composed, Offset) -> Option<ExprKind>,
}

impl Inside<'_> {
    fn of_sweep(mut self, sweep: &mut Sweep) {
        let stages = sweep.sections.iter_mut().flat_map(|(_, stages)| stages);
        for statement in stages.flat_map(|stage| &mut stage.statements) {
            statement.walk_mut(&mut |statement| {
                for expr in statement.expressions_mut() {
                    if let Origin::Arrays(place) = self.origin(expr) {
                        self.found(expr, place);
                    }
                }
            });
        }
    }

    /// What an expression is computed from. Values inside one that is computed from others as well are found.
    fn origin(&mut self, expr: &mut Expr) -> Origin {
        let composable = self.is_composable(expr);
        if let ExprKind::Access { target, offset, .. } = &expr.kind {
            return match composable && self.is_source(*target, *offset) {
                true => Origin::Arrays(self.place(*offset)),
                false => Origin::Others,
            };
        }
        let origins: Vec<Origin> = expr
            .operands_mut()
            .map(|operand| self.origin(operand))
            .collect();
        let mut all = Origin::Numbers;
        for origin in &origins {
            all = match (all, origin) {
                (all, Origin::Numbers) => all,
                (Origin::Numbers, Origin::Arrays(place)) => Origin::Arrays(*place),
                (Origin::Arrays(a), Origin::Arrays(b)) if a == *b => Origin::Arrays(a),
                _ => Origin::Others,
            };
        }
        if composable && !matches!(all, Origin::Others) {
            return all;
        }
        for (operand, origin) in expr.operands_mut().zip(origins) {
            if let Origin::Arrays(place) = origin {
                self.found(operand, place);
            }
        }
        Origin::Others
    }

    /// Whether an expression is an operation of few instructions on reals, or what such are made of.
    fn is_composable(&self, expr: &Expr) -> bool {
        let is_real = matches!(expr.dtype, Some(DType::Float32 | DType::Float64));
        is_real
            && match &expr.kind {
                ExprKind::Literal(_) | ExprKind::Scalar(_) => true,
                ExprKind::Access { subscript, .. } => subscript.is_none(),
                ExprKind::Unary(op, _) => *op == UnaryOp::Neg,
                ExprKind::Binary(op, ..) => matches!(
                    op,
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div
                ),
                ExprKind::Call(builtin, _) => {
                    matches!(builtin, Builtin::Abs | Builtin::Sqrt)
                }
                _ => false,
            }
    }

    /// Whether it is an array whose columns are read as they are before the nest.
    fn is_source(&self, target: Target, offset: Offset) -> bool {
        let outer = offset.along(self.search.nest.outer());
        !self.written.contains(&target) && self.search.source((target, outer)).is_some()
    }

    fn place(&self, offset: Offset) -> [i32; 2] {
        [Axis::K, self.search.nest.vector].map(|axis| offset.along(axis))
    }

    /// A value that is computed from arrays only.
    fn found(&mut self, expr: &mut Expr, place: [i32; 2]) {
        // What numbers are applied to afterwards, is better applied to behind the transposition: others may do with the same.
        let mut expr = expr;
        while let Some(number) = only_bearing(expr) {
            let operand = expr.operands_mut().nth(number);
            expr = operand.expect("it has been counted");
        }
        let mut offset = Offset::ZERO;
        offset.0[Axis::K.index()] = place[0];
        offset.0[self.search.nest.vector.index()] = place[1];
        let composed = self.composed(expr);
        if composed.sources.len() < 2 {
            return;
        }
        if let Some(kind) = (self.change)(&composed, offset) {
            expr.kind = kind;
        }
    }

    fn composed(&self, expr: &Expr) -> Composed {
        let mut value = expr.clone();
        let (mut sources, mut scalars) = (Vec::new(), Vec::new());
        value.walk_mut(|node| {
            node.span = Span::default();
            match &mut node.kind {
                ExprKind::Access { target, offset, .. } => {
                    let outer = self.search.nest.outer();
                    let source = (*target, offset.along(outer));
                    *offset = Offset::ZERO;
                    offset.0[outer.index()] = source.1;
                    if !sources.contains(&source) {
                        sources.push(source);
                    }
                }
                ExprKind::Scalar(id) if !scalars.contains(id) => scalars.push(*id),
                _ => {}
            }
        });
        Composed {
            value,
            sources,
            scalars,
            span: expr.span,
        }
    }
}

/// Which operand is the only one that reads arrays; `None` where several do, or the expression is one.
fn only_bearing(expr: &Expr) -> Option<usize> {
    let reads = |expr: &Expr| {
        let mut found = false;
        expr.walk(|node| found |= matches!(node.kind, ExprKind::Access { .. }));
        found
    };
    let mut bearing = expr
        .operands()
        .enumerate()
        .filter(|(_, operand)| reads(operand));
    let first = bearing.next()?;
    bearing.next().is_none().then_some(first.0)
}
