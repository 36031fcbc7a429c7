//! What a device has room for.

use fieldstone_device::{Limits, Properties};

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU of NVIDIA's architecture 9.0.
    const HOPPER: Room = Room {
        multiprocessors: Some(132),
        limits: Limits {
            blocks_per_multiprocessor: 32,
            threads_per_multiprocessor: 2048,
            shared_per_block_optin: 227 << 10,
            shared_per_multiprocessor: 228 << 10,
            shared_reserved_per_block: 1 << 10,
            ..Room::LEAST.limits
        },
    };

    /// As NVIDIA's calculator of occupancy has it.
    #[test]
    fn blocks_of_a_multiprocessor() {
        for (room, threads, registers, shared, blocks) in [
            (HOPPER, 256, 32, 0, 8),
            (HOPPER, 256, 40, 0, 6),
            (HOPPER, 256, 140, 0, 1),
            (HOPPER, 128, 140, 0, 3),
            (HOPPER, 64, 128, 0, 8),
            (HOPPER, 32, 16, 0, 32),
            (HOPPER, 256, 32, 48 << 10, 4),
            (HOPPER, 512, 32, 227 << 10, 1),
            (HOPPER, 512, 32, 228 << 10, 0),
            (HOPPER, 1024, 65, 0, 0),
            (HOPPER, 2048, 16, 0, 0),
            (Room::LEAST, 256, 32, 0, 4),
            (Room::LEAST, 32, 16, 0, 16),
            (Room::LEAST, 256, 32, 64 << 10, 1),
        ] {
            assert_eq!(room.blocks(threads, registers, shared), blocks);
        }
    }

    #[test]
    fn registers_are_shared_out() {
        let registers = [64, 512, 1024].map(|threads| HOPPER.registers(threads));
        assert_eq!(registers, [255, 128, 64]);
    }
}
