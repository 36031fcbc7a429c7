//! Presets, by name and of one's own.

use fieldstone_storage::{Dim, Preset, StrideOrder};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::value::{boundary, dims, shown, type_name};
use crate::array;
use crate::errors::raise;
use crate::storage::axes;

/// The preset of a name.
pub fn preset_of(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Preset> {
    let Ok(text) = value.cast::<PyString>() else {
        let message = format!(
            "{name}: expected the name of a preset, got {} ({})",
            shown(value),
            type_name(value)
        );
        return Err(raise(value.py(), "ArgumentTypeError", message));
    };
    Preset::find(text.to_str()?)
        .map_err(|error| raise(value.py(), "PresetError", format!("{name}: {error}")))
}

/// Layout and alignment in bytes of a field with these axes in memory of a preset.
#[pyfunction]
pub fn preset_memory<'py>(
    name: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyTuple>, usize)> {
    let py = name.py();
    let preset = preset_of(name, "DefaultParameters")?;
    let layout = preset
        .layout(&dims(labels, "dims")?)
        .map_err(|error| array::exception(py, &error))?;
    Ok((PyTuple::new(py, layout.ranks())?, preset.alignment))
}

/// Adds a preset to those that `defaults` can name.
#[pyfunction]
pub fn register_preset(
    name: &Bound<'_, PyAny>,
    order: &Bound<'_, PyAny>,
    alignment_size: &Bound<'_, PyAny>,
    preset_device: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = order.py();
    let Ok(name) = name.extract::<&str>() else {
        let message = format!("name: expected the name of the preset, got {}", shown(name));
        return Err(raise(py, "ArgumentTypeError", message));
    };
    let order = match order.extract::<&str>().ok() {
        Some("C") => StrideOrder::C,
        Some("F") => StrideOrder::F,
        _ => {
            let labels = dims(order, "order")?;
            let labels: [Dim; 3] = labels[..].try_into().map_err(|_| {
                let message = format!(
                    "order: expected 'C', 'F', or I, J and K from the largest stride to the smallest, got {}",
                    axes::show(&labels)
                );
                raise(py, "ArgumentValueError", message)
            })?;
            StrideOrder::Dims(labels)
        }
    };
    let number = preset_device.map_or(Ok(None), |value| crate::device::number("device", value))?;
    let preset = Preset {
        name: name.to_owned(),
        order,
        alignment: boundary(alignment_size, "alignment_size", "bytes")?,
        device: if number.is_none() { "cpu" } else { "gpu" },
    };
    preset
        .register()
        .map_err(|error| array::exception(py, &error))
}
