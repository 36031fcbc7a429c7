//! `__gt_data_interface__`: for each device a dictionary that describes a buffer, as `__array_interface__` does, and what its
//! axes mean.

use fieldstone_storage::Side;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};

use super::buffer::Buffer;
use super::{Found, Hooks, Refusal, Request, attributes, called};

/// The buffer of the object's `attribute`, whose value is `devices`.
pub fn read<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
    attribute: &'static str,
    devices: Bound<'py, PyAny>,
) -> PyResult<Found<'py>> {
    let devices = called(devices)?;
    let Ok(devices) = devices.cast::<PyMapping>() else {
        return Err(request.refuse(&devices, Refusal::NoDevices { attribute }));
    };
    let (side, buffer) = entry(request, object, attribute, devices)?;
    let buffer = called(buffer)?;
    let Ok(entries) = buffer.cast::<PyMapping>() else {
        return Err(request.refuse(&buffer, Refusal::NoBuffer { attribute }));
    };
    let buffer = Buffer {
        request,
        object,
        attribute,
        entries,
    };
    let mut found = Found::of_memory(buffer.memory(side)?);
    if let Some(dims) = buffer.entry("dims")? {
        attributes::set_dims(request, &mut found, "'dims'", &dims)?;
    }
    if let Some(halo) = buffer.entry("halo")? {
        found.halo = Some(halo_of(&buffer, &halo, found.memory.view.ndim())?);
    }
    found.hooks = hooks(&buffer)?;
    Ok(found)
}

/// The entry for host memory, that of `None`, else that of `"cpu"`, or the first for a device, `"gpu"` or `("gpu", number)`:
/// the one that is preferred, if it is there.
fn entry<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
    attribute: &'static str,
    devices: &Bound<'py, PyMapping>,
) -> PyResult<(Side, Bound<'py, PyAny>)> {
    let py = devices.py();
    let mut host = None;
    for key in [
        py.None().into_bound(py),
        intern!(py, "cpu").clone().into_any(),
    ] {
        if host.is_none() && devices.contains(&key)? {
            host = Some(devices.get_item(&key)?);
        }
    }
    if let (Some(host), Side::Host) = (&host, request.prefer) {
        return Ok((Side::Host, host.clone()));
    }
    let keys = devices.keys()?;
    let is_gpu = |key: &Bound<'_, PyAny>| key.eq("gpu").unwrap_or(false);
    let on_device = keys.iter().find(|key| match key.cast::<PyTuple>() {
        Ok(pair) => pair.get_item(0).is_ok_and(|kind| is_gpu(&kind)),
        Err(_) => is_gpu(key),
    });
    match (on_device, host) {
        (Some(key), _) => Ok((Side::Device, devices.get_item(&key)?)),
        (None, Some(host)) => Ok((Side::Host, host)),
        (None, None) => {
            let keys = keys.repr()?.to_string();
            Err(request.refuse(object, Refusal::NoEntryForDevice { attribute, keys }))
        }
    }
}

fn halo_of<'py>(
    buffer: &Buffer<'_, 'py>,
    halo: &Bound<'py, PyAny>,
    rank: usize,
) -> PyResult<Vec<(usize, usize)>> {
    let pairs = pairs(halo);
    match pairs {
        Some(pairs) if pairs.len() == rank => Ok(pairs),
        other => {
            let refusal = Refusal::Halo {
                attribute: buffer.attribute,
                entries: other.map(|pairs| pairs.len()),
                rank,
            };
            Err(buffer.request.refuse(halo, refusal))
        }
    }
}

fn hooks<'py>(buffer: &Buffer<'_, 'py>) -> PyResult<Option<Box<Hooks<'py>>>> {
    let hook = |key: &str| match buffer.entry(key)? {
        Some(hook) if !hook.is_callable() => {
            Err(buffer.wrong(format!("has an '{key}' that cannot be called")))
        }
        hook => Ok(hook),
    };
    let hooks = Hooks {
        acquire: hook("acquire")?,
        touch: hook("touch")?,
        release: hook("release")?,
    };
    let any = hooks.acquire.is_some() || hooks.touch.is_some() || hooks.release.is_some();
    Ok(any.then(|| Box::new(hooks)))
}

/// Per axis one integer for both sides or a pair.
fn pairs(halo: &Bound<'_, PyAny>) -> Option<Vec<(usize, usize)>> {
    let pair = |entry: Bound<'_, PyAny>| {
        if let Ok(both) = entry.extract::<usize>() {
            return Some((both, both));
        }
        // A list of two is as good as a tuple.
        let pair = entry.extract::<(usize, usize)>();
        pair.or_else(|_| entry.extract::<[usize; 2]>().map(<(usize, usize)>::from))
            .ok()
    };
    halo.try_iter()
        .ok()?
        .map(|entry| pair(entry.ok()?))
        .collect()
}
