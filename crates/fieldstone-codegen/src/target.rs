//! The processor that code is made for.

use fieldstone_device::CoreCaches;

use crate::tile::LINE;

/// The processor that code is made for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// LLVM's triple.
    pub triple: String,
    /// LLVM's name of the processor.
    pub cpu: String,
    /// LLVM's list of features, such as `+avx2,-avx512f`.
    pub features: String,
    /// The caches of a core, which say how much scratch memory a tile may have.
    pub caches: CoreCaches,
}

impl Target {
    fn has(&self, feature: &str) -> bool {
        self.features
            .split(',')
            .any(|word| word.strip_prefix('+') == Some(feature))
    }

    /// Whether it runs blocks of threads, and is no processor of a host.
    pub fn is_accelerator(&self) -> bool {
        self.is_nvidia() || self.is_amd()
    }

    /// Whether it is a GPU of NVIDIA.
    pub fn is_nvidia(&self) -> bool {
        self.triple.starts_with("nvptx")
    }

    /// Whether it is a GPU of AMD.
    pub fn is_amd(&self) -> bool {
        self.triple.starts_with("amdgcn")
    }

    /// Bytes of a vector register.
    pub fn vector_bytes(&self) -> usize {
        match () {
            () if self.has("avx512f") => 64,
            () if self.has("avx") => 32,
            () => 16,
        }
    }

    /// Bytes of a vector of a row: a cache line also where this is two registers. What goes past the caches has to do so as whole lines,
    /// and where points are vectors of levels, the first-level cache loses lines before a row comes to their second halves.
    pub(crate) fn row_bytes(&self) -> usize {
        match self.vector_bytes() {
            16 => 16,
            _ => LINE,
        }
    }

    /// Whether a vector of a row is several registers, each a part of a cache line.
    pub(crate) fn halves_lines(&self) -> bool {
        self.vector_bytes() < self.row_bytes()
    }

    /// How many vector registers there are.
    pub(crate) fn vector_registers(&self) -> usize {
        if self.vector_bytes() < LINE { 16 } else { 32 }
    }

    /// Bytes of the registers whose lanes can be permuted by those of another; zero where there are none.
    pub(crate) fn permuted_bytes(&self) -> usize {
        match () {
            () if self.has("avx512f") => 64,
            () if self.has("avx2") => 32,
            () => 0,
        }
    }

    /// Whether it converts from and to `float16`.
    pub fn has_half(&self) -> bool {
        !self.triple.starts_with("x86_64") || self.has("f16c")
    }

    /// Whether stores past the caches are ordered by the fence of SSE.
    pub(crate) fn has_fence(&self) -> bool {
        self.has("sse")
    }

    /// Whether its vectors multiply and add with one rounding.
    pub(crate) fn has_fused_multiplication(&self) -> bool {
        self.has("fma")
    }

    /// Whether loads and stores of some lanes are single instructions.
    pub(crate) fn has_masked_access(&self) -> bool {
        self.has("avx2")
    }

    /// Whether what comparisons find fills a lane with bits, and is no mask of another kind.
    pub(crate) fn compares_to_bits(&self) -> bool {
        self.triple.starts_with("x86_64") && !self.has("avx512f")
    }

    /// Whether a store of some lanes costs what one of all of them does.
    pub(crate) fn has_masked_stores(&self) -> bool {
        self.has("avx512f")
    }
}
