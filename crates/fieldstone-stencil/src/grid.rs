//! Axes of the grid, offsets between its points, vertical intervals, extents.

use std::fmt;

/// One axis of the grid: `I` and `J` horizontal, `K` vertical.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Axis {
    I,
    J,
    K,
}

impl Axis {
    /// The axes in order.
    pub const ALL: [Axis; 3] = [Axis::I, Axis::J, Axis::K];

    /// Position in [`Axis::ALL`], for indexing arrays of three.
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["I", "J", "K"][self.index()])
    }
}

/// The set of axes along which a field extends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axes(pub [bool; 3]);

impl Axes {
    /// All three axes.
    pub const IJK: Axes = Axes([true; 3]);
    /// The vertical axis.
    pub const K: Axes = Axes([false, false, true]);

    /// Whether the field extends along `axis`.
    pub fn contains(self, axis: Axis) -> bool {
        self.0[axis.index()]
    }

    /// The axes of the set, in order.
    pub fn iter(self) -> impl Iterator<Item = Axis> {
        Axis::ALL
            .into_iter()
            .filter(move |axis| self.contains(*axis))
    }

    /// How many axes the set has.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Whether the set has no axis.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Every axis that is in either set.
    pub fn union(self, other: Axes) -> Axes {
        Axes(std::array::from_fn(|n| self.0[n] || other.0[n]))
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|axis| write!(f, "{axis}"))
    }
}

/// Distance from the point that is computed to the point that is accessed, in grid points along I, J, K.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Offset(pub [i32; 3]);

impl Offset {
    /// The point itself.
    pub const ZERO: Offset = Offset([0; 3]);

    /// The component along an axis.
    pub fn along(self, axis: Axis) -> i32 {
        self.0[axis.index()]
    }

    /// Whether I and J components are zero.
    pub fn is_vertical(self) -> bool {
        self.0[0] == 0 && self.0[1] == 0
    }
}

impl std::ops::Add for Offset {
    type Output = Offset;
    fn add(self, other: Offset) -> Offset {
        Offset(std::array::from_fn(|n| self.0[n] + other.0[n]))
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [i, j, k] = self.0;
        write!(f, "[{i}, {j}, {k}]")
    }
}

/// From which end of the vertical axis a bound counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// From the first level of the domain, upwards.
    Start,
    /// From one past the last level of the domain.
    End,
}

/// A vertical position: a level of the domain, `offset` points from `level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    /// The end it counts from.
    pub level: Level,
    /// Points from that end; negative ones count down.
    pub offset: i32,
}

impl Bound {
    /// The first level.
    pub const START: Bound = Bound {
        level: Level::Start,
        offset: 0,
    };
    /// One past the last level.
    pub const END: Bound = Bound {
        level: Level::End,
        offset: 0,
    };

    /// The level's index in a domain of `levels` levels; may lie outside of it.
    pub fn resolve(self, levels: usize) -> i64 {
        match self.level {
            Level::Start => i64::from(self.offset),
            Level::End => levels as i64 + i64::from(self.offset),
        }
    }

    /// Points from here to before another bound, where the domain has no say in it.
    fn until(self, end: Bound) -> Option<usize> {
        let points = (self.level == end.level).then_some(end.offset - self.offset)?;
        usize::try_from(points).ok()
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.level, self.offset) {
            (Level::Start, offset) => write!(f, "{offset}"),
            (Level::End, 0) => write!(f, "end"),
            (Level::End, offset) => write!(f, "end{offset:+}"),
        }
    }
}

/// A range of levels: `start` is the first, `end` one past the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// First level.
    pub start: Bound,
    /// One past the last level.
    pub end: Bound,
}

impl Interval {
    /// Every level of the domain, `interval(...)`.
    pub const FULL: Interval = Interval {
        start: Bound::START,
        end: Bound::END,
    };

    /// The levels covered in a domain of `levels` levels, cut to the domain.
    pub fn resolve(self, levels: usize) -> std::ops::Range<usize> {
        let clamp = |bound: Bound| bound.resolve(levels).clamp(0, levels as i64) as usize;
        let start = clamp(self.start);
        start..clamp(self.end).max(start)
    }

    /// How many levels it has, if these are as many in every domain that is tall enough.
    pub fn levels(self) -> Option<usize> {
        self.start.until(self.end)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// Points along a horizontal axis: from the first to before the second; without a bound, as far as anything is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Range {
    /// First point.
    pub start: Option<Bound>,
    /// One past the last point.
    pub end: Option<Bound>,
}

/// Stands for the reach towards an end of the domain that a range stays away from: far inside of every domain.
const INSIDE: i32 = -(1 << 24);

impl Range {
    /// Whether it has every point there is.
    pub fn is_full(self) -> bool {
        self == Range::default()
    }

    /// How many points it has at most, if the domain has no say in it.
    pub fn points(self) -> Option<usize> {
        self.start?.until(self.end?)
    }

    /// The reach of those points of the range that lie within a reach, as `(lower, upper)` around the domain; `None` where
    /// there are none in any domain.
    ///
    /// A bound that counts from the other end of the domain does not reach outwards; see
    /// [`min_points`](crate::analysis::Analysis::min_points) for domains that are so small that it would.
    pub fn clip(self, (lower, upper): (i32, i32)) -> Option<(i32, i32)> {
        let first = match self.start {
            None => (Level::Start, -lower),
            Some(Bound { level, offset }) if level == Level::Start => (level, offset.max(-lower)),
            Some(Bound { level, offset }) => (level, offset),
        };
        let last = match self.end {
            None => (Level::End, upper),
            Some(Bound { level, offset }) if level == Level::End => (level, offset.min(upper)),
            Some(Bound { level, offset }) => (level, offset),
        };
        let outside = match (first, last) {
            ((Level::Start, first), (Level::Start, last)) => last <= first.max(-lower),
            ((Level::End, first), (Level::End, last)) => first >= last.min(upper),
            ((Level::Start, _), (Level::End, _)) | ((Level::End, _), (Level::Start, _)) => false,
        };
        if outside {
            return None;
        }
        let lower = match first {
            (Level::Start, first) => -first,
            (Level::End, _) => INSIDE,
        };
        let upper = match last {
            (Level::Start, _) => INSIDE,
            (Level::End, last) => last,
        };
        Some((lower, upper))
    }

    /// Whether every point of `other`, moved by `shift`, is in this range, whatever the domain.
    fn covers(self, other: Range, shift: i32) -> bool {
        let start = match (self.start, other.start) {
            (None, _) => true,
            (Some(own), Some(other)) => {
                own.level == other.level && own.offset <= other.offset + shift
            }
            (Some(_), None) => false,
        };
        let end = match (self.end, other.end) {
            (None, _) => true,
            (Some(own), Some(other)) => {
                own.level == other.level && own.offset >= other.offset + shift
            }
            (Some(_), None) => false,
        };
        start && end
    }

    /// The points that are in both, where bounds can be compared.
    fn intersection(self, other: Range) -> Option<Range> {
        let comparable = |a: Option<Bound>, b: Option<Bound>| match (a, b) {
            (Some(a), Some(b)) => a.level == b.level,
            _ => true,
        };
        (comparable(self.start, other.start) && comparable(self.end, other.end))
            .then(|| self.within(other))
    }

    /// A range, as small as can be said, with all points that are in both.
    fn within(self, other: Range) -> Range {
        let start = match (self.start, other.start) {
            (Some(a), Some(b)) if a.level == b.level && b.offset > a.offset => Some(b),
            (a, b) => a.or(b),
        };
        let end = match (self.end, other.end) {
            (Some(a), Some(b)) if a.level == b.level && b.offset < a.offset => Some(b),
            (a, b) => a.or(b),
        };
        Range { start, end }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = |bound: Option<Bound>| bound.map_or(String::new(), |bound| bound.to_string());
        write!(f, "{}:{}", open(self.start), open(self.end))
    }
}

/// A part of the horizontal plane: ranges along I and J. Bounds count from the first point of the domain and from one past
/// its last, and may lie outside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Area(pub [Range; 2]);

impl Area {
    /// The whole plane.
    pub const FULL: Area = Area(
        [Range {
            start: None,
            end: None,
        }; 2],
    );

    /// Along an axis; along K it has every level.
    pub fn along(self, axis: Axis) -> Range {
        self.0.get(axis.index()).copied().unwrap_or_default()
    }

    /// The extent of those points of the area that lie within an extent, see [`Range::clip`].
    pub fn clip(self, extent: Extent) -> Option<Extent> {
        let [i, j, k] = extent.0;
        Some(Extent([self.0[0].clip(i)?, self.0[1].clip(j)?, k]))
    }

    /// Whether every point of `other`, moved by `offset`, is in this area, whatever the domain.
    pub fn covers(self, other: Area, offset: Offset) -> bool {
        (0..2).all(|n| self.0[n].covers(other.0[n], offset.0[n]))
    }

    /// The points that are in both, where bounds count from the same ends of the domain.
    pub fn intersection(self, other: Area) -> Option<Area> {
        let i = self.0[0].intersection(other.0[0])?;
        Some(Area([i, self.0[1].intersection(other.0[1])?]))
    }

    /// An area, as small as can be said, with all points that are in both.
    pub fn within(self, other: Area) -> Area {
        Area(std::array::from_fn(|n| self.0[n].within(other.0[n])))
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.0[0], self.0[1])
    }
}

/// How far something reaches around a domain point: per axis `(lower, upper)`, both `>= 0` when it reaches outwards.
///
/// `lower` points towards smaller indices, `upper` towards larger ones: an access at offset `[-2, 1, 0]` has the extent
/// `((2, -2), (-1, 1), (0, 0))` alone, and `((2, 0), (0, 1), (0, 0))` together with an access to the point itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extent(pub [(i32, i32); 3]);

impl Extent {
    /// The point itself.
    pub const ZERO: Extent = Extent([(0, 0); 3]);

    /// The extent of one access at an offset.
    pub fn at(offset: Offset) -> Extent {
        Extent(offset.0.map(|d| (-d, d)))
    }

    /// The smallest extent that covers both.
    pub fn union(self, other: Extent) -> Extent {
        Extent(std::array::from_fn(|n| {
            (self.0[n].0.max(other.0[n].0), self.0[n].1.max(other.0[n].1))
        }))
    }

    /// What an access at `offset` reaches when made from every point of `self`.
    pub fn shifted(self, offset: Offset) -> Extent {
        Extent(std::array::from_fn(|n| {
            (self.0[n].0 - offset.0[n], self.0[n].1 + offset.0[n])
        }))
    }

    /// How much further this reaches than `base` does.
    pub fn beyond(self, base: Extent) -> Extent {
        Extent(std::array::from_fn(|n| {
            (self.0[n].0 - base.0[n].0, self.0[n].1 - base.0[n].1)
        }))
    }

    /// `(lower, upper)` along an axis.
    pub fn along(self, axis: Axis) -> (i32, i32) {
        self.0[axis.index()]
    }

    /// Whether nothing but the point itself is reached along I and J.
    pub fn is_vertical(self) -> bool {
        self.0[0] == (0, 0) && self.0[1] == (0, 0)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [i, j, k] = self.0;
        write!(
            f,
            "(({}, {}), ({}, {}), ({}, {}))",
            i.0, i.1, j.0, j.1, k.0, k.1
        )
    }
}
