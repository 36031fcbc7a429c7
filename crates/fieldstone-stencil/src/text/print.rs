//! From IR to text.

use std::fmt::Write;

use super::implied;
use super::piece::Piece;
use crate::dtype::DType;
use crate::grid::{Axes, Extent, Offset};
use crate::ir::{
    DataDimension, Expr, ExprKind, LevelIndex, Literal, Order, Param, Stencil, Stmt, StmtKind,
    Subscript, Target,
};
use crate::program::Program;

/// The text of a stencil.
pub fn print(stencil: &Stencil) -> String {
    Printer::new(stencil, None).print()
}

/// The text of a program: as [`print()`], with what the analysis found in comments.
pub fn print_program(program: &Program) -> String {
    Printer::new(&program.stencil, Some(program)).print()
}

/// The text of one expression.
pub fn print_expr(stencil: &Stencil, expr: &Expr) -> String {
    let mut printer = Printer::new(stencil, None);
    printer.expr(expr);
    printer.out
}

struct Printer<'a> {
    stencil: &'a Stencil,
    program: Option<&'a Program>,
    typed: bool,
    out: String,
}

impl<'a> Printer<'a> {
    fn new(stencil: &'a Stencil, program: Option<&'a Program>) -> Self {
        Printer {
            stencil,
            program,
            typed: is_typed(stencil),
            out: String::new(),
        }
    }

    fn print(mut self) -> String {
        let stencil = self.stencil;
        let typed = if self.typed { "typed " } else { "" };
        if let Some(program) = self.program {
            self.line(0, &format!("# levels >= {}", program.analysis.min_levels));
            let [i, j] = program.analysis.min_points;
            if i.max(j) > 0 {
                self.line(0, &format!("# points >= {i}, {j}"));
            }
        }
        self.line(0, &format!("{typed}stencil {} {{", quoted(&stencil.name)));
        self.declarations();
        for (c, computation) in stencil.computations.iter().enumerate() {
            let order = match computation.order {
                Order::Parallel => "parallel",
                Order::Forward => "forward",
                Order::Backward => "backward",
            };
            self.line(1, &format!("{order} {{"));
            for (s, section) in computation.sections.iter().enumerate() {
                self.line(2, &format!("interval {} {{", section.interval));
                for (n, stmt) in section.body.iter().enumerate() {
                    let extent = self
                        .program
                        .map(|program| program.analysis.extents[c][s][n]);
                    self.statement(3, stmt, extent);
                }
                self.line(2, "}");
            }
            self.line(1, "}");
        }
        self.line(0, "}");
        self.out
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * depth);
    }

    fn declarations(&mut self) {
        let stencil = self.stencil;
        if !stencil.fast_math.is_strict() {
            self.line(1, &format!("fast_math {}", stencil.fast_math));
        }
        for param in declared(stencil) {
            let line = match param {
                Param::Field(id) => {
                    let field = stencil.field(id);
                    let name = quoted(&field.name);
                    let info = self.program.map(|program| {
                        let info = program.analysis.fields[id.0 as usize];
                        format!("  # {}, {}", info.access, info.extent)
                    });
                    let info = info.unwrap_or_default();
                    let data = data_dims(&field.data_dims);
                    format!("field {name}: {}[{}]{data}{info}", field.dtype, field.axes)
                }
                Param::Scalar(id) => {
                    let scalar = stencil.scalar(id);
                    format!("scalar {}: {}", quoted(&scalar.name), scalar.dtype)
                }
            };
            self.line(1, &line);
        }
        for (n, temporary) in stencil.temporaries.iter().enumerate() {
            let name = quoted(&temporary.name);
            let mut dtype = (temporary.dtype).map_or(String::new(), |dtype| format!(": {dtype}"));
            if temporary.axes != Axes::IJK || !temporary.data_dims.is_empty() {
                let data = data_dims(&temporary.data_dims);
                let _ = write!(dtype, "[{}]{data}", temporary.axes);
            }
            let info = self.program.map(|program| {
                let info = program.analysis.temporaries[n];
                let read = if info.read { "" } else { ", never read" };
                let zero = if info.maybe_uninitialised {
                    ", perhaps not everywhere"
                } else {
                    ""
                };
                format!("  # on {}{zero}{read}", info.extent)
            });
            self.line(
                1,
                &format!("temp {name}{dtype}{}", info.unwrap_or_default()),
            );
        }
        if stencil.params != declared(stencil) {
            let names: Vec<String> = (stencil.params.iter())
                .map(|param| match param {
                    Param::Field(id) => quoted(&stencil.field(*id).name),
                    Param::Scalar(id) => quoted(&stencil.scalar(*id).name),
                })
                .collect();
            self.line(1, &format!("params {}", names.join(", ")));
        }
    }

    fn statement(&mut self, depth: usize, stmt: &Stmt, extent: Option<Extent>) {
        let extent = (extent.filter(|extent| *extent != Extent::ZERO))
            .map_or(String::new(), |extent| format!("  # on {extent}"));
        let _ = write!(self.out, "{:1$}", "", 2 * depth);
        match &stmt.kind {
            StmtKind::Assign {
                target,
                offset,
                subscript,
                value,
                ..
            } => {
                self.out.push_str(&target_name(self.stencil, *target));
                let mut place = Vec::new();
                self.place(*offset, subscript.as_deref(), &mut place);
                self.all(place);
                self.out.push_str(" = ");
                self.expr(value);
                let _ = writeln!(self.out, "{extent}");
            }
            StmtKind::If {
                condition,
                then,
                orelse,
            } => {
                self.out.push_str("if ");
                self.expr(condition);
                let _ = writeln!(self.out, " {{{extent}");
                for inner in then {
                    self.statement(depth + 1, inner, None);
                }
                if !orelse.is_empty() {
                    self.line(depth, "} else {");
                    for inner in orelse {
                        self.statement(depth + 1, inner, None);
                    }
                }
                self.line(depth, "}");
            }
            StmtKind::While { condition, body } => {
                self.out.push_str("while ");
                self.expr(condition);
                self.block(depth, body, &extent);
            }
            StmtKind::Require {
                condition, bounds, ..
            } => {
                self.out.push_str("require ");
                self.expr(condition);
                self.out.push_str(" for [");
                for (n, bound) in bounds.iter().enumerate() {
                    self.out.push_str(if n == 0 { "" } else { ", " });
                    self.expr(bound);
                }
                let _ = writeln!(self.out, "]{extent}");
            }
            StmtKind::Region { area, body } => {
                let _ = write!(self.out, "region [{area}]");
                self.block(depth, body, &extent);
            }
        }
    }

    fn block(&mut self, depth: usize, body: &[Stmt], comment: &str) {
        let _ = writeln!(self.out, " {{{comment}");
        for inner in body {
            self.statement(depth + 1, inner, None);
        }
        self.line(depth, "}");
    }

    fn expr(&mut self, expr: &Expr) {
        self.all(vec![Piece::Expr(expr)]);
    }

    fn all(&mut self, mut todo: Vec<Piece<'_>>) {
        todo.reverse();
        while let Some(piece) = todo.pop() {
            match piece {
                Piece::Text(text) => self.out.push_str(text),
                Piece::Type(expr) => self.type_of(expr),
                Piece::Expr(expr) => {
                    let start = todo.len();
                    self.pieces(expr, &mut todo);
                    todo.push(Piece::Type(expr));
                    todo[start..].reverse();
                }
            }
        }
    }

    /// Prints what an expression starts with, and lists the rest.
    fn pieces<'e>(&mut self, expr: &'e Expr, rest: &mut Vec<Piece<'e>>) {
        match &expr.kind {
            ExprKind::Literal(literal) => self.out.push_str(&print_literal(*literal)),
            ExprKind::Scalar(id) => {
                let name = (self.stencil.scalars.get(id.0 as usize))
                    .map_or(format!("?{}", id.0), |scalar| quoted(&scalar.name));
                self.out.push_str(&name);
            }
            ExprKind::Access {
                target,
                offset,
                subscript,
            } => {
                self.out.push_str(&target_name(self.stencil, *target));
                self.place(*offset, subscript.as_deref(), rest);
            }
            ExprKind::Position(axis) => {
                let _ = write!(self.out, "index({axis})");
            }
            ExprKind::Size(axis) => {
                let _ = write!(self.out, "size({axis})");
            }
            ExprKind::Checked(index, DataDimension { of, size }) => {
                let of = target_name(self.stencil, *of);
                let _ = write!(self.out, "checked({of}, {size}, ");
                rest.extend([Piece::Expr(index), Piece::Text(")")]);
            }
            ExprKind::Unary(op, a) => rest.extend(Piece::call(op.symbol(), [&**a])),
            ExprKind::Binary(op, a, b) => rest.extend(Piece::infix(a, op.symbol(), b)),
            ExprKind::Compare(op, a, b) => rest.extend(Piece::infix(a, op.symbol(), b)),
            ExprKind::Select(condition, a, b) => {
                rest.extend(Piece::call("select", [&**condition, &**a, &**b]));
            }
            ExprKind::Call(builtin, operands) => {
                rest.extend(Piece::call(builtin.name(), operands));
            }
            ExprKind::Cast(a) => {
                let name = expr.dtype.map_or("cast", DType::name);
                rest.extend(Piece::call(name, [&**a]));
            }
        }
    }

    /// Prints a constant offset, and lists what else a subscript says.
    fn place<'e>(
        &mut self,
        offset: Offset,
        subscript: Option<&'e Subscript>,
        rest: &mut Vec<Piece<'e>>,
    ) {
        let level = subscript.map_or(LevelIndex::Constant, |subscript| subscript.level);
        let [i, j, k] = offset.0;
        match level {
            LevelIndex::Constant if offset == Offset::ZERO && subscript.is_none() => {}
            LevelIndex::Constant => {
                let _ = write!(self.out, "{offset}");
            }
            LevelIndex::Offset => {
                let _ = write!(self.out, "[{i}, {j}, {k} + ");
            }
            LevelIndex::Absolute => {
                let _ = write!(self.out, "[{i}, {j}, at ");
            }
        }
        let Some(subscript) = subscript else {
            return;
        };
        if let Some(level) = subscript.level() {
            rest.extend([Piece::Expr(level), Piece::Text("]")]);
        }
        for (n, index) in subscript.indices().iter().enumerate() {
            let before = if n == 0 { "[" } else { ", " };
            rest.extend([Piece::Text(before), Piece::Expr(index)]);
        }
        if !subscript.indices().is_empty() {
            rest.push(Piece::Text("]"));
        }
    }

    fn type_of(&mut self, expr: &Expr) {
        if let ExprKind::Cast(_) = expr.kind {
            return;
        }
        let implied = if self.typed {
            implied(self.stencil, &expr.kind)
        } else {
            None
        };
        match expr.dtype {
            dtype if dtype == implied => {}
            Some(dtype) => {
                let _ = write!(self.out, ":{dtype}");
            }
            None => self.out.push_str(":?"),
        }
    }
}

/// Whether a stencil is to be printed as typed: whether more expressions have a type than not.
fn is_typed(stencil: &Stencil) -> bool {
    let sections = stencil.computations.iter().flat_map(|c| &c.sections);
    let mut todo: Vec<&Stmt> = sections.flat_map(|section| &section.body).collect();
    let (mut typed, mut untyped) = (0usize, 0usize);
    while let Some(stmt) = todo.pop() {
        todo.extend(stmt.inner());
        for expr in stmt.expressions() {
            expr.walk(|node| match (&node.kind, node.dtype) {
                (ExprKind::Cast(_), _) => {}
                (_, Some(_)) => typed += 1,
                (_, None) => untyped += 1,
            });
        }
    }
    typed > untyped
}

/// Parameters as they would be numbered in the order of declarations: fields and scalars in their own orders, mixed as the
/// signature mixes them.
fn declared(stencil: &Stencil) -> Vec<Param> {
    let (mut fields, mut scalars) = (0, 0);
    let mut order = Vec::with_capacity(stencil.params.len());
    for param in &stencil.params {
        order.push(match param {
            Param::Field(_) => {
                fields += 1;
                Param::Field(crate::ir::FieldId(fields - 1))
            }
            Param::Scalar(_) => {
                scalars += 1;
                Param::Scalar(crate::ir::ScalarId(scalars - 1))
            }
        });
    }
    order
}

fn target_name(stencil: &Stencil, target: Target) -> String {
    let name = match target {
        Target::Field(id) => (stencil.fields.get(id.0 as usize)).map(|field| &field.name),
        Target::Temp(id) => (stencil.temporaries.get(id.0 as usize)).map(|temp| &temp.name),
    };
    name.map_or(format!("?{target:?}"), |name| quoted(name))
}

fn data_dims(sizes: &[u32]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    match sizes.is_empty() {
        true => String::new(),
        false => format!("[{}]", sizes.join(", ")),
    }
}

fn print_literal(literal: Literal) -> String {
    match literal {
        Literal::Bool(true) => "True".to_string(),
        Literal::Bool(false) => "False".to_string(),
        Literal::Int(n) => n.to_string(),
        Literal::Float(x) if x.is_finite() => format!("{x:?}"),
        Literal::Float(x) if x.is_nan() => "+nan".to_string(),
        Literal::Float(x) => format!("{x:+}"),
    }
}

/// A name, in quotes where it could be taken for something else.
fn quoted(name: &str) -> String {
    let mut chars = name.chars();
    let plain = (chars.next()).is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '@' | '.'))
        && !matches!(
            name,
            "True" | "False" | "and" | "or" | "not" | "if" | "else"
        );
    if plain {
        name.to_string()
    } else {
        format!("{name:?}")
    }
}
