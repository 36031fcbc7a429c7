//! Object files taken apart, and several put together.

use std::collections::HashMap;

use super::{NotLoaded, because};

/// Section number of symbols that are elsewhere.
pub(super) const UNDEFINED: u16 = 0;
/// Section numbers from here on mean something else.
const RESERVED: u16 = 0xff00;

const WRITABLE: u64 = 1;
pub(super) const IN_MEMORY: u64 = 2;
const THREAD_LOCAL: u64 = 0x400;

pub(super) const RELOCATIONS: u32 = 4;
pub(super) const SYMBOLS: u32 = 2;
const NO_BITS: u32 = 8;

/// What several object files begin with that are kept as one: a number of bytes and so many bytes for each follow.
const SEVERAL: &[u8; 8] = b"objects\n";

/// Puts object files that refer to each other together into one piece.
pub fn bundle(objects: &[Vec<u8>]) -> Vec<u8> {
    if let [object] = objects {
        return object.clone();
    }
    let mut bundle = SEVERAL.to_vec();
    for object in objects {
        bundle.extend((object.len() as u64).to_le_bytes());
        bundle.extend(object);
    }
    bundle
}

/// The object files of such a piece.
///
/// # Errors
/// If it is cut short.
pub fn objects(bundle: &[u8]) -> Result<Vec<&[u8]>, NotLoaded> {
    let Some(mut rest) = bundle.strip_prefix(SEVERAL) else {
        return Ok(vec![bundle]);
    };
    let mut found = Vec::new();
    while !rest.is_empty() {
        let size = Bytes(rest).number(0, 8)?;
        found.push(Bytes(rest).part(8, size)?);
        rest = &rest[8 + size as usize..];
    }
    Ok(found)
}

/// Object files taken apart, their sections and symbols one behind the other.
#[derive(Default)]
pub(super) struct File<'a> {
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
}

pub(super) struct Section<'a> {
    pub kind: u32,
    flags: u64,
    /// For relocations the section that they are of.
    pub of: usize,
    /// Where the symbols of its object file begin.
    pub symbols: usize,
    pub size: usize,
    pub align: usize,
    pub bytes: &'a [u8],
}

impl Section<'_> {
    pub fn in_memory(&self) -> bool {
        self.flags & IN_MEMORY != 0
    }

    pub fn is_variable(&self) -> bool {
        self.flags & (WRITABLE | THREAD_LOCAL) != 0
    }
}

/// Where a symbol is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a section.
    In(usize),
    /// In none of the object files.
    Elsewhere,
    /// Somewhere that is not known here.
    Odd,
}

#[derive(Clone, Copy)]
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    pub place: Place,
    pub value: u64,
    /// Whether other object files may refer to it.
    is_global: bool,
}

/// Reads numbers, little end first.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    fn part(self, start: u64, size: u64) -> Result<&'a [u8], NotLoaded> {
        let range = usize::try_from(start).ok().zip(usize::try_from(size).ok());
        let found = range.and_then(|(start, size)| self.0.get(start..start.checked_add(size)?));
        found.map_or_else(|| because("is cut short"), Ok)
    }

    pub fn number(self, start: usize, size: usize) -> Result<u64, NotLoaded> {
        let bytes = self.part(start as u64, size as u64)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

impl<'a> File<'a> {
    /// Takes object files apart, and lets each refer to what others define.
    pub fn read(objects: &[&'a [u8]]) -> Result<File<'a>, NotLoaded> {
        let mut file = File::default();
        objects.iter().try_for_each(|object| file.add(object))?;
        file.connect();
        Ok(file)
    }

    fn add(&mut self, object: &'a [u8]) -> Result<(), NotLoaded> {
        let bytes = Bytes(object);
        // ELF, 64 bits, little end first, version 1.
        if !object.starts_with(b"\x7fELF\x02\x01\x01") {
            return because("is no object file of 64 bits");
        }
        let (kind, machine) = (bytes.number(16, 2)?, bytes.number(18, 2)?);
        if kind != 1 || machine != 62 || !cfg!(all(unix, target_arch = "x86_64")) {
            return because("is for another machine");
        }
        let (table, count) = (bytes.number(40, 8)?, bytes.number(60, 2)?);
        let headers = Bytes(bytes.part(table, count * 64)?);
        let (before, symbols) = (self.sections.len(), self.symbols.len());
        let mut links = Vec::new();
        for start in (0..count as usize).map(|number| number * 64) {
            let field = |at: usize, size: usize| headers.number(start + at, size);
            let (kind, size) = (field(4, 4)? as u32, field(32, 8)?);
            let bytes = match kind {
                NO_BITS => &[],
                _ => bytes.part(field(24, 8)?, size)?,
            };
            links.push(before + field(40, 4)? as usize);
            self.sections.push(Section {
                kind,
                flags: field(8, 8)?,
                of: before + field(44, 4)? as usize,
                symbols,
                size: usize::try_from(size).unwrap_or(usize::MAX),
                align: (field(48, 8)?.max(1) as usize).min(1 << 16),
                bytes,
            });
        }
        for (section, link) in self.sections[before..].iter().zip(links) {
            if section.kind == SYMBOLS {
                let strings = self.sections.get(link).map_or(&[][..], |names| names.bytes);
                for entry in section.bytes.chunks_exact(24) {
                    let symbol = Symbol::read(Bytes(entry), strings, before)?;
                    self.symbols.push(symbol);
                }
            }
        }
        Ok(())
    }

    fn connect(&mut self) {
        let is_defined =
            |symbol: &&Symbol<'a>| symbol.is_global && symbol.place != Place::Elsewhere;
        let defined = self.symbols.iter().filter(is_defined);
        let defined: HashMap<&str, Symbol<'a>> = defined.map(|s| (s.name, *s)).collect();
        for symbol in &mut self.symbols {
            if symbol.place == Place::Elsewhere
                && let Some(found) = defined.get(symbol.name)
            {
                *symbol = *found;
            }
        }
    }
}

impl<'a> Symbol<'a> {
    fn read(entry: Bytes<'_>, strings: &'a [u8], before: usize) -> Result<Symbol<'a>, NotLoaded> {
        let name = strings
            .get(entry.number(0, 4)? as usize..)
            .unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Symbol {
            name: std::str::from_utf8(name).or_else(|_| because("has a name that is no text"))?,
            place: match entry.number(6, 2)? as u16 {
                UNDEFINED => Place::Elsewhere,
                number if number < RESERVED => Place::In(before + usize::from(number)),
                _ => Place::Odd,
            },
            is_global: entry.number(4, 1)? >> 4 != 0,
            value: entry.number(8, 8)?,
        })
    }
}
