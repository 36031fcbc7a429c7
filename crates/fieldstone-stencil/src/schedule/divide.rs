//! Nests of very many fields in several nests of fewer.
//!
//! Every element of a data dimension is a field, so a few statements on vectors may be a nest of hundreds of fields. LLVM takes
//! the square of that to compile one loop over all of them, and a processor follows only so many rows of memory at once. What
//! one element is computed from, the others mostly have nothing to do with: such statements do as well in nests of their own,
//! and all that an element needs between stays in registers. Where all elements have to do with each other, as in products with
//! a matrix, nests follow each other in the order of the statements, and pass on in memory what the next ones need.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::ir::{Stencil, Target};

use super::cut::{Group, Item, Kind, Placed};
use super::reason::{Apart, Causes, Obstacle};

/// Fields of a nest that is not divided.
const MOST_FIELDS: usize = 64;

/// Fields of the nests it becomes, at most; a part that has to do with itself only may have more.
const FIELDS_OF_NEST: usize = 32;

/// Elements of data dimensions that stay in one nest where they are connected. A nest of more takes longer than several, which
/// write and read what they pass on, and far longer to compile.
const MOST_CONNECTED: usize = 128;

/// Divides a group where it has too many fields and parts that share nothing which is written.
pub(super) fn divide<'p>(group: Group<'p>, stencil: &Stencil) -> Vec<Group<'p>> {
    let statements: Vec<&Placed<'_>> = group.items.iter().flat_map(Item::statements).collect();
    let whole = statements.iter().flat_map(|placed| placed.fields());
    let is_small = whole.collect::<HashSet<_>>().len() <= MOST_FIELDS;
    let may_fail = |placed: &&Placed<'_>| {
        let mut fails = placed.accesses.writes.is_empty();
        placed
            .statement
            .walk(&mut |inner| fails |= inner.may_fail());
        fails
    };
    // Which failure a call tells of is not to depend on the cut.
    if is_small || group.kind == Kind::Levels || statements.iter().any(may_fail) {
        return vec![group];
    }
    let nests = packed(&statements, stencil, group.kind);
    let count = nests.iter().max().map_or(1, |last| last + 1);
    if count == 1 {
        return vec![group];
    }
    let span_of = |nest: usize| {
        let first = nests.iter().position(|other| *other == nest);
        statements[first.unwrap_or(0)]
    };
    let causes: Vec<Causes> = (0..count)
        .map(|nest| match nest {
            0 => group.causes,
            _ => {
                let reason = span_of(nest).obstacle(Obstacle::ManyFields);
                Causes {
                    apart: Some(Apart {
                        rows: reason,
                        columns: reason,
                    }),
                    levels: None,
                }
            }
        })
        .collect();
    let kind = group.kind;
    let items = distributed(group.items, &nests, count);
    (items.into_iter().zip(causes))
        .map(|(items, causes)| Group {
            kind,
            items,
            causes,
        })
        .collect()
}

/// The nest of each statement: as many parts beside each other as have few enough fields, in the order in which they begin. A
/// part of rows that has very many is several nests, one behind the other.
fn packed(statements: &[&Placed<'_>], stencil: &Stencil, kind: Kind) -> Vec<usize> {
    let parts = parts(statements, stencil);
    let mut of_part: BTreeMap<usize, HashSet<Target>> = BTreeMap::new();
    for (placed, part) in statements.iter().zip(&parts) {
        of_part.entry(*part).or_default().extend(placed.fields());
    }
    let mut next = Next::default();
    let mut nests = vec![0; statements.len()];
    let mut of_small = HashMap::new();
    for (part, fields) in of_part {
        let has_element =
            |field: &&Target| element(stencil, **field).is_some_and(|e| !e.is_empty());
        let elements = fields.iter().filter(has_element).count();
        if matches!(kind, Kind::Rows { .. }) && elements > MOST_CONNECTED {
            let of_this = (0..statements.len()).filter(|number| parts[*number] == part);
            in_order(
                statements,
                &of_this.collect::<Vec<_>>(),
                &mut next,
                &mut nests,
            );
        } else {
            of_small.insert(part, next.with(fields));
        }
    }
    for (nest, part) in nests.iter_mut().zip(&parts) {
        *nest = of_small.get(part).copied().unwrap_or(*nest);
    }
    nests
}

/// The nest that is being filled, and the fields it has.
#[derive(Default)]
struct Next {
    nest: usize,
    taken: HashSet<Target>,
}

impl Next {
    /// The nest of what has these fields: a new one, where this one would have too many.
    fn with(&mut self, fields: HashSet<Target>) -> usize {
        let more = fields.difference(&self.taken).count();
        if self.taken.len() + more > FIELDS_OF_NEST {
            self.close();
        }
        self.taken.extend(fields);
        self.nest
    }

    /// Whatever comes next is in another nest.
    fn close(&mut self) {
        if !self.taken.is_empty() {
            self.nest += 1;
            self.taken.clear();
        }
    }
}

/// Nests for statements that have to do with each other, in their order. What computes one value is not divided where that is
/// not too much, so that elements that are computed alike have nests that are alike.
fn in_order(statements: &[&Placed<'_>], numbers: &[usize], next: &mut Next, nests: &mut [usize]) {
    let values = values(statements, numbers);
    let fields = |number: &usize| statements[*number].fields();
    next.close();
    for run in numbers.chunk_by(|a, b| values[a] == values[b]) {
        let all: HashSet<Target> = run.iter().flat_map(fields).collect();
        if all.len() <= MOST_CONNECTED {
            let nest = next.with(all);
            run.iter().for_each(|number| nests[*number] = nest);
            continue;
        }
        next.close();
        for number in run {
            nests[*number] = next.with(fields(number).collect());
        }
        next.close();
    }
    next.close();
}

/// For each of these statements the first one that it is connected with by what is written.
fn values(statements: &[&Placed<'_>], numbers: &[usize]) -> HashMap<usize, usize> {
    let targets = |number: &usize| {
        let accesses = &statements[*number].accesses;
        let read = accesses.reads.iter().map(|(target, _)| *target);
        read.chain(accesses.written())
    };
    let written = (numbers.iter()).flat_map(|number| statements[*number].accesses.written());
    let written: HashSet<Target> = written.collect();
    let mut first: Vec<usize> = (0..statements.len()).collect();
    let mut user: HashMap<Target, usize> = HashMap::new();
    for number in numbers {
        for target in targets(number).filter(|target| written.contains(target)) {
            let other = *user.entry(target).or_insert(*number);
            connect(&mut first, other, *number);
        }
    }
    let root = |number: &usize| (*number, root(&mut first, *number));
    numbers.iter().map(root).collect()
}

/// For each statement the first one that it is connected with: by whatever is written, and by what a call in place may write.
fn parts(statements: &[&Placed<'_>], stencil: &Stencil) -> Vec<usize> {
    let written = statements
        .iter()
        .flat_map(|placed| placed.accesses.written());
    let written: HashSet<Target> = written.collect();
    let mut first: Vec<usize> = (0..statements.len()).collect();
    let mut user: HashMap<Target, usize> = HashMap::new();
    let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, placed) in statements.iter().enumerate() {
        let read = placed.accesses.reads.iter().map(|(target, _)| *target);
        for target in read.clone().chain(placed.accesses.written()) {
            if written.contains(&target) {
                let other = *user.entry(target).or_insert(number);
                connect(&mut first, other, number);
            }
        }
        for element in read.filter_map(|target| element(stencil, target)) {
            readers.entry(element).or_default().push(number);
        }
        // What is written may be the memory of another argument, of which all statements before have read this element.
        let writes = placed.accesses.written();
        for element in writes.filter_map(|target| element(stencil, target)) {
            let same: Vec<&str> = match element {
                "" => readers.keys().copied().collect(),
                element => vec![element, ""],
            };
            for element in same {
                for reader in readers.get_mut(element).into_iter().flatten() {
                    connect(&mut first, *reader, number);
                    *reader = number;
                }
                readers.get_mut(element).into_iter().for_each(Vec::dedup);
            }
        }
    }
    (0..statements.len())
        .map(|number| root(&mut first, number))
        .collect()
}

/// Which element of its argument a field is; empty for one that has no elements, or is whole.
fn element(stencil: &Stencil, target: Target) -> Option<&str> {
    let Target::Field(id) = target else {
        return None;
    };
    let name = &stencil.field(id).name;
    Some(name.find('[').map_or("", |begin| &name[begin..]))
}

fn connect(first: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(first, a), root(first, b));
    first[a.max(b)] = a.min(b);
}

/// The first of those that a statement is connected with; the way there becomes shorter.
fn root(first: &mut [usize], mut number: usize) -> usize {
    while first[number] != number {
        first[number] = first[first[number]];
        number = first[number];
    }
    number
}

/// The items of each nest; a sweep may become several.
fn distributed<'p>(items: Vec<Item<'p>>, nests: &[usize], count: usize) -> Vec<Vec<Item<'p>>> {
    let mut nests = nests.iter();
    let mut all: Vec<Vec<Item<'p>>> = (0..count).map(|_| Vec::new()).collect();
    for item in items {
        match item {
            Item::Parallel(placed) => {
                let nest = nests.next().copied().unwrap_or(0);
                all[nest].push(Item::Parallel(placed));
            }
            Item::Sweep(order, sections) => {
                let mut sweeps: BTreeMap<usize, Vec<_>> = BTreeMap::new();
                for (interval, body) in sections {
                    let mut bodies: BTreeMap<usize, Vec<Placed<'p>>> = BTreeMap::new();
                    for placed in body {
                        let nest = nests.next().copied().unwrap_or(0);
                        bodies.entry(nest).or_default().push(placed);
                    }
                    for (nest, body) in bodies {
                        sweeps.entry(nest).or_default().push((interval, body));
                    }
                }
                for (nest, sections) in sweeps {
                    all[nest].push(Item::Sweep(order, sections));
                }
            }
        }
    }
    all
}
