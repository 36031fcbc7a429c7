//! How many threads this process should use.

use crate::DeviceError;
use std::env;
use std::num::NonZero;
use std::thread;

/// More threads than this are refused; no machine this is meant for has more cores.
pub(crate) const MOST_THREADS: usize = 1024;

/// The environment variable that sets the number of threads.
pub(crate) const VARIABLE: &str = "FIELDSTONE_NUM_THREADS";

/// The number of threads asked for by the environment variable `FIELDSTONE_NUM_THREADS`, if it is set.
///
/// # Errors
/// If its value is no integer from 1 to 1024.
pub fn requested_threads() -> Result<Option<usize>, DeviceError> {
    let Some(value) = env::var_os(VARIABLE) else {
        return Ok(None);
    };
    let value = value.to_string_lossy();
    match value.trim().parse() {
        Ok(threads) => check(VARIABLE, threads).map(Some),
        Err(_) if value.trim().is_empty() => Ok(None),
        Err(_) => Err(DeviceError::Threads {
            name: VARIABLE,
            value: value.into_owned(),
            limit: MOST_THREADS,
        }),
    }
}

/// The number of cores this process may use: its affinity mask, but no more than its cgroup's CPU quota.
pub fn available_threads() -> usize {
    thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MOST_THREADS)
}

pub(crate) fn check(name: &'static str, threads: usize) -> Result<usize, DeviceError> {
    if (1..=MOST_THREADS).contains(&threads) {
        Ok(threads)
    } else {
        Err(DeviceError::Threads {
            name,
            value: threads.to_string(),
            limit: MOST_THREADS,
        })
    }
}
