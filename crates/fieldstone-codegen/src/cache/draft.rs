//! Files appear whole or not at all: they are written beside their place and renamed into it.
//!
//! Nothing is forced to the disk. After a crash of the machine a file may have its name and not its contents; its checksum
//! tells, and it is made again. That costs less than waiting for the disk at every compilation.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::Path;

/// Ending of files that are being written.
pub const ENDING: &str = "draft";

/// Puts contents in the place of whatever a path names now.
///
/// # Errors
/// If the system refuses; nothing is left behind then, as far as it lets us.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    // Other machines that share the directory have the same process numbers.
    let number = RandomState::new().build_hasher().finish();
    let draft = path.with_extension(format!("{number:016x}.{ENDING}"));
    let written = File::create_new(&draft)
        .and_then(|mut file| file.write_all(contents))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}
