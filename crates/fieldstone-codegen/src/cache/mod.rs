//! Compiled code on disk.
//!
//! | module | what lives there |
//! |---|---|
//! | [`settings`] | where the cache is and how large it may become |
//! | `key` | names of entries: hashes of all that code follows from |
//! | [`entry`] | what a file contains, and how it shows that it is whole |
//! | `draft` | files appear whole or not at all |
//! | [`claim`] | one process compiles, others wait |
//! | [`listing`], [`removal`] | what is there; what is removed, on request or by itself |
//!
//! Any number of processes on any number of machines can share a directory. A file that is not whole counts as not there,
//! and is replaced. The cache only saves time: where it cannot be read or written, code is compiled again, and nobody is
//! told.

pub mod claim;
mod draft;
pub mod entry;
mod key;
pub mod listing;
pub mod removal;
pub mod settings;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use self::claim::Claim;
use self::entry::Facts;
pub use self::key::{Key, fingerprint};

/// Ending of entries.
const ENDING: &str = "code";

/// Ending of notes on processors.
const NOTE: &str = "host";

/// How exactly it is known when an entry was used last; writing that down costs time.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// A directory of compiled code, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    directory: Option<PathBuf>,
    /// Bytes the directory may have.
    limit: Option<u64>,
}

impl Cache {
    /// A cache in a directory, which is made when something is first stored, of at most `limit` bytes.
    pub fn at(directory: impl Into<PathBuf>, limit: Option<u64>) -> Cache {
        Cache {
            directory: Some(directory.into()),
            limit,
        }
    }

    /// A cache that keeps nothing.
    pub fn none() -> Cache {
        Cache::default()
    }

    /// Where files lie.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The code stored under a key.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key, ENDING)?;
        let mut file = listing::read(&path).ok()?;
        let start = file.len() - entry::object(&file).ok()?.len();
        note_use(&path);
        Some(file.split_off(start))
    }

    /// The text noted under a key with [`Cache::note`].
    pub fn noted(&self, key: &Key) -> Option<String> {
        let file = listing::read(&self.path(key, NOTE)?).ok()?;
        String::from_utf8(entry::object(&file).ok()?.to_vec()).ok()
    }

    /// Notes a text that is no code: it is neither listed nor counted, and goes when everything is removed.
    pub fn note(&self, key: &Key, facts: &Facts, text: &str) {
        if let (Some(path), Some(directory)) = (self.path(key, NOTE), self.directory()) {
            let contents = entry::encode(facts, text.as_bytes());
            // As for code.
            let _ = make(directory).and_then(|()| draft::write(&path, &contents));
        }
    }

    /// Whether there may be code of a program for some layout; its files are not read.
    pub fn has_any(&self, program: &[&str]) -> bool {
        let prefix = Key::prefix(program);
        let paths = self.directory().map(listing::paths);
        let Some(Ok((entries, _))) = paths else {
            return false;
        };
        let names = entries.iter().filter_map(|path| path.file_name()?.to_str());
        names.into_iter().any(|name| name.starts_with(&prefix))
    }

    /// Stores code under a key; where that fails, nothing is stored.
    pub fn put(&self, key: &Key, facts: &Facts, object: &[u8]) {
        // Not being able to store costs the next process a compilation and nothing else.
        let _ = self.try_put(key, facts, object);
    }

    /// Asks to be the one who compiles what belongs to a key.
    pub fn claim(&self, key: &Key) -> Claim {
        let (Some(path), Some(directory)) = (self.path(key, claim::ENDING), self.directory())
        else {
            return Claim::Unknown;
        };
        match make(directory) {
            Ok(()) => claim::claim(path),
            Err(_) => Claim::Unknown,
        }
    }

    fn try_put(&self, key: &Key, facts: &Facts, object: &[u8]) -> io::Result<()> {
        let (Some(path), Some(directory)) = (self.path(key, ENDING), self.directory()) else {
            return Ok(());
        };
        let contents = entry::encode(facts, object);
        make(directory)?;
        if draft::write(&path, &contents).is_err() {
            // The directory may have been removed, or something odd be in the file's place.
            make(directory)?;
            let _ = fs::remove_dir(&path);
            draft::write(&path, &contents)?;
        }
        self.sweep_now_and_then(directory, &path, contents.len() as u64)
    }

    /// Looks after the directory at this process's first entry, and then each time it has written a part of the limit.
    fn sweep_now_and_then(&self, directory: &Path, latest: &Path, bytes: u64) -> io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let part = self.limit.map_or(u64::MAX, |limit| limit / 16).max(1);
        let before = WRITTEN.fetch_add(bytes, Ordering::Relaxed);
        if before != 0 && before / part == (before + bytes) / part {
            return Ok(());
        }
        let now = fs::metadata(latest)?.modified()?;
        removal::sweep(directory, self.limit, now)
    }

    fn path(&self, key: &Key, ending: &str) -> Option<PathBuf> {
        let directory = self.directory()?;
        Some(directory.join(format!("{}.{ending}", key.name())))
    }
}

/// Makes the directory, with a note for programs that make backups.
fn make(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n\
               # Compiled stencils of fieldstone, made again where they are missing.\n";
    // A cache without the note is a cache.
    let _ = fs::write(directory.join("CACHEDIR.TAG"), tag);
    Ok(())
}

/// Sets the time by which entries are removed where space runs out.
fn note_use(path: &Path) {
    let note = || -> io::Result<()> {
        let now = SystemTime::now();
        let last = fs::metadata(path)?.modified()?;
        if now.duration_since(last).is_ok_and(|age| age > A_DAY) {
            File::open(path)?.set_modified(now)?;
        }
        Ok(())
    };
    // Somebody else's directory, perhaps.
    let _ = note();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str) -> Cache {
        let directory =
            std::env::temp_dir().join(format!("fieldstone-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        Cache::at(directory, None)
    }

    fn facts(stencil: &str) -> Facts {
        Facts {
            stencil: stencil.into(),
            backend: String::new(),
            cpu: String::new(),
            layout: String::new(),
            fieldstone: String::new(),
            llvm: String::new(),
            written: SystemTime::UNIX_EPOCH,
        }
    }

    fn only_file(cache: &Cache) -> PathBuf {
        let (entries, leftovers) = listing::paths(cache.directory().unwrap()).unwrap();
        assert_eq!(entries.len(), 1);
        assert!(leftovers.is_empty(), "drafts are renamed or removed");
        entries[0].clone()
    }

    fn remove(cache: &Cache) {
        fs::remove_dir_all(cache.directory().unwrap()).unwrap();
    }

    #[test]
    fn keeps_code_by_what_it_follows_from() {
        let cache = cache("keeps");
        let (one, other) = (Key::new(&["p"], &["x"]), Key::new(&["p"], &["y"]));
        cache.put(&one, &facts("a"), b"code");
        assert_eq!(cache.get(&one).as_deref(), Some(b"code".as_slice()));
        assert_eq!(cache.get(&other), None);
        assert!(cache.has_any(&["p"]) && !cache.has_any(&["q"]));
        remove(&cache);
    }

    #[test]
    fn a_broken_file_counts_as_not_there_and_is_replaced() {
        let cache = cache("broken");
        let key = Key::new(&["p"], &["x"]);
        cache.put(&key, &facts("a"), b"some code");
        let path = only_file(&cache);
        let whole = fs::read(&path).unwrap();
        let altered: Vec<u8> = whole.iter().map(|byte| byte ^ 1).collect();
        for broken in [&whole[..whole.len() - 1], &whole[..20], &[], &altered] {
            fs::write(&path, broken).unwrap();
            assert_eq!(cache.get(&key), None);
            cache.put(&key, &facts("a"), b"some code");
            assert_eq!(cache.get(&key).as_deref(), Some(b"some code".as_slice()));
        }
        remove(&cache);
    }

    #[test]
    fn a_folder_in_the_place_of_a_file_is_replaced() {
        let cache = cache("folder");
        let key = Key::new(&["p"], &["x"]);
        fs::create_dir_all(cache.path(&key, ENDING).unwrap()).unwrap();
        assert_eq!(cache.get(&key), None);
        cache.put(&key, &facts("a"), b"code");
        assert_eq!(cache.get(&key).as_deref(), Some(b"code".as_slice()));
        remove(&cache);
    }

    #[test]
    fn without_a_directory_nothing_is_kept() {
        let key = Key::new(&["p"], &["x"]);
        for cache in [Cache::none(), Cache::at("/dev/null/nowhere", None)] {
            assert!(matches!(cache.claim(&key), Claim::Unknown));
            cache.put(&key, &facts("a"), b"code");
            assert_eq!(cache.get(&key), None);
            assert!(!cache.has_any(&["p"]));
        }
    }

    #[test]
    fn one_claims_and_others_wait() {
        let cache = cache("claims");
        let key = Key::new(&["p"], &["x"]);
        let Claim::Mine(held) = cache.claim(&key) else {
            panic!("nobody else is there");
        };
        let other = cache.clone();
        let same = key.clone();
        let waiting = std::thread::spawn(move || matches!(other.claim(&same), Claim::Waited));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        drop(held);
        assert!(waiting.join().unwrap());
        assert!(matches!(cache.claim(&key), Claim::Mine(_)));
        remove(&cache);
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let cache = cache("limit");
        let keys: Vec<Key> = ["a", "b", "c", "d"].map(|x| Key::new(&[x], &[])).into();
        let now = SystemTime::now();
        for (age, key) in keys.iter().enumerate() {
            cache.put(key, &facts("s"), &[0; 1000]);
            let file = File::open(cache.path(key, ENDING).unwrap()).unwrap();
            file.set_modified(now - A_DAY * (10 - age as u32)).unwrap();
        }
        // Reading the oldest makes it the newest.
        assert!(cache.get(&keys[0]).is_some());
        removal::sweep(cache.directory().unwrap(), Some(3600), now).unwrap();
        let there: Vec<bool> = keys.iter().map(|key| cache.get(key).is_some()).collect();
        assert_eq!(there, [true, false, false, true]);
        remove(&cache);
    }

    #[test]
    fn what_is_left_over_goes_and_what_is_not_ours_stays() {
        let cache = cache("left");
        let key = Key::new(&["p"], &["x"]);
        cache.put(&key, &facts("a"), b"code");
        let directory = cache.directory().unwrap();
        let old = SystemTime::now() - Duration::from_secs(7200);
        let make = |name: String, old: Option<SystemTime>| {
            let file = File::create(directory.join(&name)).unwrap();
            if let Some(old) = old {
                file.set_modified(old).unwrap();
            }
            directory.join(name)
        };
        let stale = [
            make(format!("{}.0123.draft", key.name()), Some(old)),
            make(format!("{}.lock", key.name()), Some(old)),
        ];
        let kept = [
            make(format!("{}.4567.draft", key.name()), None),
            make("notes.draft".into(), Some(old)),
            make("thesis.code".into(), Some(old)),
        ];
        removal::clear(directory, &removal::Which::default()).unwrap();
        assert!(stale.iter().all(|path| !path.exists()));
        assert!(kept.iter().all(|path| path.exists()));
        assert_eq!(cache.get(&key), None);
        remove(&cache);
    }
}
