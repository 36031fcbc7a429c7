//! `with computation(…), interval(…)`.

use fieldstone_stencil::ir::{Computation, Order, Section};
use fieldstone_stencil::{Axis, Bound, Diagnostic, Interval, Span};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtAnnAssign, StmtFunctionDef, StmtIf, StmtWith};
use ruff_text_size::Ranged;

use super::interval::{Levels, first_level};
use super::name::Meaning;
use super::region::Placed;
use super::{Binding, Lowering, Reported};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::{constant, rule, suggest};

const FORM: &str = "write `with computation(PARALLEL), interval(...):`";

/// What the items of a `with` say.
#[derive(Default)]
struct Items {
    order: Option<(Order, Span)>,
    interval: Option<(Levels, Span)>,
    areas: Option<Vec<Placed>>,
}

impl Lowering<'_> {
    /// Lowers the body of the definition.
    pub(super) fn stencil_body(&mut self, function: &StmtFunctionDef) {
        self.control(&function.body);
        if self.stencil.computations.is_empty() && self.diagnostics.is_empty() {
            let span = self.span(&function.name);
            self.report(
                rule::EMPTY_STENCIL
                    .at(
                        span,
                        format!("stencil `{}` computes nothing", function.name),
                    )
                    .with_help(FORM),
            );
        }
    }

    /// Statements that choose what is computed, outside of every computation.
    fn control(&mut self, statements: &[Stmt]) {
        for statement in statements {
            match statement {
                Stmt::With(with) => self.computation(with),
                Stmt::If(branch) => {
                    if let Ok(chosen) = self.chosen(branch) {
                        self.control(chosen);
                    }
                }
                Stmt::AnnAssign(assign) => {
                    // The error is recorded; the name is left as it is.
                    let _: Result<(), Reported> = self.initial(assign);
                }
                other if self.declaration(other) => {}
                other => {
                    let span = self.span(other);
                    let diagnostic = rule::OUTSIDE_COMPUTATION
                        .at(span, "a statement stands outside of every computation")
                        .with_help(format!("{FORM} above it and indent it"));
                    self.misplaced(other, diagnostic);
                }
            }
        }
    }

    /// The declaration of a temporary outside of every computation, which may say what it is at first at every point.
    fn initial(&mut self, assign: &StmtAnnAssign) -> Result<(), Reported> {
        let span = self.span(assign);
        let Expr::Name(name) = assign.target.as_ref() else {
            return Err(self.report(
                rule::OUTSIDE_COMPUTATION
                    .at(span, "a statement stands outside of every computation")
                    .with_help(format!("{FORM} above it and indent it")),
            ));
        };
        if self.frame().locals.contains_key(name.id.as_str()) {
            return Err(self.report(
                rule::OUTSIDE_COMPUTATION
                    .at(
                        span,
                        format!(
                            "`{}` is declared outside of every computation, but it is known already",
                            name.id
                        ),
                    )
                    .with_help("declare a temporary above the computations that use it"),
            ));
        }
        if let Some(value) = &assign.value {
            let place = self.span(value.as_ref());
            let value = self.expression(value)?;
            if constant::value(&value).is_none() {
                return Err(self.report(
                    rule::NOT_CONSTANT
                        .at(place, "a value outside of every computation must be known at compile time")
                        .with_help("write a number or an external; compute other values inside of `with computation(…), interval(…)`"),
                ));
            }
        }
        let mut declared = Ok(());
        let body = self.collect(|lowering| declared = lowering.annotated(assign));
        declared?;
        let Some(Binding::Temp(id)) = self.frame().locals.get(name.id.as_str()) else {
            return Err(Reported);
        };
        // What has no levels is assigned at one.
        let (order, interval) = match self.stencil.temporary(*id).axes.contains(Axis::K) {
            true => (Order::Parallel, Interval::FULL),
            false => {
                let (start, end) = (Bound::START, first_level());
                (Order::Forward, Interval { start, end })
            }
        };
        if !body.is_empty() {
            let sections = vec![Section {
                interval,
                body,
                span,
            }];
            self.stencil.computations.push(Computation {
                order,
                sections,
                span,
            });
        }
        Ok(())
    }

    /// Reports a statement that does not belong where it stands, or nowhere.
    fn misplaced(&mut self, statement: &Stmt, diagnostic: Diagnostic) {
        match statement {
            Stmt::Assign(_) | Stmt::AugAssign(_) | Stmt::AnnAssign(_) => {
                self.report(diagnostic);
            }
            Stmt::Return(statement) => {
                let _: Result<(), Reported> = self.result(statement);
            }
            other => {
                self.foreign_statement(other);
            }
        }
    }

    /// Statements that may stand anywhere and compute nothing: docstrings, `pass`, imports, `compile_assert`.
    pub(super) fn declaration(&mut self, statement: &Stmt) -> bool {
        match statement {
            Stmt::Pass(_) => true,
            Stmt::Expr(expression) => match expression.value.as_ref() {
                Expr::StringLiteral(_) | Expr::EllipsisLiteral(_) => true,
                Expr::Call(call) => self.compile_assert(call),
                _ => false,
            },
            Stmt::ImportFrom(import) => {
                self.import(import);
                true
            }
            Stmt::Import(import) => {
                self.foreign_import(import.range(), None, &import.names);
                true
            }
            _ => false,
        }
    }

    /// The statements of the branch that a compile-time condition chooses.
    fn chosen<'a>(&mut self, branch: &'a StmtIf) -> Result<&'a [Stmt], Reported> {
        if self.decide(&branch.test)? {
            return Ok(&branch.body);
        }
        for clause in &branch.elif_else_clauses {
            match &clause.test {
                Some(test) if !self.decide(test)? => {}
                _ => return Ok(&clause.body),
            }
        }
        Ok(&[])
    }

    /// The value of a condition outside of every computation, which must be known at compile time.
    fn decide(&mut self, test: &Expr) -> Result<bool, Reported> {
        self.suspect(test);
        let condition = self.expression(test)?;
        match constant::known(&condition) {
            Some(literal) => Ok(constant::truth(literal)),
            None => {
                let span = self.span(test);
                Err(self.report(
                    rule::NOT_CONSTANT
                        .at(span, "a condition outside of every computation must be known at compile time")
                        .with_help("test externals here; test fields and scalar parameters inside of `with computation(…), interval(…)`"),
                ))
            }
        }
    }

    fn computation(&mut self, with: &StmtWith) {
        let header = self.header(with);
        let Ok(items) = self.items(with, Items::default()) else {
            self.behind_an_error(with, header);
            return;
        };
        let Some((order, span)) = items.order else {
            self.report(
                rule::WITH
                    .at(header, "this `with` names no computation")
                    .with_help(FORM),
            );
            return;
        };
        let mut computation = Computation {
            order,
            sections: Vec::new(),
            span,
        };
        self.entered.clear();
        self.is_sweep = order != Order::Parallel;
        match items.interval {
            Some((levels, span)) => {
                self.section(&mut computation, levels, span, items.areas, &with.body);
            }
            None => {
                let areas = items.areas.as_deref();
                self.intervals(&mut computation, areas, &with.body, header);
            }
        }
        if !computation.sections.is_empty() {
            self.stencil.computations.push(computation);
        }
        self.require_levels();
    }

    /// Goes through what stands below a `with` that means nothing: there may be more errors, and names are known from here on.
    fn behind_an_error(&mut self, with: &StmtWith, header: Span) {
        if with.body.iter().any(|inner| matches!(inner, Stmt::With(_))) {
            let mut computation = Computation {
                order: Order::Parallel,
                sections: Vec::new(),
                span: header,
            };
            self.intervals(&mut computation, None, &with.body, header);
        } else {
            self.collect(|lowering| lowering.statements(&with.body));
        }
    }

    /// The nested intervals of a computation.
    fn intervals(
        &mut self,
        computation: &mut Computation,
        areas: Option<&[Placed]>,
        statements: &[Stmt],
        header: Span,
    ) {
        for statement in statements {
            match statement {
                Stmt::With(with) => {
                    let Ok(items) = self.items(with, Items::default()) else {
                        self.behind_an_error(with, header);
                        continue;
                    };
                    let span = self.header(with);
                    match items {
                        Items {
                            order: None,
                            interval: Some((levels, span)),
                            areas: inner,
                        } => {
                            if let (Some(_), Some([(_, outer), ..])) = (&inner, areas) {
                                self.report(
                                    rule::WITH
                                        .at(
                                            self.header(with),
                                            "a `horizontal` inside of a `horizontal`",
                                        )
                                        .with_secondary(*outer, "the outer region"),
                                );
                            }
                            let areas = inner.or_else(|| areas.map(<[Placed]>::to_vec));
                            self.section(computation, levels, span, areas, &with.body);
                        }
                        Items {
                            order: Some((_, inner)),
                            ..
                        } => {
                            self.report(
                                rule::WITH
                                    .at(inner, "a computation inside of a computation")
                                    .with_secondary(computation.span, "the outer computation")
                                    .with_help("put the second computation below the first, with the same indentation"),
                            );
                        }
                        Items {
                            order: None,
                            interval: None,
                            ..
                        } => {
                            self.report(
                                rule::WITH
                                    .at(span, "this `with` names no interval")
                                    .with_help("write `with interval(...):`"),
                            );
                        }
                    }
                }
                Stmt::If(branch) => {
                    if let Ok(chosen) = self.chosen(branch) {
                        self.intervals(computation, areas, chosen, header);
                    }
                }
                other if self.declaration(other) => {}
                other => {
                    let span = self.span(other);
                    let diagnostic = rule::OUTSIDE_COMPUTATION
                        .at(span, "a statement stands outside of every interval")
                        .with_secondary(header, "this computation says nothing about levels")
                        .with_help(
                            "add an interval to the computation, `interval(...)` for all levels",
                        );
                    self.misplaced(other, diagnostic);
                }
            }
        }
    }

    fn section(
        &mut self,
        computation: &mut Computation,
        levels: Levels,
        span: Span,
        areas: Option<Vec<Placed>>,
        statements: &[Stmt],
    ) {
        let first = self.stencil.temporaries.len();
        let body = self.collect(|lowering| match areas {
            None => lowering.statements(statements),
            Some(areas) => lowering.in_areas(&areas, |lowering| lowering.statements(statements)),
        });
        self.enter(computation, levels, span, body, first);
    }

    /// `with …` up to the last item.
    fn header(&self, with: &StmtWith) -> Span {
        let start = self.span(with);
        let end = with.items.last().map_or(start, |item| self.span(item));
        Span {
            end: end.end,
            ..start
        }
    }

    fn items(&mut self, with: &StmtWith, mut items: Items) -> Result<Items, Reported> {
        let mut result = Ok(());
        for item in &with.items {
            if let Err(reported) = self.item(&item.context_expr, &mut items) {
                result = Err(reported);
            }
            if let Some(name) = &item.optional_vars {
                let span = self.span(name.as_ref());
                result = Err(self.report(
                    rule::WITH
                        .at(span, "`as` means nothing here")
                        .with_help("remove it"),
                ));
            }
        }
        result.map(|()| items)
    }

    fn item(&mut self, item: &Expr, items: &mut Items) -> Result<(), Reported> {
        let span = self.span(item);
        let keyword = match item {
            Expr::Call(call) => match self.callee(call) {
                Some(Value::Keyword(keyword)) => Some((keyword, call)),
                _ => None,
            },
            _ => None,
        };
        match keyword {
            Some((Keyword::Computation, call)) if items.order.is_none() => {
                items.order = Some((self.order(call)?, span));
                Ok(())
            }
            Some((Keyword::Interval, call)) if items.interval.is_none() => {
                items.interval = Some((self.interval(call)?, span));
                Ok(())
            }
            Some((Keyword::Horizontal, call)) if items.areas.is_none() => {
                items.areas = Some(self.areas(call)?);
                Ok(())
            }
            Some((Keyword::Computation | Keyword::Interval | Keyword::Horizontal, _)) => Err(self
                .report(
                rule::WITH
                    .at(
                        span,
                        "a `with` has one computation, one interval and one `horizontal` at most",
                    )
                    .with_help(FORM),
            )),
            _ => {
                let name = match item {
                    Expr::Call(call) => &self.text()[call.func.range()],
                    Expr::Subscript(subscript) => &self.text()[subscript.value.range()],
                    other => &self.text()[other.range()],
                };
                let known = ["computation", "interval", "horizontal"];
                let help = match suggest::closest_path(name, &known) {
                    Some(close) => format!("did you mean `{close}(…)`?"),
                    None if known.contains(&name) && item.is_subscript_expr() => {
                        format!("write `{name}(…)`, with round brackets")
                    }
                    None if item.is_bool_op_expr() => {
                        format!("a comma stands between the two: {FORM}")
                    }
                    None => FORM.to_string(),
                };
                Err(self.report(
                    rule::WITH
                        .at(span, "this is neither `computation(…)` nor `interval(…)`")
                        .with_help(help),
                ))
            }
        }
    }

    fn order(&mut self, call: &ExprCall) -> Result<Order, Reported> {
        let help =
            "write `computation(PARALLEL)`, `computation(FORWARD)` or `computation(BACKWARD)`";
        let argument = match call.arguments.args.as_ref() {
            [argument] if call.arguments.keywords.is_empty() => argument,
            _ => {
                let span = self.span(call);
                return Err(self.report(
                    rule::ORDER
                        .at(span, "`computation` takes one vertical order")
                        .with_help(help),
                ));
            }
        };
        let span = self.span(argument);
        let meaning = match crate::names::path(argument) {
            Some((path, root)) if !self.is_defined(&path, root) => {
                let orders = ["PARALLEL", "FORWARD", "BACKWARD"];
                let undefined =
                    rule::UNDEFINED_NAME.at(span, format!("name `{path}` is not defined"));
                return Err(
                    self.report(match suggest::closest(&path, orders.into_iter()) {
                        Some(close) => undefined.with_help(format!("did you mean `{close}`?")),
                        None => undefined.with_help(help),
                    }),
                );
            }
            Some(_) => Some(self.resolve(argument)?),
            None => None,
        };
        match meaning {
            Some(Meaning::Value(Value::Keyword(Keyword::Order(order)))) => Ok(order),
            _ => {
                let order = argument.as_string_literal_expr().and_then(|string| {
                    let known = ["PARALLEL", "FORWARD", "BACKWARD"];
                    let text = string.value.to_str();
                    suggest::closest(text, known.into_iter())
                        .or_else(|| known.into_iter().find(|order| *order == text))
                });
                let diagnostic = rule::ORDER.at(span, "this is no vertical order");
                Err(self.report(match order {
                    Some(order) => diagnostic
                        .with_help(format!("write `computation({order})`, without quotes")),
                    None => diagnostic.with_help(help),
                }))
            }
        }
    }
}
