//! What a file of the cache contains: lines that say what it is, and the code.
//!
//! ```text
//! fieldstone code 2
//! sha256 <of everything after this line>
//! stencil horizontal_diffusion
//! backend cpu_ifirst
//! cpu znver3
//! layout phi=I coefficient=I phi_new=I
//! fieldstone 0.1.0
//! llvm llvmlite 0.50.0 llvm 22.1.3
//! written 1795238153
//! object 23880
//! <as many bytes>
//! ```

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use super::key::hexadecimal;

const KIND: &str = "fieldstone code ";
/// Changes when the format of files changes.
const FORMAT: &str = "2";
const DIGITS: usize = 64;

/// What an entry says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Name of the stencil.
    pub stencil: String,
    /// The backend it was compiled for.
    pub backend: String,
    /// LLVM's name of the processor.
    pub cpu: String,
    /// Which axis each field is contiguous along, as in `phi=I height=K mask=none`.
    pub layout: String,
    /// Version of fieldstone.
    pub fieldstone: String,
    /// Version of LLVM.
    pub llvm: String,
    /// When it was written, to the second.
    pub written: SystemTime,
}

/// What is wrong with a file of the cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It does not begin as entries do.
    #[error("it is no entry of the cache")]
    Foreign,
    /// It begins as entries of another version do.
    #[error("it has format {0} of another version of fieldstone, this one reads format {FORMAT}")]
    Format(String),
    /// It ends too early.
    #[error("it is cut short")]
    CutShort,
    /// It is not what was written.
    #[error("its contents are not what was written: the checksum is wrong")]
    Altered,
    /// The system cannot read it.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// The contents of a file.
pub fn encode(facts: &Facts, object: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(object.len() + 512);
    let seconds = facts.written.duration_since(UNIX_EPOCH);
    let seconds = seconds.unwrap_or_default().as_secs().to_string();
    for (name, value) in [
        ("stencil", facts.stencil.as_str()),
        ("backend", &facts.backend),
        ("cpu", &facts.cpu),
        ("layout", &facts.layout),
        ("fieldstone", &facts.fieldstone),
        ("llvm", &facts.llvm),
        ("written", &seconds),
        ("object", &object.len().to_string()),
    ] {
        // A name may be any text; a line is a line.
        let value = value.replace(char::is_control, "?");
        body.extend_from_slice(format!("{name} {value}\n").as_bytes());
    }
    body.extend_from_slice(object);
    let mut file = format!("{KIND}{FORMAT}\nsha256 {}\n", checksum(&body)).into_bytes();
    file.append(&mut body);
    file
}

fn checksum(body: &[u8]) -> String {
    hexadecimal(&Sha256::digest(body))
}

/// The code in a file.
///
/// # Errors
/// If the file is not whole.
pub fn object(file: &[u8]) -> Result<&[u8], Broken> {
    let (sum, body) = begin(file)?;
    let (_, object) = facts_and_object(body)?;
    if checksum(body).as_bytes() != sum {
        return Err(Broken::Altered);
    }
    Ok(object)
}

/// What a file says of itself; only its first lines are looked at.
///
/// # Errors
/// If these are not as they are written.
pub fn facts(file: &[u8]) -> Result<Facts, Broken> {
    let (_, mut rest) = begin(file)?;
    read_facts(&mut rest).map(|(facts, _)| facts)
}

/// The checksum a file claims, and what it is of.
fn begin(file: &[u8]) -> Result<(&[u8], &[u8]), Broken> {
    let mut rest = file;
    let kind = format!("{KIND}{FORMAT}\n").into_bytes();
    if !file.starts_with(&kind) {
        if kind.starts_with(file) {
            return Err(Broken::CutShort);
        }
        let first = line(&mut rest).unwrap_or_default();
        return Err(match first.strip_prefix(KIND) {
            Some(format) => Broken::Format(format.to_owned()),
            None => Broken::Foreign,
        });
    }
    rest = &file[kind.len()..];
    let sum = rest.strip_prefix(b"sha256 ").unwrap_or_default();
    match sum.split_at_checked(DIGITS) {
        Some((sum, [b'\n', body @ ..])) => Ok((sum, body)),
        Some((_, [_, ..])) => Err(Broken::Altered),
        _ => Err(Broken::CutShort),
    }
}

fn facts_and_object(body: &[u8]) -> Result<(Facts, &[u8]), Broken> {
    let mut rest = body;
    let (facts, size) = read_facts(&mut rest)?;
    match rest.len().cmp(&size) {
        std::cmp::Ordering::Less => Err(Broken::CutShort),
        std::cmp::Ordering::Equal => Ok((facts, rest)),
        std::cmp::Ordering::Greater => Err(Broken::Altered),
    }
}

/// Reads the lines before the object and its size.
fn read_facts(rest: &mut &[u8]) -> Result<(Facts, usize), Broken> {
    let mut value = |name: &str| {
        let line = line(rest).ok_or(Broken::CutShort)?;
        let value = line
            .strip_prefix(name)
            .and_then(|line| line.strip_prefix(' '));
        value.map(str::to_owned).ok_or(Broken::Altered)
    };
    let number = |text: String| text.parse::<u64>().map_err(|_| Broken::Altered);
    let facts = Facts {
        stencil: value("stencil")?,
        backend: value("backend")?,
        cpu: value("cpu")?,
        layout: value("layout")?,
        fieldstone: value("fieldstone")?,
        llvm: value("llvm")?,
        written: UNIX_EPOCH
            + Duration::from_secs(number(value("written")?)?.min(u64::from(u32::MAX))),
    };
    let size = number(value("object")?)?;
    Ok((facts, usize::try_from(size).map_err(|_| Broken::Altered)?))
}

/// Takes a line of text off the front.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(&rest[..end]).ok()?;
    *rest = &rest[end + 1..];
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Facts {
        Facts {
            stencil: "diffuse".into(),
            backend: "cpu_ifirst".into(),
            cpu: "znver3".into(),
            layout: "phi=I height=K".into(),
            fieldstone: "0.1.0".into(),
            llvm: "llvm 22".into(),
            written: UNIX_EPOCH + Duration::from_secs(1_795_238_153),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let file = encode(&example(), b"code\0\nmore");
        assert_eq!(object(&file), Ok(b"code\0\nmore".as_slice()));
        assert_eq!(facts(&file), Ok(example()));
    }

    #[test]
    fn a_name_of_several_lines_does_not_make_lines() {
        let mut odd = example();
        odd.stencil = "a\nbackend b\0".into();
        let file = encode(&odd, b"code");
        assert_eq!(object(&file), Ok(b"code".as_slice()));
        assert_eq!(facts(&file).unwrap().stencil, "a?backend b?");
    }

    #[test]
    fn every_part_of_a_file_is_needed() {
        let file = encode(&example(), b"code");
        for length in 0..file.len() {
            assert_eq!(object(&file[..length]), Err(Broken::CutShort), "{length}");
        }
    }

    #[test]
    fn every_byte_of_a_file_counts() {
        let file = encode(&example(), b"code");
        for place in 0..file.len() {
            let mut other = file.clone();
            other[place] ^= 1;
            assert!(object(&other).is_err(), "{place}");
        }
        let longer = [file.as_slice(), b"x"].concat();
        assert_eq!(object(&longer), Err(Broken::Altered));
    }

    #[test]
    fn other_files_are_told_apart() {
        assert_eq!(object(b"\x7fELF and so on\n"), Err(Broken::Foreign));
        assert_eq!(
            object(b"fieldstone code 11\nwhatever"),
            Err(Broken::Format("11".into()))
        );
    }
}
