//! Walks over statements and expressions.

use crate::grid::{Area, Offset};
use crate::ir::{Expr, ExprKind, LevelIndex, Stmt, StmtKind, Subscript, Target};
use crate::source::Span;

impl Expr {
    /// The operands, in order.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let (fixed, rest): ([Option<&Expr>; 3], &[Expr]) = match &self.kind {
            ExprKind::Literal(_)
            | ExprKind::Scalar(_)
            | ExprKind::Position(_)
            | ExprKind::Size(_) => ([None, None, None], &[]),
            ExprKind::Access { subscript, .. } => (
                [None, None, None],
                (subscript.as_deref()).map_or(&[], |subscript| &subscript.operands),
            ),
            ExprKind::Unary(_, x) | ExprKind::Cast(x) | ExprKind::Checked(x, _) => {
                ([Some(x), None, None], &[])
            }
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
                ([Some(a), Some(b), None], &[])
            }
            ExprKind::Select(condition, a, b) => ([Some(condition), Some(a), Some(b)], &[]),
            ExprKind::Call(_, arguments) => ([None, None, None], arguments),
        };
        fixed.into_iter().flatten().chain(rest)
    }

    /// The operands, in order, to be changed.
    pub fn operands_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let (fixed, rest): ([Option<&mut Expr>; 3], &mut [Expr]) = match &mut self.kind {
            ExprKind::Literal(_)
            | ExprKind::Scalar(_)
            | ExprKind::Position(_)
            | ExprKind::Size(_) => ([None, None, None], &mut []),
            ExprKind::Access { subscript, .. } => (
                [None, None, None],
                (subscript.as_deref_mut()).map_or(&mut [], |subscript| &mut subscript.operands),
            ),
            ExprKind::Unary(_, x) | ExprKind::Cast(x) | ExprKind::Checked(x, _) => {
                ([Some(x), None, None], &mut [])
            }
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
                ([Some(a), Some(b), None], &mut [])
            }
            ExprKind::Select(condition, a, b) => ([Some(condition), Some(a), Some(b)], &mut []),
            ExprKind::Call(_, arguments) => ([None, None, None], arguments),
        };
        fixed.into_iter().flatten().chain(rest)
    }

    /// Calls `visit` on the expression and everything below it, operands first, without recursion.
    pub fn walk<'a>(&'a self, mut visit: impl FnMut(&'a Expr)) {
        let mut todo = vec![(self, false)];
        while let Some((expr, operands_done)) = todo.pop() {
            if operands_done {
                visit(expr);
                continue;
            }
            todo.push((expr, true));
            let start = todo.len();
            todo.extend(expr.operands().map(|operand| (operand, false)));
            todo[start..].reverse();
        }
    }

    /// Calls `change` on the expression and everything below it, each before its operands, without recursion.
    pub fn walk_mut(&mut self, mut change: impl FnMut(&mut Expr)) {
        let mut todo = vec![self];
        while let Some(expr) = todo.pop() {
            change(expr);
            todo.extend(expr.operands_mut());
        }
    }

    /// Calls `change` on every target that is read.
    pub fn each_target(&mut self, change: &mut impl FnMut(&mut Target)) {
        self.walk_mut(|node| match &mut node.kind {
            ExprKind::Access { target, .. } => change(target),
            ExprKind::Checked(_, dimension) => change(&mut dimension.of),
            _ => {}
        });
    }

    /// Whether anything is read at a level or an index that is computed, which may lie outside of its array.
    pub fn may_miss(&self) -> bool {
        let mut found = false;
        self.walk(|node| {
            found |= match &node.kind {
                ExprKind::Checked(..) => true,
                ExprKind::Access { subscript, .. } => {
                    (subscript.as_ref()).is_some_and(|subscript| subscript.is_computed())
                }
                _ => false,
            };
        });
        found
    }

    /// How many expressions are inside of each other, itself included.
    pub fn depth(&self) -> usize {
        let mut todo = vec![(self, 1)];
        let mut deepest = 0;
        while let Some((expr, depth)) = todo.pop() {
            deepest = deepest.max(depth);
            todo.extend(expr.operands().map(|operand| (operand, depth + 1)));
        }
        deepest
    }
}

impl Stmt {
    /// The expressions a statement evaluates itself, in order: those of its own, not those of the statements inside it.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let (one, rest): (Option<&Expr>, &[Expr]) = match &self.kind {
            StmtKind::Assign {
                value, subscript, ..
            } => (Some(value), operands(subscript.as_deref())),
            StmtKind::If { condition, .. } | StmtKind::While { condition, .. } => {
                (Some(condition), &[])
            }
            StmtKind::Require {
                condition, bounds, ..
            } => (Some(condition), bounds),
            StmtKind::Region { .. } => (None, &[]),
        };
        one.into_iter().chain(rest)
    }

    /// The expressions a statement evaluates itself, to be changed.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let (one, rest): (Option<&mut Expr>, &mut [Expr]) = match &mut self.kind {
            StmtKind::Assign {
                value, subscript, ..
            } => (
                Some(value),
                (subscript.as_deref_mut()).map_or(&mut [], |subscript| &mut subscript.operands),
            ),
            StmtKind::If { condition, .. } | StmtKind::While { condition, .. } => {
                (Some(condition), &mut [])
            }
            StmtKind::Require {
                condition, bounds, ..
            } => (Some(condition), bounds),
            StmtKind::Region { .. } => (None, &mut []),
        };
        one.into_iter().chain(rest)
    }

    /// Whether itself, without the statements inside of it, may end the call with an error: where it reads or writes at a level
    /// or an index that is computed, or requires something.
    pub fn may_fail(&self) -> bool {
        let itself = match &self.kind {
            StmtKind::Assign { subscript, .. } => {
                subscript.as_deref().is_some_and(Subscript::is_computed)
            }
            StmtKind::Require { .. } => true,
            _ => false,
        };
        itself || self.expressions().any(Expr::may_miss)
    }

    /// The statements directly inside of it.
    pub fn inner(&self) -> impl DoubleEndedIterator<Item = &Stmt> {
        let (first, second): (&[Stmt], &[Stmt]) = match &self.kind {
            StmtKind::Assign { .. } | StmtKind::Require { .. } => (&[], &[]),
            StmtKind::If { then, orelse, .. } => (then, orelse),
            StmtKind::While { body, .. } | StmtKind::Region { body, .. } => (body, &[]),
        };
        first.iter().chain(second)
    }

    /// The statements directly inside of it, to be changed.
    pub fn inner_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Stmt> {
        let (first, second): (&mut [Stmt], &mut [Stmt]) = match &mut self.kind {
            StmtKind::Assign { .. } | StmtKind::Require { .. } => (&mut [], &mut []),
            StmtKind::If { then, orelse, .. } => (then, orelse),
            StmtKind::While { body, .. } | StmtKind::Region { body, .. } => (body, &mut []),
        };
        first.iter_mut().chain(second)
    }

    /// Calls `visit` on the statement and everything inside it, each before what is inside it.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Stmt)) {
        visit(self);
        self.inner().for_each(|stmt| stmt.walk(visit));
    }

    /// Calls `change` on the statement and everything inside it, each before what is inside it.
    pub fn walk_mut(&mut self, change: &mut impl FnMut(&mut Stmt)) {
        change(self);
        self.inner_mut().for_each(|stmt| stmt.walk_mut(change));
    }
}

fn operands(subscript: Option<&Subscript>) -> &[Expr] {
    subscript.map_or(&[], |subscript| &subscript.operands)
}

/// One read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What is accessed.
    pub target: Target,
    /// Where, from the point that is computed.
    pub offset: Offset,
    /// How the level is given.
    pub level: LevelIndex,
    /// A write, or else a read.
    pub write: bool,
    /// Whether it is inside of an `if`, a `while` or a region of the statements that are walked over, or to one element of
    /// the data dimensions.
    pub conditional: bool,
    /// The part of the plane in which the statement that is walked over runs. Regions inside of other statements do not count:
    /// there, what is read may be read at all points, and left aside at some.
    pub area: Area,
    /// Where it stands.
    pub span: Span,
}

/// Visits every access of statements in the order of evaluation, a statement's reads before its write.
pub fn accesses(statements: &[Stmt], visit: &mut dyn FnMut(Access)) {
    for statement in statements {
        of_statement(statement, false, Area::FULL, visit);
    }
}

fn of_statement(statement: &Stmt, conditional: bool, area: Area, visit: &mut dyn FnMut(Access)) {
    for expr in statement.expressions() {
        reads(expr, &mut |access| {
            visit(Access {
                conditional,
                area,
                ..access
            });
        });
    }
    if let StmtKind::Assign {
        target,
        target_span,
        offset,
        subscript,
        ..
    } = &statement.kind
    {
        visit(Access {
            target: *target,
            offset: *offset,
            level: level(subscript.as_deref()),
            write: true,
            // One element of several is written: to the others nothing happens.
            conditional: conditional || is_partial(subscript.as_deref()),
            area,
            span: *target_span,
        });
    }
    let inside = match &statement.kind {
        StmtKind::Region { area, .. } if !conditional => *area,
        _ => area,
    };
    for inner in statement.inner() {
        of_statement(inner, true, inside, visit);
    }
}

/// Whether an access is to one element of the data dimensions.
pub fn is_partial(subscript: Option<&Subscript>) -> bool {
    subscript.is_some_and(|subscript| !subscript.indices().is_empty())
}

fn level(subscript: Option<&Subscript>) -> LevelIndex {
    subscript.map_or(LevelIndex::Constant, |subscript| subscript.level)
}

/// Visits every read of an expression, in the order of evaluation.
pub fn reads(expr: &Expr, visit: &mut dyn FnMut(Access)) {
    expr.walk(|node| {
        if let ExprKind::Access {
            target,
            offset,
            subscript,
        } = &node.kind
        {
            visit(Access {
                target: *target,
                offset: *offset,
                level: level(subscript.as_deref()),
                write: false,
                conditional: false,
                area: Area::FULL,
                span: node.span,
            });
        }
    });
}

/// What a statement reads and writes, the statements inside it included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accesses {
    /// Every read, in order of evaluation. One at a level that is computed is two: at levels far below and far above.
    pub reads: Vec<(Target, Offset)>,
    /// Every write, in order, with whether it happens under a condition, or perhaps at another level.
    pub writes: Vec<(Target, bool)>,
    /// What is accessed at levels that are computed, or written at another level.
    pub afar: Vec<Target>,
}

/// Further than any constant offset along K reaches.
const FAR: i32 = 1 << 24;

impl Accesses {
    /// The accesses of one statement.
    pub fn of(statement: &Stmt) -> Accesses {
        let mut found = Accesses::default();
        accesses(std::slice::from_ref(statement), &mut |access| {
            let [i, j, k] = access.offset.0;
            let computed = access.level != LevelIndex::Constant;
            let afar = computed || (access.write && k != 0);
            if afar && !found.afar.contains(&access.target) {
                found.afar.push(access.target);
            }
            if access.write {
                let partial = access.conditional || afar;
                found.writes.push((access.target, partial));
            } else if computed {
                let levels = [-FAR, FAR].map(|k| (access.target, Offset([i, j, k])));
                found.reads.extend(levels);
            } else {
                found.reads.push((access.target, access.offset));
            }
        });
        found
    }

    /// The targets written, each once.
    pub fn written(&self) -> impl Iterator<Item = Target> {
        self.writes
            .iter()
            .enumerate()
            .filter(|(n, (target, _))| self.writes[..*n].iter().all(|(other, _)| other != target))
            .map(|(_, (target, _))| *target)
    }
}
