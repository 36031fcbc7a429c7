//! Where the cache is and how large it may become.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The directory of the cache; empty: there is none.
pub const DIRECTORY_VARIABLE: &str = "FIELDSTONE_CACHE_DIR";
/// Bytes the cache may have.
pub const SIZE_VARIABLE: &str = "FIELDSTONE_CACHE_SIZE";

/// Bytes the cache may have where nothing is said.
const DEFAULT_SIZE: u64 = 1 << 30;

/// The directory of a user's cache: `FIELDSTONE_CACHE_DIR`, else `fieldstone` in the user's cache directory; none where that
/// variable is empty or there is no home.
pub fn directory() -> Option<PathBuf> {
    if let Some(directory) = std::env::var_os(DIRECTORY_VARIABLE) {
        return (!directory.is_empty()).then(|| at_home(directory.into()));
    }
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = base.filter(|path| path.is_absolute());
    let usual = || home().map(|home| home.join(".cache"));
    base.or_else(usual).map(|base| base.join("fieldstone"))
}

fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    home.map(PathBuf::from)
}

/// The path with the home in place of `~`, which no shell replaces in the files that set variables for jobs and containers.
fn at_home(path: PathBuf) -> PathBuf {
    let rest = path.strip_prefix("~").ok();
    let expanded = rest.and_then(|rest| home().map(|home| home.join(rest)));
    expanded.unwrap_or(path)
}

/// The directory `name` in `root`; what is not given is as in [`directory`].
pub fn directory_in(root: Option<&Path>, name: Option<&OsStr>) -> Option<PathBuf> {
    let usual = directory();
    let parts = usual.as_deref();
    let root = root.or_else(|| parts.and_then(Path::parent))?;
    let usual_name = || parts.and_then(Path::file_name);
    let name = name.or_else(usual_name).unwrap_or(OsStr::new("fieldstone"));
    Some(root.join(name))
}

/// Bytes the cache may have: `FIELDSTONE_CACHE_SIZE`, a number with `K`, `M`, `G` or `T` behind it, or `none`.
///
/// # Errors
/// If that variable is something else: what is wrong, and the size that holds instead.
pub fn size() -> Result<Option<u64>, (String, Option<u64>)> {
    let Some(text) = std::env::var_os(SIZE_VARIABLE) else {
        return Ok(Some(DEFAULT_SIZE));
    };
    let text = text.to_string_lossy();
    parse(text.trim()).ok_or_else(|| {
        let message = format!(
            "{SIZE_VARIABLE} is '{text}', expected a number of bytes, also with K, M, G or T behind it, or 'none'; 1G holds \
             instead"
        );
        (message, Some(DEFAULT_SIZE))
    })
}

/// `Some(None)` is no limit.
fn parse(text: &str) -> Option<Option<u64>> {
    if text.eq_ignore_ascii_case("none") {
        return Some(None);
    }
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = text[digits.len()..].trim().to_ascii_uppercase();
    let shift = match unit.trim_end_matches('B').trim_end_matches('I') {
        "" if unit.is_empty() || unit == "B" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    let number: u64 = digits.trim().parse().ok()?;
    number.checked_mul(1 << shift).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("1000", Some(1000)),
            ("3K", Some(3 << 10)),
            ("20 MiB", Some(20 << 20)),
            ("2gb", Some(2 << 30)),
            ("1T", Some(1 << 40)),
            ("none", None),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for text in ["", "much", "1.5G", "-3", "G", "12Q", "99999999999T"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
