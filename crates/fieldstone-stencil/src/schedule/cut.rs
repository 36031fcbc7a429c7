//! Where a program is cut into nests.
//!
//! Statements join the open group as long as a loop nest over it computes what running them one after the other computes.
//! A temporary that two groups use becomes an array, and arrays obey the stricter rules of fields, so the cut is repeated
//! until no temporary changes.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::analysis::{access, extent};
use crate::grid::{Area, Axis, Extent, Interval, Offset};
use crate::ir::{Computation, Order, Stmt, Target, TempId};
use crate::program::Program;
use crate::source::Span;
use crate::visit::Accesses;

use super::divide::divide;
use super::panel;
use super::reason::{Apart, Causes, Obstacle, Reason};
use super::{Neighbours, Roles};

/// A program cut into groups, one for each nest.
pub(super) struct Cut<'p> {
    pub groups: Vec<Group<'p>>,
    /// Temporaries that outlive a group.
    pub arrays: BTreeSet<TempId>,
}

/// The statements of one nest.
pub(super) struct Group<'p> {
    pub kind: Kind,
    pub items: Vec<Item<'p>>,
    pub causes: Causes,
}

/// Which nest a group becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Rows { roles: Roles, extent: Extent },
    Columns,
    Levels,
}

/// What joins a group as a whole.
pub(super) enum Item<'p> {
    /// One statement of a `PARALLEL` computation.
    Parallel(Placed<'p>),
    /// A `FORWARD` or `BACKWARD` computation, section by section.
    Sweep(Order, Vec<(Interval, Vec<Placed<'p>>)>),
}

/// A statement with what the analyses know of it.
#[derive(Clone)]
pub(super) struct Placed<'p> {
    pub statement: &'p Stmt,
    pub interval: Interval,
    /// How far around a tile it is computed: as if regions had all points, since their bounds may lie anywhere in a tile.
    pub extent: Extent,
    /// How far around the domain it is computed.
    pub bounds: Extent,
    pub accesses: Accesses,
}

impl<'p> Item<'p> {
    /// The statements in order.
    pub fn statements(&self) -> Box<dyn Iterator<Item = &Placed<'p>> + '_> {
        match self {
            Item::Parallel(placed) => Box::new(std::iter::once(placed)),
            Item::Sweep(_, sections) => Box::new(sections.iter().flat_map(|(_, body)| body)),
        }
    }
}

impl Placed<'_> {
    /// Why this statement cannot join others.
    pub fn reason(&self, obstacle: Obstacle, target: Target, offset: Offset) -> Reason {
        Reason {
            obstacle,
            target: Some(target),
            offset,
            span: self.statement.span,
        }
    }

    /// The fields that the statement reads or writes.
    pub fn fields(&self) -> impl Iterator<Item = Target> {
        let read = self.accesses.reads.iter().map(|(target, _)| *target);
        let all = read.chain(self.accesses.written());
        all.filter(|target| matches!(target, Target::Field(_)))
    }

    /// Why this statement cannot join others, where no target is to blame.
    pub fn obstacle(&self, obstacle: Obstacle) -> Reason {
        Reason {
            obstacle,
            target: None,
            offset: Offset::ZERO,
            span: self.statement.span,
        }
    }
}

/// Cuts a program for rows of such neighbours.
pub(super) fn cut(program: &Program, neighbours: Neighbours) -> Cut<'_> {
    let mut arrays = BTreeSet::new();
    let around_tiles = around_tiles(program);
    loop {
        let groups = group(program, neighbours, &around_tiles, &arrays).into_iter();
        let groups = groups.flat_map(|group| divide(group, &program.stencil));
        let groups: Vec<Group<'_>> = groups.collect();
        let found = outliving(program, &groups);
        if found.is_subset(&arrays) {
            return Cut { groups, arrays };
        }
        arrays.extend(found);
    }
}

/// Temporaries that cannot live inside one nest.
fn outliving(program: &Program, groups: &[Group<'_>]) -> BTreeSet<TempId> {
    let mut home: HashMap<TempId, usize> = HashMap::new();
    let mut found = BTreeSet::new();
    for (index, group) in groups.iter().enumerate() {
        for placed in group.items.iter().flat_map(Item::statements) {
            let reads = placed.accesses.reads.iter().map(|(target, _)| *target);
            for target in reads.chain(placed.accesses.written()) {
                let Target::Temp(id) = target else { continue };
                let elsewhere = *home.entry(id).or_insert(index) != index;
                let uninitialised = program.analysis.temporaries[id.0 as usize].maybe_uninitialised;
                // Which element of it is accessed shows at run time: only memory has addresses.
                let whole = !program.stencil.temporary(id).data_dims.is_empty();
                if elsewhere || group.kind == Kind::Levels || uninitialised || whole {
                    found.insert(id);
                }
            }
        }
    }
    found
}

/// How far around a tile each statement is computed.
fn around_tiles(program: &Program) -> Vec<Vec<Vec<Extent>>> {
    let stencil = &program.stencil;
    let mut places = access::places(stencil);
    let mut has_regions = false;
    for place in &mut places {
        // Vertical sweeps have no tiles that compute anything twice.
        if stencil.computations[place.computation].order == Order::Parallel {
            has_regions |= place.area != Area::FULL;
            place.area = Area::FULL;
        }
    }
    let extents = match has_regions {
        true => extent::horizontal(stencil, &places).ok(),
        false => None,
    };
    extents.unwrap_or_else(|| program.analysis.extents.clone())
}

fn group<'p>(
    program: &'p Program,
    neighbours: Neighbours,
    around_tiles: &[Vec<Vec<Extent>>],
    arrays: &BTreeSet<TempId>,
) -> Vec<Group<'p>> {
    let mut groups = Vec::new();
    let mut open = Open {
        program,
        neighbours,
        arrays,
        items: Vec::new(),
        facts: Facts::new(),
        apart: None,
    };
    for item in items(program, around_tiles) {
        groups.extend(open.add(item));
    }
    groups.extend(open.close());
    groups
}

fn items<'p>(program: &'p Program, around_tiles: &[Vec<Vec<Extent>>]) -> Vec<Item<'p>> {
    let mut items = Vec::new();
    let extents = program.analysis.extents.iter().zip(around_tiles);
    for (computation, (bounds, around_tiles)) in program.stencil.computations.iter().zip(extents) {
        let extents = match computation.order {
            Order::Parallel => around_tiles,
            Order::Forward | Order::Backward => bounds,
        };
        let sections = placed(computation, extents, bounds);
        match computation.order {
            Order::Parallel => items.extend(
                sections
                    .into_iter()
                    .flat_map(|(_, body)| body)
                    .map(Item::Parallel),
            ),
            order => items.push(Item::Sweep(order, sections)),
        }
    }
    items
}

fn placed<'p>(
    computation: &'p Computation,
    extents: &[Vec<Extent>],
    bounds: &[Vec<Extent>],
) -> Vec<(Interval, Vec<Placed<'p>>)> {
    let place = |interval, statement, extent, bounds| Placed {
        statement,
        interval,
        extent,
        bounds,
        accesses: Accesses::of(statement),
    };
    computation
        .sections
        .iter()
        .zip(extents.iter().zip(bounds))
        .map(|(section, (extents, bounds))| {
            let body = section.body.iter().zip(extents.iter().zip(bounds));
            let body = body.map(|(statement, (extent, bounds))| {
                place(section.interval, statement, *extent, *bounds)
            });
            (section.interval, body.collect())
        })
        .collect()
}

/// The group that is being filled, with what its statements did so far.
struct Open<'p, 'a> {
    program: &'p Program,
    neighbours: Neighbours,
    arrays: &'a BTreeSet<TempId>,
    items: Vec<Item<'p>>,
    facts: Facts,
    /// Why the first item did not join the group before.
    apart: Option<Apart>,
}

/// What the statements of a group do, as far as later ones must know.
#[derive(Default)]
struct Facts {
    shape: Shape,
    written: HashSet<Target>,
    /// Points around the domain from which a target is read.
    reach: HashMap<Target, Extent>,
    /// Smallest row along I and along J, ahead of the tile, from which a temporary was read.
    trailing: HashMap<Target, [i32; 2]>,
    /// Targets read at a horizontal offset.
    sideways: HashSet<Target>,
}

/// Which nests a group can become.
#[derive(Clone, Copy, Default)]
struct Shape {
    /// Extent of the statements that write fields or arrays; one group of rows has one.
    roots: Option<Extent>,
    /// The statement that makes it a sweep, and what else stands in the way of a nest of rows.
    has_sweep: Option<Span>,
    no_rows: Option<Reason>,
    no_columns: Option<Reason>,
}

impl Shape {
    /// What stands in the way of a nest of rows.
    fn no_rows(self) -> Option<Reason> {
        self.no_rows.or_else(|| {
            self.has_sweep.map(|span| Reason {
                obstacle: Obstacle::Sweep,
                target: None,
                offset: Offset::ZERO,
                span,
            })
        })
    }

    /// What stands in the way of any nest but level by level.
    fn apart(self) -> Option<Apart> {
        Some(Apart {
            rows: self.no_rows()?,
            columns: self.no_columns?,
        })
    }
}

impl Facts {
    fn new() -> Facts {
        Facts::default()
    }

    /// Notes what stands in the way of a nest of rows, where something does.
    fn rows(&mut self, possible: bool, reason: impl FnOnce() -> Reason) {
        if !possible {
            self.shape.no_rows.get_or_insert_with(reason);
        }
    }

    /// Notes what stands in the way of a nest of columns, where something does.
    fn columns(&mut self, possible: bool, reason: impl FnOnce() -> Reason) {
        if !possible {
            self.shape.no_columns.get_or_insert_with(reason);
        }
    }
}

impl<'p> Open<'p, '_> {
    /// Adds an item; closes the group first where the two are not one nest.
    fn add(&mut self, item: Item<'p>) -> Option<Group<'p>> {
        let before = self.facts.shape;
        self.note(&item);
        let mut closed = None;
        let apart = self.facts.shape.apart();
        if !self.items.is_empty() && apart.is_some() {
            self.facts.shape = before;
            closed = self.close();
            self.apart = apart;
            self.note(&item);
        }
        self.items.push(item);
        closed
    }

    fn close(&mut self) -> Option<Group<'p>> {
        let shape = std::mem::replace(&mut self.facts, Facts::new()).shape;
        let items = std::mem::take(&mut self.items);
        if items.is_empty() {
            return None;
        }
        let mut causes = Causes {
            apart: self.apart.take(),
            levels: None,
        };
        let kind = if shape.no_rows().is_none() {
            Kind::Rows {
                roles: self.roles(&items),
                extent: shape.roots.unwrap_or_default(),
            }
        } else if shape.no_columns.is_none() {
            Kind::Columns
        } else {
            causes.levels = shape.no_columns;
            Kind::Levels
        };
        Some(Group {
            kind,
            items,
            causes,
        })
    }

    /// Rows run along the contiguous axis unless a written field lacks it.
    fn roles(&self, items: &[Item<'_>]) -> Roles {
        let has = |axis: Axis| {
            items
                .iter()
                .flat_map(Item::statements)
                .flat_map(|placed| placed.accesses.written())
                .all(|target| self.program.stencil.target_axes(target).contains(axis))
        };
        let Neighbours {
            contiguous, across, ..
        } = self.neighbours;
        if contiguous == Axis::K && has(across) && has(Axis::K) {
            let all = items.iter().flat_map(Item::statements);
            let extents = all.map(|placed| (placed.statement, placed.extent));
            if panel::is_worthwhile(&self.program.stencil, extents.collect()) {
                return Roles::of_panels(across);
            }
        }
        let candidates = [contiguous, Axis::I, Axis::J, Axis::K];
        let vector = candidates.into_iter().find(|axis| has(*axis));
        Roles::new(vector.unwrap_or(contiguous))
    }

    fn note(&mut self, item: &Item<'_>) {
        if let Item::Sweep(..) = item {
            let first = item.statements().next();
            let span = first.map_or(Span::default(), |placed| placed.statement.span);
            self.facts.shape.has_sweep.get_or_insert(span);
        }
        for placed in item.statements() {
            self.note_columns(placed);
        }
        if let Item::Parallel(placed) = item {
            self.note_rows(placed);
        }
    }

    fn is_shared(&self, target: Target) -> bool {
        match target {
            Target::Field(_) => true,
            Target::Temp(id) => self.arrays.contains(&id),
        }
    }

    /// Columns are independent of each other: nothing the nest writes is read from another column.
    fn note_columns(&mut self, placed: &Placed<'_>) {
        let facts = &mut self.facts;
        for (target, offset) in &placed.accesses.reads {
            if !offset.is_vertical() {
                facts.sideways.insert(*target);
                let possible = !facts.written.contains(target);
                facts.columns(possible, || {
                    placed.reason(Obstacle::OtherColumn, *target, *offset)
                });
            }
        }
        for target in placed.accesses.written() {
            facts.written.insert(target);
            let possible = !facts.sideways.contains(&target);
            facts.columns(possible, || {
                placed.reason(Obstacle::ReadByColumns, target, Offset::ZERO)
            });
        }
    }

    /// Tiles are independent of each other: what one writes to fields, no other reads or writes; and while a tile slides, no
    /// row of a ring is overwritten before it was read.
    fn note_rows(&mut self, placed: &Placed<'_>) {
        let ahead = [Axis::I, Axis::J].map(|axis| placed.extent.along(axis).1);
        for (target, offset) in &placed.accesses.reads {
            // A tile may not have the other levels.
            let other_level = offset.along(Axis::K) != 0 && self.facts.written.contains(target);
            self.facts.rows(!other_level, || {
                placed.reason(Obstacle::OtherLevel, *target, *offset)
            });
            let reach = placed.extent.shifted(*offset);
            let known = self.facts.reach.entry(*target).or_insert(reach);
            *known = known.union(reach);
            let rows = [ahead[0] + offset.0[0], ahead[1] + offset.0[1]];
            let trailing = self.facts.trailing.entry(*target).or_insert(rows);
            *trailing = [trailing[0].min(rows[0]), trailing[1].min(rows[1])];
        }
        for target in placed.accesses.written() {
            // Which level is the last to write must not depend on the order of tiles.
            let has_levels = self.program.stencil.target_axes(target).contains(Axis::K);
            self.facts.rows(has_levels, || {
                placed.reason(Obstacle::NoLevels, target, Offset::ZERO)
            });
            if self.is_shared(target) {
                let roots = *self.facts.shape.roots.get_or_insert(placed.extent);
                self.facts.rows(roots == placed.extent, || {
                    placed.reason(Obstacle::OtherExtent, target, Offset::ZERO)
                });
            } else if let Some(trailing) = self.facts.trailing.get(&target) {
                let possible = trailing[0] >= ahead[0] && trailing[1] >= ahead[1];
                self.facts.rows(possible, || {
                    placed.reason(Obstacle::RowInUse, target, Offset::ZERO)
                });
            }
        }
        let read = placed.accesses.reads.iter().map(|(target, _)| *target);
        for target in read.chain(placed.accesses.written()) {
            if self.is_shared(target) && self.facts.written.contains(&target) {
                let reach = self.facts.reach.get(&target).copied();
                let roots = self.facts.shape.roots.unwrap_or_default();
                let possible = reach.is_none_or(|reach| within(reach, roots));
                self.facts.rows(possible, || {
                    placed.reason(Obstacle::OtherTile, target, Offset::ZERO)
                });
            }
        }
    }
}

fn within(inner: Extent, outer: Extent) -> bool {
    Axis::ALL.into_iter().all(|axis| {
        let (inner, outer) = (inner.along(axis), outer.along(axis));
        inner.0 <= outer.0 && inner.1 <= outer.1
    })
}
