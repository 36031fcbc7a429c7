//! Names of entries.

use sha2::{Digest, Sha256};

/// Bytes of a hash that stand in a name.
const KEPT: usize = 16;

/// Names an entry: a hash of the program, and a hash of all that its code follows from.
///
/// The first lets one ask whether there is code of a program for any layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    program: String,
    code: String,
}

impl Key {
    /// The key of code that follows from `program` and `code`.
    pub fn new(program: &[&str], code: &[&str]) -> Key {
        Key {
            program: hash(program),
            code: hash(code),
        }
    }

    /// What the names of all entries of the program begin with.
    pub fn prefix(program: &[&str]) -> String {
        hash(program) + "-"
    }

    /// The name, without an ending.
    pub fn name(&self) -> String {
        format!("{}-{}", self.program, self.code)
    }
}

/// Whether a file name without its ending is one that [`Key::name`] gives.
pub fn is_name(name: &str) -> bool {
    let is_hash = |text: &str| text.len() == 2 * KEPT && text.bytes().all(is_digit);
    name.split_once('-')
        .is_some_and(|(program, code)| is_hash(program) && is_hash(code))
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Digits that are others for another text.
pub fn fingerprint(text: &str) -> String {
    hash(&[text])
}

fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths keep ("ab", "c") and ("a", "bc") apart.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hexadecimal(&hash.finalize()[..KEPT])
}

/// Bytes as digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_apart() {
        let (one, other) = (Key::new(&["ab", "c"], &[]), Key::new(&["a", "bc"], &[]));
        assert_ne!(one, other);
        assert_ne!(one, Key::new(&["ab", "c"], &["code"]));
    }

    #[test]
    fn names_are_told_from_others() {
        let name = Key::new(&["program"], &["code"]).name();
        assert!(is_name(&name));
        assert!(name.starts_with(&Key::prefix(&["program"])));
        for other in ["", "-", &name[1..], &name.to_uppercase(), "notes-2"] {
            assert!(!is_name(other), "{other}");
        }
    }
}
