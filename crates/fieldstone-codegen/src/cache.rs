//! Compiled code on disk.
//!
//! A file is named by the hash of everything its contents follow from, and starts with the hash of its contents. It is
//! written beside its place and renamed into it, so any number of processes can share a directory. A file that is cut short
//! or altered counts as not there. The cache only saves time: where it cannot be read or written, code is compiled again.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

/// Changes when the format of files changes.
const MAGIC: &[u8; 16] = b"fieldstone code1";
const HASH: usize = 32;

/// Names the contents of a file: a hash of all they follow from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key of contents that follow from `parts`.
    pub fn new(parts: &[&str]) -> Key {
        let mut hash = Sha256::new();
        for part in parts {
            // Lengths keep ("ab", "c") and ("a", "bc") apart.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Key(hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    }
}

/// A directory of compiled code, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    directory: Option<PathBuf>,
}

impl Cache {
    /// A cache in a directory, which is made when something is first stored.
    pub fn at(directory: impl Into<PathBuf>) -> Cache {
        Cache {
            directory: Some(directory.into()),
        }
    }

    /// A cache that keeps nothing.
    pub fn none() -> Cache {
        Cache::default()
    }

    /// `FIELDSTONE_CACHE_DIR`, else `fieldstone` in the user's cache directory; none where that variable is empty or there is
    /// no home.
    pub fn of_user() -> Cache {
        if let Some(directory) = std::env::var_os("FIELDSTONE_CACHE_DIR") {
            return match directory.is_empty() {
                true => Cache::none(),
                false => Cache::at(directory),
            };
        }
        let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let base = base.filter(|path| path.is_absolute());
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        Cache {
            directory: base.or_else(home).map(|base| base.join("fieldstone")),
        }
    }

    /// Where files lie.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The contents stored under a key.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let file = fs::read(self.path(key)?).ok()?;
        let contents = file.strip_prefix(MAGIC.as_slice())?;
        let (hash, contents) = contents.split_at_checked(HASH)?;
        (Sha256::digest(contents).as_slice() == hash).then(|| contents.to_vec())
    }

    /// Stores contents under a key; where that fails, nothing is stored.
    pub fn put(&self, key: &Key, contents: &[u8]) {
        // Not being able to store costs the next process a compilation and nothing else.
        let _ = self.try_put(key, contents);
    }

    fn try_put(&self, key: &Key, contents: &[u8]) -> std::io::Result<()> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let (Some(path), Some(directory)) = (self.path(key), self.directory()) else {
            return Ok(());
        };
        fs::create_dir_all(directory)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_extension(format!("{}.{number}.draft", std::process::id()));
        let written = write_draft(&draft, contents).and_then(|()| fs::rename(&draft, &path));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(format!("{}.o", key.0)))
    }
}

fn write_draft(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create_new(path)?;
    file.write_all(MAGIC)?;
    file.write_all(&Sha256::digest(contents))?;
    file.write_all(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str) -> Cache {
        let directory =
            std::env::temp_dir().join(format!("fieldstone-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        Cache::at(directory)
    }

    fn only_file(cache: &Cache) -> PathBuf {
        let mut files = fs::read_dir(cache.directory().unwrap()).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none(), "drafts are renamed or removed");
        file
    }

    #[test]
    fn keeps_contents_by_what_they_follow_from() {
        let cache = cache("keeps");
        let (one, other) = (Key::new(&["ab", "c"]), Key::new(&["a", "bc"]));
        cache.put(&one, b"code");
        assert_eq!(cache.get(&one).as_deref(), Some(b"code".as_slice()));
        assert_eq!(cache.get(&other), None);
        fs::remove_dir_all(cache.directory().unwrap()).unwrap();
    }

    #[test]
    fn a_broken_file_counts_as_not_there_and_is_replaced() {
        let cache = cache("broken");
        let key = Key::new(&["x"]);
        cache.put(&key, b"some code");
        let path = only_file(&cache);
        let whole = fs::read(&path).unwrap();
        let altered: Vec<u8> = whole.iter().map(|byte| byte ^ 1).collect();
        for broken in [&whole[..whole.len() - 1], &whole[..20], &[], &altered] {
            fs::write(&path, broken).unwrap();
            assert_eq!(cache.get(&key), None);
            cache.put(&key, b"some code");
            assert_eq!(cache.get(&key).as_deref(), Some(b"some code".as_slice()));
        }
        fs::remove_dir_all(cache.directory().unwrap()).unwrap();
    }

    #[test]
    fn without_a_directory_nothing_is_kept() {
        let key = Key::new(&["x"]);
        for cache in [Cache::none(), Cache::at("/dev/null/nowhere")] {
            cache.put(&key, b"code");
            assert_eq!(cache.get(&key), None);
        }
    }
}
