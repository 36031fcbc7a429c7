//! Assignments and `return`.

use std::collections::HashSet;

use fieldstone_stencil::Span;
use fieldstone_stencil::ir::{self, BinaryOp, ExprKind, Target};
use fieldstone_stencil::visit::reads;
use ruff_python_ast::{Expr, Operator, Stmt, StmtAnnAssign, StmtAssign, StmtAugAssign, StmtReturn};
use ruff_text_size::Ranged;

use super::data::Place;
use super::name::Meaning;
use super::{Binding, Lowering, Reported, read};
use crate::definition::Value;
use crate::{constant, rule};

impl Lowering<'_> {
    /// Lowers statements into the current block.
    pub(super) fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            if self.frame().result.is_some() {
                // Behind a `return` that a compile-time condition chose, nothing runs.
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        // The error is recorded; the statement is left out and the next one tried.
        let _: Result<(), Reported> = match statement {
            Stmt::Assign(assign) => self.assignment(assign),
            Stmt::AugAssign(assign) => self.augmented(assign),
            Stmt::AnnAssign(assign) => self.annotated(assign),
            Stmt::If(branch) => self.branch(branch),
            Stmt::With(with) => self.regions(with),
            Stmt::While(repeat) => self.repeat(repeat),
            Stmt::Return(statement) => self.result(statement),
            other if self.declaration(other) => Ok(()),
            other => Err(self.foreign_statement(other)),
        };
    }

    pub(super) fn foreign_statement(&mut self, statement: &Stmt) -> Reported {
        let span = self.span(statement);
        let keyword = |length: u32| Span {
            end: span.start + length,
            ..span
        };
        let diagnostic = match statement {
            Stmt::While(_) => rule::OUTSIDE_COMPUTATION
                .at(keyword(5), "a `while` stands outside of every computation")
                .with_help("write it inside of `with computation(…), interval(…)`"),
            Stmt::With(_) => rule::WITH
                .at(keyword(4), "a `with` inside of an interval means nothing")
                .with_help("computations and intervals stand side by side; put this one below, with less indentation"),
            Stmt::For(_) => rule::STATEMENT
                .at(keyword(3), "`for` is not part of gtscript")
                .with_help(
                    "a stencil visits every point by itself: write neighbours out one by one, and let levels follow each other \
                     in `computation(FORWARD)`",
                ),
            Stmt::Expr(expression) => {
                let help = match expression.value.as_ref() {
                    Expr::Compare(_) => "did you mean an assignment, `name = value`?".to_string(),
                    Expr::Call(call) if crate::names::path(&call.func).is_some() => {
                        match self.resolve(&call.func) {
                            // What is called is the better error.
                            Err(reported) => return reported,
                            Ok(Meaning::Value(Value::Function(_))) => format!(
                                "a function gives its results back, whatever it assigns: `name = {}`",
                                &self.text()[call.range()]
                            ),
                            Ok(_) => "assign its value: `name = …`".to_string(),
                        }
                    }
                    _ => "assign its value: `name = …`".to_string(),
                };
                rule::STATEMENT
                    .at(span, "the value of this expression is not used")
                    .with_help(help)
            }
            Stmt::FunctionDef(function) => {
                // The name is known from here on all the same.
                let name = function.name.to_string();
                let locals = &mut self.frame_mut().locals;
                locals.entry(name.clone()).or_insert(Binding::Broken);
                rule::STATEMENT
                    .at(
                        keyword(3),
                        "a function inside of a stencil is not part of gtscript",
                    )
                    .with_help(format!(
                        "define `{name}` outside and decorate it with `@gtscript.function`"
                    ))
            }
            Stmt::Assert(_) => rule::STATEMENT
                .at(keyword(6), "`assert` is not part of gtscript")
                .with_help("`compile_assert(…)` checks externals"),
            Stmt::Delete(_) => rule::STATEMENT.at(keyword(3), "`del` is not part of gtscript"),
            Stmt::Break(_) => rule::STATEMENT
                .at(span, "`break` is not part of gtscript")
                .with_help("let the condition of the loop end it"),
            Stmt::Continue(_) => rule::STATEMENT
                .at(span, "`continue` is not part of gtscript")
                .with_help("put what it would leave out into an `if`"),
            Stmt::Raise(_) => rule::STATEMENT.at(keyword(5), "`raise` is not part of gtscript"),
            Stmt::Try(_) => rule::STATEMENT.at(keyword(3), "`try` is not part of gtscript"),
            Stmt::ClassDef(_) => rule::STATEMENT.at(keyword(5), "`class` is not part of gtscript"),
            Stmt::Match(_) => rule::STATEMENT
                .at(keyword(5), "`match` is not part of gtscript")
                .with_help("write `if`, `elif`, `else`"),
            Stmt::Global(_) | Stmt::Nonlocal(_) => rule::STATEMENT
                .at(span, "a stencil cannot change names outside of it")
                .with_help("give results back through field parameters"),
            _ => rule::STATEMENT.at(span, "this statement is not part of gtscript"),
        };
        self.report(diagnostic)
    }

    fn assignment(&mut self, assign: &StmtAssign) -> Result<(), Reported> {
        let span = self.span(assign);
        let values = self.values(&assign.value);
        if let [target] = assign.targets.as_slice() {
            return self.unpack(target, values, &assign.value, span);
        }
        // `a = b = value`: the value is computed once.
        let values = values.map(|values| {
            let stored = values.into_iter().map(|value| self.store("value", value));
            stored.collect::<Vec<_>>()
        });
        for target in &assign.targets {
            self.unpack(target, values.clone(), &assign.value, span)?;
        }
        Ok(())
    }

    /// Assigns values to a target or to a tuple of targets.
    fn unpack(
        &mut self,
        target: &Expr,
        values: Result<Vec<ir::Expr>, Reported>,
        value: &Expr,
        span: Span,
    ) -> Result<(), Reported> {
        let targets = match target {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            Expr::List(list) => list.elts.as_slice(),
            single => std::slice::from_ref(single),
        };
        let places: Vec<_> = targets
            .iter()
            .map(|target| self.target(target, None))
            .collect();
        let values = values?;
        let places: Vec<_> = places.into_iter().collect::<Result<_, _>>()?;
        if places.len() != values.len() {
            return Err(self.uneven(target, places.len(), values.len(), value));
        }
        let values = self.apart(&places, values);
        for (place, value) in places.into_iter().zip(values) {
            self.assign(place, value, span);
        }
        Ok(())
    }

    /// Reports as many targets as there are not values.
    fn uneven(&mut self, target: &Expr, targets: usize, values: usize, value: &Expr) -> Reported {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let help = match targets < values {
            true => "name a target for each value; one that is not needed can be called `_`",
            false => "there is one value for each target, in the same order",
        };
        let (targets, values) = (count(targets, "target"), count(values, "value"));
        let diagnostic = rule::UNPACK
            .at(self.span(target), format!("{targets} for {values}"))
            .with_label(targets)
            .with_secondary(self.span(value), values)
            .with_help(help);
        self.report(diagnostic)
    }

    /// Tuple assignment takes all values before it writes the first: a value that reads an earlier target is stored first.
    fn apart(&mut self, places: &[Place], values: Vec<ir::Expr>) -> Vec<ir::Expr> {
        let mut earlier = HashSet::new();
        let mut result = Vec::with_capacity(values.len());
        for (place, value) in places.iter().zip(values) {
            result.push(if reads_any(&value, &earlier) {
                self.store("value", value)
            } else {
                value
            });
            earlier.insert(place.target);
        }
        result
    }

    /// Keeps a value in a temporary.
    pub(super) fn store(&mut self, name: &str, value: ir::Expr) -> ir::Expr {
        if constant::value(&value).is_some() {
            return value;
        }
        let span = value.span;
        let temp = self.fresh(name, span);
        self.assign_temporary(temp, value, span);
        read(temp, span)
    }

    fn augmented(&mut self, assign: &StmtAugAssign) -> Result<(), Reported> {
        let span = self.span(assign);
        let value = self.expression(&assign.value);
        let product = assign.op == Operator::MatMult;
        let operator = match product {
            true => Ok(BinaryOp::Mul),
            false => self.operator(assign.op, span),
        };
        if let Expr::Name(name) = assign.target.as_ref() {
            let name = name.id.as_str();
            let frame = self.frame();
            if !frame.locals.contains_key(name) {
                let span = self.span(assign.target.as_ref());
                return Err(self.report(
                    rule::READ_BEFORE_ASSIGNED
                        .at(span, format!("`{name}` is read before it is assigned"))
                        .with_help(format!("assign it first: `{name} = …`")),
                ));
            }
        }
        let place = self.target(&assign.target, None)?;
        let current = ExprKind::Access {
            target: place.target,
            offset: place.offset,
            subscript: place.subscript.clone(),
        };
        let current = ir::Expr::untyped(current, place.span);
        let value = match product {
            true => self.product(current, value?, span)?,
            false => self.combine(operator?, current, value?, span)?,
        };
        self.assign(place, value, span);
        Ok(())
    }

    pub(super) fn annotated(&mut self, assign: &StmtAnnAssign) -> Result<(), Reported> {
        let span = self.span(assign);
        let ty = match self.annotation(&assign.annotation) {
            Ok(ty) => ty,
            Err(reported) => {
                // The name is known from here on all the same.
                if let Expr::Name(name) = assign.target.as_ref() {
                    self.frame_mut()
                        .locals
                        .entry(name.id.to_string())
                        .or_insert(Binding::Broken);
                }
                return Err(reported);
            }
        };
        let value = match &assign.value {
            Some(value) => self.expression(value),
            None => {
                self.target(&assign.target, Some(ty))?;
                return Ok(());
            }
        };
        let place = self.target(&assign.target, Some(ty))?;
        self.assign(place, value?, span);
        Ok(())
    }

    pub(super) fn result(&mut self, statement: &StmtReturn) -> Result<(), Reported> {
        let span = self.span(statement);
        if self.frame().function.is_none() {
            return Err(self.report(
                rule::RETURN
                    .at(span, "a stencil returns nothing")
                    .with_help("write results to a field parameter: `out = …`"),
            ));
        }
        let result = match &statement.value {
            Some(value) => {
                let values = self.values(value);
                if self.mask.depth > 0 {
                    self.place_called();
                    for value in values.iter().flatten() {
                        reads(value, &mut |access| self.check_partial(access));
                    }
                }
                values
            }
            None => Err(self.report(
                rule::RETURN
                    .at(span, "`return` without a value")
                    .with_help("write `return value`, or `return a, b` for several results"),
            )),
        };
        self.frame_mut().result = Some(result);
        Ok(())
    }
}

/// Whether an expression reads any of the targets.
fn reads_any(expression: &ir::Expr, targets: &HashSet<Target>) -> bool {
    let mut found = false;
    reads(expression, &mut |access| {
        found |= targets.contains(&access.target)
    });
    found
}
