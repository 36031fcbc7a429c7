//! What can go wrong when a stencil is compiled to something that runs, or runs.

/// Why a run failed. Messages name the field or temporary and the line of the access.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An access outside of an array.
    #[error(
        "{place}: '{field}' is accessed at ({}), but its array covers {covers}; \
         give it a larger halo or a smaller domain", indices(.index)
    )]
    OutOfBounds {
        /// `file:line` of the access.
        place: String,
        /// The argument.
        field: String,
        /// Grid index of the access along I, J, K; the domain starts at 0.
        index: [i64; 3],
        /// What the array covers, such as `I -1..9, K 0..4`.
        covers: String,
    },

    /// A temporary is read at a point where nothing was written.
    #[error(
        "{place}: temporary '{temporary}' is read at ({}), where it was not written; \
         assign it on every level and in every branch that this line can reach", indices(.index)
    )]
    Unwritten {
        /// `file:line` of the read.
        place: String,
        /// The temporary.
        temporary: String,
        /// Grid index of the read along I, J, K; the domain starts at 0.
        index: [i64; 3],
    },

    /// The call does not have the arguments of the stencil.
    #[error("stencil '{stencil}' takes {expected}, but the call has {given}")]
    Arguments {
        /// Name of the stencil.
        stencil: String,
        /// What it takes.
        expected: String,
        /// What the call has.
        given: String,
    },

    /// No machine code could be made.
    #[error(transparent)]
    Compilation(#[from] crate::jit::JitError),

    /// There is no memory for temporaries.
    #[error(transparent)]
    Memory(#[from] fieldstone_device::DeviceError),

    /// Something the backend cannot do.
    #[error("{place}: {what}")]
    Unsupported {
        /// `file:line` of the expression.
        place: String,
        /// What is not supported, and what to write instead.
        what: String,
    },
}

fn indices(index: &[i64; 3]) -> String {
    let [i, j, k] = index;
    format!("{i}, {j}, {k}")
}
