//! Memory for the temporaries of a run, kept for the next.

use std::sync::PoisonError;

use fieldstone_device::{Contents, HostMemory};

use super::Native;
use crate::array::Array;
use crate::error::RunError;
use crate::tile::LINE;

impl Native {
    /// Memory for temporaries: that of a run before, where it is large enough.
    pub(super) fn memory(&self, arrays: &[Array]) -> Result<Vec<HostMemory>, RunError> {
        if arrays.is_empty() {
            return Ok(Vec::new());
        }
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut blocks = spare.pop().unwrap_or_default();
        drop(spare);
        for (number, array) in arrays.iter().enumerate() {
            let bytes = array.bytes();
            if blocks.get(number).is_none_or(|block| block.bytes() < bytes) {
                // What is too small goes first, and those behind it, which most probably are as well.
                blocks.truncate(number);
                blocks.push(HostMemory::new(bytes, LINE, Contents::Uninitialised)?);
            }
            if array.zeroed {
                blocks[number].clear(bytes);
            }
        }
        Ok(blocks)
    }

    /// Keeps the memory of a run's temporaries for the next.
    pub(super) fn keep(&self, memory: Vec<HostMemory>) {
        if !memory.is_empty() {
            let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            spare.push(memory);
        }
    }
}
