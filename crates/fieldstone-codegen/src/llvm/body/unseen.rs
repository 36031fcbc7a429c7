//! Operands of `min` and `max` whose NaN the result need not keep, since whoever sees it finds NaN anyway.
//!
//! `max(max(a, b), c) - b` is NaN where `b` is, whatever `max` makes of it; and so is the least of that and of `abs(c - a)`
//! where `c` is. Limiters are full of such. Each step leaves all results as they are, also where earlier steps were taken.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::{BinaryOp, Builtin, Expr, ExprKind, Stmt, StmtKind, Target, UnaryOp};

/// Expressions, told apart by where they are.
pub(super) type Nodes = HashSet<*const Expr>;

/// How many expressions are looked at for one operand, so that what it takes stays linear.
const MOST_STEPS: usize = 200;

/// The operands that need not be kept, in statements of a stage whose other temporaries than those in registers others see.
pub(super) fn operands(statements: &[Stmt], in_registers: impl Fn(Target) -> bool) -> Nodes {
    if !statements.iter().any(has_extremes) {
        return Nodes::new();
    }
    let mut flow = Flow::default();
    flow.collect(statements);
    let locals = |target: &Target, value: &mut Value<'_>| in_registers(*target) && value.is_local();
    flow.values.retain(locals);
    for call in std::mem::take(&mut flow.extremes) {
        flow.try_without(call);
    }
    flow.unseen
}

/// Whether `min` or `max` of real numbers is called.
fn is_extreme(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Call(Builtin::Min | Builtin::Max, _)) && expr.dtype().is_float()
}

fn has_extremes(statement: &Stmt) -> bool {
    let mut found = false;
    statement.walk(&mut |inner| {
        for expr in inner.expressions() {
            expr.walk(|node| found |= is_extreme(node));
        }
    });
    found
}

/// What is assigned to a target, where that happens once.
#[derive(Default)]
struct Value<'e> {
    assigned: Vec<&'e Expr>,
    /// Which list of statements assigns it.
    list: usize,
    /// Reads by later assignments of that list.
    reads: Vec<&'e Expr>,
    /// Reads by anything.
    all_reads: usize,
    /// Whether it is assigned at a point other than that which is computed.
    elsewhere: bool,
}

impl Value<'_> {
    fn is_local(&self) -> bool {
        self.assigned.len() == 1 && !self.elsewhere && self.reads.len() == self.all_reads
    }
}

/// Where values go, and where they come from.
#[derive(Default)]
struct Flow<'e> {
    /// Whose operand an expression is.
    users: HashMap<*const Expr, &'e Expr>,
    /// What the value of an assignment is assigned to.
    roots: HashMap<*const Expr, Target>,
    values: HashMap<Target, Value<'e>>,
    /// Calls of `min` and `max`, of real numbers.
    extremes: Vec<&'e Expr>,
    /// Of each target, its first read and its last write, counting statements.
    read_first: HashMap<Target, usize>,
    written_last: HashMap<Target, usize>,
    statements: usize,
    lists: usize,
    loops: bool,
    unseen: Nodes,
    steps: usize,
}

impl<'e> Flow<'e> {
    fn collect(&mut self, statements: &'e [Stmt]) {
        let list = self.lists;
        self.lists += 1;
        for statement in statements {
            self.statements += 1;
            let assigned = match &statement.kind {
                StmtKind::Assign { value, .. } => Some(value),
                _ => None,
            };
            for expr in statement.expressions() {
                let is_value = assigned.is_some_and(|value| std::ptr::eq(value, expr));
                self.expression(expr, is_value.then_some(list));
            }
            if let StmtKind::Assign {
                target,
                offset,
                subscript,
                value,
                ..
            } = &statement.kind
            {
                self.written_last.insert(*target, self.statements);
                self.roots.insert(value, *target);
                let known = self.values.entry(*target).or_default();
                known.assigned.push(value);
                known.list = list;
                known.elsewhere |= *offset != Offset::ZERO || subscript.is_some();
            }
            self.loops |= matches!(statement.kind, StmtKind::While { .. });
            match &statement.kind {
                StmtKind::If { then, orelse, .. } => {
                    self.collect(then);
                    self.collect(orelse);
                }
                StmtKind::While { body, .. } | StmtKind::Region { body, .. } => self.collect(body),
                StmtKind::Assign { .. } | StmtKind::Require { .. } => {}
            }
        }
    }

    /// Takes in an expression, which a statement of a list assigns, if it is its value.
    fn expression(&mut self, expr: &'e Expr, assigned_in: Option<usize>) {
        let (statement, mut extremes) = (self.statements, Vec::new());
        expr.walk(|node| {
            for operand in node.operands() {
                self.users.insert(operand, node);
            }
            match &node.kind {
                _ if is_extreme(node) => extremes.push(node),
                ExprKind::Access {
                    target,
                    offset,
                    subscript,
                } => {
                    self.read_first.entry(*target).or_insert(statement);
                    let known = self.values.entry(*target).or_default();
                    known.all_reads += 1;
                    let follows = !known.assigned.is_empty() && assigned_in == Some(known.list);
                    if follows && *offset == Offset::ZERO && subscript.is_none() {
                        known.reads.push(node);
                    }
                }
                _ => {}
            }
        });
        if assigned_in.is_some() {
            self.extremes.extend(extremes);
        }
    }

    /// Whether two reads of a target find the same.
    fn is_steady(&self, target: Target) -> bool {
        match (self.written_last.get(&target), self.read_first.get(&target)) {
            (Some(written), Some(read)) => {
                self.values.contains_key(&target) || (written < read && !self.loops)
            }
            _ => true,
        }
    }

    fn try_without(&mut self, call: &'e Expr) {
        let ExprKind::Call(_, arguments) = &call.kind else {
            return;
        };
        let [_, operand] = arguments.as_slice() else {
            return;
        };
        let steady = match &operand.kind {
            ExprKind::Access {
                target,
                subscript: None,
                ..
            } => self.is_steady(*target),
            ExprKind::Scalar(_) => true,
            _ => false,
        };
        self.steps = 0;
        // What would be NaN through this operand only does not count.
        if steady && self.unseen.insert(operand) && !self.is_unseen(call, operand) {
            self.unseen.remove(&std::ptr::from_ref(operand));
        }
    }

    /// Whether nobody sees what `expr` is where `operand` is NaN.
    fn is_unseen(&mut self, expr: &'e Expr, operand: &Expr) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return false;
        }
        let Some(&user) = self.users.get(&std::ptr::from_ref(expr)) else {
            let local = self
                .roots
                .get(&std::ptr::from_ref(expr))
                .and_then(|target| self.values.get(target));
            let Some(reads) = local.map(|local| local.reads.clone()) else {
                return false;
            };
            return reads.into_iter().all(|read| self.is_unseen(read, operand));
        };
        let is_nan = match &user.kind {
            ExprKind::Select(condition, ..) if !std::ptr::eq(&raw const **condition, expr) => false,
            _ if !user.dtype().is_float() => return false,
            ExprKind::Unary(UnaryOp::Neg, _) | ExprKind::Cast(_) => false,
            ExprKind::Call(Builtin::Abs | Builtin::Sqrt, _) => false,
            ExprKind::Call(Builtin::Min | Builtin::Max, _)
            | ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, ..) => {
                self.is_nan(user, operand, Some(expr))
            }
            _ => return false,
        };
        is_nan || self.is_unseen(user, operand)
    }

    /// Whether `expr` is NaN where `operand` is, whatever one of its own operands is then.
    fn is_nan(&mut self, expr: &'e Expr, operand: &Expr, but: Option<&Expr>) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS || but.is_some_and(|but| std::ptr::eq(but, expr)) {
            return false;
        }
        match &expr.kind {
            ExprKind::Scalar(id) => operand.kind == ExprKind::Scalar(*id),
            ExprKind::Access {
                target,
                subscript: None,
                ..
            } => {
                let assigned = self.values.get(target).map(|value| value.assigned[0]);
                expr.kind == operand.kind
                    || assigned.is_some_and(|value| self.is_nan(value, operand, None))
            }
            _ if !expr.dtype().is_float() => false,
            ExprKind::Unary(UnaryOp::Neg, x) | ExprKind::Cast(x) => self.is_nan(x, operand, but),
            ExprKind::Call(Builtin::Abs | Builtin::Sqrt, arguments) => {
                self.is_nan(&arguments[0], operand, but)
            }
            ExprKind::Binary(
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div,
                a,
                b,
            ) => self.is_nan(a, operand, but) || self.is_nan(b, operand, but),
            ExprKind::Call(Builtin::Min | Builtin::Max, arguments) => {
                let kept = !self.unseen.contains(&std::ptr::from_ref(&arguments[1]));
                self.is_nan(&arguments[0], operand, but)
                    || (kept && self.is_nan(&arguments[1], operand, but))
            }
            ExprKind::Select(_, a, b) => {
                self.is_nan(a, operand, but) && self.is_nan(b, operand, but)
            }
            _ => false,
        }
    }
}
