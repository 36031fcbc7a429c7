//! Walks over statements and expressions.

use crate::grid::Offset;
use crate::ir::{Expr, ExprKind, Stmt, StmtKind, Target};

impl Expr {
    /// The operands, in order.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let (fixed, rest): ([Option<&Expr>; 3], &[Expr]) = match &self.kind {
            ExprKind::Literal(_) | ExprKind::Scalar(_) | ExprKind::Access { .. } => {
                ([None, None, None], &[])
            }
            ExprKind::Unary(_, x) | ExprKind::Cast(x) => ([Some(x), None, None], &[]),
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
                ([Some(a), Some(b), None], &[])
            }
            ExprKind::Select(condition, a, b) => ([Some(condition), Some(a), Some(b)], &[]),
            ExprKind::Call(_, arguments) => ([None, None, None], arguments),
        };
        fixed.into_iter().flatten().chain(rest)
    }

    /// Calls `change` on every target that is read.
    pub fn each_target(&mut self, change: &mut impl FnMut(&mut Target)) {
        match &mut self.kind {
            ExprKind::Access { target, .. } => change(target),
            ExprKind::Literal(_) | ExprKind::Scalar(_) => {}
            ExprKind::Unary(_, x) | ExprKind::Cast(x) => x.each_target(change),
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
                a.each_target(change);
                b.each_target(change);
            }
            ExprKind::Select(condition, a, b) => {
                condition.each_target(change);
                a.each_target(change);
                b.each_target(change);
            }
            ExprKind::Call(_, arguments) => {
                arguments
                    .iter_mut()
                    .for_each(|argument| argument.each_target(change));
            }
        }
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
}

/// What a statement reads and writes, the statements inside it included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accesses {
    /// Every read, in order of evaluation.
    pub reads: Vec<(Target, Offset)>,
    /// Every write, in order, with whether it happens under a condition.
    pub writes: Vec<(Target, bool)>,
}

impl Accesses {
    /// The accesses of one statement.
    pub fn of(statement: &Stmt) -> Accesses {
        let mut accesses = Accesses::default();
        accesses.add(statement, false);
        accesses
    }

    fn add(&mut self, statement: &Stmt, conditional: bool) {
        match &statement.kind {
            StmtKind::Assign { target, value, .. } => {
                self.read(value);
                self.writes.push((*target, conditional));
            }
            StmtKind::If {
                condition,
                then,
                orelse,
            } => {
                self.read(condition);
                for inner in then.iter().chain(orelse) {
                    self.add(inner, true);
                }
            }
        }
    }

    fn read(&mut self, expr: &Expr) {
        expr.walk(|node| {
            if let ExprKind::Access { target, offset } = node.kind {
                self.reads.push((target, offset));
            }
        });
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
