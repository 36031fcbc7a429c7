//! Nests of columns: each thread sweeps over one column.

use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::{Axis, ir::Order};

use super::Block;
use super::machine::ONE;
use super::window::{self, Window};
use crate::llvm::body::{Body, Known};
use crate::llvm::builder::Builder;
use crate::llvm::entry::{Context, Entry};
use crate::llvm::place::Row;
use crate::llvm::preheader::{accessed, preheader};
use crate::llvm::range::{clip_levels, in_area, level};

/// The windows of a nest: of its temporaries, and by number of the sweep and of the section in it.
pub(super) struct Windows {
    temporaries: Vec<Window>,
    sections: Vec<Vec<Vec<Window>>>,
}

impl Windows {
    /// Makes the windows, which have to be where the function begins.
    pub fn of(context: &Context<'_>, b: &mut Builder, nest: &ColumnNest) -> Windows {
        let mut count = 0;
        let mut section = |sweep: &Sweep, number| {
            count += 1;
            let windows = window::of_section(context, nest, sweep, number);
            let windows = windows.into_iter().map(|window| window.named(count));
            windows.collect::<Vec<Window>>()
        };
        let sweeps = nest.sweeps.iter().map(|sweep| {
            let numbers = 0..sweep.sections.len();
            numbers.map(|number| section(sweep, number)).collect()
        });
        let windows = Windows {
            sections: sweeps.collect(),
            temporaries: window::of_temporaries(context, nest),
        };
        let of_sections = windows.sections.iter().flatten().flatten();
        for window in windows.temporaries.iter().chain(of_sections) {
            window.make(context, b);
        }
        windows
    }
}

/// The columns of a block.
pub(super) fn columns(
    context: &Context<'_>,
    block: &Block<'_>,
    entry: &Entry,
    b: &mut Builder,
    (nest, windows): (&ColumnNest, &Windows),
    numbers: [String; 3],
) {
    let shape = block.shape;
    let [lanes, other, _] = shape.order();
    let (width, points) = (
        shape.tile[lanes.index()],
        shape.tile[lanes.index()] * shape.tile[other.index()],
    );
    block.machine.phase(b, shape, points, |b, point| {
        let places = [
            b.value(format_args!("urem i64 {point}, {width}")),
            b.value(format_args!("udiv i64 {point}, {width}")),
        ];
        let mut row = Row {
            vector: lanes,
            index: Default::default(),
            tile: Default::default(),
            panel: None,
            moving: None,
        };
        let mut inside = Vec::new();
        for (axis, number) in [lanes, other].into_iter().zip(places) {
            let n = axis.index();
            let (before, after) = nest.extent.along(axis);
            let first = b.mul(&numbers[n], shape.tile[n]);
            let first = b.sub(&first, before);
            let index = b.add(&first, number);
            let end = b.add(&entry.domain[n], after);
            inside.push(b.value(format_args!("icmp slt i64 {index}, {end}")));
            (row.index[n], row.tile[n]) = (index, first);
        }
        row.tile[2] = String::from("0");
        let column = Column {
            context,
            entry,
            nest,
            windows,
            row,
        };
        let inside = b.all(inside).unwrap_or_default();
        b.when(&inside, |b| {
            for (number, sweep) in nest.sweeps.iter().enumerate() {
                for section in 0..sweep.sections.len() {
                    column.section(b, sweep, &windows.sections[number][section], section);
                }
            }
        });
    });
}

/// The column of a thread.
struct Column<'a> {
    context: &'a Context<'a>,
    entry: &'a Entry,
    nest: &'a ColumnNest,
    windows: &'a Windows,
    /// Its first level.
    row: Row,
}

impl Column<'_> {
    fn section(&self, b: &mut Builder, sweep: &Sweep, windows: &[Window], number: usize) {
        let (context, entry) = (self.context, self.entry);
        let (interval, stages) = &sweep.sections[number];
        let order = sweep.order;
        let direction = window::direction(order);
        let levels = clip_levels(entry, b, *interval, entry.levels.clone());
        let fill = |b: &mut Builder| {
            let row = self.at(b, order, &levels, &levels.0);
            for window in windows {
                window.fill(context, entry, b, (&row, direction));
            }
        };
        if !windows.is_empty() {
            let any = b.value(format_args!("icmp slt i64 {}, {}", levels.0, levels.1));
            b.when(&any, fill);
        }
        b.for_loop(&levels.0, &levels.1, "1", |b, count| {
            let row = self.at(b, order, &levels, count);
            if !windows.is_empty() {
                let next = b.add(count, 1);
                let more = b.value(format_args!("icmp slt i64 {next}, {}", levels.1));
                for window in windows {
                    window.fetch(context, entry, b, (&row, direction), &more);
                }
            }
            for stage in stages {
                self.stage(b, order, (stage, windows), &row);
            }
            for window in windows.iter().chain(&self.windows.temporaries) {
                window.advance(context, b);
            }
        });
    }

    /// The level that is the `count`th of a section.
    fn at(&self, b: &mut Builder, order: Order, levels: &(String, String), count: &str) -> Row {
        let mut row = Row {
            vector: self.row.vector,
            index: self.row.index.clone(),
            tile: self.row.tile.clone(),
            panel: None,
            moving: None,
        };
        row.index[2] = level(b, order, levels, count);
        row
    }

    /// A stage at a level.
    fn stage(
        &self,
        b: &mut Builder,
        order: Order,
        (stage, windows): (&Stage, &[Window]),
        row: &Row,
    ) {
        let mut tests = Vec::new();
        for axis in [Axis::I, Axis::J] {
            let index = &row.index[axis.index()];
            let (before, after) = stage.extent.along(axis);
            if (before, after) != self.nest.extent.along(axis) {
                let end = b.add(&self.entry.domain[axis.index()], after);
                tests.push(b.value(format_args!("icmp sge i64 {index}, {}", -before)));
                tests.push(b.value(format_args!("icmp slt i64 {index}, {end}")));
            }
            tests.extend(in_area(self.entry, b, stage.area, axis, index));
        }
        let compute = |b: &mut Builder| self.compute(b, order, (stage, windows), row);
        match b.all(tests) {
            Some(inside) => b.when(&inside, compute),
            None => compute(b),
        }
    }

    fn compute(
        &self,
        b: &mut Builder,
        order: Order,
        (stage, windows): (&Stage, &[Window]),
        row: &Row,
    ) {
        let (context, entry) = (self.context, self.entry);
        let preheader = preheader(context, entry, b, stage, row, false);
        let used = accessed(stage);
        let windows = windows.iter().chain(&self.windows.temporaries);
        let windows: Vec<&Window> = windows.filter(|window| window.is_in(&used)).collect();
        let mut values = Known::new();
        for window in &windows {
            window.tell(context, b, window::direction(order), &mut values);
        }
        let first = &row.index[row.vector.index()];
        let mut body = Body::new((context, entry, b), ONE, (row, &preheader), first, None);
        body.values = values;
        body.stage(stage);
        let values = std::mem::take(&mut body.values);
        for window in windows {
            window.note(context, b, stage, &values);
        }
    }
}
