//! Parts of expressions as gtscript functions.
//!
//! A function gets what its part reads as arguments: fields as they are or at an offset, numbers, and now and then a value
//! that is more than that. It may have a name of its own for a part of its result, call further functions, and return
//! several values.

use super::gtscript::Writer;
use crate::dtype::DType;
use crate::grid::{Axes, Axis, Offset};
use crate::ir::{
    BinaryOp, Computation, Expr, ExprKind, LevelIndex, Literal, ScalarId, Stencil, Stmt, StmtKind,
    Subscript, Target, UnaryOp,
};
use crate::types::{Precision, resolve};
use crate::visit::{accesses, reads};

/// Functions inside of functions.
const DEEPEST: usize = 4;

/// Chooses what becomes a function.
pub(super) struct Outline<'c> {
    /// Types of values.
    pub known: Known<'c>,
    /// A number below another.
    pub choose: &'c mut dyn FnMut(usize) -> usize,
    /// Definitions, each before those that call it.
    pub definitions: String,
    /// How many there are.
    pub count: usize,
    /// The functions that are being written, from the outermost one.
    pub scopes: Vec<Scope>,
    /// Conditions around.
    pub conditions: usize,
    /// What the computation assigns.
    pub written: Vec<Target>,
}

impl<'c> Outline<'c> {
    pub fn new(stencil: &'c Stencil, choose: &'c mut dyn FnMut(usize) -> usize) -> Self {
        Outline {
            known: Known::new(stencil),
            choose,
            definitions: String::new(),
            count: 0,
            scopes: Vec::new(),
            conditions: 0,
            written: Vec::new(),
        }
    }

    /// Takes note of the computation whose expressions come next.
    pub fn begin(&mut self, computation: &Computation) {
        self.written.clear();
        for section in &computation.sections {
            accesses(&section.body, &mut |access| {
                if access.write {
                    self.written.push(access.target);
                }
            });
        }
    }

    fn chance(&mut self, percent: usize) -> bool {
        (self.choose)(100) < percent
    }
}

/// The names inside of a function.
pub(super) struct Scope {
    /// Values that are returned.
    results: Vec<*const Expr>,
    /// Fields and temporaries, with the offset at which they were given.
    targets: Vec<(Target, String, Offset)>,
    scalars: Vec<(ScalarId, String)>,
    /// Parts that have a name, and the offset at which that is read.
    parts: Vec<(*const Expr, String, Offset)>,
}

impl Scope {
    /// The name of a field or temporary, and the offset that is left to write.
    pub fn target(&self, target: Target, offset: Offset) -> Option<(&str, Offset)> {
        let (_, name, given) = self.targets.iter().find(|known| known.0 == target)?;
        let left = std::array::from_fn(|n| offset.0[n] - given.0[n]);
        Some((name, Offset(left)))
    }

    pub fn scalar(&self, id: ScalarId) -> Option<&str> {
        let found = self.scalars.iter().find(|known| known.0 == id);
        found.map(|(_, name)| name.as_str())
    }

    /// The text of a part that has a name.
    pub fn part(&self, part: &Expr) -> Option<String> {
        let found = self.parts.iter().find(|known| std::ptr::eq(known.0, part));
        found.map(|(_, name, offset)| match *offset {
            Offset::ZERO => name.clone(),
            Offset([i, j, k]) => format!("{name}[{i}, {j}, {k}]"),
        })
    }
}

/// An argument of a call, as it is written outside.
struct Argument {
    name: String,
    text: String,
}

impl Writer<'_> {
    /// The call of a function for an expression, if it is to become one.
    pub(super) fn outlined(&mut self, expr: &Expr) -> Option<String> {
        let outline = self.outline.as_mut()?;
        let inside = outline.scopes.last();
        let is_result = inside.is_some_and(|scope| {
            scope
                .results
                .iter()
                .any(|result| std::ptr::eq(*result, expr))
        });
        let wanted = !is_result && outline.scopes.len() < DEEPEST;
        if !wanted
            || !is_operation(expr)
            || !outline.chance(15)
            || !outline.known.keeps_its_type(expr)
        {
            return None;
        }
        Some(self.call(&[expr]))
    }

    /// `x, y = function(…)` for two assignments, if they are to be written so.
    pub(super) fn outlined_pair(&mut self, body: &[Stmt]) -> Option<String> {
        let plain = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Assign {
                target,
                offset: Offset::ZERO,
                subscript: None,
                ..
            } if self.is_annotated(*target) && self.stencil.data_dims(*target).is_empty() => {
                Some(*target)
            }
            _ => None,
        };
        let [first, second, ..] = body else {
            return None;
        };
        let (x, y) = (plain(first)?, plain(second)?);
        let (StmtKind::Assign { value: a, .. }, StmtKind::Assign { value: b, .. }) =
            (&first.kind, &second.kind)
        else {
            return None;
        };
        let mut apart = x != y;
        reads(b, &mut |access| apart &= access.target != x);
        let outline = self.outline.as_mut()?;
        let known = &outline.known;
        let whole = |value: &Expr| is_operation(value) && known.keeps_its_type(value);
        let fit = apart && whole(a) && whole(b);
        if !fit || !outline.chance(40) {
            return None;
        }
        let call = self.call(&[a, b]);
        Some(format!("{}, {} = {call}", self.name(x), self.name(y)))
    }

    /// Writes a function that returns these values, and the call of it.
    fn call(&mut self, results: &[&Expr]) -> String {
        let mut scope = Scope {
            results: results
                .iter()
                .map(|result| std::ptr::from_ref(*result))
                .collect(),
            targets: Vec::new(),
            scalars: Vec::new(),
            parts: Vec::new(),
        };
        let mut arguments = Vec::new();
        let given = self.choose_part(results, None);
        if let Some(part) = given {
            let offset = self.choose_shift(part);
            let text = match offset {
                Offset::ZERO => self.expr(part),
                offset => self.expr(&shifted(part, offset)),
            };
            let name = "value".to_string();
            scope.parts.push((part, name.clone(), offset));
            arguments.push(Argument { name, text });
        }
        self.arguments(results, given, &mut scope, &mut arguments);
        let local = self.choose_part(results, given);

        let outline = self.outline.as_mut().expect("functions are wanted");
        let name = format!("function{}", outline.count);
        outline.count += 1;
        outline.scopes.push(scope);
        let mut body = String::new();
        if let Some(part) = local {
            let text = self.expr(part);
            body.push_str(&format!("    local = {text}\n"));
            let outline = self.outline.as_mut().expect("functions are wanted");
            if let Some(scope) = outline.scopes.last_mut() {
                scope.parts.push((part, "local".to_string(), Offset::ZERO));
            }
        }
        let texts: Vec<String> = results.iter().map(|result| self.expr(result)).collect();
        body.push_str(&format!("    return {}\n", texts.join(", ")));

        let outline = self.outline.as_mut().expect("functions are wanted");
        outline.scopes.pop();
        let names: Vec<&str> = arguments.iter().map(|one| one.name.as_str()).collect();
        outline.definitions.push_str(&format!(
            "@function\ndef {name}({}):\n{body}\n\n",
            names.join(", ")
        ));
        // From some argument on, they are given by name.
        let positional = (outline.choose)(2 * arguments.len() + 1);
        let texts: Vec<String> = (arguments.into_iter().enumerate())
            .map(|(n, Argument { name, text })| match n < positional {
                true => text,
                false => format!("{name}={text}"),
            })
            .collect();
        format!("{name}({})", texts.join(", "))
    }

    /// Arguments for all that is read outside of a part that is given as a whole.
    fn arguments(
        &mut self,
        results: &[&Expr],
        given: Option<&Expr>,
        scope: &mut Scope,
        arguments: &mut Vec<Argument>,
    ) {
        let mut accesses: Vec<(Target, Vec<(Offset, bool)>)> = Vec::new();
        let mut scalars: Vec<ScalarId> = Vec::new();
        let mut todo: Vec<&Expr> = results.to_vec();
        while let Some(node) = todo.pop() {
            if given.is_some_and(|part| std::ptr::eq(part, node)) {
                continue;
            }
            // What has a name in the function around.
            if let Some(text) = self.scope().and_then(|outer| outer.part(node)) {
                let name = format!("part{}", scope.parts.len());
                scope.parts.push((node, name.clone(), Offset::ZERO));
                arguments.push(Argument { name, text });
                continue;
            }
            match &node.kind {
                ExprKind::Scalar(id) if !scalars.contains(id) => scalars.push(*id),
                ExprKind::Access {
                    target,
                    offset,
                    subscript,
                } => {
                    let read = (*offset, has_level(subscript.as_deref()));
                    match accesses.iter_mut().find(|known| known.0 == *target) {
                        Some((_, known)) => known.push(read),
                        None => accesses.push((*target, vec![read])),
                    }
                }
                _ => {}
            }
            todo.extend(node.operands());
        }
        for id in scalars {
            let name = self.stencil.scalar(id).name.clone();
            let text = self.scalar_name(id);
            scope.scalars.push((id, name.clone()));
            arguments.push(Argument { name, text });
        }
        for (n, (target, found)) in accesses.into_iter().enumerate() {
            let outline = self.outline.as_mut().expect("functions are wanted");
            let computed = found.iter().any(|read| read.1);
            let choice = (outline.choose)(2 * found.len());
            let offset = match found.get(choice) {
                Some((offset, _)) if !computed => *offset,
                _ => Offset::ZERO,
            };
            let name = format!("f{n}");
            let text = self.place(target, offset, None);
            scope.targets.push((target, name.clone(), offset));
            arguments.push(Argument { name, text });
        }
    }

    /// Some operation inside of values, which can be stored; none inside of another part.
    fn choose_part<'e>(&mut self, results: &[&'e Expr], other: Option<&Expr>) -> Option<&'e Expr> {
        let outline = self.outline.as_mut()?;
        if !outline.chance(40) {
            return None;
        }
        let named = |node: &Expr| (outline.scopes.last()).is_some_and(|s| s.part(node).is_some());
        let mut found: Vec<&Expr> = Vec::new();
        let mut todo: Vec<&Expr> = results
            .iter()
            .flat_map(|result| result.operands())
            .collect();
        while let Some(node) = todo.pop() {
            // Levels and indices stay where they are.
            if other.is_some_and(|part| std::ptr::eq(part, node))
                || named(node)
                || matches!(node.kind, ExprKind::Access { .. })
            {
                continue;
            }
            let mut around = false;
            node.walk(|inner| around |= other.is_some_and(|part| std::ptr::eq(part, inner)));
            if is_operation(node) && outline.known.keeps_its_type(node) && !around {
                found.push(node);
            }
            todo.extend(node.operands());
        }
        let choice = (outline.choose)(found.len().max(1));
        found.get(choice).copied()
    }

    /// How far from the point a value is read that is given to a function: elsewhere only where every point has it.
    fn choose_shift(&mut self, part: &Expr) -> Offset {
        let Some(outline) = self.outline.as_mut() else {
            return Offset::ZERO;
        };
        let mut fixed = outline.conditions > 0 || !outline.scopes.is_empty();
        reads(part, &mut |access| {
            let axes = self.stencil.target_axes(access.target);
            // `f.at(K=…)` has no place for other offsets.
            fixed |= axes != Axes::IJK || access.level == LevelIndex::Absolute;
            fixed |= outline.written.contains(&access.target);
        });
        // What a constant condition chooses may be a number.
        part.walk(|node| fixed |= matches!(node.kind, ExprKind::Literal(Literal::Bool(_))));
        if fixed || !outline.chance(50) {
            return Offset::ZERO;
        }
        Offset([
            (outline.choose)(3) as i32 - 1,
            (outline.choose)(3) as i32 - 1,
            0,
        ])
    }
}

/// A value as the point needs it that is so far away.
fn shifted(part: &Expr, by: Offset) -> Expr {
    let mut part = part.clone();
    part.walk_mut(|node| {
        if let ExprKind::Access { offset, .. } = &mut node.kind {
            for axis in [Axis::I, Axis::J] {
                offset.0[axis.index()] -= by.along(axis);
            }
        }
    });
    part
}

fn has_level(subscript: Option<&Subscript>) -> bool {
    subscript.is_some_and(|subscript| subscript.level != LevelIndex::Constant)
}

fn is_operation(expr: &Expr) -> bool {
    !matches!(
        expr.kind,
        ExprKind::Literal(_)
            | ExprKind::Scalar(_)
            | ExprKind::Access { .. }
            | ExprKind::Position(_)
            | ExprKind::Size(_)
    )
}

/// Types of what a stencil reads.
pub(super) struct Known<'a> {
    stencil: &'a Stencil,
    /// Per temporary.
    temporaries: Vec<Option<DType>>,
}

impl<'a> Known<'a> {
    pub fn new(stencil: &'a Stencil) -> Self {
        let typed = resolve(stencil.clone(), Precision::default());
        let temporaries = typed.map_or(Vec::new(), |typed| typed.temporaries);
        Known {
            stencil,
            temporaries: temporaries.into_iter().map(|one| one.dtype).collect(),
        }
    }

    /// Whether an expression has a type of its own, so that it stays the same where it is stored. What consists of literals
    /// takes the type of what it is combined with.
    fn keeps_its_type(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Literal(literal) => matches!(literal, Literal::Bool(_)),
            ExprKind::Unary(UnaryOp::Not, _)
            | ExprKind::Binary(BinaryOp::And | BinaryOp::Or, ..)
            | ExprKind::Compare(..)
            | ExprKind::Cast(_)
            | ExprKind::Scalar(_)
            | ExprKind::Access { .. }
            | ExprKind::Position(_)
            | ExprKind::Size(_) => true,
            ExprKind::Unary(_, a) | ExprKind::Checked(a, _) => self.keeps_its_type(a),
            ExprKind::Binary(_, a, b) => self.keep_their_type(a, b),
            // Where the condition is constant, it is one of both.
            ExprKind::Select(_, a, b) => self.keeps_its_type(a) && self.keeps_its_type(b),
            ExprKind::Call(_, operands) => match &operands[..] {
                [a, b] => self.keep_their_type(a, b),
                operands => operands.iter().all(|operand| self.keeps_its_type(operand)),
            },
        }
    }

    fn keep_their_type(&self, a: &Expr, b: &Expr) -> bool {
        match (self.keeps_its_type(a), self.keeps_its_type(b)) {
            (true, true) => true,
            (true, false) => self.is_real(a) || !self.is_real(b),
            (false, true) => self.is_real(b) || !self.is_real(a),
            (false, false) => false,
        }
    }

    fn is_real(&self, expr: &Expr) -> bool {
        let dtype = match &expr.kind {
            ExprKind::Literal(literal) => return matches!(literal, Literal::Float(_)),
            ExprKind::Scalar(id) => Some(self.stencil.scalar(*id).dtype),
            ExprKind::Access { target, .. } => match target {
                Target::Field(id) => Some(self.stencil.field(*id).dtype),
                Target::Temp(id) => self.temporaries.get(id.0 as usize).copied().flatten(),
            },
            ExprKind::Cast(_) => expr.dtype,
            ExprKind::Position(_)
            | ExprKind::Size(_)
            | ExprKind::Compare(..)
            | ExprKind::Unary(UnaryOp::Not, _) => Some(DType::Bool),
            ExprKind::Unary(_, a) | ExprKind::Checked(a, _) => return self.is_real(a),
            ExprKind::Binary(BinaryOp::Div, ..) => return true,
            ExprKind::Binary(_, a, b) | ExprKind::Select(_, a, b) => {
                return self.is_real(a) || self.is_real(b);
            }
            ExprKind::Call(_, operands) => return operands.iter().any(|one| self.is_real(one)),
        };
        dtype.is_some_and(DType::is_float)
    }
}
