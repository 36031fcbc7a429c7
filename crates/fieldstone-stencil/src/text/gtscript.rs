//! From untyped IR to gtscript text: a function that means the same.

use std::collections::HashSet;
use std::fmt::Write;

use super::functions::{Outline, Scope};
use super::piece::Piece;
use super::whole;
use crate::bounds::{Bounds, of_guard};
use crate::dtype::DType;
use crate::grid::{Axes, Axis, Bound, Interval, Level, Offset, Range};
use crate::ir::{
    Expr, ExprKind, LevelIndex, Literal, Order, Param, ScalarId, Section, Stencil, Stmt, StmtKind,
    Subscript, Target, TempId, UnaryOp,
};
use crate::visit::is_partial;

/// The definition of an untyped stencil in gtscript, one `def` without decorator or imports.
///
/// Types are written as strings, as in `Field[IJ, "float32"]`, scalars' too; a temporary's annotation stands at its first
/// assignment, or before it. Types of literals and of expressions other than conversions are not written: they are to be resolved anew.
/// Names that Python does not take are changed.
pub fn gtscript(stencil: &Stencil) -> String {
    let mut writer = Writer::new(stencil);
    writer.definition();
    writer.out
}

/// As [`gtscript()`], with parts of expressions as functions before the definition, decorated with `@function`.
///
/// `choose` gives a number below the one it is given, and so says which parts.
pub fn gtscript_with_functions(
    stencil: &Stencil,
    choose: &mut dyn FnMut(usize) -> usize,
) -> String {
    let mut writer = Writer::new(stencil);
    writer.outline = Some(Outline::new(stencil, choose));
    writer.definition();
    let functions = writer.outline.map(|outline| outline.definitions);
    functions.unwrap_or_default() + &writer.out
}

/// Names of temporaries without the characters that mark where they come from.
fn python_names(stencil: &Stencil) -> Vec<String> {
    let fields = stencil.fields.iter().map(|field| field.name.clone());
    let scalars = stencil.scalars.iter().map(|scalar| scalar.name.clone());
    let mut taken: HashSet<String> = fields.chain(scalars).collect();
    (stencil.temporaries.iter())
        .map(|temporary| {
            let mut name: String = (temporary.name.chars())
                .map(|c| if c.is_alphanumeric() { c } else { '_' })
                .collect();
            if name.chars().next().is_none_or(|first| first.is_numeric()) {
                name.insert(0, '_');
            }
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            name
        })
        .collect()
}

pub(super) struct Writer<'a> {
    pub stencil: &'a Stencil,
    /// What becomes a function, if anything does.
    pub outline: Option<Outline<'a>>,
    temporaries: Vec<String>,
    /// Temporaries whose annotation is written.
    annotated: HashSet<TempId>,
    out: String,
}

impl<'a> Writer<'a> {
    fn new(stencil: &'a Stencil) -> Self {
        Writer {
            stencil,
            outline: None,
            temporaries: python_names(stencil),
            annotated: HashSet::new(),
            out: String::new(),
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 4 * depth);
    }

    fn definition(&mut self) {
        let stencil = self.stencil;
        let params: Vec<String> = (stencil.params.iter())
            .map(|param| match param {
                Param::Field(id) => {
                    let field = stencil.field(*id);
                    let annotation = field_type(field.axes, field.dtype, &field.data_dims);
                    format!("{}{annotation}", field.name)
                }
                Param::Scalar(id) => {
                    let scalar = stencil.scalar(*id);
                    format!("{}: \"{}\"", scalar.name, scalar.dtype)
                }
            })
            .collect();
        self.line(0, &format!("def {}({}):", stencil.name, params.join(", ")));
        for computation in &stencil.computations {
            let order = match computation.order {
                Order::Parallel => "PARALLEL",
                Order::Forward => "FORWARD",
                Order::Backward => "BACKWARD",
            };
            self.line(1, &format!("with computation({order}):"));
            if let Some(outline) = &mut self.outline {
                outline.begin(computation);
            }
            for section in &computation.sections {
                self.section(section);
            }
        }
    }

    fn section(&mut self, section: &Section) {
        let Interval { start, end } = section.interval;
        match guarded_body(&section.body) {
            Some((bounds, body)) => {
                let mut print = |bound: Option<&Expr>, known: Bound| {
                    bound.map_or(print_bound(known), |bound| self.without_calls(bound))
                };
                let (start, end) = (print(bounds.start, start), print(bounds.end, end));
                self.line(2, &format!("with interval({start}, {end}):"));
                self.block(3, &body);
            }
            None => {
                self.line(2, &format!("with {}:", interval(section.interval)));
                self.block(3, &section.body);
            }
        }
    }

    fn block(&mut self, depth: usize, body: &[Stmt]) {
        if body.is_empty() {
            self.line(depth, "pass");
        }
        let mut rest = body;
        while let Some(stmt) = rest.first() {
            if let Some((whole, count)) = whole::assignment(self.stencil, rest) {
                rest = &rest[count..];
                self.statement(depth, &whole);
                continue;
            }
            if let Some(text) = self.outlined_pair(rest) {
                rest = &rest[2..];
                self.line(depth, &text);
                continue;
            }
            rest = &rest[1..];
            self.statement(depth, stmt);
        }
    }

    fn statement(&mut self, depth: usize, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign {
                target,
                offset,
                subscript,
                value,
                ..
            } => {
                let mut annotation = self.annotation(*target);
                if !annotation.is_empty() && is_partial(subscript.as_deref()) {
                    // Only whole names take an annotation.
                    let name = self.name(*target).to_string();
                    self.line(depth, &format!("{name}{annotation} = 0"));
                    annotation.clear();
                }
                let place = self.place(*target, *offset, subscript.as_deref());
                let value = self.expr(value);
                self.line(depth, &format!("{place}{annotation} = {value}"));
            }
            StmtKind::While { condition, body } => {
                self.under_conditions(1);
                let condition = self.expr(condition);
                self.line(depth, &format!("while {condition}:"));
                self.block(depth + 1, body);
                self.under_conditions(-1);
            }
            // The intervals themselves say so.
            StmtKind::Require { .. } => self.line(depth, "pass"),
            StmtKind::Region { area, body } => {
                let [i, j] = [Axis::I, Axis::J].map(|axis| range(axis, area.0[axis.index()]));
                self.line(depth, &format!("with horizontal(region[{i}, {j}]):"));
                self.block(depth + 1, body);
            }
            StmtKind::If {
                condition,
                then,
                orelse,
            } => {
                let condition = self.expr(condition);
                self.line(depth, &format!("if {condition}:"));
                self.conditional(depth + 1, then);
                if !orelse.is_empty() {
                    self.line(depth, "else:");
                    self.conditional(depth + 1, orelse);
                }
            }
        }
    }

    fn conditional(&mut self, depth: usize, body: &[Stmt]) {
        self.under_conditions(1);
        self.block(depth, body);
        self.under_conditions(-1);
    }

    /// Counts the conditions around what comes next.
    fn under_conditions(&mut self, more: isize) {
        if let Some(outline) = &mut self.outline {
            outline.conditions = outline.conditions.wrapping_add_signed(more);
        }
    }

    /// An expression that calls no functions.
    fn without_calls(&mut self, expr: &Expr) -> String {
        let outline = self.outline.take();
        let text = self.expr(expr);
        self.outline = outline;
        text
    }

    /// Whether a name was assigned before, or has no annotation to be written.
    pub(super) fn is_annotated(&self, target: Target) -> bool {
        match target {
            Target::Field(_) => true,
            Target::Temp(id) => {
                self.annotated.contains(&id) || self.stencil.temporary(id).dtype.is_none()
            }
        }
    }

    fn annotation(&mut self, target: Target) -> String {
        match target {
            Target::Temp(id) if self.annotated.insert(id) => {
                let temporary = self.stencil.temporary(id);
                (temporary.dtype).map_or(String::new(), |dtype| {
                    field_type(temporary.axes, dtype, &temporary.data_dims)
                })
            }
            _ => String::new(),
        }
    }

    /// A target with its offset and indices.
    pub(super) fn place(
        &mut self,
        target: Target,
        offset: Offset,
        subscript: Option<&Subscript>,
    ) -> String {
        let inside = self.scope().and_then(|scope| scope.target(target, offset));
        let (mut out, offset) = match inside {
            Some((name, offset)) => (name.to_string(), offset),
            None => (self.name(target).to_string(), offset),
        };
        let axes = self.stencil.target_axes(target);
        let Some(subscript) = subscript else {
            return out + &print_offset(offset, axes);
        };
        let level = subscript.level().map(|level| self.expr(level));
        let indices: Vec<String> = subscript.indices().iter().map(|n| self.expr(n)).collect();
        let along = |axis: Axis| match (axis, &level) {
            (Axis::K, Some(level)) => format!("{level} + {}", offset.along(axis)),
            _ => offset.along(axis).to_string(),
        };
        if let (LevelIndex::Absolute, Some(level)) = (subscript.level, &level) {
            let _ = write!(out, ".at(K={level}");
            if !indices.is_empty() {
                let _ = write!(out, ", ddim=[{}]", indices.join(", "));
            }
            return out + ")";
        }
        if !axes.is_empty() {
            let offsets: Vec<String> = axes.iter().map(along).collect();
            let _ = write!(out, "[{}]", offsets.join(", "));
        }
        if !indices.is_empty() {
            let table = if axes.is_empty() { ".A" } else { "" };
            let _ = write!(out, "{table}[{}]", indices.join(", "));
        }
        out
    }

    /// The function that is being written.
    pub(super) fn scope(&self) -> Option<&Scope> {
        self.outline.as_ref()?.scopes.last()
    }

    pub(super) fn scalar_name(&self, id: ScalarId) -> String {
        let inside = self.scope().and_then(|scope| scope.scalar(id));
        inside.unwrap_or(&self.stencil.scalar(id).name).to_string()
    }

    pub(super) fn name(&self, target: Target) -> &str {
        match target {
            Target::Field(id) => &self.stencil.field(id).name,
            Target::Temp(id) => &self.temporaries[id.0 as usize],
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> String {
        let mut out = String::new();
        let mut todo = vec![Piece::Expr(expr)];
        while let Some(piece) = todo.pop() {
            match piece {
                Piece::Text(text) => out.push_str(text),
                // They are to be resolved anew.
                Piece::Type(_) => {}
                Piece::Expr(expr) => {
                    let start = todo.len();
                    self.pieces(expr, &mut out, &mut todo);
                    todo[start..].reverse();
                }
            }
        }
        out
    }

    fn pieces<'e>(&mut self, expr: &'e Expr, out: &mut String, rest: &mut Vec<Piece<'e>>) {
        use Piece::{Expr as Operand, Text};
        let known = self.scope().and_then(|scope| scope.part(expr));
        if let Some(text) = known.or_else(|| self.outlined(expr)) {
            out.push_str(&text);
            return;
        }
        match &expr.kind {
            ExprKind::Literal(literal) => out.push_str(&print_literal(*literal)),
            ExprKind::Scalar(id) => out.push_str(&self.scalar_name(*id)),
            ExprKind::Access {
                target,
                offset,
                subscript,
            } => out.push_str(&self.place(*target, *offset, subscript.as_deref())),
            ExprKind::Position(axis) => out.push_str(&axis.to_string()),
            ExprKind::Size(axis) => out.push_str(&format!("size({axis})")),
            // What gtscript writes as an index is checked anyway.
            ExprKind::Checked(index, _) => rest.push(Operand(index)),
            ExprKind::Unary(op, a) => {
                let symbol = match op {
                    UnaryOp::Neg => "(-",
                    UnaryOp::Not => "(not ",
                    UnaryOp::Invert => "(~",
                };
                rest.extend([Text(symbol), Operand(a), Text(")")]);
            }
            ExprKind::Binary(op, a, b) => rest.extend(Piece::infix(a, op.symbol(), b)),
            ExprKind::Compare(op, a, b) => rest.extend(Piece::infix(a, op.symbol(), b)),
            ExprKind::Select(condition, a, b) => {
                rest.extend([Text("("), Operand(a), Text(" if "), Operand(condition)]);
                rest.extend([Text(" else "), Operand(b), Text(")")]);
            }
            ExprKind::Call(builtin, operands) => {
                rest.extend(Piece::call(builtin.name(), operands));
            }
            ExprKind::Cast(a) => {
                let name = expr.dtype.map_or("", DType::name);
                rest.extend(Piece::call(name, [&**a]));
            }
        }
    }
}

/// The annotation of a field or temporary, with the colon before it.
fn field_type(axes: Axes, dtype: DType, data_dims: &[u32]) -> String {
    let sizes: Vec<String> = data_dims.iter().map(|size| format!("{size},")).collect();
    let element = match sizes.is_empty() {
        true => format!("\"{dtype}\""),
        false => format!("(\"{dtype}\", ({}))", sizes.join(" ")),
    };
    match axes {
        Axes::IJK => format!(": Field[{element}]"),
        _ if axes.is_empty() => format!(": GlobalTable[{element}]"),
        _ => format!(": Field[{axes}, {element}]"),
    }
}

/// `I[0] + 1 : I[-1]` and the like.
fn range(axis: Axis, range: Range) -> String {
    let print = |bound: Option<Bound>| match bound {
        None => String::new(),
        Some(Bound { level, offset }) => match level {
            Level::Start => format!("{axis}[0] + {offset}"),
            Level::End => format!("{axis}[-1] + {}", i64::from(offset) + 1),
        },
    };
    format!("{}:{}", print(range.start), print(range.end))
}

fn interval(interval: Interval) -> String {
    if interval == Interval::FULL {
        return "interval(...)".to_string();
    }
    let (start, end) = (print_bound(interval.start), print_bound(interval.end));
    format!("interval({start}, {end})")
}

fn print_bound(bound: Bound) -> String {
    match (bound.level, bound.offset) {
        (Level::End, 0) => "None".to_string(),
        (_, offset) => offset.to_string(),
    }
}

/// The statements of an interval whose bounds are computed, and these.
fn guarded_body(body: &[Stmt]) -> Option<(Bounds<'_>, Vec<Stmt>)> {
    let mut inner = Vec::new();
    let mut guard = None;
    for stmt in body {
        let StmtKind::If {
            condition,
            then,
            orelse,
        } = &stmt.kind
        else {
            return None;
        };
        let ([then], []) = (then.as_slice(), orelse.as_slice()) else {
            return None;
        };
        if *guard.get_or_insert(condition) != condition {
            return None;
        }
        inner.push(then.clone());
    }
    Some((of_guard(guard?)?, inner))
}

/// Offsets along the axes a target has; nothing for the point itself.
fn print_offset(offset: Offset, axes: Axes) -> String {
    if offset == Offset::ZERO {
        return String::new();
    }
    let along: Vec<String> = (axes.iter())
        .map(|axis: Axis| offset.along(axis).to_string())
        .collect();
    format!("[{}]", along.join(", "))
}

fn print_literal(literal: Literal) -> String {
    match literal {
        Literal::Bool(true) => "True".to_string(),
        Literal::Bool(false) => "False".to_string(),
        Literal::Int(n) if n < 0 => format!("({n})"),
        Literal::Int(n) => n.to_string(),
        Literal::Float(x) if x.is_sign_negative() => format!("({x:?})"),
        Literal::Float(x) => format!("{x:?}"),
    }
}
