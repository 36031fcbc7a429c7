//! What blocks of threads are on each machine: hardware on an accelerator, loops on the processor of a host.
//!
//! A block computes its points in *phases*, with a barrier between two of them. On a host, a phase is a loop over all threads of
//! the block, in another order than that of their numbers, and the end of the loop is the barrier: what is not behind a barrier
//! and should be reads what was not written yet.

use crate::gpu::Shape;
use crate::llvm::abi::Words;
use crate::llvm::builder::Builder;
use crate::llvm::entry::Entry;
use crate::llvm::types::Lanes;
use crate::target::Target;

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    /// A processor that does the work of an accelerator.
    Host,
    Nvidia,
    Amd,
}

/// Bytes of shared memory that code for a GPU of NVIDIA may have; more are asked for at each launch.
const MOST_OF_CODE: usize = 48 << 10;

/// Steps of this size visit each of a power of two threads, neighbours neither behind each other nor in order.
const STEP: usize = 109;

impl Machine {
    pub fn of(target: &Target) -> Machine {
        match target {
            _ if target.is_nvidia() => Machine::Nvidia,
            _ if target.is_amd() => Machine::Amd,
            _ => Machine::Host,
        }
    }

    /// The first line of a kernel.
    pub fn head(self, name: &str, words: &Words, shape: &Shape) -> String {
        let (count, threads) = (words.len(), shape.threads);
        match self {
            Machine::Host => format!(
                "define void @{name}(ptr noalias readonly %words, i64 %begin, i64 %end, ptr noalias %shared) #0"
            ),
            Machine::Nvidia => {
                let resident = shape.resident;
                let resident = resident.map(|blocks| format!(" \"nvvm.minctasm\"=\"{blocks}\""));
                format!(
                    "define ptx_kernel void @{name}(ptr noalias readonly byval([{count} x i64]) align 8 %words) #0 \
                     \"nvvm.maxntid\"=\"{threads}\"{}",
                    resident.unwrap_or_default()
                )
            }
            Machine::Amd => format!(
                "define amdgpu_kernel void @{name}(ptr addrspace(4) noalias readonly byref([{count} x i64]) align 8 \
                 %parameter) #0 \"amdgpu-flat-work-group-size\"=\"{threads},{threads}\""
            ),
        }
    }

    /// Bytes of so much shared memory that a launch has to ask for.
    pub fn asked(self, bytes: usize) -> usize {
        match self {
            Machine::Nvidia if bytes <= MOST_OF_CODE => 0,
            Machine::Nvidia | Machine::Host => bytes,
            Machine::Amd => 0,
        }
    }

    /// The name of the shared memory of a kernel, and its definition.
    pub fn shared(self, name: &str, shape: &Shape) -> (String, String) {
        let bytes = shape.shared_bytes + shape.level_bytes;
        match self {
            Machine::Host => (String::from("%shared"), String::new()),
            _ => {
                let definition = match (bytes, shape.level_bytes + self.asked(bytes)) {
                    (0, _) => String::new(),
                    (_, 0) => format!(
                        "@{name}_shared = internal addrspace(3) global [{bytes} x i8] poison, align 16\n"
                    ),
                    _ => format!(
                        "@{name}_shared = external addrspace(3) global [0 x i8], align 16\n"
                    ),
                };
                let pointer = format!("addrspacecast (ptr addrspace(3) @{name}_shared to ptr)");
                (pointer, definition)
            }
        }
    }

    /// A kernel, with what stands before everything else in it.
    pub fn begin(self) -> Builder {
        let mut builder = match self {
            Machine::Host => Builder::new(),
            Machine::Nvidia | Machine::Amd => Builder::of_thread(),
        };
        if self == Machine::Amd {
            builder.effect("%words = addrspacecast ptr addrspace(4) %parameter to ptr");
        }
        builder
    }

    /// Runs `body` for each block that is to be computed, with its numbers along I, J, K.
    pub fn blocks(
        self,
        b: &mut Builder,
        entry: &Entry,
        body: impl FnOnce(&mut Builder, [String; 3]),
    ) {
        if self != Machine::Host {
            let numbers = ["x", "y", "z"].map(|axis| self.number(b, "ctaid", "workgroup", axis));
            return body(b, numbers);
        }
        b.for_loop("%begin", "%end", "1", |b, task| {
            let count = &entry.count;
            let first = b.value(format_args!("urem i64 {task}, {}", count[0]));
            let rest = b.value(format_args!("udiv i64 {task}, {}", count[0]));
            let second = b.value(format_args!("urem i64 {rest}, {}", count[1]));
            let third = b.value(format_args!("udiv i64 {rest}, {}", count[1]));
            body(b, [first, second, third]);
        });
    }

    /// Runs `body` for each of so many points, shared out to all threads of the block.
    pub fn phase(
        self,
        b: &mut Builder,
        shape: &Shape,
        points: usize,
        body: impl FnOnce(&mut Builder, &str),
    ) {
        let threads = shape.threads;
        let share = |b: &mut Builder, thread: &str| match points.cmp(&threads) {
            std::cmp::Ordering::Equal => body(b, thread),
            std::cmp::Ordering::Less => {
                let some = b.value(format_args!("icmp ult i64 {thread}, {points}"));
                b.when(&some, |b| body(b, thread));
            }
            std::cmp::Ordering::Greater => {
                b.for_loop(thread, &points.to_string(), &threads.to_string(), body);
            }
        };
        if self != Machine::Host {
            let thread = self.number(b, "tid", "workitem", "x");
            return share(b, &thread);
        }
        b.for_loop("0", &threads.to_string(), "1", |b, number| {
            let steps = b.mul(number, STEP);
            let thread = b.value(format_args!("and i64 {steps}, {}", threads - 1));
            share(b, &thread);
        });
    }

    /// Lets no thread of a block go on before all have come so far.
    pub fn barrier(self, b: &mut Builder) {
        match self {
            Machine::Host => {}
            Machine::Nvidia => {
                b.call_void("llvm.nvvm.barrier.cta.sync.aligned.all", &[("i32", "0")]);
            }
            Machine::Amd => {
                b.effect("fence syncscope(\"workgroup\") release");
                b.call_void("llvm.amdgcn.s.barrier", &[]);
                b.effect("fence syncscope(\"workgroup\") acquire");
            }
        }
    }

    /// A number of the block or of the thread.
    fn number(self, b: &mut Builder, nvidia: &str, amd: &str, axis: &str) -> String {
        let function = match self {
            Machine::Amd => format!("llvm.amdgcn.{amd}.id.{axis}"),
            _ => format!("llvm.nvvm.read.ptx.sreg.{nvidia}.{axis}"),
        };
        let number = b.call("i32", &function, &[]);
        b.value(format_args!("zext i32 {number} to i64"))
    }
}

/// One point of one thread.
pub(super) const ONE: Lanes = Lanes { width: 1 };
