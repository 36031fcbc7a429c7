//! `with computation(…), interval(…)`.

use std::collections::{BTreeSet, HashMap, HashSet};

use fieldstone_stencil::bounds::{self, Covered};
use fieldstone_stencil::ir::{
    self, BinaryOp, Computation, ExprKind, LevelIndex, Literal, Order, Section, Target, TempId,
};
use fieldstone_stencil::visit::{accesses, reads};
use fieldstone_stencil::{Axes, Axis, Bound, DType, Diagnostic, Interval, Level, Offset, Span};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtAnnAssign, StmtFunctionDef, StmtIf, StmtWith};
use ruff_text_size::Ranged;

use super::name::Meaning;
use super::region::Placed;
use super::{Binding, Lowering, Reported, read};
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

/// The levels of an interval.
#[derive(Clone)]
struct Levels {
    /// All that it may have.
    interval: Interval,
    /// Which of them it has, where that shows at run time.
    guard: Option<ir::Expr>,
    covered: Covered,
}

/// An interval of the computation that is lowered now.
#[derive(Debug)]
pub(super) struct Entered {
    /// Computations of the stencil before it.
    at: usize,
    covered: Covered,
    /// Whether its bounds show at run time.
    computed: bool,
}

/// A bound of an interval.
enum End {
    Known(Bound),
    /// An integer; a negative one counts from the last level.
    Computed(ir::Expr),
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

    /// Requires of intervals whose bounds show at run time what is checked of others when a stencil is made: that they are
    /// inside of the domain, and have no level in common.
    fn require_levels(&mut self) {
        let mut entered = std::mem::take(&mut self.entered);
        if !entered.iter().any(|interval| interval.computed) {
            return;
        }
        let mut written = HashSet::new();
        for computation in &self.stencil.computations[entered[0].at..] {
            let bodies = computation.sections.iter().map(|section| &section.body);
            bodies.for_each(|body| {
                accesses(body, &mut |access| {
                    if access.write {
                        written.insert(access.target);
                    }
                });
            });
        }
        let mut checks = Vec::with_capacity(entered.len());
        for n in 0..entered.len() {
            let mut body = Vec::new();
            if entered[n].computed {
                let covered = &mut entered[n].covered;
                for bound in [&mut covered.start, &mut covered.end] {
                    self.keep_bound(bound, &written, &mut body);
                }
                body.push(covered.inside());
            }
            let earlier = entered[..n].iter().map(|earlier| &earlier.covered);
            body.extend(earlier.map(|earlier| entered[n].covered.apart(earlier)));
            checks.push(body);
        }
        for (interval, body) in entered.iter().zip(checks).rev() {
            if body.is_empty() {
                continue;
            }
            let span = interval.covered.span;
            let one_level = section_of_one_level(body, span);
            self.stencil.computations.insert(
                interval.at,
                Computation {
                    order: Order::Parallel,
                    sections: vec![one_level],
                    span,
                },
            );
        }
    }

    /// Keeps a bound as it is where an interval begins, if the computation may change it.
    fn keep_bound(
        &mut self,
        bound: &mut ir::Expr,
        written: &HashSet<Target>,
        body: &mut Vec<ir::Stmt>,
    ) {
        let mut changes = false;
        reads(bound, &mut |access| {
            changes |= written.contains(&access.target)
        });
        if !changes {
            return;
        }
        let span = bound.span;
        let temp = self.fresh("bound", span);
        self.unshaped.remove(&temp);
        let temporary = &mut self.stencil.temporaries[temp.0 as usize];
        temporary.axes = Axes([true, true, false]);
        temporary.dtype = Some(DType::Int64);
        let value = std::mem::replace(bound, read(temp, span));
        body.push(ir::Stmt::assign(Target::Temp(temp), span, value, span));
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
        let Levels {
            interval,
            guard,
            covered,
        } = levels;
        let mut entered = Entered {
            at: self.stencil.computations.len(),
            covered,
            computed: guard.is_some(),
        };
        let section = |body| Section {
            interval,
            body,
            span,
        };
        let Some(guard) = guard else {
            computation.sections.push(section(body));
            self.entered.push(entered);
            return;
        };
        // Which intervals have a level in common shows at run time only, so each is a computation of its own.
        let alone = |order: Order, body: Vec<ir::Stmt>| Computation {
            order,
            sections: vec![section(body)],
            span: computation.span,
        };
        let order = computation.order;
        let mut before = Vec::new();
        let body = match reads_any(&guard) {
            false => (body.into_iter())
                .map(|statement| bounds::guarded(&guard, statement))
                .collect(),
            true => {
                // The body may change what the bounds are read from.
                self.calls += 1;
                let name = format!("levels@{}", self.calls);
                let temp = self.temporary(&name, None, span);
                let kept = ir::Stmt::assign(Target::Temp(temp), span, guard, span);
                before.push(alone(Order::Parallel, vec![kept]));
                self.guarded_by_column(temp, body, first, span)
            }
        };
        before.push(alone(order, body));
        let sections = std::mem::take(&mut computation.sections);
        if !sections.is_empty() {
            self.stencil.computations.push(Computation {
                sections,
                ..computation.clone()
            });
        }
        entered.at = self.stencil.computations.len();
        self.entered.push(entered);
        self.stencil.computations.extend(before);
    }

    /// Statements of an interval that differs from column to column; `inside` says where it is. What functions compute is
    /// there for the columns beside as well, whose intervals may be others.
    fn guarded_by_column(
        &self,
        inside: ir::TempId,
        body: Vec<ir::Stmt>,
        first: usize,
        span: Span,
    ) -> Vec<ir::Stmt> {
        let private = |target: Target| match target {
            Target::Temp(TempId(id)) if id as usize >= first => {
                self.stencil.temporaries[id as usize].is_inlined()
            }
            _ => false,
        };
        // Where the interval has the level, seen from the points at which a statement runs.
        let mut needed: HashMap<Target, BTreeSet<[i32; 2]>> = HashMap::new();
        let mut guarded = Vec::with_capacity(body.len());
        for statement in body.into_iter().rev() {
            let mut places = BTreeSet::new();
            let mut others = false;
            let mut levels = false;
            accesses(std::slice::from_ref(&statement), &mut |access| {
                levels |= access.level != LevelIndex::Constant || access.offset.along(Axis::K) != 0;
                if access.write {
                    others |= !private(access.target);
                    places.extend(needed.get(&access.target).into_iter().flatten());
                }
            });
            if others || places.is_empty() {
                places = BTreeSet::from([[0, 0]]);
            }
            accesses(std::slice::from_ref(&statement), &mut |access| {
                if !access.write && private(access.target) {
                    let [i, j, _] = access.offset.0;
                    let from = needed.entry(access.target).or_default();
                    from.extend(places.iter().map(|at| [at[0] - i, at[1] - j]));
                }
            });
            // Without reads at other levels, which may not exist, there is no harm in computing it everywhere.
            let everywhere = !levels && places.iter().any(|at| *at != [0, 0]);
            guarded.push(match everywhere {
                true => statement,
                false => {
                    let here = |at: &[i32; 2]| {
                        let offset = Offset([at[0], at[1], 0]);
                        ir::Expr::untyped(ExprKind::read(Target::Temp(inside), offset), span)
                    };
                    let any = places.iter().map(here).reduce(|a, b| {
                        let any = ExprKind::Binary(BinaryOp::Or, Box::new(a), Box::new(b));
                        ir::Expr::untyped(any, span)
                    });
                    bounds::guarded(&any.unwrap_or_else(|| read(inside, span)), statement)
                }
            });
        }
        guarded.reverse();
        guarded
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

    fn interval(&mut self, call: &ExprCall) -> Result<Levels, Reported> {
        let span = self.span(call);
        let mut guard = None;
        let mut covered = Covered {
            start: bounds::known(Bound::START, span),
            end: bounds::known(Bound::END, span),
            span,
        };
        let interval = match (
            call.arguments.args.as_ref(),
            call.arguments.keywords.is_empty(),
        ) {
            ([Expr::EllipsisLiteral(_)], true) => Interval::FULL,
            ([start, end], true) => {
                let start = self.bound(start, Bound::START);
                let end = self.bound(end, Bound::END);
                let (start, end) = (start?, end?);
                let value = |end: &End| match end {
                    End::Known(bound) => bounds::known(*bound, span),
                    End::Computed(bound) => bounds::level(bound.clone()),
                };
                (covered.start, covered.end) = (value(&start), value(&end));
                let known = |end: End, open: Bound| match end {
                    End::Known(bound) => (bound, None),
                    End::Computed(bound) => (open, Some(bound)),
                };
                let (start, first) = known(start, Bound::START);
                let (end, last) = known(end, Bound::END);
                guard = bounds::guard(first, last);
                Interval { start, end }
            }
            _ => {
                return Err(self.report(
                    rule::INTERVAL
                        .at(span, "`interval` takes a first level and one past the last, or `...`")
                        .with_help("write `interval(...)` for all levels, `interval(0, 1)` for the first, `interval(-1, None)` for the last"),
                ));
            }
        };
        if interval.start.level == interval.end.level
            && interval.start.offset >= interval.end.offset
            || interval.start.level == Level::End && interval.end.level == Level::Start
        {
            let mut diagnostic = rule::EMPTY_INTERVAL
                .at(span, "the interval has no levels")
                .with_label(format!(
                    "from {} to before {}",
                    words(interval.start),
                    words(interval.end)
                ));
            if interval.end == Bound::START {
                diagnostic =
                    diagnostic.with_help("write `None` as the end to include the last level");
            } else if interval.start.level == interval.end.level {
                diagnostic = diagnostic
                    .with_help("the first bound is the first level, the second one past the last");
            } else {
                diagnostic = diagnostic.with_help("a negative bound counts from the last level; the first bound must lie below the second");
            }
            return Err(self.report(diagnostic));
        }
        Ok(Levels {
            interval,
            guard,
            covered,
        })
    }

    fn bound(&mut self, bound: &Expr, open: Bound) -> Result<End, Reported> {
        if matches!(bound, Expr::NoneLiteral(_)) {
            return Ok(End::Known(open));
        }
        let span = self.span(bound.range());
        let mut value = Err(Reported);
        let called = self.collect(|lowering| value = lowering.expression(bound));
        let value = value?;
        if !called.is_empty() {
            return Err(self.report(
                rule::INTERVAL
                    .at(
                        span,
                        "a bound of an interval calls a function that assigns names",
                    )
                    .with_help("compute the bound before the call and give it as a parameter"),
            ));
        }
        match constant::known(&value) {
            Some(Literal::Int(offset)) if offset.unsigned_abs() <= super::subscript::FARTHEST => {
                Ok(End::Known(Bound {
                    level: if offset < 0 { Level::End } else { Level::Start },
                    offset: offset as i32,
                }))
            }
            Some(Literal::Int(_)) => Err(self.report(
                rule::INTERVAL
                    .at(span, "no grid has as many levels")
                    .with_help("`None` is the open end, `-1` the last level"),
            )),
            Some(_) => Err(self.report(
                rule::INTERVAL
                    .at(span, "a bound of an interval is an integer or `None`")
                    .with_help("`0` is the first level, `-1` the last, `None` the open end"),
            )),
            None => {
                if let Some(why) = self.no_bound(&value) {
                    return Err(self.report(
                        rule::INTERVAL
                            .at(span, "this cannot be a bound of an interval")
                            .with_label(why)
                            .with_help("a bound is an integer: a number, an external, a scalar parameter, or a field without K axis"),
                    ));
                }
                Ok(End::Computed(value))
            }
        }
    }

    /// Why a value cannot bound an interval.
    fn no_bound(&self, value: &ir::Expr) -> Option<&'static str> {
        let mut why = None;
        let mut todo = vec![value];
        while let Some(node) = todo.pop() {
            let real = match &node.kind {
                ExprKind::Literal(literal) => matches!(literal, Literal::Float(_)),
                ExprKind::Scalar(id) => self.stencil.scalar(*id).dtype.is_float(),
                ExprKind::Access { target, .. } => {
                    if self.stencil.target_axes(*target).contains(Axis::K) {
                        why = Some("it differs from level to level");
                    }
                    matches!(target, Target::Field(id) if self.stencil.field(*id).dtype.is_float())
                }
                ExprKind::Position(_) => {
                    why = Some("it differs from level to level");
                    false
                }
                ExprKind::Binary(BinaryOp::Div, ..) => true,
                ExprKind::Cast(_) => continue,
                _ => false,
            };
            if real {
                why = Some("it is a real number");
            }
            todo.extend(node.operands());
        }
        why
    }
}

/// Statements that run once for each column.
fn section_of_one_level(body: Vec<ir::Stmt>, span: Span) -> Section {
    let (start, end) = (Bound::START, first_level());
    Section {
        interval: Interval { start, end },
        body,
        span,
    }
}

/// The bound behind the first level.
fn first_level() -> Bound {
    Bound {
        offset: 1,
        ..Bound::START
    }
}

fn reads_any(expr: &ir::Expr) -> bool {
    let mut found = false;
    reads(expr, &mut |_| found = true);
    found
}

/// A bound as a reader says it.
pub(crate) fn words(bound: Bound) -> String {
    match (bound.level, bound.offset) {
        (Level::Start, offset) => format!("level {offset}"),
        (Level::End, 0) => "the end".to_string(),
        (Level::End, -1) => "the last level".to_string(),
        (Level::End, offset) => format!("level {offset}"),
    }
}
