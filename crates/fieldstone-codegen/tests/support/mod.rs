//! gtscript text to programs, and grids of numbers to run them on.
#![allow(dead_code, reason = "every test file uses another part")]

pub mod idle;

use std::collections::HashMap;
use std::sync::Arc;

use fieldstone_codegen::RunError;
use fieldstone_codegen::call::{Call, FieldArgument, ScalarArgument};
use fieldstone_codegen::interpreter::Interpreter;
use fieldstone_script::{
    Definition, Environment, Keyword, Parameter, ParameterKind, definition::Value, names,
};
use fieldstone_stencil::types::Precision;
use fieldstone_stencil::{Axes, DType, Program, Source};

/// Five-point Laplacian, limited fluxes, update.
pub const HORIZONTAL_DIFFUSION: &str = "\
def horizontal_diffusion(phi, coefficient, phi_new):
    with computation(PARALLEL), interval(...):
        lap = phi[1, 0, 0] + phi[-1, 0, 0] + phi[0, 1, 0] + phi[0, -1, 0] - 4.0 * phi
        flux_i = lap[1, 0, 0] - lap
        flux_i = 0.0 if flux_i * (phi[1, 0, 0] - phi) > 0.0 else flux_i
        flux_j = lap[0, 1, 0] - lap
        flux_j = 0.0 if flux_j * (phi[0, 1, 0] - phi) > 0.0 else flux_j
        phi_new = phi - coefficient * (flux_i - flux_i[-1, 0, 0] + flux_j - flux_j[0, -1, 0])
";

/// A tridiagonal solve along K: rows `lower, diagonal, upper` times `x` is `rhs`.
pub const THOMAS: &str = "\
def thomas(lower, diagonal, upper, rhs, x):
    with computation(FORWARD):
        with interval(0, 1):
            ratio = upper / diagonal
            partial = rhs / diagonal
        with interval(1, None):
            pivot = diagonal - lower * ratio[0, 0, -1]
            ratio = upper / pivot
            partial = (rhs - lower * partial[0, 0, -1]) / pivot
    with computation(BACKWARD):
        with interval(-1, None):
            x = partial
        with interval(0, -1):
            x = partial - ratio * x[0, 0, 1]
";

/// Compiles a text. The kinds of its parameters are given in order: `"IJK float64"` is a field, `"IJK float64 3"` one of
/// vectors, `"float64"` a scalar.
pub fn program(text: &str, kinds: &[&str]) -> Arc<Program> {
    let signature = text
        .split_once('(')
        .expect("a def")
        .1
        .split_once(')')
        .expect("a def")
        .0;
    let names = signature
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let name = text
        .trim_start_matches("def ")
        .split('(')
        .next()
        .expect("a def");
    let definition = Definition {
        name: name.to_owned(),
        source: Source {
            file: "model/stencils.py".to_owned(),
            first_line: 11,
            indent: 0,
            text: text.to_owned(),
        },
        parameters: names
            .zip(kinds)
            .map(|(name, kind)| Parameter {
                name: name.to_owned(),
                kind: parameter_kind(kind),
            })
            .collect(),
        environment: Environment {
            values: names::scan(text)
                .paths
                .into_iter()
                .filter_map(|path| {
                    let keyword = Keyword::from_name(&path)?;
                    Some((path, Value::Keyword(keyword)))
                })
                .collect(),
            visible: Vec::new(),
        },
        functions: Vec::new(),
        externals: Vec::new(),
        dtypes: HashMap::new(),
    };
    let stencil = fieldstone_script::compile(&definition).expect("valid gtscript");
    Arc::new(Program::new(stencil, Precision::default()).expect("a valid stencil"))
}

fn parameter_kind(kind: &str) -> ParameterKind {
    let dtype = |name: &str| DType::from_name(name).expect("a type");
    match kind.split_once(' ') {
        None => ParameterKind::Scalar { dtype: dtype(kind) },
        Some((axes, element)) => {
            let mut element = element.split(' ');
            ParameterKind::Field {
                dtype: dtype(element.next().unwrap_or_default()),
                axes: Axes(["I", "J", "K"].map(|axis| axes.contains(axis))),
                data_dims: element.map(|size| size.parse().expect("a size")).collect(),
            }
        }
    }
}

/// Numbers on a domain and a halo around it, in some order in memory, at an address that fits no type.
pub struct Grid<T> {
    memory: Vec<u8>,
    strides: [isize; 3],
    lower: [usize; 3],
    upper: [usize; 3],
    element: std::marker::PhantomData<T>,
}

impl<T: Copy> Grid<T> {
    /// `value(i, j, k)` everywhere, halo included. An axis the field does not have has one point. `order` lists the axes
    /// from the fastest to the slowest.
    pub fn new(
        domain: [usize; 3],
        halo: [usize; 3],
        order: [usize; 3],
        value: impl Fn([i64; 3]) -> T,
    ) -> Grid<T> {
        let shape: [usize; 3] = std::array::from_fn(|n| domain[n] + 2 * halo[n]);
        let mut strides = [0; 3];
        // One spare element per point, so that no axis has unit stride.
        let mut bytes = 2 * size_of::<T>();
        for axis in order {
            strides[axis] = bytes as isize;
            bytes *= shape[axis];
        }
        let mut grid = Grid {
            memory: vec![0xa5; bytes + 1],
            strides,
            lower: halo,
            upper: std::array::from_fn(|n| domain[n] + halo[n]),
            element: std::marker::PhantomData,
        };
        for index in grid.points() {
            let address = grid.address(index);
            // SAFETY: the index is one of the grid's.
            unsafe { address.cast::<T>().write_unaligned(value(index)) };
        }
        grid
    }

    fn points(&self) -> Vec<[i64; 3]> {
        let along = |n: usize| -(self.lower[n] as i64)..self.upper[n] as i64;
        let mut points = Vec::new();
        for k in along(2) {
            for j in along(1) {
                for i in along(0) {
                    points.push([i, j, k]);
                }
            }
        }
        points
    }

    fn address(&mut self, index: [i64; 3]) -> *mut u8 {
        let from_start: isize = (0..3)
            .map(|n| (index[n] + self.lower[n] as i64) as isize * self.strides[n])
            .sum();
        self.memory.as_mut_ptr().wrapping_offset(1 + from_start)
    }

    pub fn get(&mut self, index: [i64; 3]) -> T {
        assert!(
            (0..3).all(|n| -(self.lower[n] as i64) <= index[n] && index[n] < self.upper[n] as i64)
        );
        let address = self.address(index);
        // SAFETY: the index was checked.
        unsafe { address.cast::<T>().read_unaligned() }
    }

    pub fn argument(&mut self, axes: &str) -> FieldArgument {
        let has = ["I", "J", "K"].map(|axis| axes.contains(axis));
        FieldArgument {
            pointer: self.address([0; 3]),
            strides: std::array::from_fn(|n| if has[n] { self.strides[n] } else { 0 }),
            lower: self.lower.map(|points| points as isize),
            upper: self.upper,
            padding: 0,
        }
    }
}

/// Runs a program in the interpreter.
pub fn interpret(
    program: &Arc<Program>,
    fields: &[FieldArgument],
    scalars: &[ScalarArgument],
    domain: [usize; 3],
) -> Result<(), RunError> {
    let interpreter = Interpreter::new(program.clone())?;
    let call = Call {
        data_strides: &[],
        fields,
        scalars,
        domain,
        threads: 1,
    };
    // SAFETY: the arguments come from grids that outlive the call.
    unsafe { interpreter.run(&call) }
}
