//! Random stencils: they pass every check, survive printing, and find what they read where the analysis says it is.

use std::collections::HashMap;

use fieldstone_stencil::generate::{Shape, stencil, text_with_functions};
use fieldstone_stencil::grid::Range;
use fieldstone_stencil::ir::{LevelIndex, Order, Stencil, Stmt, Target};
use fieldstone_stencil::text::{gtscript, parse, print, without_spans};
use fieldstone_stencil::types::{Precision, resolve};
use fieldstone_stencil::verify::verify;
use fieldstone_stencil::visit::{Access, accesses};
use fieldstone_stencil::{Area, Axis, Extent, Program};
use proptest::prelude::*;

fn shapes() -> impl Strategy<Value = Shape> {
    (
        0..5usize,
        1..4usize,
        0..3usize,
        1..6usize,
        1..8usize,
        1..5usize,
        0..4i32,
    )
        .prop_map(
            |(inputs, outputs, scalars, computations, statements, depth, reach)| Shape {
                inputs,
                outputs,
                scalars,
                computations,
                statements,
                depth,
                reach,
                exact: reach % 2 == 0,
                ..Shape::default()
            },
        )
}

fn printed_and_parsed(stencil: &Stencil) -> Stencil {
    let text = print(stencil);
    let parsed = parse("test", &text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(print(&parsed), text);
    without_spans(parsed)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn printing_and_parsing_gives_the_same(seed: u64, shape in shapes()) {
        let untyped = stencil(seed, &shape);
        prop_assert_eq!(printed_and_parsed(&untyped), without_spans(untyped.clone()));
        let typed = resolve(untyped, Precision::default()).unwrap();
        verify(&typed).unwrap();
        prop_assert_eq!(printed_and_parsed(&typed), without_spans(typed));
    }

    #[test]
    fn any_literal_precision_gives_well_typed_stencils(
        seed: u64,
        int in prop::option::of(prop::sample::select(vec![8, 16, 32, 64])),
        float in prop::option::of(prop::sample::select(vec![32, 64])),
    ) {
        // What does not fit the precision is an error; what comes out is right.
        let shape = Shape::default();
        if let Ok(typed) = resolve(stencil(seed, &shape), Precision { int, float }) {
            verify(&typed).unwrap();
        }
    }

    #[test]
    fn every_read_finds_what_was_computed(seed: u64, shape in shapes()) {
        let program = Program::new(stencil(seed, &shape), Precision::default()).unwrap();
        Run::new(&program).run();
    }
}

#[test]
fn a_seed_gives_the_same_stencil_for_ever() {
    let shape = Shape::default();
    let texts: Vec<String> = (0..3)
        .map(|seed| {
            let stencil = stencil(seed, &shape);
            let texts = [print(&stencil), text_with_functions(seed, &stencil)];
            texts.join("\n")
        })
        .collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn the_whole_language_is_drawn() {
    let text: String = (0..200)
        .map(|seed| {
            let stencil = stencil(seed, &Shape::of_seed(seed));
            format!(
                "{}{}",
                gtscript(&stencil),
                text_with_functions(seed, &stencil)
            )
        })
        .collect();
    for part in [
        "PARALLEL",
        "FORWARD",
        "BACKWARD",
        "interval(...)",
        "interval(-1, None)",
        "with interval((s",
        "((depth // 2) % 5)",
        "% 5)):",
        "(2, 2,))]",
        ": GlobalTable[(",
        ": Field[K, \"float64\"]",
        ": Field[IJ, \"float32\"] =",
        ".A[",
        "[0, 0, 0][1] =",
        "[0, 0, 0][1, 0] =",
        ".at(K=",
        "[0, 0, -2] =",
        "% 4) - K) + 0] =",
        "while (",
        "if (",
        "else:",
        "with horizontal(region[",
        " if ",
        "isnan(",
        "@function",
        "    local = ",
        "value[1, -1, 0]",
        "t0, t1 = function",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

/// Runs a program on a domain of as few columns as it takes, writing down nothing but which points have a value.
struct Run<'a> {
    program: &'a Program,
    levels: i64,
    columns: [i64; 2],
    /// Points of temporaries with a value.
    values: HashMap<(Target, [i64; 3]), ()>,
}

impl<'a> Run<'a> {
    fn new(program: &'a Program) -> Self {
        Run {
            program,
            levels: program.analysis.min_levels.max(4) as i64,
            columns: program
                .analysis
                .min_points
                .map(|points| points.max(1) as i64),
            values: HashMap::new(),
        }
    }

    fn run(mut self) {
        let program = self.program;
        for (c, computation) in program.stencil.computations.iter().enumerate() {
            let mut levels: Vec<i64> = (0..self.levels).collect();
            if computation.order == Order::Backward {
                levels.reverse();
            }
            // All levels of a statement at once, or all statements of a level.
            let groups: Vec<Vec<i64>> = match computation.order {
                Order::Parallel => vec![levels],
                _ => levels.into_iter().map(|level| vec![level]).collect(),
            };
            for group in groups {
                for (s, section) in computation.sections.iter().enumerate() {
                    let range = section.interval.resolve(self.levels as usize);
                    for (n, stmt) in section.body.iter().enumerate() {
                        let extent = program.analysis.extents[c][s][n];
                        let here = group
                            .iter()
                            .filter(|level| range.contains(&(**level as usize)));
                        let points: Vec<[i64; 3]> =
                            here.flat_map(|level| self.points(extent, *level)).collect();
                        self.statement(stmt, &points);
                    }
                }
            }
        }
    }

    fn statement(&mut self, stmt: &Stmt, points: &[[i64; 3]]) {
        accesses(std::slice::from_ref(stmt), &mut |access| {
            let Access {
                target,
                offset,
                level,
                write,
                area,
                ..
            } = access;
            let axes = self.program.stencil.target_axes(target);
            // A level that is computed is checked where it is known, when the stencil runs.
            let computed = level != LevelIndex::Constant;
            let checked: Vec<Axis> = axes
                .iter()
                .filter(|axis| !(computed && *axis == Axis::K))
                .collect();
            for point in points {
                if !self.is_in(area, point) {
                    continue;
                }
                let mut at: [i64; 3] = std::array::from_fn(|n| point[n] + i64::from(offset.0[n]));
                if !axes.contains(Axis::K) {
                    at[2] = 0;
                }
                match target {
                    Target::Field(_) => self.inside(target, &checked, at),
                    Target::Temp(_) if write => {
                        self.values.insert((target, at), ());
                    }
                    Target::Temp(_) if computed => self.inside(target, &checked, at),
                    Target::Temp(_) => {
                        let name = self.program.stencil.target_name(target);
                        assert!(
                            self.values.contains_key(&(target, at)),
                            "{name} has no value at {at:?}, read from {point:?} by\n{}",
                            print(&self.program.stencil)
                        );
                        self.inside(target, &checked, at);
                    }
                }
            }
        });
    }

    /// Whether the reported extent covers a point along these axes.
    fn inside(&self, target: Target, axes: &[Axis], at: [i64; 3]) {
        let extent = match target {
            Target::Field(id) => self.program.analysis.fields[id.0 as usize].extent,
            Target::Temp(id) => self.program.analysis.temporaries[id.0 as usize].extent,
        };
        let sizes = [self.columns[0], self.columns[1], self.levels];
        for &axis in axes {
            let (lower, upper) = extent.along(axis);
            let n = axis.index();
            assert!(
                at[n] >= -i64::from(lower) && at[n] < sizes[n] + i64::from(upper),
                "{} is accessed at {at:?}, outside of {extent} along {axis}, by\n{}",
                self.program.stencil.target_name(target),
                print(&self.program.stencil)
            );
        }
    }

    fn points(&self, extent: Extent, level: i64) -> Vec<[i64; 3]> {
        let range = |axis: Axis| {
            let (lower, upper) = extent.along(axis);
            -i64::from(lower)..self.columns[axis.index()] + i64::from(upper)
        };
        range(Axis::I)
            .flat_map(|i| range(Axis::J).map(move |j| [i, j, level]))
            .collect()
    }

    fn is_in(&self, area: Area, point: &[i64; 3]) -> bool {
        (0..2).all(|n| {
            let size = self.columns[n] as usize;
            let Range { start, end } = area.0[n];
            start.is_none_or(|start| point[n] >= start.resolve(size))
                && end.is_none_or(|end| point[n] < end.resolve(size))
        })
    }
}
