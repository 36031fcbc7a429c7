//! Elements of data dimensions as fields and temporaries of their own.
//!
//! ```text
//! field v: float64[IJK](3)                 field "v[0]": float64[IJK]
//! field out: float64[IJK](3)               field "out[2]": float64[IJK]
//! …                               becomes  …
//!   out[2] = 2.0 * v[0]                      "out[2]" = 2.0 * "v[0]"
//! ```
//!
//! So `v[0]` and `v[1]` are different values to everything that looks for dependences, and an element of a temporary can live
//! in a register. Where an index is computed at run time, there is a choice: [`Indices::Constant`] leaves such targets as they
//! are, [`Indices::Any`] tells the few elements of a small target apart by comparisons.
//!
//! An index outside of its dimension counts as the nearest one inside; the interpreter reports it instead.

use std::collections::{HashMap, HashSet};

use crate::dtype::DType;
use crate::grid::{Interval, Offset};
use crate::ir::{
    CompareOp, Computation, Expr, ExprKind, Field, FieldId, LevelIndex, Literal, Order, Param,
    ScalarId, Section, Stencil, Stmt, StmtKind, Subscript, Target, TempId, Temporary,
};
use crate::source::Span;

/// A stencil whose elements were taken apart, statement by statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Apart {
    /// The stencil.
    pub stencil: Stencil,
    /// What each field is the element of, in the order of the fields.
    pub elements: Vec<Element>,
    /// `statements[computation][section][statement]`: which statement of the section before each one comes from.
    pub statements: Vec<Vec<Vec<usize>>>,
}

/// Which targets get their elements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indices {
    /// Those that are only accessed at constant indices.
    Constant,
    /// Those as well that have few elements.
    Any,
}

/// Elements of a target that comparisons tell apart at most.
pub const FEW: u32 = 256;

/// A field of a stencil whose elements were taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The field of the stencil before.
    pub field: FieldId,
    /// Which element it is; empty where the field was left whole.
    pub indices: Vec<u32>,
}

/// Takes the elements of temporaries apart.
pub fn of_temporaries(stencil: Stencil, indices: Indices) -> Stencil {
    split(stencil, indices, |target| matches!(target, Target::Temp(_))).stencil
}

/// Takes the elements of fields and temporaries apart; what each field is the element of, in the order of the fields.
///
/// The stencil no longer has the parameters of the one before, but has the same statements in the same order with
/// [`Indices::Constant`].
pub fn of_everything(stencil: Stencil, indices: Indices) -> (Stencil, Vec<Element>) {
    let apart = apart(stencil, indices);
    (apart.stencil, apart.elements)
}

/// As [`of_everything`], with what statements become.
pub fn apart(stencil: Stencil, indices: Indices) -> Apart {
    split(stencil, indices, |_| true)
}

fn split(mut stencil: Stencil, indices: Indices, wanted: impl Fn(Target) -> bool) -> Apart {
    let fields = (0..stencil.fields.len() as u32).map(FieldId);
    let whole: Vec<Element> = fields
        .map(|field| Element {
            field,
            indices: Vec::new(),
        })
        .collect();
    let apart = targets(&stencil, indices, wanted);
    let mut statements: Vec<Vec<Vec<usize>>> = (stencil.computations.iter())
        .map(|computation| {
            let bodies = computation.sections.iter().map(|section| &section.body);
            bodies.map(|body| (0..body.len()).collect()).collect()
        })
        .collect();
    if apart.is_empty() {
        return Apart {
            stencil,
            elements: whole,
            statements,
        };
    }
    let mut computations = std::mem::take(&mut stencil.computations);
    let mut splitter = Splitter {
        stencil,
        apart,
        found: HashMap::new(),
        elements: whole,
    };
    let sections = (computations.iter_mut()).flat_map(|computation| &mut computation.sections);
    for (section, origins) in sections.zip(statements.iter_mut().flatten()) {
        origins.clear();
        for (number, statement) in std::mem::take(&mut section.body).into_iter().enumerate() {
            section.body.extend(splitter.block(vec![statement]));
            origins.resize(section.body.len(), number);
        }
    }
    splitter.stencil.computations = computations;
    let (stencil, elements) = splitter.without_wholes();
    Apart {
        stencil,
        elements,
        statements,
    }
}

/// Sets every element of every temporary to zero before the first computation.
pub fn initialised(mut stencil: Stencil) -> Stencil {
    let mut body = Vec::new();
    for (number, temporary) in stencil.temporaries.iter().enumerate() {
        for indices in every_index(&temporary.data_dims) {
            let span = temporary.span;
            let zero = Literal::zero(temporary.dtype.unwrap_or(DType::Bool));
            let literal = |value, dtype| Expr {
                kind: ExprKind::Literal(value),
                dtype,
                span,
            };
            let index = |n: &u32| literal(Literal::Int(i64::from(*n)), Some(DType::Int64));
            let mut assign = Stmt::assign(
                Target::Temp(TempId(number as u32)),
                span,
                literal(zero, temporary.dtype),
                span,
            );
            if let StmtKind::Assign { subscript, .. } = &mut assign.kind
                && !indices.is_empty()
            {
                *subscript = Some(Box::new(Subscript {
                    level: LevelIndex::Constant,
                    operands: indices.iter().map(index).collect(),
                }));
                body.push(assign);
            }
        }
    }
    let computation = Computation {
        order: Order::Forward,
        sections: vec![Section {
            interval: Interval::FULL,
            body,
            span: Span::default(),
        }],
        span: Span::default(),
    };
    stencil.computations.insert(0, computation);
    stencil
}

/// Every index into data dimensions, in order.
pub fn every_index(sizes: &[u32]) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    for size in sizes {
        all = (all.into_iter())
            .flat_map(|index| (0..*size).map(move |n| index.iter().copied().chain([n]).collect()))
            .collect();
    }
    all
}

/// The targets whose elements are taken apart.
fn targets(
    stencil: &Stencil,
    indices: Indices,
    wanted: impl Fn(Target) -> bool,
) -> HashSet<Target> {
    let fields = (0..stencil.fields.len() as u32).map(|id| Target::Field(FieldId(id)));
    let temporaries = (0..stencil.temporaries.len() as u32).map(|id| Target::Temp(TempId(id)));
    let mut apart: HashSet<Target> = fields
        .chain(temporaries)
        .filter(|target| !stencil.data_dims(*target).is_empty() && wanted(*target))
        .collect();
    if apart.is_empty() {
        return apart;
    }
    let few = |target: Target| {
        let elements = stencil
            .data_dims(target)
            .iter()
            .map(|size| u64::from(*size));
        indices == Indices::Any && elements.product::<u64>() <= u64::from(FEW)
    };
    let mut check = |target: Target, subscript: Option<&Subscript>| {
        let constant = subscript.is_none_or(|subscript| {
            (subscript.indices().iter()).all(|index| constant(index).is_some())
        });
        if !constant && !few(target) {
            apart.remove(&target);
        }
    };
    let sections = stencil.computations.iter().flat_map(|c| &c.sections);
    for stmt in sections.flat_map(|section| &section.body) {
        stmt.walk(&mut |stmt| {
            if let StmtKind::Assign {
                target, subscript, ..
            } = &stmt.kind
            {
                check(*target, subscript.as_deref());
            }
            for expr in stmt.expressions() {
                expr.walk(|node| {
                    if let ExprKind::Access {
                        target, subscript, ..
                    } = &node.kind
                    {
                        check(*target, subscript.as_deref());
                    }
                });
            }
        });
    }
    apart
}

/// The value of an index that is known.
pub fn constant(index: &Expr) -> Option<u32> {
    match &index.kind {
        ExprKind::Literal(Literal::Int(value)) => u32::try_from(*value).ok(),
        ExprKind::Cast(operand) => constant(operand),
        _ => None,
    }
}

struct Splitter {
    /// Without its computations.
    stencil: Stencil,
    apart: HashSet<Target>,
    found: HashMap<(Target, Vec<u32>), Target>,
    elements: Vec<Element>,
}

impl Splitter {
    fn block(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(body.len());
        for mut stmt in body {
            for expr in stmt.expressions_mut() {
                self.expr(expr);
            }
            let span = stmt.span;
            match stmt.kind {
                StmtKind::Assign {
                    target,
                    target_span,
                    offset,
                    subscript,
                    value,
                } if self.apart.contains(&target) => {
                    let write = Write {
                        target,
                        target_span,
                        offset,
                        level: level_of(subscript.as_deref()),
                        value,
                        span,
                    };
                    let indices = subscript.map_or(Vec::new(), |s| s.indices().to_vec());
                    self.write(write, &indices, &mut out);
                    continue;
                }
                StmtKind::Assign { .. } => {}
                StmtKind::If {
                    ref mut then,
                    ref mut orelse,
                    ..
                } => {
                    *then = self.block(std::mem::take(then));
                    *orelse = self.block(std::mem::take(orelse));
                }
                StmtKind::While { ref mut body, .. } | StmtKind::Region { ref mut body, .. } => {
                    *body = self.block(std::mem::take(body));
                }
            }
            out.push(stmt);
        }
        out
    }

    fn write(&mut self, mut write: Write, indices: &[Expr], out: &mut Vec<Stmt>) {
        let computed = indices.iter().any(|index| constant(index).is_none());
        if computed && !is_plain(&write.value) {
            // The value is written down once for each element, but is to be computed once.
            let span = write.value.span;
            let kept = self.temporary(write.value.dtype, span);
            let read = Expr {
                kind: ExprKind::read(kept, Offset::ZERO),
                dtype: write.value.dtype,
                span,
            };
            let value = std::mem::replace(&mut write.value, read);
            out.push(Stmt::assign(kept, span, value, write.span));
        }
        out.push(self.write_element(&write, indices, &mut Vec::new()));
    }

    fn temporary(&mut self, dtype: Option<DType>, span: Span) -> Target {
        let id = TempId(self.stencil.temporaries.len() as u32);
        let name = format!("element@{}", id.0);
        let temporary = Temporary::at_every_point(name, dtype, span);
        self.stencil.temporaries.push(temporary);
        Target::Temp(id)
    }

    /// The assignment to the element at the known indices and, behind them, these.
    fn write_element(&mut self, write: &Write, indices: &[Expr], known: &mut Vec<u32>) -> Stmt {
        let Some(index) = indices.get(known.len()) else {
            return Stmt {
                kind: StmtKind::Assign {
                    target: self.element(write.target, known),
                    target_span: write.target_span,
                    offset: write.offset,
                    subscript: write.level.clone(),
                    value: write.value.clone(),
                },
                span: write.span,
            };
        };
        if let Some(value) = constant(index) {
            known.push(value);
            let stmt = self.write_element(write, indices, known);
            known.pop();
            return stmt;
        }
        let size = self.stencil.data_dims(write.target)[known.len()];
        self.write_between(write, indices, known, (0, size))
    }

    fn write_between(
        &mut self,
        write: &Write,
        indices: &[Expr],
        known: &mut Vec<u32>,
        (first, end): (u32, u32),
    ) -> Stmt {
        if end - first <= 1 {
            known.push(first);
            let stmt = self.write_element(write, indices, known);
            known.pop();
            return stmt;
        }
        let middle = first + (end - first) / 2;
        let condition = below(&indices[known.len()], middle);
        let then = self.write_between(write, indices, known, (first, middle));
        let orelse = self.write_between(write, indices, known, (middle, end));
        Stmt {
            kind: StmtKind::If {
                condition,
                then: vec![then],
                orelse: vec![orelse],
            },
            span: write.span,
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        for operand in expr.operands_mut() {
            self.expr(operand);
        }
        if let ExprKind::Access {
            target,
            offset,
            subscript,
        } = &expr.kind
            && self.apart.contains(target)
        {
            let read = Read {
                target: *target,
                offset: *offset,
                level: level_of(subscript.as_deref()),
                dtype: expr.dtype,
                span: expr.span,
            };
            let indices = (subscript.as_ref()).map_or(Vec::new(), |s| s.indices().to_vec());
            *expr = self.read_element(&read, &indices, &mut Vec::new());
        }
    }

    /// The element at the known indices and, behind them, these.
    fn read_element(&mut self, read: &Read, indices: &[Expr], known: &mut Vec<u32>) -> Expr {
        let Some(index) = indices.get(known.len()) else {
            return Expr {
                kind: ExprKind::Access {
                    target: self.element(read.target, known),
                    offset: read.offset,
                    subscript: read.level.clone(),
                },
                dtype: read.dtype,
                span: read.span,
            };
        };
        if let Some(value) = constant(index) {
            known.push(value);
            let expr = self.read_element(read, indices, known);
            known.pop();
            return expr;
        }
        let size = self.stencil.data_dims(read.target)[known.len()];
        self.read_between(read, indices, known, (0, size))
    }

    fn read_between(
        &mut self,
        read: &Read,
        indices: &[Expr],
        known: &mut Vec<u32>,
        (first, end): (u32, u32),
    ) -> Expr {
        if end - first <= 1 {
            known.push(first);
            let expr = self.read_element(read, indices, known);
            known.pop();
            return expr;
        }
        let middle = first + (end - first) / 2;
        let condition = below(&indices[known.len()], middle);
        let then = self.read_between(read, indices, known, (first, middle));
        let orelse = self.read_between(read, indices, known, (middle, end));
        Expr {
            kind: ExprKind::Select(Box::new(condition), Box::new(then), Box::new(orelse)),
            dtype: read.dtype,
            span: read.span,
        }
    }

    fn element(&mut self, target: Target, indices: &[u32]) -> Target {
        if let Some(found) = self.found.get(&(target, indices.to_vec())) {
            return *found;
        }
        let numbers: Vec<String> = indices.iter().map(u32::to_string).collect();
        let name = format!(
            "{}[{}]",
            self.stencil.target_name(target),
            numbers.join(", ")
        );
        let element = match target {
            Target::Field(field) => {
                let id = FieldId(self.stencil.fields.len() as u32);
                let data_dims = Vec::new();
                let whole = self.stencil.field(field).clone();
                self.stencil.fields.push(Field {
                    name,
                    data_dims,
                    ..whole
                });
                self.elements.push(Element {
                    field,
                    indices: indices.to_vec(),
                });
                Target::Field(id)
            }
            Target::Temp(temporary) => {
                let id = TempId(self.stencil.temporaries.len() as u32);
                let data_dims = Vec::new();
                let whole = self.stencil.temporary(temporary).clone();
                self.stencil.temporaries.push(Temporary {
                    name,
                    data_dims,
                    ..whole
                });
                Target::Temp(id)
            }
        };
        self.found.insert((target, indices.to_vec()), element);
        element
    }

    /// The stencil without the targets that were taken apart.
    fn without_wholes(mut self) -> (Stencil, Vec<Element>) {
        let apart = &self.apart;
        let fields = kept(self.stencil.fields.len(), |id| {
            !apart.contains(&Target::Field(FieldId(id)))
        });
        let temporaries = kept(self.stencil.temporaries.len(), |id| {
            !apart.contains(&Target::Temp(TempId(id)))
        });
        retain(&mut self.stencil.fields, &fields);
        retain(&mut self.elements, &fields);
        retain(&mut self.stencil.temporaries, &temporaries);
        let elements = (0..self.stencil.fields.len() as u32).map(|id| Param::Field(FieldId(id)));
        let scalars = (0..self.stencil.scalars.len() as u32).map(|id| Param::Scalar(ScalarId(id)));
        self.stencil.params = elements.chain(scalars).collect();
        let rename = |target: &mut Target| match target {
            Target::Field(id) => id.0 = fields[id.0 as usize].unwrap_or(id.0),
            Target::Temp(id) => id.0 = temporaries[id.0 as usize].unwrap_or(id.0),
        };
        let sections = (self.stencil.computations.iter_mut()).flat_map(|c| &mut c.sections);
        for stmt in sections.flat_map(|section| &mut section.body) {
            stmt.walk_mut(&mut |stmt| {
                if let StmtKind::Assign { target, .. } = &mut stmt.kind {
                    rename(target);
                }
                for expr in stmt.expressions_mut() {
                    expr.each_target(&mut |target| rename(target));
                }
            });
        }
        (self.stencil, self.elements)
    }
}

/// The new numbers of those that stay.
fn kept(count: usize, stays: impl Fn(u32) -> bool) -> Vec<Option<u32>> {
    let mut next = 0;
    (0..count as u32)
        .map(|id| {
            stays(id).then(|| {
                next += 1;
                next - 1
            })
        })
        .collect()
}

fn retain<T>(all: &mut Vec<T>, kept: &[Option<u32>]) {
    let mut number = 0;
    all.retain(|_| {
        number += 1;
        kept[number - 1].is_some()
    });
}

struct Write {
    target: Target,
    target_span: Span,
    offset: Offset,
    level: Option<Box<Subscript>>,
    value: Expr,
    span: Span,
}

struct Read {
    target: Target,
    offset: Offset,
    level: Option<Box<Subscript>>,
    dtype: Option<DType>,
    span: Span,
}

/// What a subscript says of the level alone.
fn level_of(subscript: Option<&Subscript>) -> Option<Box<Subscript>> {
    let subscript = subscript?;
    let level = subscript.level()?;
    Some(Box::new(Subscript {
        level: subscript.level,
        operands: vec![level.clone()],
    }))
    .filter(|subscript| subscript.level != LevelIndex::Constant)
}

fn is_plain(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Literal(_) | ExprKind::Scalar(_))
}

fn below(index: &Expr, end: u32) -> Expr {
    let span = index.span;
    let end = Expr {
        kind: ExprKind::Literal(Literal::Int(i64::from(end))),
        dtype: Some(DType::Int64),
        span,
    };
    Expr {
        kind: ExprKind::Compare(CompareOp::Lt, Box::new(index.clone()), Box::new(end)),
        dtype: Some(DType::Bool),
        span,
    }
}
