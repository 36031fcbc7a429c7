//! Reads and writes, and those that have no defined order.

use std::collections::HashSet;
use std::slice;

use super::{
    AMBIGUOUS_WRITE, CONDITIONAL_NEIGHBOUR, LOOP_NEIGHBOUR, NO_OUTPUT, PARALLEL_WRITE,
    SELF_ASSIGNMENT, UNREAD_TEMPORARY, UNUSED_PARAMETER,
};
use crate::diagnostic::{Category, Diagnostic};
use crate::grid::{Area, Axes, Axis, Extent, Interval, Offset};
use crate::ir::{
    Computation, Expr, ExprKind, LevelIndex, Order, Param, Stencil, Stmt, StmtKind, Target,
};
use crate::source::Span;
use crate::suggest;
use crate::visit::{Access, accesses};

/// One access of one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the computation.
    pub computation: usize,
    /// Index of the section in it.
    pub section: usize,
    /// Index of the top-level statement in that.
    pub statement: usize,
    /// What is accessed.
    pub target: Target,
    /// Where, from the point that is computed.
    pub offset: Offset,
    /// How the level is given.
    pub level: LevelIndex,
    /// A write, or else a read.
    pub write: bool,
    /// The part of the plane in which it happens.
    pub area: Area,
    /// Where it stands.
    pub span: Span,
}

impl Place {
    /// The extent of its statement.
    pub fn computed_on(&self, extents: &[Vec<Vec<Extent>>]) -> Extent {
        extents[self.computation][self.section][self.statement]
    }

    /// What it reaches from the points of a statement's extent that lie in its area; `None` where none do.
    pub fn reach(&self, extent: Extent) -> Option<Extent> {
        Some(self.area.clip(extent)?.shifted(self.offset))
    }
}

/// Every access of a stencil in program order, a statement's reads before its writes.
pub fn places(stencil: &Stencil) -> Vec<Place> {
    let mut places = Vec::new();
    for (computation, c) in stencil.computations.iter().enumerate() {
        for (section, s) in c.sections.iter().enumerate() {
            for (statement, stmt) in s.body.iter().enumerate() {
                accesses(slice::from_ref(stmt), &mut |access| {
                    places.push(Place {
                        computation,
                        section,
                        statement,
                        target: access.target,
                        offset: access.offset,
                        level: access.level,
                        write: access.write,
                        area: access.area,
                        span: access.span,
                    });
                });
            }
        }
    }
    places
}

/// Whether a read finds points that a statement of the same level and time may be writing: those for which the order in which
/// the points of a statement are computed would matter. What is written at another level is `moved`.
pub fn is_neighbour(
    order: Order,
    axes: Axes,
    offset: Offset,
    level: LevelIndex,
    moved: bool,
) -> bool {
    let computed = level != LevelIndex::Constant;
    match order {
        Order::Parallel => offset != Offset::ZERO || computed,
        // Other levels are complete, or untouched; a target without levels is neither.
        Order::Forward | Order::Backward => {
            let same_level = offset.along(Axis::K) == 0 || !axes.contains(Axis::K);
            !offset.is_vertical() && (same_level || computed || moved)
        }
    }
}

/// Whether an access writes another level than the one that is computed.
pub fn is_moved(access: &Access) -> bool {
    access.write && (access.offset.along(Axis::K) != 0 || access.level != LevelIndex::Constant)
}

/// Finds statements whose result would depend on the order in which points are computed.
pub fn check(stencil: &Stencil) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for computation in &stencil.computations {
        for section in &computation.sections {
            for stmt in &section.body {
                let before = errors.len();
                check_statement(stencil, computation, section.interval, stmt, &mut errors);
                if matches!(stmt.kind, StmtKind::If { .. }) && errors.len() == before {
                    errors.extend(check_conditional(stencil, computation.order, stmt));
                }
            }
        }
    }
    errors
}

fn check_statement(
    stencil: &Stencil,
    computation: &Computation,
    interval: Interval,
    stmt: &Stmt,
    errors: &mut Vec<Diagnostic>,
) {
    match &stmt.kind {
        StmtKind::Assign {
            target,
            target_span,
            value,
            offset,
            subscript,
        } => {
            let level = (subscript.as_ref()).map_or(LevelIndex::Constant, |s| s.level);
            let moved = offset.along(Axis::K) != 0 || level != LevelIndex::Constant;
            if moved && computation.order == Order::Parallel {
                errors.push(parallel_write(stencil, computation, *target, *target_span));
                return;
            }
            errors.extend(ambiguous_write(
                stencil,
                computation,
                interval,
                *target,
                *target_span,
            ));
            let axes = stencil.target_axes(*target);
            let mut reported = false;
            value.walk(|node| {
                if let ExprKind::Access {
                    target: read,
                    offset,
                    ref subscript,
                } = node.kind
                    && read == *target
                    && !reported
                {
                    let level = (subscript.as_ref()).map_or(LevelIndex::Constant, |s| s.level);
                    if !is_neighbour(computation.order, axes, offset, level, moved) {
                        return;
                    }
                    reported = true;
                    errors.push(self_assignment(stencil, *target, *target_span, node.span));
                }
            });
        }
        StmtKind::Require { .. } => {}
        StmtKind::If { .. } | StmtKind::While { .. } | StmtKind::Region { .. } => {
            let before = errors.len();
            for inner in stmt.inner() {
                check_statement(stencil, computation, interval, inner, errors);
            }
            if matches!(stmt.kind, StmtKind::While { .. }) && errors.len() == before {
                errors.extend(check_loop(stencil, computation.order, stmt));
            }
        }
    }
}

/// A `while` whose rounds would see those of neighbouring points.
fn check_loop(stencil: &Stencil, order: Order, stmt: &Stmt) -> Option<Diagnostic> {
    let (target, read, written) = conditional_neighbour(stencil, order, stmt)?;
    let name = stencil.source_name(target);
    Some(
        Diagnostic::error(
            LOOP_NEIGHBOUR,
            Category::Definition,
            read,
            format!("neighbours of `{name}` are read in the `while` that assigns it"),
        )
        .with_label("how many rounds the neighbours have done by then is not defined")
        .with_secondary(written, "assigned here")
        .with_help(format!(
            "copy it to a temporary before the loop, as in `old = {name}`, and read the neighbours from that"
        )),
    )
}

fn parallel_write(
    stencil: &Stencil,
    computation: &Computation,
    target: Target,
    span: Span,
) -> Diagnostic {
    let name = stencil.source_name(target);
    Diagnostic::error(
        PARALLEL_WRITE,
        Category::Definition,
        span,
        format!("`{name}` is assigned at another level in a parallel computation"),
    )
    .with_label("no level waits for another here")
    .with_secondary(computation.span, "the parallel computation")
    .with_help("use `computation(FORWARD)` or `computation(BACKWARD)`, in which levels run one after the other")
}

fn self_assignment(stencil: &Stencil, target: Target, written: Span, read: Span) -> Diagnostic {
    let name = stencil.source_name(target);
    Diagnostic::error(
        SELF_ASSIGNMENT,
        Category::Definition,
        read,
        format!("`{name}` is assigned from its own neighbours"),
    )
    .with_label("whether this is the old or the new value is not defined")
    .with_secondary(written, "assigned here")
    .with_help(format!(
        "copy it to a temporary first, as in `old = {name}`, and read the neighbours from that"
    ))
}

fn ambiguous_write(
    stencil: &Stencil,
    computation: &Computation,
    interval: Interval,
    target: Target,
    span: Span,
) -> Option<Diagnostic> {
    let axes = stencil.target_axes(target);
    let declared = match target {
        Target::Field(id) => stencil.field(id).span,
        Target::Temp(id) => stencil.temporary(id).span,
    };
    let one_level = interval.levels().is_some_and(|levels| levels <= 1);
    let missing = (Axis::ALL.into_iter()).find(|axis| {
        let runs_in_order = computation.order != Order::Parallel || one_level;
        !axes.contains(*axis) && (*axis != Axis::K || !runs_in_order)
    })?;
    let name = stencil.source_name(target);
    let help = if missing == Axis::K {
        "use `computation(FORWARD)` or `BACKWARD`, in which the last level wins".to_string()
    } else {
        format!("declare `{name}` with axes I and J")
    };
    Some(
        Diagnostic::error(
            AMBIGUOUS_WRITE,
            Category::Definition,
            span,
            format!("`{name}` has no {missing} axis, so many points assign the same element"),
        )
        .with_label(format!("assigned at every point along {missing} at once"))
        .with_secondary(
            declared,
            format!("`{name}` is declared with the axes {axes}"),
        )
        .with_help(help),
    )
}

/// An `if` that still has to be split, see [`crate::branches`].
fn check_conditional(stencil: &Stencil, order: Order, stmt: &Stmt) -> Option<Diagnostic> {
    let (target, read, written) = conditional_neighbour(stencil, order, stmt)?;
    let name = stencil.source_name(target);
    Some(
        Diagnostic::error(
            CONDITIONAL_NEIGHBOUR,
            Category::Unsupported,
            read,
            format!("neighbours of `{name}` are read by the `if` that assigns it"),
        )
        .with_secondary(written, "assigned here")
        .with_help("assign the condition to a temporary and use one `if` for each assignment"),
    )
}

/// A target that an `if` writes and reads at a neighbour, with the places of the read and of the write.
pub fn conditional_neighbour(
    stencil: &Stencil,
    order: Order,
    stmt: &Stmt,
) -> Option<(Target, Span, Span)> {
    let mut written = std::collections::HashMap::new();
    let mut moved = HashSet::new();
    accesses(slice::from_ref(stmt), &mut |access| {
        if access.write {
            written.entry(access.target).or_insert(access.span);
            if is_moved(&access) {
                moved.insert(access.target);
            }
        }
    });
    let mut reads = Vec::new();
    accesses(slice::from_ref(stmt), &mut |access| {
        let (target, axes) = (access.target, stencil.target_axes(access.target));
        let moved = moved.contains(&target);
        if !access.write && is_neighbour(order, axes, access.offset, access.level, moved) {
            reads.push((target, access.span));
        }
    });
    (reads.into_iter()).find_map(|(target, read)| Some((target, read, *written.get(&target)?)))
}

// ---------------------------------------------------------------------------------------------------------------------
// What is not used

/// Warnings for names that are not used.
pub fn unused(stencil: &Stencil, places: &[Place]) -> Vec<Diagnostic> {
    let mut used = vec![false; stencil.fields.len()];
    let mut read = vec![false; stencil.temporaries.len()];
    let mut output = false;
    for place in places {
        match place.target {
            Target::Field(id) => {
                used[id.0 as usize] = true;
                output |= place.write;
            }
            Target::Temp(id) => read[id.0 as usize] |= !place.write,
        }
    }
    let scalars = used_scalars(stencil);
    let mut warnings = Vec::new();
    for param in &stencil.params {
        let (name, span, used) = match param {
            Param::Field(id) => {
                let field = stencil.field(*id);
                (&field.name, field.span, used[id.0 as usize])
            }
            Param::Scalar(id) => {
                let scalar = stencil.scalar(*id);
                (&scalar.name, scalar.span, scalars[id.0 as usize])
            }
        };
        if !used {
            warnings.push(Diagnostic::warning(
                UNUSED_PARAMETER,
                Category::Definition,
                span,
                format!("the parameter `{name}` is not used"),
            ));
        }
    }
    warnings.extend(unread(stencil, places, &read));
    if !output {
        let span = stencil
            .computations
            .first()
            .map_or(Span::default(), |c| c.span);
        warnings.push(
            Diagnostic::warning(
                NO_OUTPUT,
                Category::Definition,
                span,
                format!("`{}` assigns none of its fields", stencil.name),
            )
            .with_help("assign the result to a field of the signature"),
        );
    }
    warnings
}

/// Warnings for temporaries that are assigned and not read. A name that starts with `_` says that this is meant; a name of a
/// function is used if any of its calls uses it.
fn unread(stencil: &Stencil, places: &[Place], read: &[bool]) -> Vec<Diagnostic> {
    let assigned = assigned_temporaries(stencil, places);
    let temporaries = || stencil.temporaries.iter().enumerate();
    // So is one of which an element is used.
    let mut done: HashSet<Span> = temporaries()
        .filter(|(n, temporary)| read[*n] && (temporary.is_inlined() || temporary.is_element()))
        .map(|(_, temporary)| stencil.sources.place(temporary.span))
        .collect();
    let mut warnings = Vec::new();
    for (n, temporary) in temporaries() {
        let name = temporary.whole_name();
        if read[n] || !assigned[n] || name.starts_with('_') {
            continue;
        }
        if (temporary.is_inlined() || temporary.is_element())
            && !done.insert(stencil.sources.place(temporary.span))
        {
            continue;
        }
        let mut found = Diagnostic::warning(
            UNREAD_TEMPORARY,
            Category::Definition,
            temporary.span,
            format!("`{name}` is assigned but never read"),
        );
        if !temporary.is_inlined() {
            found = found.with_label("a temporary: no parameter has this name");
            let fields = stencil.fields.iter().map(|field| field.name.as_str());
            if let Some(similar) = suggest::closest(name, fields) {
                found = found.with_help(format!("did you mean `{similar}`?"));
            }
        }
        warnings.push(found);
    }
    warnings
}

fn assigned_temporaries(stencil: &Stencil, places: &[Place]) -> Vec<bool> {
    let mut assigned = vec![false; stencil.temporaries.len()];
    for place in places {
        if let (Target::Temp(id), true) = (place.target, place.write) {
            assigned[id.0 as usize] = true;
        }
    }
    assigned
}

fn used_scalars(stencil: &Stencil) -> Vec<bool> {
    let mut used = vec![false; stencil.scalars.len()];
    let mut mark = |expr: &Expr| {
        expr.walk(|node| {
            if let ExprKind::Scalar(id) = node.kind {
                used[id.0 as usize] = true;
            }
        });
    };
    let sections = stencil.computations.iter().flat_map(|c| &c.sections);
    for stmt in sections.flat_map(|section| &section.body) {
        stmt.walk(&mut |stmt| stmt.expressions().for_each(&mut mark));
    }
    used
}
