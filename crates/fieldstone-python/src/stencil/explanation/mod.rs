//! What there is to explain of a stencil: its fields, how it is computed, and what that costs, as dictionaries.
//!
//! | module | what it explains |
//! |---|---|
//! | `kernel` | kernels of a device |
//! | `nest` | loops, what shares them and why not more, tiles |
//! | `temporary` | where temporaries live, and why |
//! | `statement` | a statement as the source has it |
//!
//! The words for people are put together in Python, `fieldstone/_repr/stencil/`.
mod kernel;
mod nest;
mod statement;
mod temporary;

use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::outline::Outline;
use fieldstone_codegen::plan::Plan;
use fieldstone_device::shared_cache;
use fieldstone_stencil::Span;
use fieldstone_stencil::analysis::operations::{Operation, Operations};
use fieldstone_stencil::analysis::points::LARGE;
use fieldstone_stencil::analysis::traffic::{self, Moved};
use pyo3::prelude::*;

use self::kernel::DeviceFacts;
use self::nest::NestFacts;
use self::statement::{Place, place};
use self::temporary::TemporaryFacts;
use super::Stencil;
use super::ahead::{Lie, from_names};
use crate::backend::Executor;

/// Everything there is to explain.
#[derive(IntoPyObject)]
struct Facts {
    name: String,
    backend: &'static str,
    place: Option<Place>,
    min_levels: usize,
    /// The points that everything is counted for.
    points: u128,
    threads: usize,
    fields: Vec<FieldFacts>,
    scalars: Vec<(String, &'static str)>,
    /// How often each kind of operation is done.
    operations: Vec<(&'static str, u128)>,
    floating: u128,
    /// Values read and written, those of temporaries included.
    loads: u128,
    stores: u128,
    /// Names and types of temporaries.
    temporaries: Vec<(String, &'static str)>,
    schedule: Option<ScheduleFacts>,
    /// Of a stencil that runs on a device.
    device: Option<DeviceFacts>,
}

/// A field and what is moved of it.
#[derive(IntoPyObject)]
struct FieldFacts {
    name: String,
    dtype: &'static str,
    axes: String,
    data_dims: Vec<u32>,
    access: String,
    extent: Vec<(i32, i32)>,
    line: Option<u32>,
    /// Elements.
    read: u128,
    written: u128,
    bytes_read: u128,
    bytes_written: u128,
}

/// How a stencil is computed for arrays of one layout.
#[derive(IntoPyObject)]
struct ScheduleFacts {
    /// The axis that most fields are contiguous along, and that of each field.
    contiguous: String,
    layout: Vec<(String, Option<String>)>,
    vector_bytes: usize,
    /// What the cost model did not decide.
    chosen: String,
    /// What arithmetic may do to results.
    fast_math: String,
    nests: Vec<NestFacts>,
    temporaries: Vec<TemporaryFacts>,
}

#[pymethods]
impl Stencil {
    /// What there is to explain, for a layout given by the axis of each field, on a domain that is so large that its edges do
    /// not count where none is given.
    #[pyo3(signature = (layout, domain, lie, threads))]
    fn _explain(
        &self,
        py: Python<'_>,
        layout: Vec<Option<String>>,
        domain: Option<[usize; 3]>,
        lie: Lie,
        threads: Option<usize>,
    ) -> PyResult<Py<PyAny>> {
        let threads = threads.unwrap_or_else(|| self.usual_threads());
        let layout = from_names(&layout);
        let outline = self.outline(domain, (lie.0.as_deref(), lie.1), threads);
        let facts = py.detach(|| self.facts(&layout, (domain, outline), threads));
        Ok(facts.into_pyobject(py)?.into_any().unbind())
    }
}

impl Stencil {
    fn facts(
        &self,
        layout: &Layout,
        (domain, outline): (Option<[usize; 3]>, Option<Outline>),
        threads: usize,
    ) -> Facts {
        let (stencil, analysis) = (&self.program.stencil, &self.program.analysis);
        let sized = domain.unwrap_or(LARGE);
        let operations = Operations::of(stencil, analysis, sized);
        let (loads, stores) = traffic::accesses(stencil, analysis, sized);
        Facts {
            name: stencil.name.clone(),
            backend: self.backend.name(),
            place: self.first_place(),
            min_levels: analysis.min_levels,
            points: sized.iter().map(|points| *points as u128).product(),
            threads,
            fields: self.field_facts(sized),
            scalars: stencil
                .scalars
                .iter()
                .map(|scalar| (scalar.name.clone(), scalar.dtype.name()))
                .collect(),
            operations: Operation::ALL
                .into_iter()
                .map(|(kind, name)| (name, operations.count(kind)))
                .collect(),
            floating: operations.floating,
            loads,
            stores,
            temporaries: stencil
                .temporaries
                .iter()
                .map(|one| (one.name.clone(), one.dtype.map_or("", |dtype| dtype.name())))
                .collect(),
            schedule: self.schedule_facts(layout, (domain, outline), threads),
            device: match &self.executor {
                Executor::Gpu(gpu) => Some(DeviceFacts::new(gpu, layout, domain)),
                _ => None,
            },
        }
    }

    fn first_place(&self) -> Option<Place> {
        place(&self.program.stencil, Span::default())
    }

    fn field_facts(&self, domain: [usize; 3]) -> Vec<FieldFacts> {
        let (stencil, analysis) = (&self.program.stencil, &self.program.analysis);
        let moved = traffic::moved(stencil, analysis, domain);
        let mut order: Vec<usize> = (0..stencil.fields.len()).collect();
        order.sort_by_key(|n| self.field_positions[*n]);
        let facts = |n: usize| {
            let (field, info) = (&stencil.fields[n], &analysis.fields[n]);
            let Moved { read, written } = moved[n];
            let size = field.dtype.size() as u128;
            FieldFacts {
                name: field.name.clone(),
                dtype: field.dtype.name(),
                axes: field.axes.to_string(),
                data_dims: field.data_dims.clone(),
                access: info.access.to_string(),
                extent: info.extent.0.to_vec(),
                line: place(stencil, field.span).map(|place| place.line),
                read,
                written,
                bytes_read: read * size,
                bytes_written: written * size,
            }
        };
        order.into_iter().map(facts).collect()
    }

    fn schedule_facts(
        &self,
        layout: &Layout,
        (domain, outline): (Option<[usize; 3]>, Option<Outline>),
        threads: usize,
    ) -> Option<ScheduleFacts> {
        let Executor::Native(native) = &self.executor else {
            return None;
        };
        let plan = native.plan(layout, outline);
        let program = native.program();
        let explained = Explained {
            stencil: &program.stencil,
            program,
            plan: &plan,
            domain,
            threads,
            vector_bytes: native.target().vector_bytes(),
            caches: shared_cache(threads),
        };
        let names = self.program.stencil.fields.iter().map(|field| &field.name);
        Some(ScheduleFacts {
            contiguous: plan.schedule.neighbours.contiguous.to_string(),
            layout: names
                .zip(&layout.0)
                .map(|(name, axis)| (name.clone(), axis.map(|axis| axis.to_string())))
                .collect(),
            vector_bytes: explained.vector_bytes,
            chosen: plan.choices.to_string(),
            fast_math: program.stencil.fast_math.to_string(),
            nests: (0..plan.schedule.nests.len())
                .map(|number| explained.nest(number))
                .collect(),
            temporaries: explained.temporaries(),
        })
    }
}

/// A plan, and what it is explained for.
struct Explained<'a> {
    stencil: &'a fieldstone_stencil::ir::Stencil,
    program: &'a fieldstone_stencil::Program,
    plan: &'a Plan,
    domain: Option<[usize; 3]>,
    threads: usize,
    vector_bytes: usize,
    /// Bytes of the caches of the cores that compute.
    caches: usize,
}

impl Explained<'_> {
    fn sized(&self) -> [usize; 3] {
        self.domain.unwrap_or(LARGE)
    }
}
