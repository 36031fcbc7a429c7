//! Where in its arrays a stencil runs: the origins, the compute domain, and whether both fit.
//!
//! Arrays of three are along I, J, K. Along axes that a field does not have, its shape is 1 and its origin 0.

use fieldstone_stencil::{Axes, Axis, DType, Extent, Program};

use crate::error::CallError;

/// What a stencil needs of one array argument.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// Name of the parameter.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Axes the field extends along.
    pub axes: Axes,
    /// Sizes of the data dimensions, behind the axes.
    pub data_dims: Vec<u32>,
    /// How far the stencil reaches around the domain.
    pub extent: Extent,
    /// Whether levels are accessed that are computed, and may be any that the array has.
    pub any_level: bool,
    /// Whether any point is read.
    pub reads: bool,
    /// Whether any point is written.
    pub writes: bool,
}

impl Requirement {
    /// What a program needs of its fields, in their order.
    pub fn of(program: &Program) -> Vec<Requirement> {
        let fields = program.stencil.fields.iter().zip(&program.analysis.fields);
        fields
            .map(|(field, info)| Requirement {
                name: field.name.clone(),
                dtype: field.dtype,
                axes: field.axes,
                data_dims: field.data_dims.clone(),
                extent: info.extent,
                any_level: info.any_level,
                reads: info.access.reads(),
                writes: info.access.writes(),
            })
            .collect()
    }

    /// Whether the stencil accesses the field at all; if not, it constrains nothing.
    #[inline]
    pub fn used(&self) -> bool {
        self.reads || self.writes
    }

    /// Axes the field has, each with what the stencil reaches along it below and above the domain.
    fn reach(&self) -> impl Iterator<Item = (Axis, isize, isize)> {
        self.axes.iter().map(|axis| {
            let (lower, upper) = self.extent.along(axis);
            (axis, lower as isize, upper as isize)
        })
    }

    /// The components of an origin that is given along I, J, K or along the field's own axes, with or without entries for the
    /// data dimensions; `None` if it is neither.
    pub fn origin(&self, given: &[isize]) -> Option<[isize; 3]> {
        if given.len() == 3 {
            return Some(std::array::from_fn(|n| {
                if self.axes.0[n] { given[n] } else { 0 }
            }));
        }
        let (own, data) = (self.axes.len(), self.data_dims.len());
        if given.len() != own && given.len() != own + data {
            return (given.len() == 3 + data).then(|| self.origin(&given[..3]))?;
        }
        let mut origin = [0; 3];
        for (axis, value) in self.axes.iter().zip(given) {
            origin[axis.index()] = *value;
        }
        Some(origin)
    }
}

/// What one array argument brings along.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// Points along each axis.
    pub shape: [usize; 3],
    /// The origin of this call, of the object, or its lower halo; `None` leaves it to [`place`].
    pub origin: Option<[isize; 3]>,
    /// Whether the call itself gives the origin.
    pub asked_for: bool,
    /// Points at the upper end that a domain which nobody gave leaves out.
    pub halo: [usize; 3],
}

impl AsRef<Array> for Array {
    fn as_ref(&self) -> &Array {
        self
    }
}

impl Array {
    /// Stands for an argument that is not accessed.
    pub const ABSENT: Array = Array {
        shape: [1; 3],
        origin: Some([0; 3]),
        asked_for: false,
        halo: [0; 3],
    };

    /// Points behind the origin, without the halo and what is reached above the domain.
    fn behind(&self, origin: &[isize; 3], axis: usize, upper: isize) -> isize {
        let above = match self.halo[axis] as isize {
            0 => upper,
            halo => upper.max(halo),
        };
        (self.shape[axis] as isize)
            .saturating_sub(origin[axis])
            .saturating_sub(above)
    }
}

/// The origin of every array: its own, else one shared by all that have none, the smallest that satisfies their extents.
pub fn place<A: AsRef<Array>>(fields: &[Requirement], arrays: &[A], origins: &mut [[isize; 3]]) {
    let mut shared = [0isize; 3];
    for (field, array) in fields.iter().zip(arrays) {
        if field.used() && array.as_ref().origin.is_none() {
            for (axis, lower, _) in field.reach() {
                shared[axis.index()] = shared[axis.index()].max(lower);
            }
        }
    }
    for ((field, array), origin) in fields.iter().zip(arrays).zip(origins) {
        *origin = array.as_ref().origin.unwrap_or_else(|| {
            std::array::from_fn(|n| if field.axes.0[n] { shared[n] } else { 0 })
        });
    }
}

/// The largest domain that fits every array inside its halo and what the stencil reaches; 1 along axes no field has.
///
/// What the stencil does not access need not be there: a field that is only read one point back may end one point before the
/// domain does. But one array at least has all points of the domain.
pub fn largest<A: AsRef<Array>>(
    fields: &[Requirement],
    arrays: &[A],
    origins: &[[isize; 3]],
) -> Result<[usize; 3], CallError> {
    let mut whole = [0isize; 3];
    for (_, array, origin, axis, _) in used(fields, arrays, origins) {
        whole[axis] = whole[axis].max(array.behind(origin, axis, 0));
    }
    let mut domain = [None::<usize>; 3];
    for (field, array, origin, n, upper) in used(fields, arrays, origins) {
        let room = array.behind(origin, n, upper).min(whole[n]);
        // An array may well be empty, or be all halo; one that is too small for what is read around a point is a mistake,
        // and so is an origin at its end.
        let meant = array.origin.is_some() && !array.asked_for;
        let too_small = room == 0 && !meant && array.shape[n] > 0;
        if room < 0 || too_small {
            return Err(CallError::ShapeTooSmall {
                argument: field.name.clone(),
                axis: Axis::ALL[n],
                size: array.shape[n],
                origin: origin[n],
                above: upper.max(array.halo[n] as isize),
            });
        }
        let room = room as usize;
        domain[n] = Some(domain[n].map_or(room, |known| known.min(room)));
    }
    Ok(domain.map(|points| points.unwrap_or(1)))
}

/// What is accessed along each axis it has: the field, its array and origin, the axis, how far it is reached above the domain.
fn used<'a, A: AsRef<Array>>(
    fields: &'a [Requirement],
    arrays: &'a [A],
    origins: &'a [[isize; 3]],
) -> impl Iterator<Item = (&'a Requirement, &'a Array, &'a [isize; 3], usize, isize)> {
    (fields.iter().zip(arrays).zip(origins))
        .filter(|((field, _), _)| field.used())
        .flat_map(|((field, array), origin)| {
            let reach = field.reach();
            reach.map(move |(axis, _, upper)| (field, array.as_ref(), origin, axis.index(), upper))
        })
}

/// Whether there are arrays that hold the domain at these origins and what the stencil reaches around it.
///
/// # Errors
///
/// [`CallError::TooFewLevels`], [`CallError::TooFewPoints`] and [`CallError::OriginInsideExtent`].
pub fn possible(
    fields: &[Requirement],
    origins: &[[isize; 3]],
    domain: [usize; 3],
    [min_i, min_j, min_levels]: [usize; 3],
) -> Result<(), CallError> {
    if domain.contains(&0) {
        return Ok(());
    }
    if domain[2] < min_levels {
        return Err(CallError::TooFewLevels {
            levels: domain[2],
            needed: min_levels,
        });
    }
    for (axis, needed) in [(Axis::I, min_i), (Axis::J, min_j)] {
        let points = domain[axis.index()];
        if points < needed {
            return Err(CallError::TooFewPoints {
                axis,
                points,
                needed,
            });
        }
    }
    for (field, origin) in fields.iter().zip(origins).filter(|(field, _)| field.used()) {
        for (axis, lower, _) in field.reach() {
            if origin[axis.index()] < lower {
                return Err(CallError::OriginInsideExtent {
                    argument: field.name.clone(),
                    axis,
                    origin: origin[axis.index()],
                    lower,
                });
            }
        }
    }
    Ok(())
}

/// Whether every array holds the domain and what the stencil reaches around it. An empty domain fits everywhere.
///
/// # Errors
///
/// What does not fit first.
#[inline]
pub fn fits<A: AsRef<Array>>(
    fields: &[Requirement],
    arrays: &[A],
    origins: &[[isize; 3]],
    domain: [usize; 3],
    least: [usize; 3],
) -> Result<(), CallError> {
    let all = (fields.iter().zip(arrays).zip(origins))
        .all(|((field, array), origin)| field.fits(array.as_ref(), origin, domain));
    if (all && (0..3).all(|n| domain[n] >= least[n])) || domain.contains(&0) {
        return Ok(());
    }
    misfit(fields, arrays, origins, domain, least)
}

impl Requirement {
    /// Whether an array holds the domain and what the stencil reaches around it.
    #[inline]
    fn fits(&self, array: &Array, origin: &[isize; 3], domain: [usize; 3]) -> bool {
        let along = |n: usize| {
            let (lower, upper) = self.extent.0[n];
            let size = array.shape[n] as isize;
            // Nothing overflows: an origin that gets further is not negative by more than an extent.
            let room = (origin[n] >= lower as isize && origin[n] <= size)
                .then(|| size - origin[n] - upper as isize);
            let held = room.is_some_and(|room| room >= 0 && domain[n] <= room as usize);
            held || !self.axes.0[n]
        };
        (along(0) && along(1) && along(2)) || !self.used()
    }
}

/// What does not fit.
#[cold]
fn misfit<A: AsRef<Array>>(
    fields: &[Requirement],
    arrays: &[A],
    origins: &[[isize; 3]],
    domain: [usize; 3],
    least: [usize; 3],
) -> Result<(), CallError> {
    possible(fields, origins, domain, least)?;
    for ((field, array), origin) in fields.iter().zip(arrays).zip(origins) {
        if !field.used() {
            continue;
        }
        for (axis, _, upper) in field.reach() {
            let n = axis.index();
            let size = array.as_ref().shape[n];
            if origin[n] > size as isize {
                return Err(CallError::OriginOutside {
                    argument: field.name.clone(),
                    axis,
                    origin: origin[n],
                    size,
                });
            }
            // The origin is at most `size` here, so nothing can overflow on this side.
            let room = size as isize - origin[n] - upper;
            if isize::try_from(domain[n]).map_or(true, |points| points > room) {
                return Err(CallError::DomainTooLarge {
                    argument: field.name.clone(),
                    axis,
                    domain: domain[n],
                    size,
                    origin: origin[n],
                    upper,
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const IJ: Axes = Axes([true, true, false]);
    const K: Axes = Axes([false, false, true]);

    fn field(name: &str, axes: Axes, extent: [(i32, i32); 3]) -> Requirement {
        Requirement {
            name: name.into(),
            dtype: DType::Float64,
            axes,
            data_dims: Vec::new(),
            extent: Extent(extent),
            any_level: false,
            reads: true,
            writes: false,
        }
    }

    fn array(shape: [usize; 3]) -> Array {
        Array {
            shape,
            origin: None,
            asked_for: false,
            halo: [0; 3],
        }
    }

    fn inferred(
        fields: &[Requirement],
        arrays: &[Array],
    ) -> Result<([usize; 3], Vec<[isize; 3]>), CallError> {
        let mut origins = vec![[0; 3]; fields.len()];
        place(fields, arrays, &mut origins);
        let domain = largest(fields, arrays, &origins)?;
        fits(fields, arrays, &origins, domain, [0; 3])?;
        Ok((domain, origins))
    }

    #[test]
    fn fields_without_origin_share_the_smallest_that_satisfies_all() {
        let fields = [
            field("a", Axes::IJK, [(1, 2), (0, 0), (0, 0)]),
            field("b", Axes::IJK, [(0, 0), (3, 0), (0, 0)]),
            field("c", IJ, [(0, 0), (0, 0), (0, 0)]),
        ];
        let arrays = [array([10, 10, 5]), array([10, 10, 5]), array([10, 10, 1])];
        let (domain, origins) = inferred(&fields, &arrays).unwrap();
        assert_eq!(origins, [[1, 3, 0], [1, 3, 0], [1, 3, 0]]);
        assert_eq!(domain, [7, 7, 5]);
    }

    #[test]
    fn an_own_origin_does_not_move_the_others() {
        let fields = [
            field("a", Axes::IJK, [(2, 0), (0, 0), (0, 0)]),
            field("b", Axes::IJK, [(0, 0), (0, 0), (0, 0)]),
        ];
        let mut arrays = [array([10, 4, 4]), array([8, 4, 4])];
        arrays[0].origin = Some([2, 0, 0]);
        let (domain, origins) = inferred(&fields, &arrays).unwrap();
        assert_eq!(origins, [[2, 0, 0], [0, 0, 0]]);
        assert_eq!(domain, [8, 4, 4]);
    }

    #[test]
    fn the_halo_bounds_the_inferred_domain_and_an_explicit_one_may_reach_into_it() {
        let fields = [field("a", Axes::IJK, [(0, 1), (0, 0), (0, 0)])];
        let mut arrays = [array([10, 4, 4])];
        arrays[0].origin = Some([3, 0, 0]);
        arrays[0].halo = [3, 0, 0];
        let (domain, origins) = inferred(&fields, &arrays).unwrap();
        assert_eq!(domain, [4, 4, 4]);
        assert!(fits(&fields, &arrays, &origins, [6, 4, 4], [0; 3]).is_ok());
        assert!(fits(&fields, &arrays, &origins, [7, 4, 4], [0; 3]).is_err());
    }

    #[test]
    fn a_field_may_end_before_the_domain_where_it_is_not_read_there() {
        let fields = [
            field("back", Axes::IJK, [(1, -1), (0, 0), (0, -1)]),
            field("out", Axes::IJK, [(0, 0), (0, 0), (0, 0)]),
        ];
        let mut arrays = [array([8, 4, 4]), array([8, 4, 5])];
        assert_eq!(inferred(&fields, &arrays).unwrap().0, [7, 4, 5]);
        arrays[0].origin = Some([1, 0, 0]);
        assert_eq!(inferred(&fields, &arrays).unwrap().0, [8, 4, 5]);
        arrays[1].shape = [9, 4, 9];
        assert_eq!(inferred(&fields, &arrays).unwrap().0, [8, 4, 5]);
    }

    #[test]
    fn some_array_has_all_points_of_the_domain() {
        let fields = [field("a", Axes::IJK, [(0, 0), (0, 0), (0, -1)])];
        assert_eq!(inferred(&fields, &[array([3, 3, 4])]).unwrap().0, [3, 3, 4]);
        let mut at_the_end = array([3, 3, 4]);
        at_the_end.origin = Some([0, 0, 4]);
        at_the_end.asked_for = true;
        assert!(inferred(&fields, &[at_the_end]).is_err());
    }

    #[test]
    fn axes_no_field_has_get_one_point() {
        let (domain, origins) =
            inferred(&[field("k", K, [(0, 0); 3])], &[array([1, 1, 6])]).unwrap();
        assert_eq!((domain, origins), ([1, 1, 6], vec![[0; 3]]));
    }

    #[test]
    fn an_array_smaller_than_the_extent_is_refused() {
        let error = inferred(
            &[field("a", Axes::IJK, [(1, 1), (0, 0), (0, 0)])],
            &[array([1, 4, 4])],
        );
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains("'a'") && message.contains("expected at least 3 along I"),
            "{message}"
        );
    }

    #[test]
    fn a_domain_is_empty_only_where_the_arrays_say_so() {
        let fields = [field("a", Axes::IJK, [(1, 1), (0, 0), (0, 0)])];
        assert!(inferred(&fields, &[array([2, 4, 4])]).is_err());
        assert!(inferred(&fields, &[array([3, 0, 4])]).is_ok());
        let mut all_halo = array([2, 4, 4]);
        all_halo.origin = Some([1, 0, 0]);
        all_halo.halo = [1, 0, 0];
        assert!(inferred(&fields, &[all_halo]).is_ok());
    }

    #[test]
    fn origins_at_the_end_of_all_numbers_are_refused_like_others() {
        let fields = [field("a", Axes::IJK, [(1, 1), (0, 0), (0, 0)])];
        for end in [isize::MIN, isize::MAX] {
            let mut far = array([8, 4, 4]);
            far.origin = Some([end, 0, 0]);
            let message = inferred(&fields, &[far]).unwrap_err().to_string();
            assert!(message.contains("argument 'a'"), "{message}");
        }
    }

    #[test]
    fn origins_are_given_along_all_axes_or_the_own_ones() {
        type Case = (Axes, &'static [isize], Option<[isize; 3]>);
        let cases: [Case; 6] = [
            (Axes::IJK, &[1, 2, 3], Some([1, 2, 3])),
            (IJ, &[1, 2, 3], Some([1, 2, 0])),
            (IJ, &[1, 2], Some([1, 2, 0])),
            (K, &[1, 2, 3], Some([0, 0, 3])),
            (K, &[4], Some([0, 0, 4])),
            (Axes::IJK, &[1, 2], None),
        ];
        for (axes, given, expected) in cases {
            assert_eq!(
                field("a", axes, [(0, 0); 3]).origin(given),
                expected,
                "{axes} {given:?}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let fields = [field("a", Axes::IJK, [(1, 1), (-1, 2), (0, 0)])];
        let arrays = [array([10, 10, 10])];
        let cases: [([isize; 3], [usize; 3], Option<&str>); 8] = [
            ([1, 0, 0], [8, 8, 10], None),
            ([1, -1, 0], [8, 9, 10], None),
            (
                [0, 0, 0],
                [8, 8, 10],
                Some("expected an origin of at least 1"),
            ),
            (
                [1, -2, 0],
                [8, 8, 10],
                Some("expected an origin of at least -1"),
            ),
            ([1, 0, 11], [1, 1, 2], Some("outside of an array of 10")),
            (
                [1, 0, 0],
                [9, 8, 10],
                Some("the largest domain along I is 8"),
            ),
            (
                [1, 0, 0],
                [8, 8, usize::MAX],
                Some("the largest domain along K is 10"),
            ),
            ([1, 0, 0], [8, 8, 1], Some("need at least 2")),
        ];
        for (origin, domain, expected) in cases {
            let result = fits(&fields, &arrays, &[origin], domain, [0, 0, 2]);
            match expected {
                None => assert_eq!(result, Ok(()), "{origin:?} {domain:?}"),
                Some(text) => {
                    let message = result.unwrap_err().to_string();
                    assert!(message.contains(text), "{message}");
                }
            }
        }
    }

    #[test]
    fn an_empty_domain_fits_everywhere() {
        let fields = [field("a", Axes::IJK, [(5, 5), (0, 0), (0, 0)])];
        assert_eq!(
            fits(
                &fields,
                &[array([1, 1, 1])],
                &[[0; 3]],
                [0, 3, 3],
                [0, 0, 2]
            ),
            Ok(())
        );
    }
}
