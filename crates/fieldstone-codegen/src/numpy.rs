//! The `numpy` backend: a stencil as the text of a Python module that needs NumPy only.
//!
//! The text is meant to be read. [`emit`] writes one statement of Python per statement of the stencil, under a comment with
//! the line it comes from, with whole boxes as operands: all levels at once in `PARALLEL`, one level after the other else.
//!
//! Every operation has the type it has in the IR, so `+ - * /`, comparisons, `sqrt`, small integer powers and all operations
//! on integers give the same bits as the interpreter; `min` and `max` do too, except for the sign of a zero. Other functions
//! are NumPy's own.
//!
//! | module | what lives there |
//! |---|---|
//! | `expression` | expressions as Python text |
//! | `names` | names that are free in Python for those of the stencil |
//! | `*.py` | the Python functions a text may need |

mod expression;
mod names;

use std::fmt::Write;
use std::slice;

use fieldstone_stencil::grid::{Area, Axes, Axis, Bound, Extent, Interval, Level, Range};
use fieldstone_stencil::ir::{
    Computation, Expr, ExprKind, LevelIndex, Order, Section, Stencil, Stmt, StmtKind, Subscript,
    Target,
};
use fieldstone_stencil::{Offset, Program, Span};

use crate::error::RunError;

use expression::{Element, Writer};
use names::Names;

/// The text of a self-contained Python module with one function: `NAME(*fields, *scalars, *, domain, origins)`.
///
/// Fields and scalars are in the order of the stencil's lists. A field is an array along the axes of the field, in the order
/// I, J, K; `origins` maps the name of each field to the index of the first point of the domain in that array; `domain` is
/// the number of points along I, J, K.
pub fn emit(program: &Program) -> String {
    let mut text = Text::new(program);
    text.function();
    text.module()
}

/// How the function is called, for who reads the text.
const CALL: &str = "\
Arrays lie along I, J, K. `domain` is the number of points along each, `origins` has the index of the
first of them in the array of every name.
";

struct Text<'a> {
    program: &'a Program,
    writer: Writer<'a>,
    /// The function.
    lines: String,
    depth: usize,
    /// The box that is set where the text stands.
    current_box: Option<String>,
    masks: usize,
}

impl<'a> Text<'a> {
    fn new(program: &'a Program) -> Text<'a> {
        let stencil = &program.stencil;
        Text {
            program,
            writer: Writer::new(stencil, Names::new(stencil)),
            lines: String::new(),
            depth: 0,
            current_box: None,
            masks: 0,
        }
    }

    fn stencil(&self) -> &'a Stencil {
        &self.program.stencil
    }

    fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        let indent = if line.is_empty() { 0 } else { 4 * self.depth };
        let _ = writeln!(self.lines, "{:indent$}{line}", "");
    }

    fn module(self) -> String {
        let mut module = format!(
            "\"\"\"Stencil '{}' in NumPy.\n\n{CALL}\"\"\"\n\n",
            self.stencil().name
        );
        let functions = self.writer.functions();
        if functions.iter().any(|function| function.contains("math.")) {
            module.push_str("import math\n\n");
        }
        module.push_str("import numpy as np\n\n\n");
        for function in functions {
            module.push_str(function);
            module.push_str("\n\n");
        }
        module + &self.lines
    }

    fn function(&mut self) {
        let stencil = self.stencil();
        let fields = stencil.fields.iter().map(|field| &field.name);
        let scalars = stencil.scalars.iter().map(|scalar| &scalar.name);
        let params: Vec<_> = fields
            .chain(scalars)
            .map(|name| self.writer.names.of_parameter(name).to_owned())
            .chain(["*", "domain", "origins"].map(str::to_owned))
            .collect();
        self.line(format!("def {}({}):", stencil.name, params.join(", ")));
        self.depth += 1;
        self.line("ni, nj, nk = domain");
        for field in &stencil.fields {
            let name = self.writer.names.of_parameter(&field.name);
            let axes = match field.axes {
                Axes::IJK => String::new(),
                axes => format!(", \"{axes}\""),
            };
            self.line(format!(
                "{name} = _Field({name}, origins[\"{}\"]{axes})",
                field.name
            ));
        }
        for scalar in &stencil.scalars {
            let name = self.writer.names.of_parameter(&scalar.name);
            self.line(format!(
                "{name} = {}({name})",
                expression::numpy_type(scalar.dtype)
            ));
        }
        let infos = &self.program.analysis.temporaries;
        for (index, (temporary, info)) in stencil.temporaries.iter().zip(infos).enumerate() {
            let name = self.writer.names.of_temporary(index);
            let dtype = expression::numpy_type(temporary.dtype.expect("types are resolved"));
            let axes = match temporary.axes {
                Axes::IJK => String::new(),
                axes => format!(", \"{axes}\""),
            };
            let data: String = (temporary.data_dims.iter())
                .map(|size| format!("{size}, "))
                .collect();
            let data = match data.as_str() {
                "" => data,
                sizes => format!(", data=({})", sizes.trim_end()),
            };
            self.line(format!(
                "{name} = _Field.zeros({dtype}, domain, {}{axes}{data})",
                info.extent
            ));
        }
        self.line("with np.errstate(all=\"ignore\"):");
        self.depth += 1;
        for (computation, extents) in stencil
            .computations
            .iter()
            .zip(&self.program.analysis.extents)
        {
            self.computation(computation, extents);
        }
        let mut sections = stencil
            .computations
            .iter()
            .flat_map(|computation| &computation.sections);
        if sections.all(|section| section.body.is_empty()) {
            self.line("pass");
        }
        self.depth -= 2;
    }

    fn computation(&mut self, computation: &Computation, extents: &[Vec<Extent>]) {
        for (section, extents) in computation.sections.iter().zip(extents) {
            self.section(computation.order, section, extents);
        }
    }

    fn section(&mut self, order: Order, section: &Section, extents: &[Extent]) {
        let name = match order {
            Order::Parallel => "PARALLEL",
            Order::Forward => "FORWARD",
            Order::Backward => "BACKWARD",
        };
        self.line(format!("# {name}, levels {}", section.interval));
        if section.body.is_empty() {
            return;
        }
        let (begin, end) = self.levels(section.interval);
        let levels = match order {
            Order::Parallel => (begin, end),
            Order::Forward | Order::Backward => {
                let range = match order {
                    Order::Backward => format!("reversed(range({begin}, {end}))"),
                    _ => format!("range({begin}, {end})"),
                };
                self.line(format!("for k in {range}:"));
                self.depth += 1;
                ("k".to_owned(), "k + 1".to_owned())
            }
        };
        self.current_box = None;
        for (statement, extent) in section.body.iter().zip(extents) {
            let mut extent = *extent;
            if order != Order::Parallel {
                extent.0[2] = (0, 0);
            }
            let (area, body) = match &statement.kind {
                StmtKind::Region { area, body } => (*area, body.as_slice()),
                _ => (Area::FULL, slice::from_ref(statement)),
            };
            self.set_box(&levels, extent, area);
            for statement in body {
                self.comment(statement);
                self.statement(statement, None);
            }
        }
        if order != Order::Parallel {
            self.depth -= 1;
        }
        self.current_box = None;
    }

    /// First and one past the last level, cut to the domain where the interval may leave it.
    fn levels(&self, interval: Interval) -> (String, String) {
        let least = self.program.analysis.min_levels as i64;
        let level = |bound: Bound| match bound.level {
            Level::Start if i64::from(bound.offset) <= least => bound.offset.max(0).to_string(),
            Level::Start => format!("min({}, nk)", bound.offset),
            Level::End if bound.offset >= 0 => "nk".to_owned(),
            Level::End if -i64::from(bound.offset) <= least => format!("nk - {}", -bound.offset),
            Level::End => format!("max(nk - {}, 0)", -bound.offset),
        };
        (level(interval.start), level(interval.end))
    }

    fn set_box(&mut self, (begin, end): &(String, String), extent: Extent, area: Area) {
        let [i, j, k] = extent.0;
        let horizontal = |(lower, upper): (i32, i32), points: &str| {
            format!("({}, {})", -lower, shifted(points, upper))
        };
        let mut text = format!(
            "_Box({}, {}, ({}, {}))",
            horizontal(i, "ni"),
            horizontal(j, "nj"),
            shifted(begin, -k.0),
            shifted(end, k.1)
        );
        if area != Area::FULL {
            text = format!("{text}.cut({})", part(area));
        }
        if self.current_box.as_ref() != Some(&text) {
            self.line(format!("box = {text}"));
            self.current_box = Some(text);
        }
    }

    fn statement(&mut self, statement: &Stmt, mask: Option<&str>) {
        self.writer.mask = mask.map(str::to_owned);
        match &statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                offset,
                subscript,
                value,
            } => {
                let place = (*target, *target_span, *offset);
                match subscript.as_deref() {
                    Some(subscript) if subscript.level != LevelIndex::Constant => {
                        self.assign_at_level(place, subscript, value);
                    }
                    subscript => self.assign(place, subscript, value, mask),
                }
            }
            StmtKind::While { condition, body } => self.repeat(condition, body, mask),
            StmtKind::Require {
                condition,
                bounds,
                intervals,
            } => self.require(condition, bounds, intervals),
            StmtKind::Region { area, body } => self.region(*area, body, mask),
            StmtKind::If {
                condition,
                then,
                orelse,
            } => self.choose(condition, (then, orelse), mask),
        }
    }

    /// An assignment at a level that is computed.
    fn assign_at_level(
        &mut self,
        (target, span, offset): (Target, Span, Offset),
        subscript: &Subscript,
        value: &Expr,
    ) {
        let value = self.writer.expression(value);
        let (place, what) = (self.writer).level_place(target, offset, subscript, span);
        let mask = self.writer.where_it_counts();
        let element = match self.writer.element(target, Some(subscript), span) {
            Element::Whole => String::new(),
            Element::Constant(indices) | Element::Computed(indices) => {
                format!(", ({indices},)")
            }
        };
        self.line(format!(
            "_put_at({place}, {value}, {mask}, {what}{element})"
        ));
    }

    fn assign(
        &mut self,
        (written, span, offset): (Target, Span, Offset),
        subscript: Option<&Subscript>,
        value: &Expr,
        mask: Option<&str>,
    ) {
        let target = self.writer.names.of_target(written).to_owned();
        let value = self.writer.expression(value);
        let at = match offset {
            Offset::ZERO => "box".to_owned(),
            Offset([i, j, k]) => format!("box + ({i}, {j}, {k})"),
        };
        let place = match self.writer.element(written, subscript, span) {
            Element::Whole => format!("{target}[{at}]"),
            Element::Constant(indices) => format!("{target}[{at}][..., {indices}]"),
            Element::Computed(indices) => {
                let put = self.writer.require("_put");
                let mask = mask.map_or(String::new(), |mask| format!(", where={mask}"));
                self.line(format!(
                    "{put}({target}[{at}], ({indices},), {value}{mask})"
                ));
                return;
            }
        };
        self.line(match mask {
            None => format!("{place} = {value}"),
            Some(mask) => format!("np.copyto({place}, {value}, where={mask})"),
        });
    }

    fn require(&mut self, condition: &Expr, bounds: &[Expr], intervals: &[Span]) {
        let require = self.writer.require("_require");
        let condition = self.writer.expression(condition);
        let bounds: Vec<String> = (bounds.iter())
            .map(|bound| self.writer.expression(bound))
            .collect();
        let what = RunError::intervals(self.stencil(), intervals).to_string();
        let what = what
            .split("; what the call wrote")
            .next()
            .unwrap_or_default();
        self.line(format!(
            "{require}({condition}, {what:?}, {})",
            bounds.join(", ")
        ));
    }

    /// Statements under a condition: a branch where it is one number, else both with masks.
    fn choose(&mut self, condition: &Expr, (then, orelse): (&[Stmt], &[Stmt]), mask: Option<&str>) {
        let value = self.writer.expression(condition);
        if !expression::reads_fields(condition) {
            self.line(format!("if {value}:"));
            self.branch(then, mask);
            if !orelse.is_empty() {
                self.line("else:");
                self.branch(orelse, mask);
            }
            return;
        }
        self.masks += 1;
        let number = self.masks;
        let holds = format!("mask{number}");
        self.line(match &condition.kind {
            // A view would change with the field.
            ExprKind::Access { .. } => format!("{holds} = np.copy({value})"),
            _ => format!("{holds} = {value}"),
        });
        let within = |condition: String| match mask {
            None => condition,
            Some(mask) => format!("{mask} & {condition}"),
        };
        self.masked(then, within(holds.clone()), &format!("then{number}"));
        self.masked(
            orelse,
            within(format!("~{holds}")),
            &format!("else{number}"),
        );
    }

    /// Statements of a region inside of others; one that stands by itself has its box from [`Text::set_box`].
    fn region(&mut self, area: Area, body: &[Stmt], mask: Option<&str>) {
        if let Some(mask) = mask {
            self.masks += 1;
            let inside = format!("then{}", self.masks);
            return self.masked(
                body,
                format!("{mask} & box.inside({})", part(area)),
                &inside,
            );
        }
        self.masks += 1;
        let whole = format!("whole{}", self.masks);
        self.line(format!("{whole} = box"));
        self.line(format!("box = {whole}.cut({})", part(area)));
        for statement in body {
            self.comment(statement);
            self.statement(statement, None);
        }
        self.line(format!("box = {whole}"));
    }

    /// Rounds at the points that are still active, until none is.
    fn repeat(&mut self, condition: &Expr, body: &[Stmt], mask: Option<&str>) {
        self.masks += 1;
        let active = format!("while{}", self.masks);
        let first = self.writer.expression(condition);
        self.line(match (mask, &condition.kind) {
            (Some(mask), _) => format!("{active} = {mask} & ({first})"),
            // A view would change with the field.
            (None, ExprKind::Access { .. }) => format!("{active} = np.copy({first})"),
            (None, _) => format!("{active} = {first}"),
        });
        self.line(format!("while np.any({active}):"));
        self.depth += 1;
        for statement in body {
            self.comment(statement);
            self.statement(statement, Some(&active));
        }
        self.writer.mask = Some(active.clone());
        let next = self.writer.expression(condition);
        self.line(format!("{active} = {active} & ({next})"));
        self.depth -= 1;
    }

    fn branch(&mut self, body: &[Stmt], mask: Option<&str>) {
        self.depth += 1;
        for statement in body {
            self.comment(statement);
            self.statement(statement, mask);
        }
        if body.is_empty() {
            self.line("pass");
        }
        self.depth -= 1;
    }

    fn masked(&mut self, body: &[Stmt], mask: String, name: &str) {
        if body.is_empty() {
            return;
        }
        let is_name = mask.chars().all(|c| c.is_ascii_alphanumeric());
        if !is_name {
            self.line(format!("{name} = {mask}"));
        }
        let mask = if is_name { &mask } else { name };
        for statement in body {
            self.comment(statement);
            self.statement(statement, Some(mask));
        }
    }

    /// File, line and text of a statement; of an `if`, its condition.
    fn comment(&mut self, statement: &Stmt) {
        let (span, before) = match &statement.kind {
            StmtKind::Assign { .. } => (statement.span, ""),
            StmtKind::If { condition, .. } => (condition.span, "if "),
            StmtKind::While { condition, .. } => (condition.span, "while "),
            StmtKind::Require { .. } | StmtKind::Region { .. } => return,
        };
        if let Some(text) = self.source(span) {
            let (place, code) = text;
            self.line(format!("# {place}: {before}{code}"));
        }
    }

    fn source(&self, span: Span) -> Option<(String, String)> {
        let sources = &self.stencil().sources;
        let (file, location) = sources.locate(span)?;
        let file = file.rsplit('/').next().unwrap_or(file);
        let text = sources
            .get(span.source)?
            .text
            .get(span.start as usize..span.end as usize)?;
        let code = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Some((format!("{file}:{}", location.line), code))
    }
}

/// An area as arguments of `_Box.cut`.
fn part(area: Area) -> String {
    let part = [(Axis::I, "ni"), (Axis::J, "nj")].map(|(axis, points)| {
        let Range { start, end } = area.along(axis);
        let [start, end] = [start, end].map(|bound| match bound {
            None => "None".to_owned(),
            Some(Bound { level, offset }) => match level {
                Level::Start => offset.to_string(),
                Level::End => shifted(points, offset),
            },
        });
        format!("({start}, {end})")
    });
    part.join(", ")
}

/// `points` levels or points, `by` further.
fn shifted(points: &str, by: i32) -> String {
    match (points.parse::<i32>(), by) {
        (Ok(number), _) => (number + by).to_string(),
        (_, 0) => points.to_owned(),
        (_, by) if by < 0 => format!("{points} - {}", -by),
        (_, by) => format!("{points} + {by}"),
    }
}
