//! Value numbering: what a function has computed already, where all that follows may use it.

use std::collections::HashMap;

/// Values by the text of their instructions, of the blocks that dominate the current one.
///
/// LLVM is not asked to look for them: it takes longer to read, compare and drop an instruction than not to write it.
pub(super) struct Numbering {
    values: HashMap<String, String>,
    /// The instructions in `values`: of the function, of the branch that is open in it, and so on.
    written: Vec<Vec<String>>,
}

impl Default for Numbering {
    fn default() -> Numbering {
        Numbering {
            values: HashMap::new(),
            written: vec![Vec::new()],
        }
    }
}

impl Numbering {
    /// The value of an instruction that has been written before.
    pub fn value(&self, instruction: &str) -> Option<&String> {
        self.values.get(instruction)
    }

    /// How many branches are open.
    pub fn branches(&self) -> usize {
        self.written.len() - 1
    }

    /// Remembers the value of an instruction that would be the same anywhere else, and stands in so many branches.
    pub fn remember(&mut self, branches: usize, instruction: String, value: &str) {
        self.written[branches].push(instruction.clone());
        self.values.insert(instruction, value.to_owned());
    }

    /// Begins what may not run, or runs again.
    pub fn begin_branch(&mut self) {
        self.written.push(Vec::new());
    }

    /// Ends it: forgets what was computed in it.
    pub fn end_branch(&mut self) {
        for instruction in self.written.pop().expect("a branch is open") {
            self.values.remove(&instruction);
        }
    }
}
