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
//! are, [`Indices::Any`] tells the elements of a target apart by comparisons as long as they are not too many, and
//! [`Indices::Near`] where that is faster than to compute where an element lies.
//!
//! An index outside of its dimension counts as the nearest one inside, and is [`ExprKind::Checked`].

mod targets;

use std::collections::HashMap;

use crate::dtype::DType;
use crate::grid::{Interval, Offset};
use crate::ir::{
    CompareOp, Computation, DataDimension, Expr, ExprKind, Field, FieldId, LevelIndex, Literal,
    Order, Param, ScalarId, Section, Stencil, Stmt, StmtKind, Subscript, Target, TempId, Temporary,
};
use crate::source::Span;
use targets::{Targets, targets};

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
    /// Those for which that makes the faster code. What is only read may be whole and apart.
    Near,
    /// All but those that have very many elements.
    Any,
}

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
    let targets = targets(&stencil, indices, wanted);
    let mut statements: Vec<Vec<Vec<usize>>> = (stencil.computations.iter())
        .map(|computation| {
            let bodies = computation.sections.iter().map(|section| &section.body);
            bodies.map(|body| (0..body.len()).collect()).collect()
        })
        .collect();
    if targets.apart.is_empty() {
        return Apart {
            stencil,
            elements: whole,
            statements,
        };
    }
    let mut computations = std::mem::take(&mut stencil.computations);
    let mut splitter = Splitter {
        stencil,
        targets,
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
    targets: Targets,
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
                } if self.targets.apart.contains(&target) => {
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
                StmtKind::Assign { .. } | StmtKind::Require { .. } => {}
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
        let dimension = self.dimension(write.target, known);
        self.write_between(write, indices, known, (0, dimension.size), Some(dimension))
    }

    fn write_between(
        &mut self,
        write: &Write,
        indices: &[Expr],
        known: &mut Vec<u32>,
        (first, end): (u32, u32),
        check: Option<DataDimension>,
    ) -> Stmt {
        if end - first <= 1 && check.is_none() {
            known.push(first);
            let stmt = self.write_element(write, indices, known);
            known.pop();
            return stmt;
        }
        let middle = first + (end - first).div_ceil(2);
        let condition = below(&indices[known.len()], middle, check);
        let then = self.write_between(write, indices, known, (first, middle), None);
        let orelse =
            (middle < end).then(|| self.write_between(write, indices, known, (middle, end), None));
        Stmt {
            kind: StmtKind::If {
                condition,
                then: vec![then],
                orelse: orelse.into_iter().collect(),
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
            && self.is_apart(*target, subscript.as_deref())
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

    /// Whether a read is of an element that is a target of its own.
    fn is_apart(&self, target: Target, subscript: Option<&Subscript>) -> bool {
        let Targets { apart, whole } = &self.targets;
        let indices = subscript.map_or(&[][..], Subscript::indices);
        apart.contains(&target)
            && (!whole.contains(&target) || indices.iter().all(|index| constant(index).is_some()))
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
        let dimension = self.dimension(read.target, known);
        self.read_between(read, indices, known, (0, dimension.size), Some(dimension))
    }

    fn read_between(
        &mut self,
        read: &Read,
        indices: &[Expr],
        known: &mut Vec<u32>,
        (first, end): (u32, u32),
        check: Option<DataDimension>,
    ) -> Expr {
        if end - first <= 1 && check.is_none() {
            known.push(first);
            let expr = self.read_element(read, indices, known);
            known.pop();
            return expr;
        }
        let middle = first + (end - first).div_ceil(2);
        let condition = below(&indices[known.len()], middle, check);
        let then = self.read_between(read, indices, known, (first, middle), None);
        let orelse = match middle < end {
            true => self.read_between(read, indices, known, (middle, end), None),
            false => then.clone(),
        };
        Expr {
            kind: ExprKind::Select(Box::new(condition), Box::new(then), Box::new(orelse)),
            dtype: read.dtype,
            span: read.span,
        }
    }

    /// The data dimension behind the known indices.
    fn dimension(&mut self, target: Target, known: &[u32]) -> DataDimension {
        let sizes = self.stencil.data_dims(target);
        let (count, size) = (sizes.len(), sizes[known.len()]);
        let first: Vec<u32> = (known.iter().copied())
            .chain(std::iter::repeat(0))
            .take(count)
            .collect();
        DataDimension {
            of: self.element(target, &first),
            size,
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
        let Targets { apart, whole } = &self.targets;
        let stays = |target| !apart.contains(&target) || whole.contains(&target);
        let fields = kept(self.stencil.fields.len(), |id| {
            stays(Target::Field(FieldId(id)))
        });
        let temporaries = kept(self.stencil.temporaries.len(), |id| {
            stays(Target::Temp(TempId(id)))
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

/// Whether an index is below `end`; checked where it is compared for the first time.
fn below(index: &Expr, end: u32, check: Option<DataDimension>) -> Expr {
    let span = index.span;
    let mut index = index.clone();
    if let Some(dimension) = check {
        index = Expr {
            kind: ExprKind::Checked(Box::new(index), dimension),
            dtype: Some(DType::Int64),
            span,
        };
    }
    let end = Expr {
        kind: ExprKind::Literal(Literal::Int(i64::from(end))),
        dtype: Some(DType::Int64),
        span,
    };
    Expr {
        kind: ExprKind::Compare(CompareOp::Lt, Box::new(index), Box::new(end)),
        dtype: Some(DType::Bool),
        span,
    }
}

#[cfg(test)]
mod tests {
    use super::{Indices, of_everything};
    use crate::Program;
    use crate::ir::Stencil;
    use crate::text::{parse, print, without_spans};

    fn stencil(body: &str) -> Stencil {
        let text = format!(
            "stencil s {{ field v: float64[IJK][3] field w: float64[IJK][300] field n: int64[IJK] field out: float64[IJK] \
             scalar m: int64 temp t[IJK][2] parallel {{ interval 0..end {{ {body} }} }} }}"
        );
        let stencil = parse("test", &text).expect("the text is valid");
        let program = Program::new(stencil, Default::default()).expect("the stencil is valid");
        program.stencil
    }

    /// The statements of the one computation once the elements are apart.
    fn apart(body: &str) -> String {
        let (apart, _) = of_everything(stencil(body), Indices::Near);
        let text = print(&apart);
        let again = parse("again", &text).expect("what was printed is valid");
        assert_eq!(
            without_spans(again),
            without_spans(apart),
            "what was printed means the same"
        );
        let (_, statements) = text.split_once("0..end {").expect("it has an interval");
        let words: Vec<&str> = statements.split_whitespace().collect();
        words[..words.len() - 3].join(" ")
    }

    #[test]
    fn elements_are_told_apart_where_that_is_faster_than_to_find_where_they_lie() {
        for (what, body, expected) in [
            (
                "an index that is known",
                "out = w[0, 0, 0][7]",
                r#"out = "w[7]""#,
            ),
            (
                "few elements",
                "out = v[0, 0, 0][n]",
                r#"out = select((checked("v[0]", 3, n) < 2:int64), select((n < 1:int64), "v[0]", "v[1]"), "v[2]")"#,
            ),
            (
                "few elements at an index that is the same at all points",
                "out = v[0, 0, 0][m]",
                "out = v[0, 0, 0][m]",
            ),
            (
                "many elements, some of them at indices that are known",
                "out = (w[0, 0, 0][n] + w[1, 0, 0][2])",
                r#"out = (w[0, 0, 0][n] + "w[2]"[1, 0, 0])"#,
            ),
            (
                "many elements that are written",
                "w[0, 0, 0][n] = out out = w[0, 0, 0][2]",
                "w[0, 0, 0][n] = out out = w[0, 0, 0][2:int64]",
            ),
            (
                "a temporary",
                "t[0, 0, 0][0] = out t[0, 0, 0][1] = out t[0, 0, 0][n] = 1.0 out = t[0, 0, 0][0]",
                r#""t[0]" = out "t[1]" = out if (checked("t[0]", 2, n) < 1:int64) { "t[0]" = 1.0:float64 } else { "t[1]" = 1.0:float64 } out = "t[0]""#,
            ),
        ] {
            assert_eq!(apart(body), expected, "{what}");
        }
    }
}
