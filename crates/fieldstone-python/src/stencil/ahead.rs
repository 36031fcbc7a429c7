//! What is known before a call: the layout that arrays, a preset or an axis give, and code for it.

use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::native::{contiguous_along, near_along};
use fieldstone_codegen::outline::{Outline, Supply, has_ragged_results};
use fieldstone_device::Pool;
use fieldstone_stencil::schedule::Plane;
use fieldstone_stencil::suggest::closest;
use fieldstone_stencil::{Axes, Axis};
use fieldstone_storage::{Dim, Preset};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyTuple};
use smallvec::SmallVec;

use super::operand::{Operand, permute};
use super::{PerField, Stencil};
use crate::arguments;
use crate::errors::raise;
use crate::interface::describe_value;
use crate::storage::describe;

/// For each field the axis it is contiguous along, by name.
pub(super) type AxisNames = Vec<Option<String>>;

/// The horizontal axis along which columns are near each other, and whether rows of results begin within cache lines.
pub(super) type Lie = (Option<String>, bool);

#[pymethods]
impl Stencil {
    /// Compiles for a layout, and a domain and how arrays lie on it, as far as these are known.
    fn _compile(
        &self,
        py: Python<'_>,
        layout: AxisNames,
        domain: Option<[usize; 3]>,
        lie: Lie,
    ) -> PyResult<()> {
        let threads = self.usual_threads();
        let outline = self.outline(domain, (lie.0.as_deref(), lie.1), threads);
        let outline = outline.unwrap_or_default();
        self.executor.compile(py, &from_names(&layout), outline)?;
        self.tell_build_times(py)
    }

    /// The layouts it was compiled for, in the order in which that was; that of the preset if there was none yet.
    fn _layouts(&self, py: Python<'_>) -> PyResult<Vec<AxisNames>> {
        let preset = self.layout_of_preset(py, self.backend.name())?;
        let layouts = self.executor.layouts(&preset);
        Ok(layouts.iter().map(names).collect())
    }

    /// The layout of some arrays, for the other fields what `layout` says, else that of the preset; and the domain of a call
    /// with them, if that is known, and the horizontal axis along which their columns are near each other, if there are any, and
    /// whether rows of results begin within cache lines.
    #[pyo3(signature = (args, kwargs, layout))]
    fn _prepare(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: &Bound<'_, PyDict>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(AxisNames, Option<[usize; 3]>, Lie)> {
        let py = args.py();
        let mut said = self.layout_of_preset(py, self.backend.name())?;
        if let Some(layout) = layout.filter(|layout| !layout.is_none()) {
            self.read_layout(layout, &mut said)?;
        }
        let (arguments, keywords) = self.signature.bind_some(args, Some(kwargs))?;
        let dims = self.dims.as_ref().map(|dims| dims.bind(py));
        let mut operands: PerField<Operand<'_>> = SmallVec::new();
        let mut whole: PerField<_> = SmallVec::new();
        let mut complete = true;
        for (n, (field, position)) in self.fields.iter().zip(&self.field_positions).enumerate() {
            let given = arguments[*position].as_ref();
            let Some(given) = given.filter(|given| field.used() && !given.is_none()) else {
                complete &= !field.used();
                operands.push(Operand::absent());
                continue;
            };
            let operand = permute(
                py,
                field,
                describe(&field.name, given, dims, self.backend.side())?,
            )?;
            let field = &self.program.stencil.fields[n];
            let argument = operand.argument(&[0; 3]);
            said.0[n] = contiguous_along(field, &argument);
            whole.push((field, argument));
            operands.push(operand);
        }
        let is_call = complete && self.fields.iter().any(|field| field.used());
        let mut ragged = false;
        let domain = match &keywords.domain {
            _ if is_call => {
                let (origins, domain) = self.place(py, &mut operands, &keywords)?;
                let arguments = operands.iter().zip(&origins);
                let arguments = arguments.map(|(operand, origin)| operand.argument(origin));
                ragged = has_ragged_results(&self.program, arguments);
                Some(domain)
            }
            Some(domain) => Some(arguments::domain(domain)?),
            None => None,
        };
        if let Some(domain) = domain {
            self.check_levels(py, domain)?;
        }
        let near = near_along(whole.iter().map(|(field, argument)| (*field, argument)));
        let near = (!whole.is_empty()).then(|| near.to_string());
        Ok((names(&said), domain, (near, ragged)))
    }
}

impl Stencil {
    /// A call with a domain and arrays that lie so; `None` if nothing is known of it.
    pub(super) fn outline(
        &self,
        domain: Option<[usize; 3]>,
        (near, ragged): (Option<&str>, bool),
        threads: usize,
    ) -> Option<Outline> {
        let near = near.and_then(axis);
        let supply = |domain| Supply::of(&self.program.stencil, domain, threads, ragged);
        (domain.is_some() || near.is_some()).then(|| Outline {
            plane: Plane {
                near: near.unwrap_or(Plane::default().near),
                points: domain.map(|[along_i, along_j, _]| [along_i, along_j]),
            },
            supply: domain.map(supply).unwrap_or_default(),
        })
    }

    /// The threads that a call has.
    pub(super) fn usual_threads(&self) -> usize {
        self.threads.unwrap_or_else(|| Pool::global().threads())
    }

    /// The layout that arrays of a preset have.
    pub(super) fn layout_of_preset(&self, py: Python<'_>, name: &str) -> PyResult<Layout> {
        let preset = Preset::find(name).map_err(|error| {
            let message = format!("layout: {error}; or an axis: I, J, K");
            raise(py, "ArgumentValueError", message)
        })?;
        let fields = self.program.stencil.fields.iter();
        Ok(Layout(
            fields.map(|field| innermost(&preset, field.axes)).collect(),
        ))
    }

    /// Reads `layout=`: a preset or an axis, for all fields or by name.
    fn read_layout(&self, given: &Bound<'_, PyAny>, layout: &mut Layout) -> PyResult<()> {
        let py = given.py();
        if let Ok(all) = given.cast::<PyString>() {
            *layout = self.layout_of_word(py, &all.to_string())?;
            return Ok(());
        }
        let Ok(by_name) = given.cast::<PyMapping>() else {
            let message = format!(
                "layout is {}, expected a preset such as 'cpu_ifirst', an axis such as 'I', or a mapping from names of fields to \
                 these",
                describe_value(given)
            );
            return Err(raise(py, "ArgumentTypeError", message));
        };
        for item in by_name.items()?.iter() {
            let (name, word): (String, String) = item.extract().map_err(|_| {
                let message = format!(
                    "layout has the entry {}, expected the name of a field and a preset or an axis",
                    describe_value(&item)
                );
                raise(py, "ArgumentTypeError", message)
            })?;
            let Some(n) = self.fields.iter().position(|field| field.name == name) else {
                let known = self.fields.iter().map(|field| field.name.as_str());
                let hint = closest(&name, known.clone())
                    .map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"));
                let message = format!(
                    "layout names '{name}', which is no field of stencil '{}'{hint}; its fields are: {}",
                    self.program.stencil.name,
                    known.collect::<Vec<_>>().join(", ")
                );
                return Err(raise(py, "ArgumentValueError", message));
            };
            layout.0[n] = self.layout_of_word(py, &word)?.0[n];
        }
        Ok(())
    }

    fn layout_of_word(&self, py: Python<'_>, word: &str) -> PyResult<Layout> {
        let Some(axis) = axis(word) else {
            return self.layout_of_preset(py, word);
        };
        let order = match axis {
            Axis::I => [Axis::I, Axis::J, Axis::K],
            Axis::J => [Axis::J, Axis::I, Axis::K],
            Axis::K => [Axis::K, Axis::J, Axis::I],
        };
        let first = |axes: Axes| order.into_iter().find(|axis| axes.contains(*axis));
        let fields = self.program.stencil.fields.iter();
        Ok(Layout(fields.map(|field| first(field.axes)).collect()))
    }

    fn check_levels(&self, py: Python<'_>, domain: [usize; 3]) -> PyResult<()> {
        let needed = self.program.analysis.min_levels;
        if domain.contains(&0) || domain[2] >= needed {
            return Ok(());
        }
        let message = format!(
            "domain has {} level(s), but the intervals of stencil '{}' need {needed}",
            domain[2], self.program.stencil.name
        );
        Err(raise(py, "DomainError", message))
    }
}

/// The axis with the smallest stride of an array of a preset.
fn innermost(preset: &Preset, axes: Axes) -> Option<Axis> {
    let own: Vec<Axis> = axes.iter().collect();
    let dims: Vec<Dim> = own
        .iter()
        .map(|axis| match axis {
            Axis::I => Dim::I,
            Axis::J => Dim::J,
            Axis::K => Dim::K,
        })
        .collect();
    let layout = preset.layout(&dims).ok()?;
    let ranks = layout.ranks().iter().zip(own);
    ranks.max_by_key(|(rank, _)| **rank).map(|(_, axis)| axis)
}

fn axis(name: &str) -> Option<Axis> {
    Axis::ALL.into_iter().find(|axis| axis.to_string() == name)
}

fn names(layout: &Layout) -> AxisNames {
    let axes = layout.0.iter();
    axes.map(|axis| axis.map(|axis| axis.to_string())).collect()
}

/// The layout of which [`names`] are given.
pub(super) fn from_names(layout: &AxisNames) -> Layout {
    let axes = layout.iter();
    Layout(axes.map(|name| axis(name.as_deref()?)).collect())
}
