//! Object files into memory, without LLVM.
//!
//! What LLVM makes of kernels is simple: code, constants, and references between these and to functions of this process.
//! Loading that here takes a fraction of the time it takes to import LLVM. Whatever is not known here is an error, and
//! LLVM's own loader can take over.

mod file;

use std::collections::HashMap;

use crate::jit::{self, Library};

use file::{Bytes, File, Place, RELOCATIONS, Symbol};
pub use file::{bundle, objects};

/// Why an object file is not loaded here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the object file {0}")]
pub struct NotLoaded(String);

fn because<T>(reason: impl Into<String>) -> Result<T, NotLoaded> {
    Err(NotLoaded(reason.into()))
}

/// Loads an object file, or a [`bundle`] of them, and looks functions up in it.
///
/// # Errors
/// If it is not whole, is for another machine, has a part that is not known here, or lacks one of `names`.
pub fn load(object: &[u8], names: &[&str]) -> Result<Library, NotLoaded> {
    let file = File::read(&objects(object)?)?;
    let mut image = Image::lay_out(&file)?;
    image.copy(&file);
    image.relocate(&file)?;
    let addresses = names
        .iter()
        .map(|name| match file.symbols.iter().find(|s| s.name == *name) {
            Some(symbol) if symbol.place != Place::Elsewhere => image.address(symbol),
            _ => because(format!("has no function {name}")),
        });
    let addresses = addresses.collect::<Result<_, _>>()?;
    image.memory.protect()?;
    Ok(Library {
        addresses,
        keep: Box::new(image.memory),
    })
}

/// What the table of offsets is called.
const TABLE: &str = "_GLOBAL_OFFSET_TABLE_";

/// Bytes of a jump to any address.
const JUMP: usize = 16;
/// Bytes of an address in the table of offsets.
const SLOT: usize = 8;

/// An object file on its way into memory: its sections, then a table of addresses, then jumps to functions far away.
struct Image {
    memory: Memory,
    /// Where each section begins.
    starts: Vec<Option<usize>>,
    table: usize,
    /// For each symbol that is elsewhere its number in the table and among the jumps.
    elsewhere: HashMap<usize, usize>,
    outside: HashMap<&'static str, usize>,
}

impl Image {
    fn lay_out(file: &File<'_>) -> Result<Image, NotLoaded> {
        let mut starts = Vec::new();
        let mut end = 0_usize;
        for section in &file.sections {
            if !section.in_memory() {
                starts.push(None);
                continue;
            }
            if section.is_variable() && section.size > 0 {
                return because("has variables");
            }
            end = end.next_multiple_of(section.align);
            starts.push(Some(end));
            end = match end.checked_add(section.size) {
                Some(end) if end < 1 << 30 => end,
                _ => return because("is too large"),
            };
        }
        let table = end.next_multiple_of(64);
        let jumps = table + file.symbols.len() * SLOT;
        Ok(Image {
            memory: Memory::new(jumps + file.symbols.len() * JUMP)?,
            starts,
            table,
            elsewhere: HashMap::new(),
            outside: jit::symbols().collect(),
        })
    }

    fn copy(&mut self, file: &File<'_>) {
        for (section, start) in file.sections.iter().zip(&self.starts) {
            if let Some(start) = start {
                self.memory.bytes()[*start..*start + section.bytes.len()]
                    .copy_from_slice(section.bytes);
            }
        }
    }

    /// Address of a symbol.
    fn address(&self, symbol: &Symbol<'_>) -> Result<usize, NotLoaded> {
        let base = self.memory.address();
        let start = match symbol.place {
            Place::In(section) => self.starts.get(section).copied().flatten(),
            Place::Odd => None,
            Place::Elsewhere if symbol.name == TABLE => return Ok(base + self.table),
            Place::Elsewhere => {
                let known = self.outside.get(symbol.name).copied();
                return match known.or_else(|| of_process(symbol.name)) {
                    Some(address) => Ok(address),
                    None => because(format!("needs {}, which is unknown", symbol.name)),
                };
            }
        };
        match start {
            Some(start) => Ok(base.wrapping_add(start).wrapping_add(symbol.value as usize)),
            None => because(format!("has {} in an odd place", symbol.name)),
        }
    }

    fn relocate(&mut self, file: &File<'_>) -> Result<(), NotLoaded> {
        for section in &file.sections {
            if section.kind != RELOCATIONS {
                continue;
            }
            let Some(start) = self.starts.get(section.of).copied().flatten() else {
                continue;
            };
            let size = file.sections[section.of].bytes.len();
            for entry in section.bytes.chunks_exact(24) {
                let entry = Bytes(entry);
                let at = entry.number(0, 8)? as usize;
                let kind = entry.number(8, 4)?;
                let number = section.symbols + entry.number(12, 4)? as usize;
                let added = entry.number(16, 8)? as i64;
                let Some(symbol) = file.symbols.get(number) else {
                    return because("names a symbol that it lacks");
                };
                let (value, width) = self.value(symbol, number, kind, added, start + at)?;
                if at.checked_add(width).is_none_or(|end| end > size) {
                    return because("refers beyond a section");
                }
                let bytes = value.to_le_bytes();
                self.memory.bytes()[start + at..start + at + width]
                    .copy_from_slice(&bytes[..width]);
            }
        }
        Ok(())
    }

    /// What stands at `place` for a reference to a symbol, and its width in bytes; x86-64 psABI, table 4.9.
    fn value(
        &mut self,
        symbol: &Symbol<'_>,
        number: usize,
        kind: u64,
        added: i64,
        place: usize,
    ) -> Result<(i64, usize), NotLoaded> {
        let base = self.memory.address();
        let here = (base + place) as i64;
        let table = (base + self.table) as i64;
        let address = self.address(symbol)? as i64;
        let slot = |image: &mut Image| image.slot(number, address as usize) as i64;
        let value = match kind {
            // R_X86_64_64
            1 => (address.wrapping_add(added), 8),
            // PC32 and PLT32: a jump nearby where it is far away.
            2 | 4 => {
                let near =
                    |address: i64| i32::try_from(address.wrapping_add(added).wrapping_sub(here));
                let target = match near(address) {
                    Err(_) if kind == 4 => self.jump(number, address as usize) as i64,
                    _ => address,
                };
                (target.wrapping_add(added).wrapping_sub(here), 4)
            }
            // PC64
            24 => (address.wrapping_add(added).wrapping_sub(here), 8),
            // GOTOFF64 and PLTOFF64: all of memory is within reach.
            25 | 31 => (address.wrapping_add(added).wrapping_sub(table), 8),
            // GOTPC32 and GOTPC64
            26 => (table.wrapping_add(added).wrapping_sub(here), 4),
            29 => (table.wrapping_add(added).wrapping_sub(here), 8),
            // GOT64
            27 => (slot(self).wrapping_add(added).wrapping_sub(table), 8),
            // GOTPCREL, GOTPCRELX, REX_GOTPCRELX
            9 | 41 | 42 => (slot(self).wrapping_add(added).wrapping_sub(here), 4),
            _ => return because(format!("has references of kind {kind}")),
        };
        match value {
            (value, 4) if i32::try_from(value).is_err() => because("refers too far away"),
            value => Ok(value),
        }
    }

    /// Where a symbol's address stands.
    fn slot(&mut self, number: usize, address: usize) -> usize {
        let next = self.elsewhere.len();
        let index = *self.elsewhere.entry(number).or_insert(next);
        let start = self.table + index * SLOT;
        self.memory.bytes()[start..start + SLOT].copy_from_slice(&address.to_le_bytes());
        self.memory.address() + start
    }

    /// A jump to a symbol: `jmp *2(%rip)`, two bytes of nothing, the address.
    fn jump(&mut self, number: usize, address: usize) -> usize {
        let next = self.elsewhere.len();
        let index = *self.elsewhere.entry(number).or_insert(next);
        let end = self.memory.bytes().len();
        let start = end - (index + 1) * JUMP;
        let code = &mut self.memory.bytes()[start..start + JUMP];
        code[..8].copy_from_slice(&[0xff, 0x25, 2, 0, 0, 0, 0, 0]);
        code[8..].copy_from_slice(&address.to_le_bytes());
        self.memory.address() + start
    }
}

/// Address of a function that the process has, such as `memset`.
fn of_process(name: &str) -> Option<usize> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: the name ends with a zero, and looking it up has no effect.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}

/// Pages for code: first written, then run, never both.
struct Memory {
    start: *mut u8,
    size: usize,
}

// SAFETY: it is owned, and after `protect` nobody writes to it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(size: usize) -> Result<Memory, NotLoaded> {
        let (read_write, private) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
        );
        // SAFETY: new pages where the system likes, backed by no file.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, read_write, private, -1, 0) };
        if start == libc::MAP_FAILED {
            return because("gets no memory");
        }
        Ok(Memory {
            start: start.cast(),
            size,
        })
    }

    fn address(&self) -> usize {
        self.start as usize
    }

    /// All bytes; only before [`Memory::protect`].
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has that many bytes, zero where nothing was written, and is borrowed as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.size) }
    }

    fn protect(&self) -> Result<(), NotLoaded> {
        // SAFETY: the whole of our own mapping.
        let done = unsafe {
            libc::mprotect(
                self.start.cast(),
                self.size,
                libc::PROT_READ | libc::PROT_EXEC,
            )
        };
        match done {
            0 => Ok(()),
            _ => because("may not be run"),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nobody uses any more: whoever calls the code keeps the library.
        unsafe { libc::munmap(self.start.cast(), self.size) };
    }
}

#[cfg(all(test, unix, target_arch = "x86_64"))]
mod tests {
    use super::file::{IN_MEMORY, SYMBOLS, UNDEFINED};
    use super::*;

    /// An object file with code, one function in it at its start, and one reference to a symbol that is elsewhere.
    struct Example {
        code: Vec<u8>,
        function: &'static str,
        needs: &'static str,
        /// Place, kind and addend of the reference.
        reference: Option<(u64, u32, i64)>,
    }

    impl Example {
        fn file(&self) -> Vec<u8> {
            let strings = format!("\0{}\0{}\0", self.function, self.needs);
            let symbol = |name: usize, section: u16| {
                let mut entry = (name as u32).to_le_bytes().to_vec();
                entry.extend([0x12, 0]);
                entry.extend(section.to_le_bytes());
                entry.extend([0; 16]);
                entry
            };
            let symbols = [
                vec![0; 24],
                symbol(1, 1),
                symbol(2 + self.function.len(), UNDEFINED),
            ];
            let mut references = Vec::new();
            if let Some((at, kind, added)) = self.reference {
                references.extend(at.to_le_bytes());
                references.extend(kind.to_le_bytes());
                references.extend(2_u32.to_le_bytes());
                references.extend(added.to_le_bytes());
            }
            // Kind, flags, contents, link, section meant.
            let sections: [(u32, u64, Vec<u8>, u32, u32); 5] = [
                (0, 0, Vec::new(), 0, 0),
                (1, IN_MEMORY | 4, self.code.clone(), 0, 0),
                (RELOCATIONS, 0, references, 3, 1),
                (SYMBOLS, 0, symbols.concat(), 4, 1),
                (3, 0, strings.into_bytes(), 0, 0),
            ];
            let mut file = b"\x7fELF\x02\x01\x01".to_vec();
            file.resize(64, 0);
            file[16] = 1;
            file[18] = 62;
            let mut headers = Vec::new();
            for (kind, flags, contents, link, info) in sections {
                let mut header = [0_u8; 64];
                header[4..8].copy_from_slice(&kind.to_le_bytes());
                header[8..16].copy_from_slice(&flags.to_le_bytes());
                header[24..32].copy_from_slice(&(file.len() as u64).to_le_bytes());
                header[32..40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
                header[40..44].copy_from_slice(&link.to_le_bytes());
                header[44..48].copy_from_slice(&info.to_le_bytes());
                header[48] = 16;
                headers.extend(header);
                file.extend(contents);
            }
            let place = (file.len() as u64).to_le_bytes();
            file[40..48].copy_from_slice(&place);
            file[60] = 5;
            file.extend(headers);
            file
        }
    }

    /// `mov edi, 7; <reference>; ret`: calls a function, or loads its address.
    fn example(code: &[u8], reference: (u64, u32, i64)) -> Example {
        Example {
            code: code.to_vec(),
            function: "answer",
            needs: "labs",
            reference: Some(reference),
        }
    }

    fn answer(library: &Library) -> i64 {
        // SAFETY: the examples are functions of this type.
        let function =
            unsafe { std::mem::transmute::<usize, extern "C" fn() -> i64>(library.addresses[0]) };
        function()
    }

    #[test]
    fn code_is_run() {
        let example = Example {
            // mov eax, 42; ret
            code: vec![0xb8, 42, 0, 0, 0, 0xc3],
            function: "answer",
            needs: "nothing",
            reference: None,
        };
        let library = load(&example.file(), &["answer"]).unwrap();
        assert_eq!(answer(&library), 42);
    }

    /// `push rax; mov rdi, -7` and what follows.
    fn with_call(call: &[u8]) -> Vec<u8> {
        let mut code = vec![0x50, 0x48, 0xc7, 0xc7, 0xf9, 0xff, 0xff, 0xff];
        code.extend(call);
        // pop rcx; ret
        code.extend([0x59, 0xc3]);
        code
    }

    #[test]
    fn functions_of_the_process_are_called() {
        let cases = [
            // call labs, with PLT32
            example(&with_call(&[0xe8, 0, 0, 0, 0]), (9, 4, -4)),
            // movabs rax, labs; call rax, with 64
            example(
                &with_call(&[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0]),
                (10, 1, 0),
            ),
            // call *labs@GOTPCREL(%rip)
            example(&with_call(&[0xff, 0x15, 0, 0, 0, 0]), (10, 41, -4)),
        ];
        for case in cases {
            let library = load(&case.file(), &["answer"]).unwrap();
            assert_eq!(answer(&library), 7);
        }
    }

    /// Two object files: `question` in the first calls `answer` in the second, which is 42.
    fn two() -> Vec<u8> {
        let caller = Example {
            function: "question",
            needs: "answer",
            // call answer, with PLT32
            ..example(&with_call(&[0xe8, 0, 0, 0, 0]), (9, 4, -4))
        };
        let called = Example {
            // mov eax, 42; ret
            code: vec![0xb8, 42, 0, 0, 0, 0xc3],
            function: "answer",
            needs: "question",
            reference: None,
        };
        bundle(&[caller.file(), called.file()])
    }

    #[test]
    fn object_files_call_each_other() {
        let library = load(&two(), &["question"]).unwrap();
        assert_eq!(answer(&library), 42);
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        let call = with_call(&[0xe8, 0, 0, 0, 0]);
        let error = |example: &Example, name| {
            let loaded = load(&example.file(), &[name]);
            loaded
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        let plain = example(&call, (9, 4, -4));
        assert_eq!(
            error(&plain, "question"),
            "the object file has no function question"
        );
        assert_eq!(
            error(&plain, "labs"),
            "the object file has no function labs"
        );
        let unknown = Example {
            needs: "fieldstone_no_such_function",
            ..example(&call, (9, 4, -4))
        };
        assert_eq!(
            error(&unknown, "answer"),
            "the object file needs fieldstone_no_such_function, which is unknown"
        );
        let kind = error(&example(&call, (9, 99, 0)), "answer");
        assert_eq!(kind, "the object file has references of kind 99");
        let beyond = error(&example(&call, (1000, 4, 0)), "answer");
        assert_eq!(beyond, "the object file refers beyond a section");
    }

    #[test]
    fn broken_files_are_errors_or_load() {
        let file = example(&with_call(&[0xe8, 0, 0, 0, 0]), (9, 4, -4)).file();
        for length in 0..file.len() {
            assert!(load(&file[..length], &["answer"]).is_err());
        }
        for length in 0..two().len() {
            assert!(load(&two()[..length], &["question"]).is_err());
        }
        for place in 0..file.len() {
            for bits in [1, 0x80, 0xff] {
                let mut other = file.clone();
                other[place] ^= bits;
                // Whatever it says, it is neither run nor does it harm.
                let _ = load(&other, &["answer"]);
            }
        }
    }
}
