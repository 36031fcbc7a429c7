//! Random stencils for tests: well-formed, untyped IR that every backend must agree on.
//!
//! A [`Shape`] says how large they are; a seed which one it is. The same seed gives the same stencil for ever, on every
//! machine. Stencils pass [`Program::new`](crate::Program::new) and can be written as gtscript with
//! [`text::gtscript`](crate::text::gtscript()):
//!
//! - fields of several types, lower-dimensional ones too; the first ones are only read, the last ones written;
//! - PARALLEL, FORWARD and BACKWARD, with one to three intervals; values carried from level to level;
//! - offsets along all axes, `if` and conditional expressions, temporaries with and without annotation;
//! - temporaries are assigned at every point at which they are read, so no backend's choice of a default shows.
//!
//! Values stay tame for inputs of the order of 1: divisors are at least 1 in magnitude, reals are not converted to integers.
//! With [`Shape::exact`] only functions are used whose every bit IEEE 754 prescribes, so that NumPy must agree too.

mod computation;
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
    scalars: Vec<Scalar>,
    temporaries: Vec<Temporary>,
    /// Per temporary.
    kinds: Vec<Kind>,
    /// Temporaries with a value at every level of the domain.
    everywhere: HashSet<TempId>,
}

/// Where an expression stands.
#[derive(Clone, Debug)]
struct Place {
    order: Order,
    interval: Interval,
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
}

impl<'a> Generator<'a> {
    fn new(random: &'a mut Random, shape: &'a Shape) -> Self {
        Generator {
            random,
            shape,
            fields: Vec::new(),
            scalars: Vec::new(),
            temporaries: Vec::new(),
            kinds: Vec::new(),
            everywhere: HashSet::new(),
        }
    }

    fn stencil(mut self, seed: u64) -> Stencil {
        self.parameters();
        let count = 1 + self.random.below(self.shape.computations.max(1));
        let mut computations: Vec<Computation> = (0..count).map(|_| self.computation()).collect();
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
        for n in 0..self.shape.inputs {
            // The first is three-dimensional, so that there is a domain to speak of.
            let axes = if n > 0 && self.random.chance(30) {
                self.random.pick(&LOWER)
            } else {
                Axes::IJK
            };
            self.field(format!("in{n}"), axes);
        }
        for n in 0..self.shape.outputs {
            let axes = if n > 0 && self.random.chance(20) {
                LOWER[0]
            } else {
                Axes::IJK
            };
            self.field(format!("out{n}"), axes);
        }
        for n in 0..self.shape.scalars {
            let dtype = self.random.pick(&self.shape.dtypes);
            self.scalars.push(Scalar {
                name: format!("s{n}"),
                dtype,
                span: Span::default(),
            });
        }
    }

    fn field(&mut self, name: String, axes: Axes) {
        let dtype = self.random.pick(&self.shape.dtypes);
        self.fields.push(Field {
            name,
            dtype,
            axes,
            data_dims: Vec::new(),
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
        // Axes are written with a type only.
        let annotated = planar || self.random.chance(25);
        let mut temporary = Temporary::at_every_point(
            format!("t{}", id.0),
            annotated.then_some(annotation),
            Span::default(),
        );
        if planar {
            temporary.axes = Axes([true, true, false]);
        }
        self.temporaries.push(temporary);
        self.kinds.push(kind);
        id
    }

    fn outputs(&self) -> std::ops::Range<u32> {
        self.shape.inputs as u32..self.fields.len() as u32
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
}
