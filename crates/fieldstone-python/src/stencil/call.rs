//! A call: from the arguments as Python gives them to the run of the backend.

use fieldstone_codegen::alias::{self, Footprint};
use fieldstone_codegen::call::{Call, FieldArgument, ScalarArgument};
use fieldstone_codegen::domain;
use fieldstone_codegen::error::CallError;
use fieldstone_codegen::native;
use fieldstone_codegen::uses::Uses;
use fieldstone_stencil::Span;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use super::failure::call_error;
use super::frozen::Place;
use super::graph;
use super::on_device::OnDevice;
use super::operand::{Operand, fill};
use super::remembered::{Known, Passed, Remembered};
use super::{PerField, Stencil};
use crate::arguments::{self, Arguments, Keywords};
use crate::backend::{Executor, Prepared, run_error};
use crate::ending::entered;
use crate::errors::raise;
use crate::numpy_backend::within;
use crate::storage::describe;

#[pymethods]
impl Stencil {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        slf: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let _inside = entered(py);
        let stencil = slf.get();
        let (arguments, keywords) = stencil.signature.bind(args, kwargs)?;
        let Some(times) = &keywords.exec_info else {
            return stencil.run(py, &arguments, &keywords, None, &stencil.remembered);
        };
        stamp(times, "call_start_time")?;
        stamp(times, "call_run_start_time")?;
        stencil.run(py, &arguments, &keywords, None, &stencil.remembered)?;
        stamp(times, "call_run_end_time")?;
        stamp(times, "call_end_time")?;
        let module = py.import(intern!(py, "fieldstone.gtscript.exec_info"))?;
        module.call_method1(intern!(py, "aggregate"), (times, slf.get_type().name()?))?;
        Ok(())
    }
}

impl Stencil {
    /// Runs the stencil where it was frozen. Nothing is to be told of what comes before the run, nor added up.
    pub(super) fn call_frozen<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        place: &Place,
        remembered: &Remembered,
    ) -> PyResult<()> {
        let py = args.py();
        let _inside = entered(py);
        let (arguments, keywords) = self.signature.bind(args, kwargs)?;
        let Some(times) = &keywords.exec_info else {
            return self.run(py, &arguments, &keywords, Some(place), remembered);
        };
        stamp(times, "call_run_start_time")?;
        self.run(py, &arguments, &keywords, Some(place), remembered)?;
        stamp(times, "call_run_end_time")
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'py>,
        keywords: &Keywords<'py>,
        fixed: Option<&Place>,
        remembered: &Remembered,
    ) -> PyResult<()> {
        self.refuse_stream(py, keywords)?;
        let recording = graph::is_recording();
        let known = match recording {
            true => None,
            false => remembered.find(self, arguments, keywords, fixed.is_some()),
        };
        if let Some(known) = known {
            return match known.prepared() {
                Prepared::Native(prepared) => self.run_known(py, &known, prepared, arguments),
                Prepared::Gpu(prepared) => {
                    self.run_known_on_device(py, &known, prepared, (arguments, keywords))
                }
            };
        }
        self.run_checked(py, arguments, keywords, (fixed, recording), remembered)
    }

    /// Runs a call after all checks, and remembers it.
    fn run_checked<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'py>,
        keywords: &Keywords<'py>,
        (fixed, recording): (Option<&Place>, bool),
        remembered: &Remembered,
    ) -> PyResult<()> {
        let mut operands = PerField::new();
        self.operands(py, arguments, keywords.validate, &mut operands)?;
        let scalars = self.scalars(arguments)?;
        let (origins, domain) = match fixed {
            None => self.place(py, &mut operands, keywords)?,
            Some(place) if keywords.origin.is_none() && keywords.domain.is_none() => {
                (SmallVec::from_slice(&place.origins), place.domain)
            }
            Some(_) => {
                let message = "origin and domain of a frozen stencil are fixed; call the stencil itself to choose others";
                return Err(raise(py, "ArgumentTypeError", message));
            }
        };
        if keywords.validate {
            self.check(&operands, &origins, domain)
                .map_err(|error| call_error(py, &error))?;
        } else if matches!(self.executor, Executor::Interpreter(_)) {
            // The interpreter checks every access by itself, but does not see that two arrays are one.
            self.check_memory(&operands, &origins, domain)
                .map_err(|error| self.race(py, &error))?;
        }
        let on_device = match &self.executor {
            Executor::Gpu(_) => Some(self.on_device(py, &mut operands, keywords)?),
            _ => None,
        };
        let fields: PerField<FieldArgument> = operands
            .iter()
            .zip(&origins)
            .map(|(operand, origin)| operand.argument(origin))
            .collect();
        // An argument that is left out has none, but those behind it stand at their places.
        let data_strides: SmallVec<[isize; 8]> = (self.fields.iter().zip(&operands))
            .flat_map(|(field, operand)| {
                let stride = |n| operand.data.get(n).map_or(0, |(_, stride)| *stride);
                (0..field.data_dims.len()).map(stride)
            })
            .collect();
        let call = Call {
            fields: &fields,
            data_strides: &data_strides,
            scalars: &scalars,
            domain,
            threads: self.usual_threads(),
        };
        if recording {
            let (Some(place), Executor::Gpu(gpu)) = (&on_device, &self.executor) else {
                return Err(self.not_recorded(py));
            };
            return self.record(py, (gpu, place), &call, (&operands, arguments));
        }
        let prepared = self.execute(py, (&operands, &origins), &call, on_device, keywords)?;
        if let (Some(prepared), true) = (prepared, keywords.validate) {
            remembered.add(
                self,
                arguments,
                keywords,
                Passed {
                    operands: &operands,
                    origins: &origins,
                    prepared,
                },
            );
        }
        Ok(())
    }

    /// Tells the arguments of the access, runs, and writes down the times of that. Returns what can be run again.
    fn execute(
        &self,
        py: Python<'_>,
        (operands, origins): (&[Operand<'_>], &[[isize; 3]]),
        call: &Call<'_>,
        on_device: Option<OnDevice>,
        keywords: &Keywords<'_>,
    ) -> PyResult<Option<Prepared>> {
        let compiled = matches!(self.executor, Executor::Native(_) | Executor::Gpu(_));
        let domain = call.domain;
        let mut prepared = None;
        self.protocol(py, operands, (domain, on_device.as_ref()), || {
            if let Some(times) = &keywords.exec_info {
                times.set_item("domain", <(usize, usize, usize)>::from(domain))?;
                times.set_item("origin", self.origins_by_name(py, origins)?)?;
                stamp(times, "run_start_time")?;
                if compiled {
                    stamp(times, "run_cpp_start_time")?;
                }
            }
            if !domain.contains(&0) {
                prepared = match (&on_device, &self.executor) {
                    (Some(place), Executor::Gpu(gpu)) => {
                        let both = operands.iter().zip(&self.fields);
                        let pairs: PerField<_> = both
                            .filter_map(|(operand, field)| Some((operand.pair()?, field.writes)))
                            .collect();
                        // SAFETY: as below; what is on the device stays until its work is done.
                        Some(Prepared::Gpu(unsafe { place.run(py, gpu, call, &pairs)? }))
                    }
                    // SAFETY: the checks have shown that every access lies in the memory the arguments describe, which live until
                    // the call returns; without them that is what the caller has promised.
                    (_, executor) => unsafe { executor.run(py, call, origins)? },
                };
                self.tell_build_times(py)?;
            }
            if let Some(times) = &keywords.exec_info {
                if let Some(place) = &on_device {
                    place.synchronize(py)?;
                }
                if compiled {
                    stamp(times, "run_cpp_end_time")?;
                }
                stamp(times, "run_end_time")?;
            }
            Ok(())
        })?;
        Ok(prepared)
    }

    /// Runs a call of which all is known but the values of scalars.
    fn run_known(
        &self,
        py: Python<'_>,
        known: &Known,
        prepared: &native::Prepared,
        arguments: &Arguments<'_>,
    ) -> PyResult<()> {
        let scalars = self.scalars(arguments)?;
        let Executor::Native(native) = &self.executor else {
            unreachable!("it was prepared by this executor");
        };
        // SAFETY: the arguments lie in memory as those of a call that has passed all checks, and are apart from each other.
        let run = || unsafe { native.run_prepared(prepared, |n| known.pointer(n), &scalars) };
        let done = match prepared.is_brief() {
            // To let other threads run Python takes longer.
            true => run(),
            false => py.detach(run),
        };
        done.map_err(|error| run_error(py, &error))
    }

    /// Describes the arrays and checks each against its parameter. `operands` are filled where they stand: they are large.
    fn operands<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'py>,
        validate: bool,
        operands: &mut PerField<Operand<'py>>,
    ) -> PyResult<()> {
        let dims = self.dims.as_ref().map(|dims| dims.bind(py));
        for (n, (field, position)) in self.fields.iter().zip(&self.field_positions).enumerate() {
            let Some(argument) = &arguments[*position] else {
                continue;
            };
            if argument.is_none() {
                if let Some(used) = self.uses.fields[n] {
                    return Err(self.left_out(py, &field.name, "an array", used));
                }
                operands.push(Operand::absent());
                continue;
            }
            let description = describe(&field.name, argument, dims, self.backend.side())?;
            if !field.used() {
                operands.push(Operand::unused(description));
                continue;
            }
            operands.push(Operand::absent());
            let operand = &mut operands[n];
            fill(py, field, description, operand)?;
            if validate {
                self.check_layout(py, n, operand)?;
            }
        }
        if operands.iter().any(|operand| operand.tracked.is_some()) {
            unite_copies(py, operands)?;
        }
        Ok(())
    }

    fn not_recorded(&self, py: Python<'_>) -> PyErr {
        let message = format!(
            "stencil '{}' runs on the host, and a graph is work of a device; call it outside of the block, or make it for the \
             backend 'gpu'",
            self.name()
        );
        raise(py, "ArgumentTypeError", message)
    }

    fn refuse_stream(&self, py: Python<'_>, keywords: &Keywords<'_>) -> PyResult<()> {
        match (&keywords.stream, &self.executor) {
            (None, _) | (_, Executor::Gpu(_)) => Ok(()),
            (Some(_), _) => {
                let message = format!(
                    "stream is given, but stencil '{}' runs on the host, whose work is done when the call returns; streams are \
                     for the backend 'gpu'",
                    self.name()
                );
                Err(raise(py, "ArgumentTypeError", message))
            }
        }
    }

    pub(super) fn scalars(&self, arguments: &Arguments<'_>) -> PyResult<PerField<ScalarArgument>> {
        let scalars = self
            .program
            .stencil
            .scalars
            .iter()
            .zip(&self.scalar_positions)
            .zip(&self.uses.scalars);
        scalars
            .filter_map(|((scalar, position), used)| {
                arguments[*position]
                    .as_ref()
                    .map(|value| (scalar, value, *used))
            })
            .map(|(scalar, value, used)| match used {
                None => Ok(ScalarArgument {
                    dtype: scalar.dtype,
                    bits: 0,
                }),
                Some(used) if value.is_none() => {
                    let expected = format!("a number of type {}", scalar.dtype);
                    Err(self.left_out(value.py(), &scalar.name, &expected, used))
                }
                Some(_) => arguments::scalar(&scalar.name, scalar.dtype, value),
            })
            .collect()
    }

    #[cold]
    fn left_out(&self, py: Python<'_>, name: &str, expected: &str, used: Span) -> PyErr {
        let place = Uses::place(&self.program, used);
        raise(
            py,
            "ArgumentTypeError",
            format!(
                "argument '{name}' is None, expected {expected}: the stencil uses it ({place})"
            ),
        )
    }

    /// The origin of every field, and the domain.
    pub(super) fn place(
        &self,
        py: Python<'_>,
        operands: &mut [Operand<'_>],
        keywords: &Keywords<'_>,
    ) -> PyResult<(PerField<[isize; 3]>, [usize; 3])> {
        if let Some(origin) = &keywords.origin {
            let mut given: PerField<_> = SmallVec::from_elem(None, self.fields.len());
            arguments::origins(&self.fields, origin, &mut given)?;
            for (operand, origin) in operands.iter_mut().zip(given) {
                operand.array.asked_for = origin.is_some();
                operand.array.origin = origin.or(operand.array.origin);
            }
        }
        let mut origins: PerField<_> = SmallVec::from_elem([0; 3], self.fields.len());
        domain::place(&self.fields, operands, &mut origins);
        let domain = match &keywords.domain {
            Some(domain) => arguments::domain(domain)?,
            None => domain::largest(&self.fields, operands, &origins)
                .map_err(|error| call_error(py, &error))?,
        };
        Ok((origins, domain))
    }

    fn check(
        &self,
        operands: &[Operand<'_>],
        origins: &[[isize; 3]],
        domain: [usize; 3],
    ) -> Result<(), CallError> {
        let least = self.program.analysis.min_domain();
        domain::fits(&self.fields, operands, origins, domain, least)?;
        self.check_memory(operands, origins, domain)
    }

    /// Refuses arguments that share memory in a way that changes the result.
    fn check_memory(
        &self,
        operands: &[Operand<'_>],
        origins: &[[isize; 3]],
        domain: [usize; 3],
    ) -> Result<(), CallError> {
        if domain.contains(&0) {
            return Ok(());
        }
        let whole = |n: usize| {
            self.fields[n]
                .used()
                .then(|| operands[n].whole(&self.fields[n]))
        };
        if alias::apart(&self.fields, whole) {
            return Ok(());
        }
        let footprints: PerField<Option<Footprint>> = (self.fields.iter())
            .zip(operands.iter().zip(origins))
            .map(|(field, (operand, origin))| {
                field
                    .used()
                    .then(|| operand.footprint(field, origin, domain))
            })
            .collect();
        alias::check(&self.fields, &footprints, &self.in_place)
    }

    pub(super) fn origins_by_name<'py>(
        &self,
        py: Python<'py>,
        origins: &[[isize; 3]],
    ) -> PyResult<Bound<'py, PyDict>> {
        let by_name = PyDict::new(py);
        for (field, origin) in self.fields.iter().zip(origins) {
            by_name.set_item(&field.name, within(py, field.axes, origin)?)?;
        }
        Ok(by_name)
    }
}

/// Arguments that are the same memory on a device have one copy on the host.
fn unite_copies(py: Python<'_>, operands: &mut [Operand<'_>]) -> PyResult<()> {
    for later in 1..operands.len() {
        let (before, rest) = operands.split_at_mut(later);
        let Some(tracked) = rest[0].tracked.as_mut() else {
            continue;
        };
        for first in before.iter().filter_map(|operand| operand.tracked.as_ref()) {
            tracked.unite(py, first)?;
        }
        if let Some(view) = tracked.view() {
            rest[0].pointer = view.pointer();
        }
    }
    Ok(())
}

fn stamp(times: &Bound<'_, PyDict>, key: &str) -> PyResult<()> {
    let py = times.py();
    times.set_item(
        key,
        py.import(intern!(py, "time"))?
            .call_method0(intern!(py, "perf_counter"))?,
    )
}
