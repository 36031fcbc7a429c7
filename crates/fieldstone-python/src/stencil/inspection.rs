//! What can be asked of a stencil.

use fieldstone_codegen::choices::{Choices, Columns};
use fieldstone_codegen::gpu::plan::Plan;
use fieldstone_codegen::gpu::{Draft, Room};
use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::stack::deep;
use fieldstone_codegen::target::Target;
use fieldstone_device::CoreCaches;
use fieldstone_stencil::Program;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::Stencil;
use super::ahead::{AxisNames, from_names};
use crate::backend::{Executor, run_error};
use crate::ending::entered;
use crate::jit::Llvmlite;

#[pymethods]
impl Stencil {
    /// The backend's name, without alias.
    #[getter]
    fn backend(&self) -> &'static str {
        self.backend.name()
    }

    /// Name of the definition.
    #[getter]
    pub(super) fn name(&self) -> &str {
        &self.program.stencil.name
    }

    /// `(name, dtype, axes, data dimensions, reads, writes, extent)` of every field, in the order of the signature.
    fn _fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let mut order: Vec<usize> = (0..self.fields.len()).collect();
        order.sort_by_key(|n| self.field_positions[*n]);
        let describe = |n: usize| {
            let field = &self.fields[n];
            let axes: Vec<String> = field.axes.iter().map(|axis| axis.to_string()).collect();
            let axes = PyTuple::new(py, axes)?;
            let data_dims = PyTuple::new(py, &field.data_dims)?;
            let extent = (field.extent.0[0], field.extent.0[1], field.extent.0[2]);
            (
                &field.name,
                field.dtype.name(),
                axes,
                data_dims,
                field.reads,
                field.writes,
                extent,
            )
                .into_pyobject(py)
        };
        order.into_iter().map(describe).collect()
    }

    /// `(name, dtype, reads)` of every scalar parameter.
    fn _scalars(&self) -> Vec<(&str, &'static str, bool)> {
        let scalars = self.program.stencil.scalars.iter().zip(&self.uses.scalars);
        scalars
            .map(|(scalar, used)| (scalar.name.as_str(), scalar.dtype.name(), used.is_some()))
            .collect()
    }

    /// Levels a domain needs.
    #[getter]
    fn _min_levels(&self) -> usize {
        self.program.analysis.min_levels
    }

    /// Whether a computation is FORWARD or BACKWARD.
    #[getter]
    fn _sequential(&self) -> bool {
        let mut computations = self.program.stencil.computations.iter();
        computations.any(|computation| computation.order != fieldstone_stencil::ir::Order::Parallel)
    }

    /// One of the forms that the stencil has on its way to the machine.
    fn _inspect(&self, py: Python<'_>, form: &str) -> PyResult<String> {
        let _inside = entered(py);
        let preset = self.layout_of_preset(py, self.backend.name())?;
        self.executor.inspect(py, &self.program, &preset, form)
    }

    /// Its code for an accelerator: PTX for one of NVIDIA, an object file for one of AMD. Arrays are contiguous along these axes, or
    /// else along their first one.
    #[pyo3(signature = (triple, cpu, layout = None))]
    fn _compiled_for<'py>(
        &self,
        py: Python<'py>,
        triple: String,
        cpu: String,
        layout: Option<AxisNames>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let _inside = entered(py);
        let jit = Llvmlite::shared(py)?;
        let features = String::new();
        let target = Target {
            triple,
            cpu,
            features,
            caches: CoreCaches::default(),
        };
        let compiled = py.detach(|| {
            let plan = match &self.executor {
                Executor::Gpu(gpu) => {
                    let layout = layout.as_ref().map(from_names);
                    let layout = layout.unwrap_or_else(|| first_axes(gpu.program()));
                    gpu.plan_for(&layout, &target)
                }
                _ => {
                    let (program, _) = deep(|| self.program.for_schedule());
                    let (layout, choices) = (first_axes(&program), Choices::default());
                    let draft = deep(|| {
                        Draft::new(&program, &layout, &Room::LEAST, &choices, Columns::Arrays)
                    });
                    let shapes = draft.shapes(None, &[]);
                    deep(|| Plan::new(&program, &draft, &shapes, &target))
                }
            };
            jit.compile_for(&plan.module.target, &plan.module.text)
        });
        let code = compiled.map_err(|error| run_error(py, &error.into()))?;
        Ok(PyBytes::new(py, &code))
    }

    /// For each layout called so far whether its code was in the cache, and the seconds it took to get it.
    #[getter]
    fn _compilations(&self) -> Vec<(bool, f64)> {
        self.executor.compilations()
    }
}

impl Stencil {
    /// Tells who asked for it how long the code took that there is so far.
    pub(super) fn tell_build_times(&self, py: Python<'_>) -> PyResult<()> {
        let Some(info) = &self.build_info else {
            return Ok(());
        };
        let names = ["codegen_time", "build_time", "load_time"];
        for (name, seconds) in names.into_iter().zip(self.executor.build_times()) {
            info.bind(py).set_item(name, seconds)?;
        }
        Ok(())
    }
}

/// The layout of arrays that are contiguous along their first axes.
fn first_axes(program: &Program) -> Layout {
    let fields = program.stencil.fields.iter();
    Layout(fields.map(|field| field.axes.iter().next()).collect())
}
