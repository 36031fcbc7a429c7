//! Assignments, `if`, `return`.

use std::collections::HashSet;

use fieldstone_stencil::ir::{self, ExprKind, StmtKind, Target};
use fieldstone_stencil::{DType, Offset, Span};
use ruff_python_ast::{
    ElifElseClause, Expr, Stmt, StmtAnnAssign, StmtAssign, StmtAugAssign, StmtIf, StmtReturn,
};
use ruff_text_size::Ranged;

use super::name::Meaning;
use super::{Binding, Lowering, Reported, read};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::{constant, rule};
use fieldstone_stencil::visit::reads;

/// Conditions inside of conditions.
const DEEPEST: usize = 200;

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
            Stmt::While(_) => rule::WHILE.at(keyword(5), "`while` is not supported yet"),
            Stmt::With(with) => {
                let region = with.items.iter().find(|item| {
                    matches!(&item.context_expr, Expr::Call(call) if matches!(call.func.as_ref(), Expr::Name(name) if name.id == "horizontal"))
                });
                match region {
                    Some(item) => rule::REGION
                        .at(self.span(item), "horizontal regions are not supported yet"),
                    None => rule::WITH
                        .at(keyword(4), "a `with` inside of an interval means nothing")
                        .with_help("computations and intervals stand side by side; put this one below, with less indentation"),
                }
            }
            Stmt::For(_) => rule::STATEMENT
                .at(keyword(3), "`for` is not part of gtscript")
                .with_help(
                    "a stencil visits every point by itself; write neighbours out one by one",
                ),
            Stmt::Expr(expression) => {
                let help = match expression.value.as_ref() {
                    Expr::Compare(_) => "did you mean an assignment, `name = value`?",
                    _ => "assign its value: `name = …`",
                };
                rule::STATEMENT
                    .at(span, "the value of this expression is not used")
                    .with_help(help)
            }
            Stmt::FunctionDef(function) => rule::STATEMENT
                .at(
                    keyword(3),
                    "a function inside of a stencil is not part of gtscript",
                )
                .with_help(format!(
                    "define `{}` outside and decorate it with `@gtscript.function`",
                    function.name
                )),
            Stmt::Assert(_) => rule::STATEMENT
                .at(keyword(6), "`assert` is not part of gtscript")
                .with_help("`compile_assert(…)` checks externals"),
            Stmt::Delete(_) => rule::STATEMENT.at(keyword(3), "`del` is not part of gtscript"),
            Stmt::Break(_) => rule::STATEMENT.at(span, "`break` is not part of gtscript"),
            Stmt::Continue(_) => rule::STATEMENT.at(span, "`continue` is not part of gtscript"),
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
            return self.unpack(target, values, span);
        }
        // `a = b = value`: the value is computed once.
        let values = values.map(|values| {
            let stored = values.into_iter().map(|value| self.store("value", value));
            stored.collect::<Vec<_>>()
        });
        for target in &assign.targets {
            self.unpack(target, values.clone(), span)?;
        }
        Ok(())
    }

    /// Assigns values to a target or to a tuple of targets.
    fn unpack(
        &mut self,
        target: &Expr,
        values: Result<Vec<ir::Expr>, Reported>,
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
            let target_span = self.span(target);
            let count =
                |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            return Err(self.report(rule::UNPACK.at(
                target_span,
                format!(
                    "{} for {}",
                    count(places.len(), "target"),
                    count(values.len(), "value")
                ),
            )));
        }
        let values = self.apart(&places, values);
        for ((place, value), target) in places.into_iter().zip(values).zip(targets) {
            let target_span = self.span(target);
            self.assign(place, target_span, value, span);
        }
        Ok(())
    }

    /// Tuple assignment takes all values before it writes the first: a value that reads an earlier target is stored first.
    fn apart(&mut self, places: &[Target], values: Vec<ir::Expr>) -> Vec<ir::Expr> {
        let mut earlier = HashSet::new();
        let mut result = Vec::with_capacity(values.len());
        for (place, value) in places.iter().zip(values) {
            result.push(if reads_any(&value, &earlier) {
                self.store("value", value)
            } else {
                value
            });
            earlier.insert(*place);
        }
        result
    }

    /// Keeps a value in a temporary.
    fn store(&mut self, name: &str, value: ir::Expr) -> ir::Expr {
        if constant::value(&value).is_some() {
            return value;
        }
        self.calls += 1;
        let (span, number) = (value.span, self.calls);
        let temp = self.temporary(&format!("{name}@{number}"), None, span);
        self.assign(Target::Temp(temp), span, value, span);
        read(temp, span)
    }

    fn augmented(&mut self, assign: &StmtAugAssign) -> Result<(), Reported> {
        let span = self.span(assign);
        let value = self.expression(&assign.value);
        let operator = self.operator(assign.op, span);
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
        let target = self.target(&assign.target, None)?;
        let target_span = self.span(assign.target.as_ref());
        let current = ir::Expr::untyped(
            ExprKind::Access {
                target,
                offset: Offset::ZERO,
            },
            target_span,
        );
        let value = self.combine(operator?, current, value?, span)?;
        self.assign(target, target_span, value, span);
        Ok(())
    }

    fn annotated(&mut self, assign: &StmtAnnAssign) -> Result<(), Reported> {
        let span = self.span(assign);
        let dtype = match self.annotation(&assign.annotation) {
            Ok(dtype) => dtype,
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
                self.target(&assign.target, Some(dtype))?;
                return Ok(());
            }
        };
        let target = self.target(&assign.target, Some(dtype))?;
        let target_span = self.span(assign.target.as_ref());
        self.assign(target, target_span, value?, span);
        Ok(())
    }

    /// The type in the annotation of a temporary: `float32`, `Field[float32]`, a name of `dtypes=`.
    fn annotation(&mut self, annotation: &Expr) -> Result<DType, Reported> {
        let span = self.span(annotation);
        let unknown = |lowering: &mut Self| {
            Err(lowering.report(
                rule::ANNOTATION
                    .at(span, "this is no type of a temporary")
                    .with_help(
                        "write `Field[float]`, `float32`, `int`, … or leave the annotation out",
                    ),
            ))
        };
        match annotation {
            Expr::Name(_) | Expr::Attribute(_) => match self.resolve(annotation)? {
                Meaning::Value(Value::Keyword(Keyword::Type(dtype))) => Ok(dtype),
                _ => unknown(self),
            },
            Expr::StringLiteral(string) => {
                let name = string.value.to_str();
                match self
                    .definition
                    .dtypes
                    .get(name)
                    .copied()
                    .or_else(|| DType::from_name(name))
                {
                    Some(dtype) => Ok(dtype),
                    None => unknown(self),
                }
            }
            Expr::Subscript(subscript) => {
                let Meaning::Value(Value::Keyword(Keyword::Field)) =
                    self.resolve(&subscript.value)?
                else {
                    return unknown(self);
                };
                match subscript.slice.as_ref() {
                    Expr::Tuple(tuple) if tuple.elts.len() == 2 => {
                        let axes = self.text()[tuple.elts[0].range()].to_string();
                        if axes == "IJK" || axes.ends_with(".IJK") {
                            return self.annotation(&tuple.elts[1]);
                        }
                        let span = self.span(tuple.elts[0].range());
                        Err(self.report(
                            rule::TEMPORARY_AXES
                                .at(span, "temporaries that are not three-dimensional are not supported yet")
                                .with_help("leave the annotation out: the temporary then has all three axes"),
                        ))
                    }
                    dtype => self.annotation(dtype),
                }
            }
            _ => unknown(self),
        }
    }

    /// What is written; a name that is new becomes a temporary.
    fn target(&mut self, target: &Expr, dtype: Option<DType>) -> Result<Target, Reported> {
        match target {
            Expr::Name(name) => self.named_target(&name.id, dtype, self.span(target)),
            Expr::Subscript(subscript) => {
                let place = match self.subscripted(subscript)? {
                    Binding::Field(id) => Target::Field(id),
                    Binding::Temp(id) => Target::Temp(id),
                    Binding::Scalar(_)
                    | Binding::Argument { .. }
                    | Binding::Value(_)
                    | Binding::Broken => {
                        let name = self.text()[subscript.value.range()].to_string();
                        let span = self.span(target);
                        return Err(self.report(
                            rule::ASSIGNED_CONSTANT
                                .at(span, format!("`{name}` cannot be assigned")),
                        ));
                    }
                };
                let offset = self.offset(self.stencil.target_axes(place), subscript)?;
                self.no_write_offset(offset, self.span(subscript.slice.as_ref()))?;
                Ok(place)
            }
            Expr::Attribute(_) => {
                let span = self.span(target);
                Err(self
                    .report(rule::TARGET.at(span, "an attribute cannot be assigned in a stencil")))
            }
            other => {
                let span = self.span(other);
                Err(self.report(
                    rule::TARGET.at(span, "this cannot be assigned").with_help(
                        "left of `=` stands a name, `name[0, 0, 0]`, or several of these",
                    ),
                ))
            }
        }
    }

    fn no_write_offset(&mut self, offset: Offset, span: Span) -> Result<(), Reported> {
        if !offset.is_vertical() {
            return Err(self.report(
                rule::WRITE_OFFSET
                    .at(span, "a write at a horizontal offset")
                    .with_help("write the point itself and read its neighbours: turn the offsets of the right side round"),
            ));
        }
        if offset != Offset::ZERO {
            return Err(self.report(
                rule::WRITE_K_OFFSET.at(span, "writes at a K offset are not supported yet"),
            ));
        }
        Ok(())
    }

    fn named_target(
        &mut self,
        name: &str,
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Target, Reported> {
        let refused = |what: &str| {
            rule::ASSIGNED_CONSTANT.at(span, format!("{what} `{name}` cannot be assigned"))
        };
        let diagnostic = match self.frame().locals.get(name) {
            Some(Binding::Field(id)) => return Ok(Target::Field(*id)),
            Some(Binding::Temp(id)) => {
                let id = *id;
                self.same_type(id, dtype, span)?;
                return Ok(Target::Temp(id));
            }
            Some(Binding::Broken) => return Err(Reported),
            Some(Binding::Scalar(id)) => refused("scalar parameter")
                .with_secondary(
                    self.stencil.scalar(*id).span,
                    "a number that is given with the call",
                )
                .with_help(format!(
                    "assign to a new name, or make it an array: `{name}: Field[…]`"
                )),
            Some(Binding::Argument { .. } | Binding::Value(_)) => refused("argument"),
            None => match self.frame().environment.values.get(name) {
                Some(Value::Function(_)) => refused("function"),
                Some(Value::Keyword(_)) => refused("the gtscript name"),
                _ if self.imports(name) => refused("external").with_help(
                    "externals are fixed when the stencil is compiled; assign to another name",
                ),
                _ if Keyword::from_name(name).is_some_and(Keyword::is_structural) => {
                    refused("the gtscript name").with_help("assign to another name")
                }
                _ => {
                    let temp = self.temporary(name, dtype, span);
                    self.frame_mut()
                        .locals
                        .insert(name.to_string(), Binding::Temp(temp));
                    return Ok(Target::Temp(temp));
                }
            },
        };
        Err(self.report(diagnostic))
    }

    /// Whether the text imports an external of this name.
    fn imports(&self, name: &str) -> bool {
        self.frame().imported.contains(name)
    }

    fn same_type(
        &mut self,
        id: ir::TempId,
        dtype: Option<DType>,
        span: Span,
    ) -> Result<(), Reported> {
        let temporary = &mut self.stencil.temporaries[id.0 as usize];
        match (temporary.dtype, dtype) {
            (Some(first), Some(second)) if first != second => {
                let diagnostic = rule::ANNOTATION
                    .at(
                        span,
                        format!("`{}` is annotated with two types", temporary.name),
                    )
                    .with_label(second.to_string())
                    .with_secondary(temporary.span, first.to_string());
                Err(self.report(diagnostic))
            }
            (None, Some(second)) => {
                temporary.dtype = Some(second);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn branch(&mut self, branch: &StmtIf) -> Result<(), Reported> {
        let span = self.span(branch);
        self.clauses(&branch.test, &branch.body, &branch.elif_else_clauses, span)
    }

    /// `if test: body` and what follows with `elif` and `else`.
    fn clauses(
        &mut self,
        test: &Expr,
        body: &[Stmt],
        rest: &[ElifElseClause],
        span: Span,
    ) -> Result<(), Reported> {
        let condition = self.expression(test);
        if let Ok(Some(value)) = condition.as_ref().map(constant::value) {
            if constant::truth(value) {
                self.statements(body);
                return Ok(());
            }
            return self.alternative(rest, span);
        }
        let outermost = self.mask.depth == 0;
        self.place_called();
        if let Ok(condition) = &condition {
            reads(condition, &mut |access| self.check_partial(access));
        }
        if self.mask.depth >= DEEPEST {
            return Err(self.report(rule::TOO_DEEP.at(
                Span {
                    end: span.start + 2,
                    ..span
                },
                "conditions are nested too deeply",
            )));
        }
        self.mask.depth += 1;
        let then = self.collect(|lowering| lowering.statements(body));
        let then_result = self.frame_mut().result.take();
        let orelse = self.collect(|lowering| {
            let _: Result<(), Reported> = lowering.alternative(rest, span);
        });
        let orelse_result = self.frame_mut().result.take();
        self.mask.depth -= 1;
        if outermost {
            let mask = std::mem::take(&mut self.mask);
            self.block.extend(mask.hoisted);
        }
        let (mut then, mut orelse) = (then, orelse);
        self.merge(then_result, orelse_result, &mut then, &mut orelse, span)?;
        self.block.push(ir::Stmt {
            kind: StmtKind::If {
                condition: condition?,
                then,
                orelse,
            },
            span,
        });
        Ok(())
    }

    fn alternative(&mut self, rest: &[ElifElseClause], span: Span) -> Result<(), Reported> {
        match rest.split_first() {
            None => Ok(()),
            Some((clause, rest)) => match &clause.test {
                None => {
                    self.statements(&clause.body);
                    Ok(())
                }
                Some(test) => {
                    let span = Span {
                        end: span.end,
                        ..self.span(clause)
                    };
                    self.clauses(test, &clause.body, rest, span)
                }
            },
        }
    }

    /// The results of a function whose branches return: each branch stores its own.
    fn merge(
        &mut self,
        then_result: Option<Result<Vec<ir::Expr>, Reported>>,
        orelse_result: Option<Result<Vec<ir::Expr>, Reported>>,
        then: &mut Vec<ir::Stmt>,
        orelse: &mut Vec<ir::Stmt>,
        span: Span,
    ) -> Result<(), Reported> {
        let (then_values, orelse_values) = match (then_result, orelse_result) {
            (None, None) => return Ok(()),
            (Some(Ok(then)), Some(Ok(orelse))) if then.len() == orelse.len() => (then, orelse),
            (Some(Err(reported)), _) | (_, Some(Err(reported))) => {
                self.frame_mut().result = Some(Err(reported));
                return Err(reported);
            }
            (first, second) => {
                let words = if first.is_some() && second.is_some() {
                    "the branches of this condition return different numbers of values"
                } else {
                    "only one branch of this condition returns"
                };
                let span = Span {
                    end: span.start + 2,
                    ..span
                };
                let reported = self.report(rule::RETURN.at(span, words).with_help(
                    "return in every branch, or assign in the branches and return once behind them",
                ));
                self.frame_mut().result = Some(Err(reported));
                return Err(reported);
            }
        };
        let mut results = Vec::new();
        for (then_value, orelse_value) in then_values.into_iter().zip(orelse_values) {
            // `elif` nests: what the inner conditions stored the result in serves the outer one as well.
            let temp = match orelse_value.kind {
                ExprKind::Access {
                    target: Target::Temp(temp),
                    ..
                } if self.frame().returns.contains(&temp) => temp,
                _ => {
                    let number = self.frame().returns.len();
                    let temp = self.temporary(&format!("return{number}"), None, span);
                    self.frame_mut().returns.push(temp);
                    temp
                }
            };
            for (block, value) in [(&mut *then, then_value), (&mut *orelse, orelse_value)] {
                if !matches!(value.kind, ExprKind::Access { target: Target::Temp(other), .. } if other == temp)
                {
                    let span = value.span;
                    let kind = StmtKind::Assign {
                        target: Target::Temp(temp),
                        target_span: span,
                        value,
                    };
                    block.push(ir::Stmt { kind, span });
                }
            }
            results.push(read(temp, span));
        }
        self.frame_mut().result = Some(Ok(results));
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
            Some(value) => self.values(value),
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
