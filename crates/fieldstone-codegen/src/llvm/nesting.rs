//! The loops that are open while a function is written, and how far out a value may stand.

use std::fmt::{Display, Write};

/// Text of a function and of the loops that are open in it, each in the one before.
///
/// A value whose operands are all from outside a loop stands in front of that loop. LLVM would move it there; but that takes longer than
/// to read it where it belongs.
pub(super) struct Nesting {
    open: Vec<Open>,
    /// By the number in a value's name: how many loops are around it.
    depths: Vec<usize>,
}

/// A function, or a loop, that is being written.
#[derive(Default)]
struct Open {
    /// Up to where the loop in it begins.
    text: String,
    /// How many branches of the function are open there.
    branches: usize,
    /// The numbers of its own values begin here.
    first: usize,
}

impl Nesting {
    pub fn new(text: &str) -> Nesting {
        let function = Open {
            text: text.to_owned(),
            ..Open::default()
        };
        Nesting {
            open: vec![function],
            depths: Vec::new(),
        }
    }

    /// How many loops are open.
    pub fn depth(&self) -> usize {
        self.open.len() - 1
    }

    /// Begins a loop, where so many branches are open.
    pub fn begin(&mut self, branches: usize) {
        self.innermost().branches = branches;
        self.open.push(Open {
            first: self.depths.len(),
            ..Open::default()
        });
    }

    /// Ends the innermost loop: what it left behind is a value of where it stands.
    pub fn end(&mut self) {
        let inner = self.open.pop().expect("a loop is open");
        let depth = self.depth();
        for left in &mut self.depths[inner.first..] {
            *left = depth.min(*left);
        }
        self.innermost().text.push_str(&inner.text);
    }

    fn innermost(&mut self) -> &mut Open {
        self.open
            .last_mut()
            .expect("a function is around all loops")
    }

    /// Writes a line into the innermost loop.
    pub fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.innermost().text, "{line}");
    }

    /// Defines a value in front of the loops in so many.
    pub fn define(&mut self, depth: usize, name: &str, instruction: &str) {
        let _ = writeln!(self.open[depth].text, "  {name} = {instruction}");
        self.note(depth, name);
    }

    /// How many branches are open in front of the open loop in so many.
    pub fn branches(&self, depth: usize) -> usize {
        self.open[depth].branches
    }

    /// Keeps in mind how many loops are around a value.
    pub fn note(&mut self, depth: usize, name: &str) {
        if let Some(number) = number(name) {
            if self.depths.len() <= number {
                self.depths.resize(number + 1, 0);
            }
            self.depths[number] = depth;
        }
    }

    /// How many of the open loops are around all operands of an instruction.
    pub fn depth_of_operands(&self, instruction: &str) -> usize {
        let operands = instruction.split('%').skip(1).filter_map(number);
        let depths = operands.filter_map(|number| self.depths.get(number));
        depths.copied().max().unwrap_or(0)
    }

    /// The text of the function.
    pub fn finish(mut self) -> String {
        std::mem::take(&mut self.innermost().text)
    }
}

/// The number in the name of a value, such as `v12`, `loop.v3` or `while.v7.1`; `None` for what is given to the function.
fn number(name: &str) -> Option<usize> {
    let name = name.trim_start_matches('%');
    let of_loop = ["loop.", "while."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    let digits = of_loop.unwrap_or(name).strip_prefix('v')?;
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers() {
        let numbers = [
            "%v12, 8",
            "loop.v3",
            "while.v7.1.next",
            "words",
            "0",
            "value",
            "at.step",
        ]
        .map(number);
        assert_eq!(
            numbers,
            [Some(12), Some(3), Some(7), None, None, None, None]
        );
    }

    #[test]
    fn values_stand_in_front_of_the_loops_that_their_operands_are_outside_of() {
        let mut nesting = Nesting::new("entry:\n");
        nesting.define(0, "%v1", "load i64, ptr %words");
        nesting.begin(0);
        nesting.line("loop.v2.head:");
        nesting.note(1, "%loop.v2");
        nesting.begin(3);
        nesting.note(2, "%while.v3.0");
        let depths = [
            "add i64 %v1, 1",
            "mul i64 %loop.v2, %v1",
            "add i64 %while.v3.0, %v1",
        ];
        assert_eq!(
            depths.map(|text| nesting.depth_of_operands(text)),
            [0, 1, 2]
        );
        nesting.define(1, "%v4", "mul i64 %loop.v2, %v1");
        assert_eq!(nesting.branches(1), 3);
        nesting.line("while.v3.head:");
        nesting.end();
        let last = nesting.depth_of_operands("add i64 %while.v3.0, 1");
        assert_eq!(last, 1, "behind its loop");
        nesting.end();
        let text = "entry:\n  %v1 = load i64, ptr %words\nloop.v2.head:\n  %v4 = mul i64 %loop.v2, %v1\nwhile.v3.head:\n";
        assert_eq!(nesting.finish(), text);
    }
}
