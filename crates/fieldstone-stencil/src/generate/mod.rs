//! Random stencils for tests: well-formed, untyped IR that every backend must agree on.
//!
//! A [`Shape`] says how large they are; a seed which one it is. The same seed gives the same stencil for ever, on every
//! machine. Stencils pass [`Program::new`](crate::Program::new) and can be written as gtscript with
//! [`text::gtscript`](crate::text::gtscript()):
//!
//! - fields of several types, lower-dimensional ones and tables too; the first ones are only read, the last ones written;
//! - data dimensions: vectors and matrices read and written element by element, at indices that are known or computed, and
//!   as a whole;
//! - PARALLEL, FORWARD and BACKWARD, with one to three intervals, or one whose bounds the call gives; values carried from
//!   level to level;
//! - offsets along all axes, levels that are computed, writes to other levels; regions;
//! - `if`, `while` and conditional expressions, temporaries with and without annotation, over all axes or over IJ;
//! - temporaries are assigned at every point at which they are read, so no backend's choice of a default shows.
//!
//! Values stay tame for inputs of the order of 1: divisors are at least 1 in magnitude, reals are not converted to integers.
//! With [`Shape::exact`] only functions are used whose every bit IEEE 754 prescribes, so that NumPy must agree too.

mod bounded;
mod computation;
mod data;
mod expression;
mod level;
mod offset;
mod random;

use std::collections::HashSet;

use self::random::Random;
use crate::dtype::DType;
use crate::grid::{Axes, Interval};
use crate::ir::{
    Computation, Field, FieldId, Order, Param, Scalar, ScalarId, Stencil, Target, TempId, Temporary,
};
use crate::program::Program;
use crate::source::Span;
use crate::text::gtscript_with_functions;
use crate::types::Precision;

/// How large a random stencil is, and what may be in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Fields that are only read.
    pub inputs: usize,
    /// Fields that are written.
    pub outputs: usize,
    /// Scalar parameters.
    pub scalars: usize,
    /// Computations, at most.
    pub computations: usize,
    /// Statements per section, at most.
    pub statements: usize,
    /// Operations on top of each other, at most.
    pub depth: usize,
    /// The largest offset.
    pub reach: i32,
    /// Types of fields and scalars; booleans come from comparisons.
    pub dtypes: Vec<DType>,
    /// Only operations whose every bit is prescribed: no transcendental functions, no real powers.
    pub exact: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            inputs: 4,
            outputs: 2,
            scalars: 2,
            computations: 3,
            statements: 4,
            depth: 3,
            reach: 2,
            dtypes: vec![
                DType::Float64,
                DType::Float64,
                DType::Float32,
                DType::Int32,
                DType::Int64,
                DType::Bool,
            ],
            exact: true,
        }
    }
}

impl Shape {
    /// The shape that goes with a seed: the usual one, or one with other types, sizes or distances.
    pub fn of_seed(seed: u64) -> Shape {
        let usual = Shape::default();
        match seed % 8 {
            // In single precision, as models run.
            1 => Shape {
                dtypes: vec![DType::Float32, DType::Float32, DType::Int32, DType::Bool],
                ..usual
            },
            // Many short statements.
            3 => Shape {
                computations: 5,
                statements: 7,
                depth: 2,
                ..usual
            },
            // Few fields, and long ways between points.
            5 => Shape {
                inputs: 2,
                outputs: 3,
                reach: 3,
                ..usual
            },
            // Numbers of few bits.
            7 => Shape {
                dtypes: vec![
                    DType::Float32,
                    DType::Float64,
                    DType::Int8,
                    DType::Int16,
                    DType::UInt8,
                    DType::UInt32,
                ],
                ..usual
            },
            _ => usual,
        }
    }
}

/// The stencil of a seed.
///
/// # Panics
///
/// If the shape has no outputs or no types.
pub fn stencil(seed: u64, shape: &Shape) -> Stencil {
    assert!(
        shape.outputs > 0 && !shape.dtypes.is_empty(),
        "a stencil needs outputs and types"
    );
    // Rarely, what was drawn has an extent that grows with every level; the next try is drawn on.
    let mut random = Random(seed);
    loop {
        let stencil = Generator::new(&mut random, shape).stencil(seed);
        if Program::new(stencil.clone(), Precision::default()).is_ok() {
            return stencil;
        }
    }
}

/// The gtscript of the stencil of a seed, with functions for parts of its expressions: also the same for ever.
pub fn text_with_functions(seed: u64, stencil: &Stencil) -> String {
    let mut random = Random(!seed);
    gtscript_with_functions(stencil, &mut |end| random.below(end))
}

/// What an expression has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Real,
}

impl Kind {
    fn of(dtype: DType) -> Kind {
        match dtype {
            DType::Bool => Kind::Bool,
            _ if dtype.is_int() => Kind::Int,
            _ => Kind::Real,
        }
    }
}

struct Generator<'a> {
    random: &'a mut Random,
    shape: &'a Shape,
    fields: Vec<Field>,
    /// Fields that are only read.
    inputs: usize,
    scalars: Vec<Scalar>,
    temporaries: Vec<Temporary>,
    /// Per temporary.
    kinds: Vec<Kind>,
    /// Temporaries with a value at every level of the domain.
    everywhere: HashSet<TempId>,
}

/// Which levels an interval has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Levels {
    /// Those that its text says.
    Known,
    /// Those that a number of the call says.
    Computed,
    /// Those that a field says, others in each column.
    PerColumn,
}

/// Where an expression stands.
#[derive(Clone, Debug)]
struct Place {
    order: Order,
    interval: Interval,
    levels: Levels,
    /// What the computation writes.
    written: HashSet<Target>,
    /// Temporaries that have a value at this level.
    here: HashSet<TempId>,
    /// Temporaries that the computation writes first of all, at every level.
    carried: HashSet<TempId>,
    /// Fields that may be written at other levels.
    moved: HashSet<Target>,
    /// What the loop around writes.
    looped: HashSet<Target>,
    /// The target of the statement.
    target: Option<Target>,
    /// Counts the rounds of the loop around.
    counter: Option<Target>,
    /// Data dimensions of which all elements are computed in the same way.
    whole: Option<Vec<u32>>,
    /// Inside of an index.
    index: bool,
}

impl Place {
    /// At the levels of an interval, with nothing assigned before.
    fn new(order: Order, interval: Interval, written: HashSet<Target>) -> Place {
        Place {
            order,
            interval,
            levels: Levels::Known,
            written,
            here: HashSet::new(),
            carried: HashSet::new(),
            moved: HashSet::new(),
            looped: HashSet::new(),
            target: None,
            counter: None,
            whole: None,
            index: false,
        }
    }
}

impl<'a> Generator<'a> {
    fn new(random: &'a mut Random, shape: &'a Shape) -> Self {
        Generator {
            random,
            shape,
            fields: Vec::new(),
            inputs: 0,
            scalars: Vec::new(),
            temporaries: Vec::new(),
            kinds: Vec::new(),
            everywhere: HashSet::new(),
        }
    }

    fn stencil(mut self, seed: u64) -> Stencil {
        self.parameters();
        let count = 1 + self.random.below(self.shape.computations.max(1));
        let mut computations: Vec<Computation> = Vec::new();
        for _ in 0..count {
            let bounded = match self.random.chance(15) {
                true => self.bounded(),
                false => None,
            };
            let next = bounded.unwrap_or_else(|| self.computation());
            computations.push(next);
        }
        computations.extend(self.missing_outputs(&computations));
        let fields = (0..self.fields.len() as u32).map(|n| Param::Field(FieldId(n)));
        let scalars = (0..self.scalars.len() as u32).map(|n| Param::Scalar(ScalarId(n)));
        Stencil {
            name: format!("random_{seed}"),
            params: fields.chain(scalars).collect(),
            fields: self.fields,
            scalars: self.scalars,
            temporaries: self.temporaries,
            computations,
            fast_math: Default::default(),
            sources: Default::default(),
        }
    }

    fn parameters(&mut self) {
        const LOWER: [Axes; 4] = [
            Axes([true, true, false]),
            Axes([false, false, true]),
            Axes([true, false, false]),
            Axes([false, true, false]),
        ];
        let dtypes = self.shape.dtypes.clone();
        for n in 0..self.shape.inputs {
            // The first is three-dimensional, so that there is a domain to speak of.
            let axes = match n {
                0 => Axes::IJK,
                _ if self.random.chance(12) => Axes([false; 3]),
                _ if self.random.chance(30) => self.random.pick(&LOWER),
                _ => Axes::IJK,
            };
            let data_dims = match n {
                0 => Vec::new(),
                _ => self.data_dims_along(axes),
            };
            let dtype = self.random.pick(&dtypes);
            self.field(format!("in{n}"), axes, dtype, data_dims);
        }
        if self.random.chance(20) {
            // Where columns begin or end.
            let axes = self.random.pick(&[LOWER[0], LOWER[0], LOWER[2], LOWER[3]]);
            let dtype = self.random.pick(&[DType::Int32, DType::Int64]);
            self.field("depth".to_string(), axes, dtype, Vec::new());
        }
        self.inputs = self.fields.len();
        for n in 0..self.shape.outputs {
            let axes = if n > 0 && self.random.chance(20) {
                LOWER[0]
            } else {
                Axes::IJK
            };
            let data_dims = self.data_dims_along(axes);
            let dtype = self.random.pick(&dtypes);
            self.field(format!("out{n}"), axes, dtype, data_dims);
        }
        let mut scalars: Vec<DType> = (0..self.shape.scalars)
            .map(|_| match self.random.pick(&dtypes) {
                // Names of other types stand for no type outside of a field.
                dtype if dtype.is_int() => self.random.pick(&[DType::Int32, DType::Int64]),
                dtype => dtype,
            })
            .collect();
        if self.random.chance(40) {
            scalars.push(self.random.pick(&[DType::Int32, DType::Int64]));
        }
        for (n, dtype) in scalars.into_iter().enumerate() {
            self.scalars.push(Scalar {
                name: format!("s{n}"),
                dtype,
                span: Span::default(),
            });
        }
    }

    fn field(&mut self, name: String, axes: Axes, dtype: DType, data_dims: Vec<u32>) {
        // Half precision is one of memory only.
        let dtype = match dtype {
            DType::Float32 if self.random.chance(10) => DType::Float16,
            other => other,
        };
        self.fields.push(Field {
            name,
            dtype,
            axes,
            data_dims,
            span: Span::default(),
        });
    }

    /// A new temporary; in a vertical loop perhaps one without levels.
    fn temporary(&mut self, order: Order) -> TempId {
        let id = TempId(self.temporaries.len() as u32);
        let kind = self
            .random
            .pick(&[Kind::Real, Kind::Real, Kind::Real, Kind::Int, Kind::Bool]);
        let annotation = match kind {
            Kind::Real => self.random.pick(&[DType::Float32, DType::Float64]),
            Kind::Int => self.random.pick(&[DType::Int32, DType::Int64]),
            Kind::Bool => DType::Bool,
        };
        let planar = order != Order::Parallel && self.random.chance(30);
        let axes = match planar {
            true => Axes([true, true, false]),
            false => Axes::IJK,
        };
        let data_dims = self.data_dims_along(axes);
        // Axes and sizes are written with a type only.
        let annotated = planar || !data_dims.is_empty() || self.random.chance(25);
        self.temporaries.push(Temporary {
            axes,
            data_dims,
            ..Temporary::at_every_point(
                format!("t{}", id.0),
                annotated.then_some(annotation),
                Span::default(),
            )
        });
        self.kinds.push(kind);
        id
    }

    fn outputs(&self) -> std::ops::Range<u32> {
        self.inputs as u32..self.fields.len() as u32
    }

    fn kind(&self, target: Target) -> Kind {
        match target {
            Target::Field(id) => Kind::of(self.fields[id.0 as usize].dtype),
            Target::Temp(id) => self.kinds[id.0 as usize],
        }
    }

    fn axes(&self, target: Target) -> Axes {
        match target {
            Target::Field(id) => self.fields[id.0 as usize].axes,
            Target::Temp(id) => self.temporaries[id.0 as usize].axes,
        }
    }

    fn data_dims(&self, target: Target) -> &[u32] {
        match target {
            Target::Field(id) => &self.fields[id.0 as usize].data_dims,
            Target::Temp(id) => &self.temporaries[id.0 as usize].data_dims,
        }
    }
}
