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
    /// Whether another span of the same source lies in it.
    pub fn covers(self, other: Span) -> bool {
        self.source == other.source && self.start <= other.start && other.end <= self.end
    }

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

/// A call through which a text became part of a stencil.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Name of the function that is called.
    pub function: String,
    /// The call, in the text of the caller.
    pub span: Span,
}

/// Every source a stencil was made from: its definition and the functions it calls.
///
/// A function that is called several times has an id for each call, so that a span tells not only where it stands but also
/// through which calls it was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    texts: Vec<Source>,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    text: usize,
    /// The entry that the text was added with.
    original: SourceId,
    call: Option<Call>,
}

impl SourceMap {
    /// Adds a source and returns its id.
    pub fn add(&mut self, source: Source) -> SourceId {
        let original = SourceId(self.entries.len() as u32);
        self.entries.push(Entry {
            text: self.texts.len(),
            original,
            call: None,
        });
        self.texts.push(source);
        original
    }

    /// Another id of a source, for what is reached through one call.
    pub fn add_call(&mut self, callee: SourceId, call: Call) -> SourceId {
        let id = SourceId(self.entries.len() as u32);
        if let Some(Entry { text, original, .. }) = self.entries.get(callee.0 as usize).cloned() {
            self.entries.push(Entry {
                text,
                original,
                call: Some(call),
            });
        }
        id
    }

    /// The source of an id, `None` where the id is not of this map.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.texts.get(self.entries.get(id.0 as usize)?.text)
    }

    /// Every text once, with the id it was added with.
    pub fn texts(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        let originals = self.entries.iter().filter(|entry| entry.call.is_none());
        originals.map(|entry| (entry.original, &self.texts[entry.text]))
    }

    /// The calls through which a place was reached, the innermost first.
    pub fn calls(&self, span: Span) -> impl Iterator<Item = &Call> {
        let call = |span: Span| self.entries.get(span.source.0 as usize)?.call.as_ref();
        std::iter::successors(call(span), move |outer| call(outer.span))
    }

    /// The same place whatever the calls: equal for all spans of the same characters.
    pub fn place(&self, span: Span) -> Span {
        let source = self
            .entries
            .get(span.source.0 as usize)
            .map_or(span.source, |entry| entry.original);
        Span { source, ..span }
    }

    /// The text at a place.
    pub fn text(&self, span: Span) -> Option<&str> {
        let range = span.start as usize..span.end as usize;
        self.get(span.source)?.text.get(range)
    }

    /// File and location of the start of a span.
    pub fn locate(&self, span: Span) -> Option<(&str, Location)> {
        let source = self.get(span.source)?;
        Some((&source.file, source.location(span.start)))
    }
}
