//! The accelerators of this process: those of the machine, or simulated ones.

use std::env;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::{Accelerator, DeviceError, Simulated, SimulatedOptions, cuda};

/// The environment variable that chooses the accelerators.
const VARIABLE: &str = "FIELDSTONE_DEVICE";

/// More simulated devices than this are refused.
const MOST_SIMULATED: usize = 64;

/// By number.
type Devices = Vec<Arc<dyn Accelerator>>;

/// Accelerators, and if there are none why.
#[derive(Clone, Debug)]
struct Found {
    devices: Devices,
    reason: String,
}

/// What the environment asks for, found at first use.
static OF_MACHINE: LazyLock<Result<Found, DeviceError>> = LazyLock::new(|| {
    let choice = env::var_os(VARIABLE).unwrap_or_default();
    of_environment(choice.to_string_lossy().trim())
});

/// Simulated devices that stand in for those of the machine, the last one first.
static SIMULATIONS: RwLock<Vec<(usize, Devices)>> = RwLock::new(Vec::new());

fn of_environment(choice: &str) -> Result<Found, DeviceError> {
    let simulation = |count| {
        Ok(Found {
            devices: simulated(count, SimulatedOptions::default()),
            reason: format!("{VARIABLE} is '{choice}'"),
        })
    };
    match choice.split_once(':') {
        None if choice.is_empty() || choice == "cuda" => Ok(of_machine()),
        None if choice == "sim" => simulation(1),
        Some(("sim", count)) => match count.parse() {
            Ok(count) if (1..=MOST_SIMULATED).contains(&count) => simulation(count),
            _ => Err(unknown(choice)),
        },
        _ => Err(unknown(choice)),
    }
}

fn unknown(choice: &str) -> DeviceError {
    DeviceError::Choice {
        value: choice.to_owned(),
        limit: MOST_SIMULATED,
    }
}

fn of_machine() -> Found {
    let arc = |device| Arc::new(device) as Arc<dyn Accelerator>;
    match cuda::find() {
        Ok(devices) => Found {
            devices: devices.into_iter().map(arc).collect(),
            reason: String::new(),
        },
        Err(reason) => Found {
            devices: Vec::new(),
            reason,
        },
    }
}

fn simulated(count: usize, options: SimulatedOptions) -> Devices {
    (0..count)
        .map(|index| Arc::new(Simulated::with(index, options)) as Arc<dyn Accelerator>)
        .collect()
}

/// The accelerators there are: those of the innermost [`Simulation`], else those that the environment asks for.
///
/// # Errors
/// If the environment variable `FIELDSTONE_DEVICE` is none of the values it can have.
pub fn accelerators() -> Result<Vec<Arc<dyn Accelerator>>, DeviceError> {
    current().map(|found| found.devices)
}

fn current() -> Result<Found, DeviceError> {
    let simulations = SIMULATIONS.read().unwrap_or_else(PoisonError::into_inner);
    match simulations.last() {
        Some((_, devices)) => Ok(Found {
            devices: devices.clone(),
            reason: "devices are simulated".to_owned(),
        }),
        None => OF_MACHINE.clone(),
    }
}

/// The accelerator of this number.
///
/// # Errors
/// If there is none; the error says why. As [`accelerators`] as well.
pub fn accelerator(index: usize) -> Result<Arc<dyn Accelerator>, DeviceError> {
    let Found {
        mut devices,
        reason,
    } = current()?;
    let reason = match devices.len() {
        0 => reason,
        count if index < count => return Ok(devices.swap_remove(index)),
        1 => "there is one only, of number 0".to_owned(),
        count => format!("there are {count}, of numbers 0 to {}", count - 1),
    };
    Err(DeviceError::NoDevice { index, reason })
}

/// The accelerator in whose memory an address is, if it is in one's.
///
/// # Errors
/// As [`accelerators`].
pub fn owner(pointer: *const u8) -> Result<Option<Arc<dyn Accelerator>>, DeviceError> {
    let mut devices = accelerators()?.into_iter();
    Ok(devices.find(|device| device.owns(pointer)))
}

/// While this lives, accelerators are simulated.
#[derive(Debug)]
pub struct Simulation {
    number: usize,
    devices: Devices,
}

impl Simulation {
    /// Puts `count` simulated devices in place of whatever there was.
    pub fn start(count: usize) -> Self {
        Self::start_with(count, SimulatedOptions::default())
    }

    /// As [`Self::start`], with devices that behave so.
    pub fn start_with(count: usize, options: SimulatedOptions) -> Self {
        let devices = simulated(count, options);
        let mut simulations = SIMULATIONS.write().unwrap_or_else(PoisonError::into_inner);
        let number = simulations.last().map_or(0, |(number, _)| number + 1);
        simulations.push((number, devices.clone()));
        Self { number, devices }
    }

    /// Its devices.
    pub fn devices(&self) -> Vec<Arc<dyn Accelerator>> {
        self.devices.clone()
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        let mut simulations = SIMULATIONS.write().unwrap_or_else(PoisonError::into_inner);
        simulations.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_can_ask_for_simulated_devices() {
        for (choice, count) in [("sim", 1), ("sim:1", 1), ("sim:3", 3)] {
            assert_eq!(
                of_environment(choice).map(|found| found.devices.len()),
                Ok(count)
            );
        }
    }

    #[test]
    fn what_the_environment_cannot_ask_for_is_refused_with_what_it_can() {
        for choice in [
            "simulated",
            "sim:",
            "sim:0",
            "sim:65",
            "sim:-1",
            "gpu",
            "1",
            ":",
        ] {
            let error = of_environment(choice).unwrap_err().to_string();
            assert!(
                error.contains(&format!("is '{choice}', expected 'sim'")),
                "{error}"
            );
        }
    }
}
