//! Source files and the spans that point into them.

/// Index of a [`Source`] in a [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A range of bytes of one source; `start == end` marks a place between two bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The source pointed into.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The smallest span of the same source that covers both.
    pub fn to(self, other: Span) -> Span {
        Span {
            source: self.source,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// The text of one function or module, and where it stands in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name as Python knows it, such as `model/diffusion.py` or `<ipython-input-3>`.
    pub file: String,
    /// Line number, in the file, of the first line of `text`; counts from 1.
    pub first_line: u32,
    /// Characters of indentation removed from every line of `text`.
    pub indent: u32,
    /// The dedented text.
    pub text: String,
}

/// Line and column of a place in a file; both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Line in the file.
    pub line: u32,
    /// Column in the file's line.
    pub column: u32,
}

impl Source {
    /// Line and column, in the file, of a byte of `text`.
    pub fn location(&self, byte: u32) -> Location {
        let before = &self.text[..self.text.floor_char_boundary(byte as usize)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Location {
            line: self.first_line + before.matches('\n').count() as u32,
            column: self.indent + before[line_start..].chars().count() as u32 + 1,
        }
    }
}

/// Every source a stencil was made from: its definition and the functions it calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    /// Adds a source and returns its id.
    pub fn add(&mut self, source: Source) -> SourceId {
        self.sources.push(source);
        SourceId(self.sources.len() as u32 - 1)
    }

    /// The source of an id, `None` where the id is not of this map.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize)
    }

    /// File and location of the start of a span.
    pub fn locate(&self, span: Span) -> Option<(&str, Location)> {
        let source = self.get(span.source)?;
        Some((&source.file, source.location(span.start)))
    }
}
