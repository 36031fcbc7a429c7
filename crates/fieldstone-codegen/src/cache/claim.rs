//! One process compiles, the others wait for what it stores.
//!
//! Whoever is about to compile locks a file beside the entry's place; the system unlocks it when the process ends, however it
//! ends. Where files cannot be made or locked, everybody compiles: claims save time and nothing depends on them.

use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// Ending of files that are locked.
pub const ENDING: &str = "lock";

/// How long somebody else is waited for at most: another process can be stopped, or its machine be out of reach.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether this process is to compile.
pub enum Claim {
    /// Nobody else is about to, as long as this lives.
    Mine(Held),
    /// Somebody else was; it has ended, or takes very long.
    Waited,
    /// There is no telling.
    Unknown,
}

/// A locked file, removed and unlocked in the end.
pub struct Held {
    path: PathBuf,
    _file: File,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Whoever waits for the lock of the removed file gets it next, and then finds the entry.
        let _ = fs::remove_file(&self.path);
    }
}

/// Claims an entry, or waits until somebody else who has claimed it is done.
pub fn claim(path: PathBuf) -> Claim {
    let open = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let Ok(file) = open else {
        return Claim::Unknown;
    };
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let mut waited = false;
    loop {
        match file.try_lock() {
            Ok(()) if waited => return Claim::Waited,
            Ok(()) => return Claim::Mine(Held { path, _file: file }),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                waited = true;
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Claim::Waited,
            Err(TryLockError::Error(_)) => return Claim::Unknown,
        }
    }
}
