//! Telling the arguments of a call of the access to their memory.

use pyo3::prelude::*;

use super::Stencil;
use super::on_device::OnDevice;
use super::operand::Operand;
use crate::interface::Hooks;

impl Stencil {
    /// Acquires every argument, runs, touches the written ones and releases every one that was acquired.
    ///
    /// A run that fails may have written something, so that its arguments are touched as well. The first error is raised; what
    /// goes wrong after it is noted on it.
    pub(super) fn protocol(
        &self,
        py: Python<'_>,
        operands: &[Operand<'_>],
        (domain, on_device): ([usize; 3], Option<&OnDevice>),
        run: impl FnOnce() -> PyResult<()>,
    ) -> PyResult<()> {
        let silent = |operand: &Operand<'_>| operand.hooks.is_none() && operand.tracked.is_none();
        if operands.iter().all(silent) {
            return run();
        }
        let mut first_error = None;
        let mut note = |result: PyResult<()>, step: &str, n: usize| {
            let Err(error) = result else { return true };
            match &first_error {
                None => first_error = Some(error),
                Some(first) => add_note(py, first, &error, step, &self.fields[n].name),
            }
            false
        };
        let mut acquired = 0;
        for (n, (field, operand)) in self.fields.iter().zip(operands).enumerate() {
            let current = || match &operand.tracked {
                Some(tracked) => {
                    let stream = on_device.map(|place| place.stream);
                    tracked.acquire(py, field.writes && !domain.contains(&0), stream)
                }
                None => Ok(()),
            };
            let result = call_hook(operand, |hooks| &hooks.acquire).and_then(|()| current());
            if !note(result, "acquire", n) {
                break;
            }
            acquired += 1;
        }
        let began = acquired == operands.len();
        let ran = began && note(run(), "run", 0);
        let writes = !domain.contains(&0);
        for (n, operand) in operands[..acquired].iter().enumerate() {
            if !(writes && self.fields[n].writes) {
                continue;
            }
            if let Some(tracked) = &operand.tracked {
                let result = if ran {
                    tracked.touch(py)
                } else {
                    tracked.abandon(py)
                };
                note(result, "touch", n);
            }
            if began {
                note(call_hook(operand, |hooks| &hooks.touch), "touch", n);
            }
        }
        for (n, operand) in operands[..acquired].iter().enumerate() {
            note(call_hook(operand, |hooks| &hooks.release), "release", n);
        }
        first_error.map_or(Ok(()), Err)
    }
}

/// Notes on an exception what went wrong after it.
#[cold]
fn add_note(py: Python<'_>, first: &PyErr, later: &PyErr, step: &str, argument: &str) {
    let note = format!("afterwards, {step} of argument '{argument}' failed as well: {later}");
    if let Err(error) = first.value(py).call_method1("add_note", (note,)) {
        error.write_unraisable(py, None);
    }
}

fn call_hook<'a, 'py>(
    operand: &'a Operand<'py>,
    hook: impl FnOnce(&'a Hooks<'py>) -> &'a Option<Bound<'py, PyAny>>,
) -> PyResult<()> {
    match operand
        .hooks
        .as_deref()
        .and_then(|hooks| hook(hooks).as_ref())
    {
        Some(hook) => hook.call0().map(|_| ()),
        None => Ok(()),
    }
}
