//! The `debug` backend: runs a stencil as the language defines it, and checks every access.
//!
//! It is what the other backends are compared with, so it is kept simple: a statement runs over the whole domain (extended by
//! what later statements read) before the next one starts, its value is computed everywhere before anything is stored, and
//! nothing is fused, reordered or parallel. Arithmetic follows the table in [`crate::math`].
//!
//! | module | what lives there |
//! |---|---|
//! | `element` | each element type as a Rust type, and what the operators do to it |
//! | `region` | boxes of grid points, and the blocks they are evaluated in |
//! | `array` | arguments and temporaries, with checked access |
//! | `state` | all arrays and scalars of a run |
//! | `access` | what is read or written, by its name in the source |
//! | `subscript` | levels and indices between brackets, and which elements they mean |
//! | `expression` | expressions as closures over the points of a block |
//! | `memory` | memory as large as a domain |
//! | `report` | what the checks say |
//! | `nan` | where the first NaN comes from |

mod access;
mod array;
mod element;
mod expression;
mod memory;
mod nan;
mod region;
mod report;
mod state;
mod subscript;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use fieldstone_stencil::grid::{Area, Extent};
use fieldstone_stencil::ir::{Order, Stencil, Stmt, StmtKind};
use fieldstone_stencil::{Offset, Program, Span};

use crate::call::Call;
use crate::error::RunError;
use access::Access;
use array::Array;
use element::{Element, dispatch};
use expression::values;
use memory::{collected, zeros};
use region::{Block, Region};
use state::{State, Values};
use subscript::{Indices, Level};

/// Whether the user wants a run to end. It is asked in loops, which may go on for ever, from the stack of the run.
pub static INTERRUPTED: OnceLock<fn() -> bool> = OnceLock::new();

/// Rounds of a loop between two such questions.
const ROUNDS: u64 = 64;

/// A stencil that runs step by step, with checks.
pub struct Interpreter {
    program: Arc<Program>,
    computations: Vec<(Order, Vec<Section>)>,
    checks_nan: bool,
}

struct Section {
    interval: fieldstone_stencil::Interval,
    statements: Vec<(Extent, Statement)>,
}

enum Statement {
    Assign(Assign),
    If {
        condition: Values<bool>,
        then: Vec<Statement>,
        orelse: Vec<Statement>,
    },
    Region {
        area: Area,
        body: Vec<Statement>,
    },
    While {
        condition: Values<bool>,
        body: Vec<Statement>,
    },
    Require {
        condition: Values<bool>,
        bounds: Vec<Values<i64>>,
        intervals: Vec<Span>,
    },
}

/// Evaluates a value on a region, where the mask holds, and stores it.
type Assign =
    Box<dyn Fn(&mut State, &Region, Option<&[bool]>) -> Result<(), RunError> + Send + Sync>;

impl Interpreter {
    /// Prepares a program.
    ///
    /// # Errors
    ///
    /// [`RunError::Unsupported`] for an operation that has no meaning on its type.
    pub fn new(program: Arc<Program>) -> Result<Interpreter, RunError> {
        let stencil = &program.stencil;
        let mut computations = Vec::with_capacity(stencil.computations.len());
        for (computation, extents) in stencil.computations.iter().zip(&program.analysis.extents) {
            let mut sections = Vec::with_capacity(computation.sections.len());
            for (section, extents) in computation.sections.iter().zip(extents) {
                let statements = statements(&section.body, stencil)?;
                sections.push(Section {
                    interval: section.interval,
                    statements: extents.iter().copied().zip(statements).collect(),
                });
            }
            computations.push((computation.order, sections));
        }
        Ok(Interpreter {
            program,
            computations,
            checks_nan: false,
        })
    }

    /// With `checks_nan`, a run ends with an error at the first NaN that a statement computes.
    pub fn check_nan(mut self, checks_nan: bool) -> Interpreter {
        self.checks_nan = checks_nan;
        self
    }

    /// Runs the stencil once.
    ///
    /// # Errors
    ///
    /// For an access outside of an array, and for a temporary read where nothing was written. Fields may be partly written
    /// by then.
    ///
    /// # Safety
    ///
    /// Every field of the call must describe memory that is valid for reads, and for writes where the stencil writes the
    /// field, over all the points it says it covers, and that nobody else writes meanwhile.
    pub unsafe fn run(&self, call: &Call) -> Result<(), RunError> {
        self.check_arguments(call)?;
        // SAFETY: forwarded to the caller.
        let mut state = unsafe { self.state(call)? };
        let stencil = &self.program.stencil;
        self.run_computations(&mut state, call.domain)
            .map_err(|error| nan::explained(error, &state, stencil).in_sources(&stencil.sources))
    }

    fn run_computations(&self, state: &mut State, domain: [usize; 3]) -> Result<(), RunError> {
        for (order, sections) in &self.computations {
            for section in sections {
                let levels = section.interval.resolve(domain[2]);
                match order {
                    _ if levels.is_empty() => {}
                    Order::Parallel => section.run_parallel(state, domain, levels)?,
                    Order::Forward => section.run_levels(state, domain, levels)?,
                    Order::Backward => section.run_levels(state, domain, levels.rev())?,
                }
            }
        }
        Ok(())
    }

    fn check_arguments(&self, call: &Call) -> Result<(), RunError> {
        let stencil = &self.program.stencil;
        let expected_types = stencil.scalars.iter().map(|scalar| scalar.dtype);
        let given_types = call.scalars.iter().map(|scalar| scalar.dtype);
        if call.fields.len() == stencil.fields.len() && expected_types.eq(given_types) {
            return Ok(());
        }
        let describe = |fields: usize, types: Vec<&str>| {
            format!("{fields} fields and the scalars ({})", types.join(", "))
        };
        Err(RunError::Arguments {
            stencil: stencil.name.clone(),
            expected: describe(
                stencil.fields.len(),
                stencil.scalars.iter().map(|s| s.dtype.name()).collect(),
            ),
            given: describe(
                call.fields.len(),
                call.scalars.iter().map(|s| s.dtype.name()).collect(),
            ),
        })
    }

    /// # Safety
    ///
    /// As [`Interpreter::run`].
    unsafe fn state(&self, call: &Call) -> Result<State, RunError> {
        let stencil = &self.program.stencil;
        let fields = stencil.fields.iter().zip(call.fields);
        let mut strides = call.data_strides.iter();
        let temporaries = stencil
            .temporaries
            .iter()
            .zip(&self.program.analysis.temporaries);
        Ok(State {
            fields: fields
                // SAFETY: forwarded to the caller.
                .map(|(field, argument)| unsafe {
                    let sizes = field.data_dims.iter().copied();
                    let data = sizes.zip(strides.by_ref().copied());
                    Array::argument(argument, field.axes, data)
                })
                .collect(),
            temporaries: temporaries
                .map(|(temporary, info)| {
                    let itemsize = temporary.dtype.expect("types are resolved").size();
                    let data_dims = &temporary.data_dims;
                    Array::temporary(
                        itemsize,
                        call.domain,
                        info.extent,
                        temporary.axes,
                        data_dims,
                    )
                })
                .collect::<Result<_, _>>()?,
            domain: call.domain,
            scalars: call.scalars.iter().map(|scalar| scalar.bits).collect(),
            checks_nan: self.checks_nan,
        })
    }
}

impl Section {
    /// Each statement on all levels, then the next.
    fn run_parallel(
        &self,
        state: &mut State,
        domain: [usize; 3],
        levels: Range<usize>,
    ) -> Result<(), RunError> {
        let [i, j, _] = domain;
        for (extent, statement) in &self.statements {
            let levels = Region::new([0, 0, levels.start as i64], [i, j, levels.len()]);
            statement.run(state, &levels.extended(*extent), None)?;
        }
        Ok(())
    }

    /// All statements on one level, then on the next.
    fn run_levels(
        &self,
        state: &mut State,
        [i, j, _]: [usize; 3],
        levels: impl Iterator<Item = usize>,
    ) -> Result<(), RunError> {
        for level in levels {
            let plane = Region::new([0, 0, level as i64], [i, j, 1]);
            for (extent, statement) in &self.statements {
                let [i, j, _] = extent.0;
                statement.run(state, &plane.extended(Extent([i, j, (0, 0)])), None)?;
            }
        }
        Ok(())
    }
}

impl Statement {
    fn run(
        &self,
        state: &mut State,
        region: &Region,
        mask: Option<&[bool]>,
    ) -> Result<(), RunError> {
        match self {
            Statement::Assign(assign) => assign(state, region, mask),
            Statement::Region { area, body } => {
                let inside = region.within(*area, state.domain);
                let (region, mask) = match mask {
                    None => (inside, None),
                    Some(mask) => (*region, Some(region.mask_of(&inside, mask)?)),
                };
                (body.iter())
                    .try_for_each(|statement| statement.run(state, &region, mask.as_deref()))
            }
            Statement::While { condition, body } => {
                let everywhere = std::iter::repeat(&true);
                let mut active = match mask {
                    None => collected(region.len(), everywhere.copied())?,
                    Some(mask) => collected(mask.len(), mask.iter().copied())?,
                };
                for round in 1u64.. {
                    if round.is_multiple_of(ROUNDS)
                        && INTERRUPTED.get().is_some_and(|asked| asked())
                    {
                        return Err(RunError::Interrupted);
                    }
                    let holds = evaluate(condition, state, region, Some(&active))?;
                    for (active, holds) in active.iter_mut().zip(holds) {
                        *active &= holds;
                    }
                    if !active.contains(&true) {
                        return Ok(());
                    }
                    for statement in body {
                        statement.run(state, region, Some(&active))?;
                    }
                }
                Ok(())
            }
            Statement::Require {
                condition,
                bounds,
                intervals,
            } => {
                let holds = evaluate(condition, state, region, mask)?;
                let fails = |point: usize| !holds[point] && mask.is_none_or(|mask| mask[point]);
                let Some(point) = (0..holds.len()).find(|point| fails(*point)) else {
                    return Ok(());
                };
                let levels = bounds.iter().map(|bound| {
                    let levels = evaluate(bound, state, region, mask)?;
                    Ok(levels[point])
                });
                let levels: Vec<i64> = levels.collect::<Result<_, RunError>>()?;
                Err(report::intervals(region.point(point), intervals, &levels))
            }
            Statement::If {
                condition,
                then,
                orelse,
            } => {
                let holds = evaluate(condition, state, region, mask)?;
                let within = |wanted: bool| {
                    let outer = |point: usize| mask.is_none_or(|mask| mask[point]);
                    let points = holds.iter().enumerate();
                    let points = points.map(|(point, &holds)| holds == wanted && outer(point));
                    collected(holds.len(), points)
                };
                for (branch, mask) in [(then, within(true)?), (orelse, within(false)?)] {
                    for statement in branch {
                        statement.run(state, region, Some(&mask))?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// The values of an expression on a region, in the order of its blocks.
fn evaluate<T: Element>(
    expression: &Values<T>,
    state: &State,
    region: &Region,
    mask: Option<&[bool]>,
) -> Result<Vec<T>, RunError> {
    let mut values = zeros::<T>(region.len())?;
    for Block { region, points } in region.blocks() {
        let active = mask.map(|mask| &mask[points.clone()]);
        expression(state, &region, active, &mut values[points])?;
    }
    Ok(values)
}

fn statements(body: &[Stmt], stencil: &Stencil) -> Result<Vec<Statement>, RunError> {
    body.iter()
        .map(|statement| match &statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                subscript,
                value,
                offset,
            } => dispatch!(value.dtype(), T => {
                let access = Access::new(stencil, *target, *target_span);
                let indices = Indices::new(subscript.as_deref(), stencil)?;
                let level = Level::of(subscript.as_deref(), stencil)?;
                let place = Place { offset: *offset, level, indices };
                let value = values(value, stencil)?;
                Ok(Statement::Assign(assign::<T>(access, place, value)))
            }),
            StmtKind::While { condition, body } => Ok(Statement::While {
                condition: values(condition, stencil)?,
                body: statements(body, stencil)?,
            }),
            StmtKind::Require {
                condition,
                bounds,
                intervals,
            } => Ok(Statement::Require {
                condition: values(condition, stencil)?,
                bounds: (bounds.iter().map(|bound| values(bound, stencil)))
                    .collect::<Result<_, _>>()?,
                intervals: intervals.clone(),
            }),
            StmtKind::Region { area, body } => Ok(Statement::Region {
                area: *area,
                body: statements(body, stencil)?,
            }),
            StmtKind::If {
                condition,
                then,
                orelse,
            } => Ok(Statement::If {
                condition: values(condition, stencil)?,
                then: statements(then, stencil)?,
                orelse: statements(orelse, stencil)?,
            }),
        })
        .collect()
}

/// Where a value is stored.
struct Place {
    offset: Offset,
    /// The level, where it is computed.
    level: Option<Level>,
    indices: Indices,
}

fn assign<T: Element>(access: Access, place: Place, value: Values<T>) -> Assign {
    Box::new(move |state, region, mask| {
        let values = evaluate(&value, state, region, mask)?;
        if state.checks_nan {
            nan::none(&values, region, mask, &access)?;
        }
        let mut places = Vec::new();
        for Block { region, points } in region.blocks() {
            let active = mask.map(|mask| &mask[points]);
            let array = state.array(access.target);
            let elements = (place.indices).locate(state, &region, active, array, &access)?;
            let there = region.shifted(place.offset);
            let levels = (place.level.as_ref())
                .map(|level| level.evaluate(state, &there, place.offset, active));
            places.push((elements, levels.transpose()?));
        }
        let array = state.array_mut(access.target);
        if place.level.is_none() {
            array.check(&region.shifted(place.offset), &access)?;
        }
        for (Block { region, points }, (elements, levels)) in region.blocks().zip(places) {
            let active = mask.map(|mask| &mask[points.clone()]);
            let there = region.shifted(place.offset);
            let (elements, values) = (elements.as_deref(), &values[points]);
            match levels {
                None => array.scatter(&there, active, elements, values),
                Some(levels) => {
                    array.scatter_levels(&there, &levels, elements, &access, active, values)?;
                }
            }
        }
        Ok(())
    })
}
