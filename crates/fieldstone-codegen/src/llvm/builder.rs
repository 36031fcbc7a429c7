//! Text of one LLVM function: fresh names, blocks, loops.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{Display, Write};

use crate::target::Target;

use super::function::Function;
use super::nesting::Nesting;
use super::numbering::Numbering;
use super::purity;
use super::types::Lanes;

/// A vector of which nothing is asked.
pub(super) const POISON: &str = "poison";

/// What functions refer to.
#[derive(Default)]
pub(super) struct Needs {
    /// `declare` lines of what is called.
    pub declarations: BTreeSet<String>,
    /// Functions of the language, and how often they are called.
    pub functions: BTreeMap<Function, usize>,
}

impl Needs {
    pub fn extend(&mut self, other: Needs) {
        self.declarations.extend(other.declarations);
        for (function, calls) in other.functions {
            *self.functions.entry(function).or_default() += calls;
        }
    }
}

/// A part that hardly ever runs.
pub(super) struct Rare {
    name: String,
    /// The block before it.
    before: String,
}

/// Writes instructions into the current block of a function.
pub(super) struct Builder {
    text: Nesting,
    /// Whether values that could stand in front of a loop do.
    moves_out: bool,
    next: usize,
    block: String,
    known: Numbering,
    /// What the function refers to.
    pub needs: Needs,
    /// Other functions that this one calls.
    pub functions: String,
    /// Whether a mask is lanes that are filled with bits.
    pub fills_lanes: bool,
    /// The numbers that such masks were made from.
    filled: HashMap<String, String>,
}

impl Builder {
    pub fn new() -> Builder {
        Builder {
            text: Nesting::new("entry:\n"),
            moves_out: true,
            next: 0,
            block: String::from("entry"),
            known: Numbering::default(),
            needs: Needs::default(),
            functions: String::new(),
            fills_lanes: false,
            filled: HashMap::new(),
        }
    }

    /// A function for a target.
    pub fn of(target: &Target) -> Builder {
        Builder {
            fills_lanes: target.compares_to_bits() && target.has_masked_access(),
            ..Builder::new()
        }
    }

    /// A function for a thread of an accelerator, which has to do with few registers: all passes of LLVM follow, which decide for
    /// themselves what stands in front of a loop.
    pub fn of_thread() -> Builder {
        Builder {
            moves_out: false,
            ..Builder::new()
        }
    }

    /// Keeps in mind which number says which lanes of a mask are filled.
    pub fn note_filled(&mut self, mask: &str, bits: &str) {
        self.filled.insert(mask.to_owned(), bits.to_owned());
    }

    /// The number that a mask was made from by filling lanes.
    pub fn bits_of(&self, mask: &str) -> Option<&str> {
        self.filled.get(mask).map(String::as_str)
    }

    pub fn finish(self) -> (String, Needs) {
        (self.text.finish(), self.needs)
    }

    /// Adds a function that this one calls: its first line and what wrote its body.
    pub fn function(&mut self, head: &str, body: Builder) {
        let (body, needs) = body.finish();
        let _ = writeln!(self.functions, "{head} {{\n{body}}}\n");
        self.needs.extend(needs);
    }

    /// An instruction with a result; returns the result's name, which is an earlier one if that holds the same.
    pub fn value(&mut self, instruction: impl Display) -> String {
        let instruction = instruction.to_string();
        match purity::is_pure(&instruction) {
            true => self.pure(instruction),
            false => self.define(self.text.depth(), &instruction),
        }
    }

    /// The result of a call that follows from its operands alone, if it has been written before.
    pub fn known_call(&self, call: &str) -> Option<String> {
        self.known.value(call).cloned()
    }

    /// A value that follows from its operands alone, as far out as they are. The functions that it calls return whatever they are given,
    /// and have no other effect.
    pub fn pure(&mut self, instruction: String) -> String {
        if let Some(name) = self.known.value(&instruction) {
            return name.clone();
        }
        let here = self.text.depth();
        let depth = match self.moves_out && purity::is_harmless(&instruction) {
            true => self.text.depth_of_operands(&instruction),
            false => here,
        };
        let branches = match depth < here {
            true => self.text.branches(depth),
            false => self.known.branches(),
        };
        let name = self.define(depth, &instruction);
        self.known.remember(branches, instruction, &name);
        name
    }

    fn define(&mut self, depth: usize, instruction: &str) -> String {
        let name = self.fresh("%");
        self.text.define(depth, &name, instruction);
        name
    }

    /// An instruction without a result.
    pub fn effect(&mut self, instruction: impl Display) {
        self.text.line(format_args!("  {instruction}"));
    }

    /// Declares a function and calls it.
    pub fn call(&mut self, result: &str, function: &str, arguments: &[(&str, &str)]) -> String {
        let call = self.call_text(result, function, arguments);
        self.value(call)
    }

    /// Declares a function without a result and calls it.
    pub fn call_void(&mut self, function: &str, arguments: &[(&str, &str)]) {
        let call = self.call_text("void", function, arguments);
        self.effect(call);
    }

    /// Whether a mask holds in any lane.
    pub fn any(&mut self, lanes: Lanes, mask: &str) -> String {
        if lanes.width == 1 {
            return mask.to_owned();
        }
        let function = format!("llvm.vector.reduce.or.{}", lanes.suffix_of("i1"));
        self.call("i1", &function, &[(&lanes.of("i1"), mask)])
    }

    fn call_text(&mut self, result: &str, function: &str, arguments: &[(&str, &str)]) -> String {
        let types: Vec<&str> = arguments.iter().map(|(kind, _)| *kind).collect();
        // LLVM knows its intrinsics itself. Of our own functions, those with a result neither touch memory nor raise anything.
        let attributes = match (function.starts_with("llvm."), result) {
            (true, _) => "",
            (false, "void") => " nounwind willreturn memory(argmem: readwrite)",
            (false, _) => " nounwind willreturn memory(none)",
        };
        self.needs.declarations.insert(format!(
            "declare {result} @{function}({}){attributes}",
            types.join(", ")
        ));
        let values: Vec<String> = arguments
            .iter()
            .map(|(kind, value)| format!("{kind} {value}"))
            .collect();
        format!("call {result} @{function}({})", values.join(", "))
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}v{}", self.next)
    }

    fn start(&mut self, label: String) {
        self.text.line(format_args!("{label}:"));
        self.block = label;
    }

    /// Begins a loop with its head; returns the block before it.
    fn begin_loop(&mut self, name: &str) -> String {
        let before = self.block.clone();
        self.text.begin(self.known.branches());
        self.text.note(self.text.depth(), name);
        self.effect(format_args!("br label %{name}.head"));
        self.start(format!("{name}.head"));
        before
    }

    /// Ends it; what follows is behind it.
    fn end_loop(&mut self, name: &str) {
        self.effect(format_args!("br label %{name}.head"));
        self.text.end();
        self.start(format!("{name}.exit"));
    }

    /// `for (index = from; index < to; index += step) body(index)`.
    pub fn for_loop(
        &mut self,
        from: &str,
        to: &str,
        step: &str,
        body: impl FnOnce(&mut Builder, &str),
    ) {
        let name = self.fresh("loop.");
        let before = self.begin_loop(&name);
        self.effect(format_args!(
            "%{name} = phi i64 [ {from}, %{before} ], [ %{name}.next, %{name}.latch ]"
        ));
        self.effect(format_args!("%{name}.more = icmp slt i64 %{name}, {to}"));
        self.effect(format_args!(
            "br i1 %{name}.more, label %{name}.body, label %{name}.exit"
        ));
        self.start(format!("{name}.body"));
        self.known.begin_branch();
        body(self, &format!("%{name}"));
        self.known.end_branch();
        self.effect(format_args!("br label %{name}.latch"));
        self.start(format!("{name}.latch"));
        self.effect(format_args!("%{name}.next = add nsw i64 %{name}, {step}"));
        self.end_loop(&name);
    }

    /// Begins `while (…) {…}` with values that change from round to round, each with its type; returns the loop's name and
    /// those of the values. What follows is evaluated before each round.
    pub fn begin_repeat(&mut self, values: &[(String, String)]) -> (String, Vec<String>) {
        let name = self.fresh("while.");
        let before = self.begin_loop(&name);
        let names = values.iter().enumerate().map(|(n, (kind, first))| {
            let value = format!("%{name}.{n}");
            self.effect(format_args!(
                "{value} = phi {kind} [ {first}, %{before} ], [ {value}.next, %{name}.latch ]"
            ));
            value
        });
        let names = names.collect();
        self.known.begin_branch();
        (name, names)
    }

    /// What follows is the body, which runs as long as a condition holds.
    pub fn repeat_while(&mut self, name: &str, condition: &str) {
        self.effect(format_args!(
            "br i1 {condition}, label %{name}.body, label %{name}.exit"
        ));
        self.start(format!("{name}.body"));
    }

    /// Ends the body; the values for the next round are in the order of those of [`Builder::begin_repeat`].
    pub fn end_repeat(&mut self, name: &str, values: &[(String, String)]) {
        self.known.end_branch();
        self.effect(format_args!("br label %{name}.latch"));
        self.start(format!("{name}.latch"));
        for (n, (kind, value)) in values.iter().enumerate() {
            // No operation; it gives the value the name that the head knows.
            self.effect(format_args!(
                "%{name}.{n}.next = bitcast {kind} {value} to {kind}"
            ));
        }
        self.end_loop(name);
    }

    /// `if (condition) body()`.
    pub fn when(&mut self, condition: &str, body: impl FnOnce(&mut Builder)) {
        let name = self.fresh("when.");
        self.effect(format_args!(
            "br i1 {condition}, label %{name}.then, label %{name}.end"
        ));
        self.start(format!("{name}.then"));
        self.known.begin_branch();
        body(self);
        self.known.end_branch();
        self.effect(format_args!("br label %{name}.end"));
        self.start(format!("{name}.end"));
    }

    /// Begins what runs only if a condition holds, which it hardly ever does.
    pub fn begin_rare(&mut self, condition: &str) -> Rare {
        let weights = String::from("!1 = !{!\"branch_weights\", i32 1, i32 2000}");
        self.needs.declarations.insert(weights);
        let name = self.fresh("rare.");
        let before = self.block.clone();
        self.effect(format_args!(
            "br i1 {condition}, label %{name}.then, label %{name}.end, !prof !1"
        ));
        self.start(format!("{name}.then"));
        self.known.begin_branch();
        Rare { name, before }
    }

    /// Ends it; of each two values of a type the first one if it ran, else the second one.
    pub fn end_rare(&mut self, rare: &Rare, kind: &str, values: &[[String; 2]]) -> Vec<String> {
        let values: Vec<(String, [String; 2])> = values
            .iter()
            .map(|both| (kind.to_owned(), both.clone()))
            .collect();
        self.end_rare_of(rare, &values)
    }

    /// The same for values of several types.
    pub fn end_rare_of(&mut self, rare: &Rare, values: &[(String, [String; 2])]) -> Vec<String> {
        let Rare { name, before } = rare;
        let then = self.block.clone();
        self.known.end_branch();
        self.effect(format_args!("br label %{name}.end"));
        self.start(format!("{name}.end"));
        let chosen = values.iter().map(|(kind, [ran, usual])| {
            self.value(format_args!(
                "phi {kind} [ {ran}, %{then} ], [ {usual}, %{before} ]"
            ))
        });
        chosen.collect()
    }

    /// Begins `if (condition) {…} else {…}`; returns its name.
    pub fn begin_when(&mut self, condition: &str) -> String {
        let name = self.fresh("when.");
        self.effect(format_args!(
            "br i1 {condition}, label %{name}.then, label %{name}.else"
        ));
        self.start(format!("{name}.then"));
        self.known.begin_branch();
        name
    }

    /// What follows is the other branch.
    pub fn otherwise(&mut self, name: &str) {
        self.known.end_branch();
        self.effect(format_args!("br label %{name}.end"));
        self.start(format!("{name}.else"));
        self.known.begin_branch();
    }

    /// Ends both branches.
    pub fn end_when(&mut self, name: &str) {
        self.known.end_branch();
        self.effect(format_args!("br label %{name}.end"));
        self.start(format!("{name}.end"));
    }

    /// Values where a condition holds, else those of `otherwise`.
    pub fn choose(
        &mut self,
        condition: &str,
        kinds: &[&str],
        values: Vec<String>,
        otherwise: impl FnOnce(&mut Builder) -> Vec<String>,
    ) -> Vec<String> {
        let name = self.fresh("when.");
        let before = self.block.clone();
        self.effect(format_args!(
            "br i1 {condition}, label %{name}.end, label %{name}.else"
        ));
        self.start(format!("{name}.else"));
        self.known.begin_branch();
        let others = otherwise(self);
        self.known.end_branch();
        let behind = self.block.clone();
        self.effect(format_args!("br label %{name}.end"));
        self.start(format!("{name}.end"));
        let both = values.into_iter().zip(others);
        let both = kinds.iter().zip(both);
        both.map(|(kind, (value, other))| {
            self.value(format_args!(
                "phi {kind} [ {value}, %{before} ], [ {other}, %{behind} ]"
            ))
        })
        .collect()
    }

    /// Values of `body` where a condition holds, else zeros.
    pub fn when_else_zero(
        &mut self,
        condition: &str,
        kinds: &[String],
        body: impl FnOnce(&mut Builder) -> Vec<String>,
    ) -> Vec<String> {
        let name = self.fresh("when.");
        let before = self.block.clone();
        self.effect(format_args!(
            "br i1 {condition}, label %{name}.then, label %{name}.end"
        ));
        self.start(format!("{name}.then"));
        self.known.begin_branch();
        let values = body(self);
        self.known.end_branch();
        let then = self.block.clone();
        self.effect(format_args!("br label %{name}.end"));
        self.start(format!("{name}.end"));
        let both = kinds.iter().zip(values);
        both.map(|(kind, value)| {
            self.value(format_args!(
                "phi {kind} [ {value}, %{then} ], [ zeroinitializer, %{before} ]"
            ))
        })
        .collect()
    }

    /// `a + b`, folded where one is the literal 0.
    pub fn add(&mut self, a: &str, b: impl Display) -> String {
        match (a, b.to_string()) {
            (a, b) if b == "0" => a.to_string(),
            ("0", b) => b,
            (a, b) => self.value(format_args!("add nsw i64 {a}, {b}")),
        }
    }

    /// `a - b`.
    pub fn sub(&mut self, a: &str, b: impl Display) -> String {
        match b.to_string() {
            b if b == "0" => a.to_string(),
            b => self.value(format_args!("sub nsw i64 {a}, {b}")),
        }
    }

    /// `a * b`.
    pub fn mul(&mut self, a: &str, b: impl Display) -> String {
        self.value(format_args!("mul nsw i64 {a}, {b}"))
    }

    /// The smaller of two.
    pub fn min(&mut self, a: &str, b: &str) -> String {
        self.call("i64", "llvm.smin.i64", &[("i64", a), ("i64", b)])
    }

    /// The larger of two.
    pub fn max(&mut self, a: &str, b: &str) -> String {
        self.call("i64", "llvm.smax.i64", &[("i64", a), ("i64", b)])
    }

    /// The smallest of several; zero of none.
    pub fn smallest(&mut self, values: &[String]) -> String {
        let mut values = values.iter().cloned();
        let first = values.next().unwrap_or_else(|| String::from("0"));
        values.fold(first, |a, b| self.min(&a, &b))
    }

    /// One of two indices.
    pub fn select(&mut self, condition: &str, index: &str, otherwise: impl Display) -> String {
        self.value(format_args!(
            "select i1 {condition}, i64 {index}, i64 {otherwise}"
        ))
    }

    /// Lanes of two vectors of a type: those of the second one are numbered behind those of the first one.
    pub fn shuffle(
        &mut self,
        kind: &str,
        (first, second): (&str, &str),
        lanes: impl IntoIterator<Item = usize>,
    ) -> String {
        let lanes = lanes.into_iter().map(|lane| format!("i32 {lane}"));
        let lanes: Vec<String> = lanes.collect();
        self.value(format_args!(
            "shufflevector {kind} {first}, {kind} {second}, <{} x i32> <{}>",
            lanes.len(),
            lanes.join(", ")
        ))
    }

    /// Whether all conditions hold; `None` where there is none.
    pub fn all(&mut self, conditions: impl IntoIterator<Item = String>) -> Option<String> {
        let conditions = conditions.into_iter();
        conditions.reduce(|all, test| self.value(format_args!("and i1 {all}, {test}")))
    }

    /// Whether a condition does not hold.
    pub fn not(&mut self, condition: &str) -> String {
        self.value(format_args!("xor i1 {condition}, true"))
    }

    /// The largest of several; zero of none.
    pub fn largest(&mut self, values: &[String]) -> String {
        let mut values = values.iter().cloned();
        let first = values.next().unwrap_or_else(|| String::from("0"));
        values.fold(first, |a, b| self.max(&a, &b))
    }

    /// The address `bytes` behind `pointer`.
    pub fn offset(&mut self, pointer: &str, bytes: impl Display) -> String {
        match bytes.to_string() {
            bytes if bytes == "0" => pointer.to_string(),
            bytes => self.value(format_args!("getelementptr i8, ptr {pointer}, i64 {bytes}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two loops, the second one in a branch, whose bodies write a value of what is outside of both.
    fn two_loops(mut b: Builder) -> (String, [String; 3]) {
        let outside = b.value("load i64, ptr %words, align 8");
        let mut written = Vec::new();
        b.for_loop("0", "%begin", "1", |b, index| {
            written.push(b.mul(index, &outside));
        });
        b.when("true", |b| {
            b.for_loop("0", "%end", "1", |b, _| {
                b.when("false", |b| written.push(b.mul(&outside, "2")));
                b.when("false", |b| written.push(b.mul(&outside, "2")));
            });
        });
        let again = b.mul(&outside, "2");
        assert_ne!(written[1], again, "the branch may not run");
        (b.finish().0, written.try_into().unwrap())
    }

    #[test]
    fn a_value_stands_in_front_of_loops_in_the_branch_that_they_are_in() {
        let (text, [of_index, first, second]) = two_loops(Builder::new());
        assert_eq!(first, second, "it is known in the whole branch");
        let line = |found: &str| text.lines().position(|line| line.contains(found)).unwrap();
        let is_ordered = |lines: &[&str]| lines.is_sorted_by_key(|found| line(found));
        assert!(is_ordered(&[
            "loop.v2.body:",
            &format!("{of_index} ="),
            "loop.v2.latch:"
        ]));
        assert!(is_ordered(&[
            ".then:",
            &format!("{first} ="),
            "loop.v5.head:"
        ]));
    }

    #[test]
    fn values_of_threads_stand_where_they_are_written() {
        let (text, [_, first, second]) = two_loops(Builder::of_thread());
        assert_ne!(first, second);
        let at = |found: &str| text.find(found).unwrap();
        assert!(at("loop.v5.body:") < at(&format!("{first} =")));
    }
}
