//! What is removed: on request, and by itself what nobody will miss.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::entry::Broken;
use super::listing;

/// After how long a draft or a lock counts as left over by a process that was killed.
const FORGOTTEN: Duration = Duration::from_secs(3600);

/// Which entries are removed: those to which all that is given applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// Not used since then.
    pub unused_since: Option<SystemTime>,
    /// Of the stencil of this name.
    pub stencil: Option<String>,
    /// Broken.
    pub broken: bool,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// How many entries.
    pub entries: usize,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Removes entries, and files that killed processes left over. Other files in the directory are left alone.
///
/// # Errors
/// If the directory cannot be read, or a file cannot be removed.
pub fn clear(directory: &Path, which: &Which) -> io::Result<Removed> {
    let mut removed = Removed::default();
    for entry in listing::entries(directory, which.broken)? {
        let unused = which.unused_since.is_none_or(|since| entry.used < since);
        let named = which.stencil.as_ref().is_none_or(|name| {
            let facts = entry.facts.as_ref();
            facts.is_ok_and(|facts| facts.stencil == *name)
        });
        let broken = matches!(&entry.facts, Err(broken) if !matches!(broken, Broken::Format(_)));
        if unused && named && (broken || !which.broken) {
            remove(&entry.path)?;
            removed.entries += 1;
            removed.bytes += entry.size;
        }
    }
    if *which == Which::default() {
        for path in listing::notes(directory)? {
            remove(&path)?;
        }
    }
    removed.bytes += remove_forgotten(directory, SystemTime::now())?;
    Ok(removed)
}

/// Removes drafts and locks that were left over; returns their bytes.
fn remove_forgotten(directory: &Path, now: SystemTime) -> io::Result<u64> {
    let mut bytes = 0;
    for leftover in listing::leftovers(directory)? {
        let age = now.duration_since(leftover.written).unwrap_or_default();
        if age > FORGOTTEN {
            remove(&leftover.path)?;
            bytes += leftover.size;
        }
    }
    Ok(bytes)
}

/// Removes a file that may have been removed meanwhile, and also a folder in its place if that is empty.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path).or_else(|error| fs::remove_dir(path).map_err(|_| error)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Keeps a directory within `limit` bytes, removing what was not used for longest, and removes what was left over.
///
/// `now` is the time as the file system has it, which may be another machine's.
///
/// # Errors
/// If the system refuses.
pub fn sweep(directory: &Path, limit: Option<u64>, now: SystemTime) -> io::Result<()> {
    remove_forgotten(directory, now)?;
    let Some(limit) = limit else {
        return Ok(());
    };
    let (paths, _) = listing::paths(directory)?;
    let mut files: Vec<_> = paths
        .into_iter()
        .filter_map(|path| {
            let metadata = fs::symlink_metadata(&path).ok()?;
            Some((listing::used(&metadata), metadata.len(), path))
        })
        .collect();
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    if total <= limit {
        return Ok(());
    }
    files.sort();
    // A little more than is needed, lest the next entry makes it necessary again.
    let goal = limit - limit / 8;
    for (_, size, path) in files {
        if total <= goal {
            break;
        }
        remove(&path)?;
        total -= size;
    }
    Ok(())
}
