//! What can go wrong when a stencil is called: with the call, and when it is compiled to something that runs, or runs.

use fieldstone_stencil::diagnostic::{Code, Diagnostic, Diagnostics};
use fieldstone_stencil::ir::Stencil;
use fieldstone_stencil::{Axis, SourceMap, Span};

/// A field is accessed outside of its array.
pub const OUT_OF_BOUNDS: Code = Code(601);
/// A temporary is read where nothing was assigned.
pub const UNINITIALISED: Code = Code(602);
/// Arguments share memory, so that a value depends on the order in which points are computed.
pub const RACE: Code = Code(603);
/// A value is the first that is no number.
pub const NOT_A_NUMBER: Code = Code(604);
/// Bounds of intervals that are given with the call contradict each other or the domain.
pub const INTERVALS: Code = Code(605);

/// What a check of the interpreter found, where and at which point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError {
    /// Grid index along I, J, K; the domain starts at 0.
    pub index: [i64; 3],
    /// One diagnostic, with the texts it points into.
    pub report: Diagnostics,
}

impl CheckError {
    /// What a diagnostic says of a point; the texts are given by [`RunError::in_sources`].
    pub fn at(index: [i64; 3], diagnostic: Diagnostic) -> RunError {
        let report = Diagnostics {
            diagnostics: vec![diagnostic],
            sources: SourceMap::default(),
        };
        RunError::Check(Box::new(CheckError { index, report }))
    }

    /// Which check it was.
    pub fn code(&self) -> Option<Code> {
        Some(self.report.diagnostics.first()?.code)
    }
}

/// Why a run failed. Messages name the field or temporary and the line of the access.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A check of the interpreter found something.
    #[error("{}", .0.report)]
    Check(Box<CheckError>),

    /// An access at a level that is computed and that the array does not have.
    #[error(
        "{place}: `{field}` is accessed at a level that its array does not have; what the call wrote is not valid \
         (backend 'debug' tells at which point)"
    )]
    LevelOutside {
        /// `file:line` of the access.
        place: String,
        /// The argument or temporary.
        field: String,
    },

    /// An access at an index that is computed and that the data dimension does not have.
    #[error(
        "{place}: `{field}` is accessed at an index outside of a data dimension of {size} elements; what the call wrote is not \
         valid (backend 'debug' tells which index, at which point)"
    )]
    IndexOutside {
        /// `file:line` of the access.
        place: String,
        /// The argument or temporary.
        field: String,
        /// Elements along the data dimension.
        size: u32,
    },

    /// An interval whose bounds are given with the call has levels outside of the domain.
    #[error(
        "{place}: `{interval}` has levels outside of the domain in this call; what the call wrote is not valid (backend 'debug' \
         tells which, and in which column)"
    )]
    IntervalOutside {
        /// `file:line` of the interval.
        place: String,
        /// Its text.
        interval: String,
    },

    /// Two intervals of a computation, whose bounds are given with the call, have levels in common.
    #[error(
        "{place}: `{interval}` and `{earlier}` ({earlier_place}), intervals of one computation, overlap in this call; what the \
         call wrote is not valid (backend 'debug' tells where, and in which column)"
    )]
    IntervalsOverlap {
        /// `file:line` of the second interval.
        place: String,
        /// Its text.
        interval: String,
        /// `file:line` of the first interval.
        earlier_place: String,
        /// Its text.
        earlier: String,
    },

    /// The user interrupted a loop.
    #[error("interrupted")]
    Interrupted,

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

    /// The cache has no code of the stencil, and it is not to be compiled.
    #[error(
        "stencil '{stencil}' was made with raise_if_not_cached=True, and {} has no code of it for this processor and version{}{}; \
         run it once without that option",
        match directory { Some(directory) => format!("the cache {directory}"), None => "the cache, which is switched off,".into() },
        match layout { Some(layout) => format!(" and arrays contiguous along {layout}"), None => String::new() },
        match levels { Some(levels) => format!(" that has room for {levels} levels"), None => String::new() }
    )]
    NotCached {
        /// Name of the stencil.
        stencil: String,
        /// Which axis each field is contiguous along; `None` if there is no code for any layout.
        layout: Option<String>,
        /// Levels of the domain, if there is code that has no room for so many.
        levels: Option<usize>,
        /// Where the cache is.
        directory: Option<String>,
    },

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

/// `file:line` of a span.
pub(crate) fn place(stencil: &Stencil, span: Span) -> String {
    match stencil.sources.locate(span) {
        Some((file, location)) => format!("{file}:{}", location.line),
        None => format!("stencil '{}'", stencil.name),
    }
}

impl RunError {
    /// The error of one interval that leaves the domain, or of two that overlap.
    pub(crate) fn intervals(stencil: &Stencil, intervals: &[Span]) -> RunError {
        let place = |span| place(stencil, span);
        let text = |span: Span| stencil.sources.text(span).unwrap_or_default().to_owned();
        match *intervals {
            [earlier, interval] => RunError::IntervalsOverlap {
                place: place(interval),
                interval: text(interval),
                earlier_place: place(earlier),
                earlier: text(earlier),
            },
            _ => {
                let interval = intervals.first().copied().unwrap_or_default();
                RunError::IntervalOutside {
                    place: place(interval),
                    interval: text(interval),
                }
            }
        }
    }

    /// The same error, with the texts that its places are in.
    pub fn in_sources(mut self, sources: &SourceMap) -> RunError {
        if let RunError::Check(check) = &mut self {
            check.report.sources = sources.clone();
        }
        self
    }
}

/// A call that cannot run. Every message names the argument, what it is and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The origin is smaller than what the stencil reaches before the domain.
    #[error(
        "argument '{argument}': its origin along {axis} is {origin}, but the stencil reaches {lower} point(s) before the \
         domain; expected an origin of at least {lower}"
    )]
    OriginInsideExtent {
        /// Name of the argument.
        argument: String,
        /// Axis along which it is too small.
        axis: Axis,
        /// The origin.
        origin: isize,
        /// What the stencil reaches.
        lower: isize,
    },
    /// The origin is not in the array.
    #[error(
        "argument '{argument}': its origin along {axis} is {origin}, outside of an array of {size} point(s) along {axis}"
    )]
    OriginOutside {
        /// Name of the argument.
        argument: String,
        /// Axis along which it is too large.
        axis: Axis,
        /// The origin.
        origin: isize,
        /// Points of the array.
        size: usize,
    },
    /// No domain fits the array.
    #[error(
        "argument '{argument}': {size} point(s) along {axis} cannot hold any domain: the origin is {origin} and {above} more \
         are needed above the domain; expected at least {} along {axis}",
        origin.saturating_add(*above).saturating_add(1)
    )]
    ShapeTooSmall {
        /// Name of the argument.
        argument: String,
        /// Axis along which it is too small.
        axis: Axis,
        /// Points of the array.
        size: usize,
        /// The origin.
        origin: isize,
        /// Points needed above the domain, for the extent or the halo.
        above: isize,
    },
    /// The domain asked for is larger than what the array holds.
    #[error(
        "argument '{argument}': a domain of {domain} along {axis} does not fit: the array has {size} point(s), the origin is \
         {origin} and the stencil reaches {upper} point(s) beyond the domain; the largest domain along {axis} is {}",
        (*size as isize - origin - upper).max(0)
    )]
    DomainTooLarge {
        /// Name of the argument.
        argument: String,
        /// Axis along which it does not fit.
        axis: Axis,
        /// Points of the domain.
        domain: usize,
        /// Points of the array.
        size: usize,
        /// The origin.
        origin: isize,
        /// What the stencil reaches beyond the domain.
        upper: isize,
    },
    /// The domain has fewer levels than the stencil's intervals need.
    #[error(
        "the domain has {levels} level(s) along K, but the stencil's intervals need at least {needed}"
    )]
    TooFewLevels {
        /// Levels of the domain.
        levels: usize,
        /// Levels needed.
        needed: usize,
    },
    /// The domain has fewer points along a horizontal axis than the stencil's regions need.
    #[error(
        "the domain has {points} point(s) along {axis}, but what is read in the stencil's regions needs at least {needed}"
    )]
    TooFewPoints {
        /// The axis.
        axis: Axis,
        /// Points of the domain.
        points: usize,
        /// Points needed.
        needed: usize,
    },
    /// Two arguments share memory in a way that changes the result.
    #[error(
        "arguments '{written}' and '{other}' overlap in memory and '{written}' is written: {}; pass a copy of one of them",
        reason.explanation(written, other)
    )]
    Overlap {
        /// The written argument.
        written: String,
        /// The other one.
        other: String,
        /// Why that is not safe.
        reason: Reader,
    },
    /// Several points of a written array are the same memory.
    #[error(
        "argument '{argument}' is written, but several of its points share memory along {dimension} (stride {stride} bytes, \
         {size} points); pass an array of its own"
    )]
    SharedPoints {
        /// Name of the argument.
        argument: String,
        /// Axis or data dimension along which points coincide.
        dimension: String,
        /// Bytes from one point to the next.
        stride: isize,
        /// Points accessed along the axis.
        size: usize,
    },
}

/// Why sharing memory with a written argument changes the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The arguments are not the same elements at the same points.
    Shifted,
    /// Both are written.
    Written,
    /// The other one is read at an offset, or on points around the domain.
    Offset,
    /// The other one is read after the first was written.
    Later,
    /// The first is written at other levels than the one that is computed.
    Level,
}

impl Reader {
    fn explanation(self, written: &str, other: &str) -> String {
        match self {
            Reader::Shifted => "they are not the same elements at the same points".into(),
            Reader::Written => format!("'{other}' is written, too"),
            Reader::Offset => {
                format!("'{other}' is also read at other points than the one that is computed")
            }
            Reader::Level => {
                format!("'{written}' is also written at other levels than the one that is computed")
            }
            Reader::Later => format!("'{other}' is read after '{written}' was written"),
        }
    }
}
