//! Telling the arguments of a call of the access to their memory.

use pyo3::prelude::*;

use super::Stencil;
use super::operand::Operand;
use crate::interface::Hooks;

impl Stencil {
    /// Acquires every argument, runs, touches the written ones and releases every one that was acquired.
    pub(super) fn protocol(
        &self,
        py: Python<'_>,
        operands: &[Operand<'_>],
        domain: [usize; 3],
        run: impl FnOnce() -> PyResult<()>,
    ) -> PyResult<()> {
        let silent = |operand: &Operand<'_>| operand.hooks.is_none() && operand.tracked.is_none();
        if operands.iter().all(silent) {
            return run();
        }
        let mut first_error = None;
        let mut note = |result: PyResult<()>| {
            if let Err(error) = result {
                match &first_error {
                    None => first_error = Some(error),
                    Some(_) => error.write_unraisable(py, None),
                }
                return false;
            }
            true
        };
        let mut acquired = 0;
        for (field, operand) in self.fields.iter().zip(operands) {
            let current = || match &operand.tracked {
                Some(tracked) => tracked.acquire(py, field.writes && !domain.contains(&0)),
                None => Ok(()),
            };
            if !note(call_hook(operand, |hooks| &hooks.acquire).and_then(|()| current())) {
                break;
            }
            acquired += 1;
        }
        let ran = acquired == operands.len() && note(run());
        let writes = !domain.contains(&0);
        let written = (self.fields.iter().zip(&operands[..acquired]))
            .filter(|(field, _)| writes && field.writes);
        for (_, operand) in written {
            if let Some(tracked) = &operand.tracked {
                note(if ran {
                    tracked.touch(py)
                } else {
                    tracked.abandon(py)
                });
            }
            if ran {
                note(call_hook(operand, |hooks| &hooks.touch));
            }
        }
        for operand in &operands[..acquired] {
            note(call_hook(operand, |hooks| &hooks.release));
        }
        first_error.map_or(Ok(()), Err)
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
