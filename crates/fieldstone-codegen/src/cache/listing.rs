//! What is in a directory of the cache.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::entry::{self, Broken, Facts};
use super::{ENDING, claim, draft, key};

/// First bytes of a file, in which all it says of itself stands.
const BEGINNING: u64 = 1 << 16;

/// A file of the cache.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it is.
    pub path: PathBuf,
    /// Bytes it takes.
    pub size: u64,
    /// When it was last used, to the day.
    pub used: SystemTime,
    /// What it says of itself, or why that is not known.
    pub facts: Result<Facts, Broken>,
}

/// A file that is in the directory for a while.
#[derive(Clone, Debug)]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// Bytes it takes.
    pub size: u64,
    /// When it was last written.
    pub written: SystemTime,
}

/// Paths of the notes of a directory.
///
/// # Errors
/// If the directory cannot be read.
pub fn notes(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut notes = Vec::new();
    for file in fs::read_dir(directory)? {
        let path = file?.path();
        if parts(&path).is_some_and(|(name, ending)| key::is_name(name) && ending == super::NOTE) {
            notes.push(path);
        }
    }
    Ok(notes)
}

/// Paths of the entries of a directory, and of drafts and locks; other files are left out, whoever put them there.
///
/// # Errors
/// If the directory cannot be read.
pub fn paths(directory: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut entries, mut leftovers) = (Vec::new(), Vec::new());
    for file in fs::read_dir(directory)? {
        let path = file?.path();
        let Some((name, ending)) = parts(&path) else {
            continue;
        };
        if !key::is_name(name) {
            continue;
        }
        match ending {
            ENDING => entries.push(path),
            claim::ENDING => leftovers.push(path),
            _ if ending.ends_with(draft::ENDING) => leftovers.push(path),
            _ => {}
        }
    }
    entries.sort();
    Ok((entries, leftovers))
}

/// Name and ending of a file, as far as they are text.
fn parts(path: &Path) -> Option<(&str, &str)> {
    path.file_name()?.to_str()?.split_once('.')
}

/// Every entry of a directory, with what it says of itself; with `whole` also checksums are verified.
///
/// # Errors
/// If the directory cannot be read.
pub fn entries(directory: &Path, whole: bool) -> io::Result<Vec<Entry>> {
    let (paths, _) = paths(directory)?;
    let read = |path: PathBuf| {
        // One that was removed meanwhile is no entry.
        let metadata = fs::symlink_metadata(&path).ok()?;
        let facts = if whole {
            verified(&path)
        } else {
            beginning(&path)
        };
        Some(Entry {
            size: metadata.len(),
            used: used(&metadata),
            facts,
            path,
        })
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

/// When a file was last used: reading it sets its time of modification.
pub fn used(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Drafts and locks of a directory.
///
/// # Errors
/// If the directory cannot be read.
pub fn leftovers(directory: &Path) -> io::Result<Vec<Leftover>> {
    let (_, paths) = paths(directory)?;
    let describe = |path: PathBuf| {
        let metadata = fs::symlink_metadata(&path).ok()?;
        Some(Leftover {
            size: metadata.len(),
            written: used(&metadata),
            path,
        })
    };
    Ok(paths.into_iter().filter_map(describe).collect())
}

fn beginning(path: &Path) -> Result<Facts, Broken> {
    let mut bytes = Vec::new();
    let file = open(path).map_err(unreadable)?;
    file.take(BEGINNING)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    entry::facts(&bytes)
}

fn verified(path: &Path) -> Result<Facts, Broken> {
    let bytes = read(path).map_err(unreadable)?;
    entry::object(&bytes)?;
    entry::facts(&bytes)
}

fn unreadable(error: io::Error) -> Broken {
    Broken::Unreadable(error.to_string())
}

/// Opens a file, and nothing that would keep us waiting.
///
/// # Errors
/// If there is no file, or something else in its place.
pub fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    File::open(path)
}

/// All bytes of a file.
///
/// # Errors
/// As [`open`], and if they cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::with_capacity(file.metadata()?.len().min(1 << 26) as usize);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
