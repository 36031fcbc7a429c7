//! The accelerators of this process: those of the machine, or simulated ones.

use std::env;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::{Accelerator, DeviceError, Simulated};

/// By number.
type Devices = Vec<Arc<dyn Accelerator>>;

/// Accelerators, or why there are none.
type Found = Result<Devices, String>;

/// What the environment asks for, found at first use.
static OF_MACHINE: LazyLock<Found> =
    LazyLock::new(|| of_environment(env::var("FIELDSTONE_DEVICE").ok().as_deref()));

/// Simulated devices that stand in for those of the machine, the last one first.
static SIMULATIONS: RwLock<Vec<(usize, Devices)>> = RwLock::new(Vec::new());

fn of_environment(choice: Option<&str>) -> Found {
    match choice {
        Some("sim") => Ok(simulated(1)),
        None | Some("") => Err("no CUDA driver is used yet".to_owned()),
        Some(other) => Err(format!(
            "FIELDSTONE_DEVICE is '{other}', expected 'sim' or nothing"
        )),
    }
}

fn simulated(count: usize) -> Devices {
    (0..count)
        .map(|index| Arc::new(Simulated::new(index)) as Arc<dyn Accelerator>)
        .collect()
}

/// The accelerators there are.
pub fn accelerators() -> Vec<Arc<dyn Accelerator>> {
    current().unwrap_or_default()
}

fn current() -> Found {
    let simulations = SIMULATIONS.read().unwrap_or_else(PoisonError::into_inner);
    match simulations.last() {
        Some((_, devices)) => Ok(devices.clone()),
        None => OF_MACHINE.clone(),
    }
}

/// The accelerator of this number.
///
/// # Errors
/// If there is none; the error says why.
pub fn accelerator(index: usize) -> Result<Arc<dyn Accelerator>, DeviceError> {
    let none = |reason| DeviceError::NoDevice { index, reason };
    let devices = current().map_err(none)?;
    let count = devices.len();
    devices
        .into_iter()
        .nth(index)
        .ok_or_else(|| none(format!("there are {count}, counted from 0")))
}

/// While this lives, accelerators are simulated.
#[derive(Debug)]
pub struct Simulation {
    number: usize,
}

impl Simulation {
    /// Puts `count` simulated devices in place of whatever there was.
    pub fn start(count: usize) -> Self {
        let mut simulations = SIMULATIONS.write().unwrap_or_else(PoisonError::into_inner);
        let number = simulations.last().map_or(0, |(number, _)| number + 1);
        simulations.push((number, simulated(count)));
        Self { number }
    }

    /// Its devices.
    pub fn devices(&self) -> Vec<Arc<dyn Accelerator>> {
        let simulations = SIMULATIONS.read().unwrap_or_else(PoisonError::into_inner);
        simulations
            .iter()
            .find(|(number, _)| *number == self.number)
            .map_or_else(Vec::new, |(_, devices)| devices.clone())
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        let mut simulations = SIMULATIONS.write().unwrap_or_else(PoisonError::into_inner);
        simulations.retain(|(number, _)| *number != self.number);
    }
}
