//! From IR to text.

use std::fmt::Write;

use super::implied;
use super::piece::Piece;
use crate::dtype::DType;
use crate::grid::{Extent, Offset};
use crate::ir::{Expr, ExprKind, Literal, Order, Param, Stencil, Stmt, StmtKind, Target};
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
                    format!("field {name}: {}[{}]{info}", field.dtype, field.axes)
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
            let dtype = (temporary.dtype).map_or(String::new(), |dtype| format!(": {dtype}"));
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
            StmtKind::Assign { target, value, .. } => {
                let _ = write!(self.out, "{} = ", target_name(self.stencil, *target));
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
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let mut todo = vec![Piece::Expr(expr)];
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
            ExprKind::Access { target, offset } => {
                self.out.push_str(&target_name(self.stencil, *target));
                if *offset != Offset::ZERO {
                    let _ = write!(self.out, "{offset}");
                }
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
        let expr = match &stmt.kind {
            StmtKind::Assign { value, .. } => value,
            StmtKind::If {
                condition,
                then,
                orelse,
            } => {
                todo.extend(then.iter().chain(orelse));
                condition
            }
        };
        expr.walk(|node| match (&node.kind, node.dtype) {
            (ExprKind::Cast(_), _) => {}
            (_, Some(_)) => typed += 1,
            (_, None) => untyped += 1,
        });
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
