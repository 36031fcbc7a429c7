//! What a device has room for.

use fieldstone_device::{Limits, Properties};

use super::shape::Shape;

/// Registers are given to warps in lots of so many.
const LOT: usize = 256;

/// Registers that a thread can name.
const MOST_REGISTERS: usize = 255;

/// Warps with which a multiprocessor does half of what it can: while one waits for memory, others have to work.
const HALF: f64 = 8.0;

/// What blocks of threads may take of a device, and how many multiprocessors it has, if that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Which share out the blocks of a kernel among them.
    pub multiprocessors: Option<usize>,
    /// Of each of them.
    pub limits: Limits,
}

impl Room {
    /// What every device has: for where none is at hand.
    pub const LEAST: Room = Room {
        multiprocessors: None,
        limits: Limits {
            warp: 32,
            threads_per_block: 1024,
            blocks_per_multiprocessor: 16,
            threads_per_multiprocessor: 1024,
            registers_per_multiprocessor: 1 << 16,
            shared_per_block: 48 << 10,
            shared_per_block_optin: 64 << 10,
            shared_per_multiprocessor: 64 << 10,
            shared_reserved_per_block: 0,
        },
    };

    /// Of a device.
    pub fn of(properties: &Properties) -> Room {
        Room {
            multiprocessors: properties.multiprocessors.map(|count| count as usize),
            limits: properties.limits,
        }
    }

    /// Warps of a block.
    pub fn warps(&self, threads: usize) -> usize {
        threads.div_ceil(self.limits.warp as usize)
    }

    /// Blocks that a multiprocessor has at once, of so many threads, registers of each, and bytes of shared memory; none where one
    /// alone does not fit.
    pub fn blocks(&self, threads: usize, registers: usize, shared: usize) -> usize {
        let limits = &self.limits;
        if threads > limits.threads_per_block as usize
            || shared > limits.shared_per_block_optin as usize
        {
            return 0;
        }
        let (warps, warp) = (self.warps(threads), limits.warp as usize);
        let registers = warps * (registers * warp).next_multiple_of(LOT);
        let shared = shared + limits.shared_reserved_per_block as usize;
        let most = [
            limits.blocks_per_multiprocessor as usize,
            limits.threads_per_multiprocessor as usize / (warps * warp),
            limits.registers_per_multiprocessor as usize / registers,
            (limits.shared_per_multiprocessor as usize)
                .checked_div(shared)
                .unwrap_or(usize::MAX),
        ];
        most.into_iter().min().unwrap_or_default()
    }

    /// Whether a block of a shape may have what it shares on a domain, or on a large one of which nobody knows how many levels it has.
    pub fn holds(&self, shape: &Shape, domain: Option<[usize; 3]>) -> bool {
        let levels = domain.map_or(0, |[.., levels]| levels);
        shape.shared_for(levels) <= self.limits.shared_per_block_optin as usize
    }

    /// Registers that each of so many threads of a multiprocessor may have.
    pub fn registers(&self, threads: usize) -> usize {
        (self.limits.registers_per_multiprocessor as usize / threads).min(MOST_REGISTERS)
    }
}

/// The part of what it can do that a multiprocessor does with so many warps.
pub fn speed(warps: usize) -> f64 {
    let warps = warps as f64;
    warps / (warps + HALF)
}
