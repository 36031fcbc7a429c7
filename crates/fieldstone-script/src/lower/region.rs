//! `with horizontal(region[…])`.

use std::collections::HashMap;

use fieldstone_stencil::grid::Range;
use fieldstone_stencil::ir::{Literal, Stmt, StmtKind, Target, TempId};
use fieldstone_stencil::visit::accesses;
use fieldstone_stencil::{Area, Axis, Bound, Level, Span};
use ruff_python_ast::{self as ast, Expr, ExprCall, ExprSubscript, Operator, StmtWith};
use ruff_text_size::Ranged;

use super::name::Meaning;
use super::{Lowering, Reported};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::{constant, rule, suggest};

const FORM: &str =
    "write `with horizontal(region[I[0], :]):`; `I[0]` is the first point, `I[-1]` the last";

/// An area with the place where it is written.
pub(super) type Placed = (Area, Span);

impl Lowering<'_> {
    /// A `with` inside of an interval.
    pub(super) fn regions(&mut self, with: &StmtWith) -> Result<(), Reported> {
        let mut areas: Result<Option<Vec<Placed>>, Reported> = Ok(None);
        for item in &with.items {
            let found = match &item.context_expr {
                Expr::Call(call) => match self.callee(call) {
                    Some(Value::Keyword(Keyword::Horizontal)) => self.areas(call),
                    _ => Err(self.no_region(with, &item.context_expr)),
                },
                other => Err(self.no_region(with, other)),
            };
            if let (Ok(_), Some(name)) = (&found, &item.optional_vars) {
                let span = self.span(name.as_ref());
                areas = Err(self.report(
                    rule::WITH
                        .at(span, "`as` means nothing here")
                        .with_help("remove it"),
                ));
            }
            areas = match (areas, found) {
                (Ok(None), Ok(found)) => Ok(Some(found)),
                (Ok(Some(_)), Ok(_)) => {
                    let span = self.span(item);
                    let diagnostic = rule::WITH
                        .at(span, "a `with` has one `horizontal` at most")
                        .with_help("name all regions in one: `horizontal(region[…], region[…])`");
                    Err(self.report(diagnostic))
                }
                (Err(reported), _) | (_, Err(reported)) => Err(reported),
            };
        }
        match areas {
            Ok(areas) => {
                self.in_areas(&areas.unwrap_or_default(), |lowering| {
                    lowering.statements(&with.body)
                });
                Ok(())
            }
            Err(reported) => {
                // For the errors in them.
                self.collect(|lowering| lowering.statements(&with.body));
                Err(reported)
            }
        }
    }

    fn no_region(&mut self, with: &StmtWith, item: &Expr) -> Reported {
        let name = match item {
            Expr::Call(call) => &self.text()[call.func.range()],
            other => &self.text()[other.range()],
        };
        if let Some(close) = suggest::closest_path(name, &["horizontal"]) {
            let span = self.span(item);
            return self.report(
                rule::WITH
                    .at(span, format!("`{name}` means nothing here"))
                    .with_help(format!("did you mean `{close}(…)`?")),
            );
        }
        let span = self.span(with);
        let keyword = Span {
            end: span.start + 4,
            ..span
        };
        self.report(
            rule::WITH
                .at(keyword, "a `with` inside of an interval means nothing, unless it names regions")
                .with_help("computations and intervals stand side by side; put this one below, with less indentation"),
        )
    }

    /// Lowers statements that run in each of some areas, one after the other.
    pub(super) fn in_areas(&mut self, areas: &[Placed], lower: impl FnOnce(&mut Self)) {
        let first = self.stencil.temporaries.len();
        let returned = self.frame().result.is_some();
        let body = self.collect(lower);
        if let (false, Some(_), Some((_, span))) = (returned, &self.frame().result, areas.first()) {
            let diagnostic = rule::RETURN
                .at(*span, "a function returns from inside of a region")
                .with_help("assign in the region and return behind it");
            let reported = self.report(diagnostic);
            self.frame_mut().result = Some(Err(reported));
        }
        let parts = self.parts(body, first);
        for (area, span) in areas {
            for (margin, body) in &parts {
                let kind = StmtKind::Region {
                    area: widened(*area, *margin),
                    body: body.clone(),
                };
                self.block.push(Stmt { kind, span: *span });
            }
        }
    }

    /// Statements of a region in groups that run equally far around it: what a function computes must be there at all points
    /// at which it is read, also at neighbours of those in the region.
    fn parts(&self, body: Vec<Stmt>, first: usize) -> Vec<(Margin, Vec<Stmt>)> {
        let prefix = self.frame().prefix.as_str();
        let private = |target: Target| match target {
            Target::Temp(TempId(id)) if id as usize >= first => {
                let name = &self.stencil.temporaries[id as usize].name;
                let own = name.strip_prefix(prefix).unwrap_or(name);
                own.contains('@')
            }
            _ => false,
        };
        let mut needed: HashMap<Target, Margin> = HashMap::new();
        let mut parts: Vec<(Margin, Vec<Stmt>)> = Vec::new();
        for stmt in body.into_iter().rev() {
            let mut all_private = true;
            let mut margin = Margin::default();
            accesses(std::slice::from_ref(&stmt), &mut |access| {
                if access.write {
                    all_private &= private(access.target);
                    margin = margin.union(needed.get(&access.target).copied().unwrap_or_default());
                }
            });
            if !all_private {
                margin = Margin::default();
            }
            accesses(std::slice::from_ref(&stmt), &mut |access| {
                if !access.write && private(access.target) {
                    let [i, j, _] = access.offset.0;
                    let known = needed.entry(access.target).or_default();
                    *known = known.union(margin.shifted([i, j]));
                }
            });
            match parts.last_mut() {
                Some((known, group)) if *known == margin => group.push(stmt),
                _ => parts.push((margin, vec![stmt])),
            }
        }
        parts.reverse();
        parts.iter_mut().for_each(|(_, group)| group.reverse());
        parts
    }

    /// The arguments of `horizontal(…)`.
    pub(super) fn areas(&mut self, call: &ExprCall) -> Result<Vec<Placed>, Reported> {
        let arguments = &call.arguments;
        if arguments.args.is_empty() || !arguments.keywords.is_empty() {
            let span = self.span(call);
            return Err(self.report(
                rule::REGION
                    .at(span, "`horizontal` takes one or more regions")
                    .with_help(FORM),
            ));
        }
        let areas: Vec<_> = arguments
            .args
            .iter()
            .map(|argument| self.area(argument))
            .collect();
        areas.into_iter().collect()
    }

    fn area(&mut self, argument: &Expr) -> Result<Placed, Reported> {
        let span = self.span(argument);
        let Some(subscript) = self.region_word(argument) else {
            let name = match argument {
                Expr::Subscript(subscript) => &self.text()[subscript.value.range()],
                _ => "",
            };
            let help = match suggest::closest_path(name, &["region"]) {
                Some(close) => format!("did you mean `{close}[…]`?"),
                None => FORM.to_string(),
            };
            return Err(self.report(rule::REGION.at(span, "this is no region").with_help(help)));
        };
        let ranges = match subscript.slice.as_ref() {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            single => std::slice::from_ref(single),
        };
        let [i, j] = ranges else {
            let message = match ranges.len() {
                1 => "a region has two ranges, along I and along J".to_string(),
                count => {
                    format!("a region has two ranges, along I and along J, but {count} are given")
                }
            };
            let diagnostic = rule::REGION.at(self.span(subscript.slice.as_ref()), message);
            return Err(self.report(
                diagnostic
                    .with_help("`:` are all points: `region[I[0], :]` is the first row along J"),
            ));
        };
        let (i, j) = (self.range(Axis::I, i), self.range(Axis::J, j));
        Ok((Area([i?, j?]), span))
    }

    /// The brackets behind the word `region`.
    fn region_word<'a>(&self, argument: &'a Expr) -> Option<&'a ExprSubscript> {
        let Expr::Subscript(subscript) = argument else {
            return None;
        };
        let (path, root) = crate::names::path(&subscript.value)?;
        let frame = self.frame();
        let keyword = match frame.environment.values.get(&path) {
            _ if frame.locals.contains_key(root) => None,
            Some(Value::Keyword(keyword)) => Some(*keyword),
            Some(_) => None,
            None => Keyword::from_name(&path),
        };
        (keyword == Some(Keyword::Region)).then_some(subscript)
    }

    /// `start : end`, or one point.
    fn range(&mut self, axis: Axis, range: &Expr) -> Result<Range, Reported> {
        let span = self.span(range);
        let Expr::Slice(slice) = range else {
            let first = self.bound_along(axis, range)?;
            let end = Bound {
                offset: first.offset + 1,
                ..first
            };
            return Ok(Range {
                start: Some(first),
                end: Some(end),
            });
        };
        if let Some(step) = &slice.step {
            let span = self.span(step.as_ref());
            return Err(self.report(
                rule::REGION
                    .at(span, "a region has no step")
                    .with_help("it has every point from its start to before its end"),
            ));
        }
        let mut bound = |bound: &Option<Box<Expr>>| match bound.as_deref() {
            None | Some(Expr::NoneLiteral(_)) => Ok(None),
            Some(bound) => self.bound_along(axis, bound).map(Some),
        };
        let (start, end) = (bound(&slice.lower), bound(&slice.upper));
        let (start, end) = (start?, end?);
        if let (Some(start), Some(end)) = (start, end) {
            let crossing = match (start.level, end.level) {
                (Level::End, Level::Start) => true,
                (Level::Start, Level::End) => false,
                _ => start.offset > end.offset,
            };
            if crossing {
                return Err(self.report(
                    rule::REGION_ORDER
                        .at(
                            span,
                            format!("the region ends before it starts along {axis}"),
                        )
                        .with_label(format!(
                            "from {} to before {}",
                            words(axis, start),
                            words(axis, end)
                        ))
                        .with_help(
                            "the first bound is the first point, the second one past the last",
                        ),
                ));
            }
        }
        Ok(Range { start, end })
    }

    /// A bound of a region: `I[0] + 2`, an integer, or an external that is either.
    fn bound_along(&mut self, axis: Axis, bound: &Expr) -> Result<Bound, Reported> {
        let span = self.span(bound);
        let found = match self.point(bound)? {
            Some((along, bound)) if along == axis => bound,
            Some((along, _)) => {
                return Err(self.report(
                    rule::REGION
                        .at(
                            span,
                            format!(
                                "this is a point along {along}, but the bound is one along {axis}"
                            ),
                        )
                        .with_help("a region has a range along I, then one along J"),
                ));
            }
            None => {
                let value = self.expression(bound)?;
                let offset = self.integer(&value, span)?;
                let level = if offset < 0 { Level::End } else { Level::Start };
                Bound { level, offset }
            }
        };
        Ok(found)
    }

    fn integer(
        &mut self,
        value: &fieldstone_stencil::ir::Expr,
        span: Span,
    ) -> Result<i32, Reported> {
        match constant::known(value) {
            Some(Literal::Int(value)) if value.unsigned_abs() <= super::offset::FARTHEST => Ok(value as i32),
            Some(_) => Err(self.report(rule::REGION.at(span, "a bound of a region is an integer, or counts from `I[0]` or `I[-1]`").with_help(FORM))),
            None => Err(self.report(
                rule::NOT_CONSTANT
                    .at(span, "a bound of a region must be known at compile time")
                    .with_help("use integers or externals; where it depends on fields or scalars, use an `if`"),
            )),
        }
    }

    /// `I[0]`, `I[-1] - 2`, an external that stands for such a point; `None` for what is none.
    fn point(&mut self, expression: &Expr) -> Result<Option<(Axis, Bound)>, Reported> {
        match expression {
            Expr::Subscript(subscript) => {
                let Some(axis) = self.axis_name(&subscript.value) else {
                    return Ok(None);
                };
                let span = self.span(subscript.slice.as_ref());
                let bound = match subscript.slice.as_ref() {
                    Expr::Slice(_) => None,
                    index => {
                        let index = self.expression(index)?;
                        match constant::known(&index) {
                            Some(Literal::Int(0)) => Some(Bound {
                                level: Level::Start,
                                offset: 0,
                            }),
                            Some(Literal::Int(-1)) => Some(Bound {
                                level: Level::End,
                                offset: -1,
                            }),
                            _ => None,
                        }
                    }
                };
                match bound {
                    Some(bound) => Ok(Some((axis, bound))),
                    None => Err(self.report(
                        rule::REGION
                            .at(span, format!("points count from the first, `{axis}[0]`, or the last, `{axis}[-1]`"))
                            .with_help(format!("write `{axis}[0] + 2`, `{axis}[-1] - 2`, and ranges as `{axis}[0] : {axis}[0] + 2`")),
                    )),
                }
            }
            Expr::Name(_) | Expr::Attribute(_) => match self.resolve(expression)? {
                Meaning::Value(Value::Point(axis, bound)) => Ok(Some((axis, bound))),
                _ => Ok(None),
            },
            Expr::BinOp(ast::ExprBinOp {
                left, op, right, ..
            }) if matches!(op, Operator::Add | Operator::Sub) => {
                let (point, other) = match (self.point(left)?, op) {
                    (Some(point), _) => (point, right),
                    (None, Operator::Add) => match self.point(right)? {
                        Some(point) => (point, left),
                        None => return Ok(None),
                    },
                    (None, _) => return Ok(None),
                };
                let span = self.span(other.range());
                let value = self.expression(other)?;
                let distance = self.integer(&value, span)?;
                let (axis, Bound { level, offset }) = point;
                let offset = if *op == Operator::Sub {
                    offset - distance
                } else {
                    offset + distance
                };
                Ok(Some((axis, Bound { level, offset })))
            }
            _ => Ok(None),
        }
    }
}

/// How far around a region something is computed: `(lower, upper)` along I and J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Margin([(i32, i32); 2]);

impl Margin {
    fn union(self, other: Margin) -> Margin {
        Margin(std::array::from_fn(|n| {
            (self.0[n].0.max(other.0[n].0), self.0[n].1.max(other.0[n].1))
        }))
    }

    /// What a read at an offset needs.
    fn shifted(self, offset: [i32; 2]) -> Margin {
        Margin(std::array::from_fn(|n| {
            (self.0[n].0 - offset[n], self.0[n].1 + offset[n])
        }))
    }
}

/// An area with a margin around it.
fn widened(area: Area, margin: Margin) -> Area {
    Area(std::array::from_fn(|n| {
        let moved = |bound: Option<Bound>, by: i32| {
            bound.map(|Bound { level, offset }| Bound {
                level,
                offset: offset + by,
            })
        };
        let (lower, upper) = margin.0[n];
        Range {
            start: moved(area.0[n].start, -lower),
            end: moved(area.0[n].end, upper),
        }
    }))
}

/// A bound as a reader says it.
fn words(axis: Axis, bound: Bound) -> String {
    match (bound.level, bound.offset) {
        (Level::Start, 0) => format!("{axis}[0]"),
        (Level::Start, offset) => format!("{axis}[0] {offset:+}"),
        (Level::End, -1) => format!("{axis}[-1]"),
        (Level::End, offset) => format!("{axis}[-1] {:+}", offset + 1),
    }
}
