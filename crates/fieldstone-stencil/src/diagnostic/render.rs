//! Diagnostics as text.

use std::collections::BTreeMap;

use super::{Diagnostic, Label, Severity, Style};
use crate::source::{Source, SourceMap, Span};

/// Lines of one mark that are shown before the middle is left out.
const SHOWN: usize = 4;

/// Calls of a chain that are shown.
const CALLS: usize = 6;

/// Columns a tab fills.
const TAB: usize = 4;

/// A part of a label on one line.
struct Mark<'a> {
    /// Columns of the displayed line, the end excluded.
    columns: (usize, usize),
    sign: char,
    text: &'a str,
}

/// One line of a source that is shown.
struct Line<'a> {
    text: String,
    marks: Vec<Mark<'a>>,
}

/// What a part of the text is, and the colour it has: numbers of ANSI's "select graphic rendition".
#[derive(Clone, Copy)]
enum Part {
    Error,
    Warning,
    Message,
    Frame,
    Help,
}

impl Part {
    fn code(self) -> &'static str {
        match self {
            Part::Error => "1;31",
            Part::Warning => "1;33",
            Part::Message => "1",
            Part::Frame => "1;34",
            Part::Help => "1;36",
        }
    }
}

impl Style {
    fn paint(self, part: Part, text: &str) -> String {
        if self.color {
            format!("\x1b[{}m{text}\x1b[0m", part.code())
        } else {
            text.to_string()
        }
    }
}

/// Columns of a source line around what is marked.
const CONTEXT: usize = 24;

pub(super) fn render(diagnostic: &Diagnostic, sources: &SourceMap, style: Style) -> String {
    let (severity, part) = match diagnostic.severity {
        Severity::Error => ("error", Part::Error),
        Severity::Warning => ("warning", Part::Warning),
    };
    let title = style.paint(part, &format!("{severity}[{}]", diagnostic.code));
    let message = style.paint(Part::Message, &format!(": {}", diagnostic.message));
    let mut output = title + &message;
    let calls = calls(diagnostic, sources);
    let mut parts = by_source(diagnostic, &calls, sources);
    let width = parts
        .iter()
        .flat_map(|(_, lines)| lines.keys())
        .max()
        .map_or(1, |line| line.to_string().len());
    let room = style.width.saturating_sub(width + 3).max(CONTEXT);
    for (n, (span, lines)) in parts.iter_mut().enumerate() {
        lines.values_mut().for_each(|line| line.cut(room));
        if let Some((file, location)) = sources.locate(*span) {
            let arrow = if n == 0 { "-->" } else { ":::" };
            let arrow = style.paint(Part::Frame, &format!("{:width$}{arrow}", ""));
            output += &format!("\n{arrow} {file}:{}:{}", location.line, location.column);
            output += &format!(
                "\n{}",
                style.paint(Part::Frame, &format!("{:width$} |", ""))
            );
        }
        snippet(&mut output, lines, width, part, style);
    }
    if let Some(help) = &diagnostic.help {
        let mut help = help.lines();
        let equals = style.paint(Part::Frame, &format!("{:width$} =", ""));
        let word = style.paint(Part::Help, "help");
        output += &format!("\n{equals} {word}: {}", help.next().unwrap_or_default());
        for line in help {
            output += &format!("\n{:width$}         {line}", "");
        }
    }
    output
}

fn snippet(
    output: &mut String,
    lines: &BTreeMap<u32, Line<'_>>,
    width: usize,
    primary: Part,
    style: Style,
) {
    let mut previous = None;
    let bar = style.paint(Part::Frame, &format!("{:width$} |", ""));
    for (number, line) in lines {
        if previous.is_some_and(|previous| previous + 1 < *number) {
            *output += &format!("\n{:width$}...", "");
        }
        previous = Some(*number);
        *output += &format!(
            "\n{}",
            style.paint(Part::Frame, &format!("{number:>width$} |"))
        );
        if !line.text.is_empty() {
            *output += &format!(" {}", line.text);
        }
        let mut rest = line.marks.as_slice();
        while let Some((first, others)) = rest.split_first() {
            let mut row = Row::default();
            row.append(first, primary, style);
            rest = others;
            // Marks without words share a row with the one that follows.
            let mut silent = first.text.is_empty();
            while let Some((next, others)) = rest.split_first() {
                if !silent || next.columns.0 <= row.columns {
                    break;
                }
                row.append(next, primary, style);
                silent = next.text.is_empty();
                rest = others;
            }
            *output += &format!("\n{bar} {}", row.text);
        }
    }
}

/// Marks below a line.
#[derive(Default)]
struct Row {
    text: String,
    /// Columns it fills, whatever its colours.
    columns: usize,
}

impl Row {
    fn append(&mut self, mark: &Mark<'_>, primary: Part, style: Style) {
        let (start, end) = mark.columns;
        let gap = start.saturating_sub(self.columns);
        self.text.extend(std::iter::repeat_n(' ', gap));
        let length = (end - start).max(1);
        let mut words = String::from_iter(std::iter::repeat_n(mark.sign, length));
        self.columns += gap + length;
        if !mark.text.is_empty() {
            words.push(' ');
            words.push_str(mark.text);
            self.columns += 1 + columns(mark.text);
        }
        let part = if mark.sign == '^' {
            primary
        } else {
            Part::Frame
        };
        self.text += &style.paint(part, &words);
    }
}

impl Line<'_> {
    /// Cuts what does not fit, around the first place that is marked.
    fn cut(&mut self, room: usize) {
        let length = columns(&self.text);
        if length <= room {
            return;
        }
        let main = self
            .marks
            .iter()
            .find(|mark| mark.sign == '^')
            .or(self.marks.first());
        let Some((start, end)) = main.map(|mark| mark.columns) else {
            return;
        };
        // The marked place fits, with some columns before it; a longer one is shown from its start.
        let first = if end + CONTEXT <= room {
            0
        } else {
            start.saturating_sub(CONTEXT).min(length - room)
        };
        let (left, right) = (first > 0, first + room < length);
        self.text = window(&self.text, first, room, left, right);
        for mark in &mut self.marks {
            let (start, end) = mark.columns;
            let within = |column: usize| column.clamp(first, first + room) - first;
            mark.columns = (within(start), within(end));
        }
        self.marks
            .retain(|mark| mark.columns.0 < mark.columns.1 || mark.sign == '^');
    }
}

/// Some columns of a text, with dots where something is left out.
fn window(text: &str, first: usize, room: usize, left: bool, right: bool) -> String {
    let mut shown = String::new();
    let mut column = 0;
    for character in text.chars() {
        let next = column + width(character);
        let within = column >= first && next <= first + room;
        let is_edge =
            within && (left && column == first || right && next == first + room && next > column);
        if is_edge {
            shown.push('…');
            shown.extend(std::iter::repeat_n(' ', (next - column).saturating_sub(1)));
        } else if within {
            shown.push(character);
        } else if next > first && column < first + room {
            shown.push('…');
        }
        column = next;
    }
    shown
}

/// The calls through which the primary place was reached, as labels; of a long chain its ends.
fn calls(diagnostic: &Diagnostic, sources: &SourceMap) -> Vec<Label> {
    let chain: Vec<_> = sources.calls(diagnostic.primary.span).collect();
    let last = chain.len().saturating_sub(1);
    let left_out = chain.len().saturating_sub(CALLS);
    (chain.iter().enumerate())
        .filter(|(n, _)| left_out == 0 || *n < CALLS - 1 || *n == last)
        .map(|(n, call)| {
            let mut text = format!("in this call of `{}`", call.function);
            if left_out > 0 && n == last {
                text += &format!(", and {left_out} more calls between");
            }
            Label {
                span: call.span,
                text,
            }
        })
        .collect()
}

/// The lines to show, per source, the primary place's source first; with the first place of each.
fn by_source<'a>(
    diagnostic: &'a Diagnostic,
    calls: &'a [Label],
    sources: &SourceMap,
) -> Vec<(Span, BTreeMap<u32, Line<'a>>)> {
    let mut parts: Vec<(Span, BTreeMap<u32, Line<'a>>)> = Vec::new();
    let primary = std::iter::once((&diagnostic.primary, '^'));
    let secondary = diagnostic
        .secondary
        .iter()
        .chain(calls)
        .map(|label| (label, '-'));
    for (label, sign) in primary.chain(secondary) {
        let Some(source) = sources.get(label.span.source) else {
            continue;
        };
        let place = sources.place(label.span);
        let known = parts
            .iter()
            .position(|(span, _)| span.source == place.source);
        let part = known.unwrap_or_else(|| {
            parts.push((place, BTreeMap::new()));
            parts.len() - 1
        });
        mark(&mut parts[part].1, source, label, sign);
    }
    parts
}

/// Marks a label on each line it covers; its words stand on the last.
fn mark<'a>(lines: &mut BTreeMap<u32, Line<'a>>, source: &Source, label: &'a Label, sign: char) {
    let length = source.text.len();
    let start = source
        .text
        .floor_char_boundary((label.span.start as usize).min(length));
    let end = source
        .text
        .floor_char_boundary((label.span.end as usize).clamp(start, length));
    let mut begin = source.text[..start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let first = source.text[..begin].matches('\n').count() as u32;
    let mut covered = Vec::new();
    for (number, text) in (first..).zip(source.text[begin..].split_inclusive('\n')) {
        if begin > end || (begin == end && begin > start) {
            break;
        }
        let content = text.trim_end_matches(['\n', '\r']);
        // Indentation is not marked on the lines that a label runs on to.
        let indent = content.len() - content.trim_start().len();
        let from = if begin <= start {
            (start - begin).min(content.len())
        } else {
            indent
        };
        let to = (end - begin).min(content.len());
        covered.push((number, content, from, to.max(from)));
        begin += text.len();
    }
    if covered.is_empty() {
        covered.push((first, "", 0, 0));
    }
    let last = covered.len() - 1;
    let shown = |n: usize| covered.len() <= SHOWN || n < SHOWN / 2 || n > last - SHOWN / 2;
    for (n, (number, content, from, to)) in covered.iter().enumerate() {
        if !shown(n) || (n != last && from == to) {
            continue;
        }
        let indent = source.indent as usize;
        let line = lines
            .entry(source.first_line + number)
            .or_insert_with(|| Line {
                text: format!("{:indent$}{}", "", expand(content))
                    .trim_end()
                    .to_string(),
                marks: Vec::new(),
            });
        let columns = (
            indent + columns(&content[..*from]),
            indent + columns(&content[..*to]),
        );
        let text = if n == last { label.text.as_str() } else { "" };
        let place = line
            .marks
            .partition_point(|mark| mark.columns.0 <= columns.0);
        line.marks.insert(
            place,
            Mark {
                columns,
                sign,
                text,
            },
        );
    }
}

/// The text with tabs as spaces.
fn expand(text: &str) -> String {
    text.replace('\t', &" ".repeat(TAB))
}

/// Columns a text fills on a terminal.
fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Columns a character fills: two for the wide scripts of East Asia and for emoji, none for marks that combine.
fn width(character: char) -> usize {
    match character as u32 {
        0x09 => TAB,
        0x0300..=0x036F | 0x200B..=0x200F | 0x20D0..=0x20FF | 0xFE00..=0xFE0F => 0,
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}
