//! Value numbering: what a function has computed already, where all that follows may use it.

use std::collections::HashMap;

/// Values by the text of their instructions, of the blocks that dominate the current one.
///
/// LLVM would find them, too; but it takes longer to read and drop an instruction than not to write it.
#[derive(Default)]
pub(super) struct Numbering {
    values: HashMap<String, String>,
    /// The instructions in `values`, in the order in which they were written.
    written: Vec<String>,
    /// How many there were when each open branch began.
    branches: Vec<usize>,
}

impl Numbering {
    /// The value of an instruction that has been written before.
    pub fn value(&self, instruction: &str) -> Option<&String> {
        self.values.get(instruction)
    }

    /// Remembers the value of an instruction if it would be the same anywhere else.
    pub fn remember(&mut self, instruction: String, value: &str) {
        if is_pure(&instruction) {
            self.remember_pure(instruction, value);
        }
    }

    /// Remembers the value of an instruction that would be the same anywhere else.
    pub fn remember_pure(&mut self, instruction: String, value: &str) {
        self.written.push(instruction.clone());
        self.values.insert(instruction, value.to_owned());
    }

    /// Begins what may not run, or runs again.
    pub fn begin_branch(&mut self) {
        self.branches.push(self.written.len());
    }

    /// Ends it: forgets what was computed since.
    pub fn end_branch(&mut self) {
        let begin = self.branches.pop().expect("a branch is open");
        for instruction in self.written.drain(begin..) {
            self.values.remove(&instruction);
        }
    }
}

/// Whether an instruction depends on nothing but its operands.
fn is_pure(instruction: &str) -> bool {
    let (operation, _) = instruction.split_once(' ').unwrap_or_default();
    match operation {
        "add" | "sub" | "mul" | "and" | "or" | "xor" | "shl" | "lshr" | "ashr" => true,
        "fadd" | "fsub" | "fmul" | "fdiv" | "fneg" => true,
        "icmp" | "fcmp" | "select" | "getelementptr" | "shufflevector" | "insertelement" => true,
        "udiv" | "urem" | "sdiv" | "srem" | "extractelement" => true,
        "bitcast" | "inttoptr" | "ptrtoint" | "trunc" | "zext" | "sext" => true,
        _ => {
            instruction.starts_with("call i64 @llvm.smin.i64(")
                || instruction.starts_with("call i64 @llvm.smax.i64(")
        }
    }
}
