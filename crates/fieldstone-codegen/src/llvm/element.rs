//! Accesses to elements of data dimensions that are not taken apart: which element it is shows at run time.

use fieldstone_stencil::elements::constant;
use fieldstone_stencil::ir::{DataDimension, Expr, Subscript, Target};
use fieldstone_stencil::{DType, Offset, Span};

use super::body::Body;
use super::level::{Place, is_uniform};
use super::memory::splat;
use super::place::{self, Spacing};
use super::types::Lanes;
use super::{Failure, Wrong};

/// Bytes from the first element of a point to another.
enum Distance {
    /// The same for all points of a vector.
    One(String),
    /// One for each lane.
    Each(String),
}

impl Body<'_, '_> {
    /// Where the points of a vector lie that are `offset` away.
    pub(super) fn point_place(&mut self, target: Target, offset: Offset) -> Place {
        let row = self.pointer(target, offset);
        let ahead = offset.along(self.row.vector);
        match &row.spacing {
            Spacing::Contiguous => {
                let size = place::dtype(self.context, target).size();
                Place::One(self.address(&row.pointer, size, ahead), Spacing::Contiguous)
            }
            Spacing::Strided(stride) => Place::Each(self.addresses(&row.pointer, stride, ahead)),
            Spacing::Uniform => Place::One(row.pointer, Spacing::Uniform),
            Spacing::Point(stride) => {
                let address = self.neighbour(&row.pointer, stride, ahead);
                Place::One(address, Spacing::Uniform)
            }
            Spacing::Register => unreachable!("what is not taken apart is an array"),
        }
    }

    /// Where the elements lie that an access to points is to.
    pub(super) fn element_place(
        &mut self,
        mut place: Place,
        target: Target,
        subscript: &Subscript,
        span: Span,
    ) -> Place {
        let strides = match self.entry.arrays.get(&target) {
            Some(array) => array.data.clone(),
            None => return place,
        };
        let sizes = self.context.program.stencil.data_dims(target).iter();
        for ((index, stride), size) in subscript.indices().iter().zip(strides).zip(sizes) {
            let dimension = DataDimension {
                of: target,
                size: *size,
            };
            place = match self.distance(index, &stride, dimension, span) {
                Distance::One(bytes) => self.moved(place, &bytes),
                Distance::Each(bytes) => {
                    let size = place::dtype(self.context, target).size();
                    self.scattered(place, &bytes, size)
                }
            };
        }
        place
    }

    fn distance(
        &mut self,
        index: &Expr,
        stride: &str,
        dimension: DataDimension,
        span: Span,
    ) -> Distance {
        if let Some(known) = constant(index) {
            return Distance::One(match known {
                0 => String::from("0"),
                known => self.b.mul(stride, known),
            });
        }
        let is_uniform = is_uniform(index, self.row.vector);
        let value = self.index(index, is_uniform);
        let lanes = self.lanes;
        if is_uniform {
            let value = self.first_lane(&value);
            self.lanes = Lanes { width: 1 };
            let value = self.index_inside(&value, dimension, span, lanes);
            self.lanes = lanes;
            return Distance::One(self.b.mul(&value, stride));
        }
        let value = self.index_inside(&value, dimension, span, lanes);
        let kind = lanes.of("i64");
        let stride = splat(self.b, lanes, "i64", stride);
        Distance::Each(self.b.value(format_args!("mul {kind} {value}, {stride}")))
    }

    /// An index, or the first one where it is outside of its data dimension; notes the access there.
    fn index_inside(
        &mut self,
        index: &str,
        dimension: DataDimension,
        span: Span,
        row: Lanes,
    ) -> String {
        let outside = self.index_outside(index, dimension.size);
        let what = Wrong::Index(dimension);
        self.note(&outside, Failure { what, span }, row);
        let first = self.lanes.constant(DType::Int64, "0");
        self.arithmetic()
            .select(&outside, DType::Int64, &first, index)
    }

    /// An index that is compared instead of added to an address.
    pub(super) fn checked_index(
        &mut self,
        index: String,
        dimension: DataDimension,
        span: Span,
    ) -> String {
        let outside = self.index_outside(&index, dimension.size);
        let what = Wrong::Index(dimension);
        self.note(&outside, Failure { what, span }, self.lanes);
        index
    }

    fn index_outside(&mut self, index: &str, size: u32) -> String {
        let kind = self.lanes.of("i64");
        let size = self.lanes.constant(DType::Int64, &size.to_string());
        // As an unsigned number, a negative one is large.
        (self.b).value(format_args!("icmp uge {kind} {index}, {size}"))
    }

    fn moved(&mut self, place: Place, bytes: &str) -> Place {
        match place {
            Place::One(address, spacing) => Place::One(self.b.offset(&address, bytes), spacing),
            Place::Each(addresses) if bytes == "0" => Place::Each(addresses),
            Place::Each(addresses) => {
                let pointers = self.lanes.of("ptr");
                Place::Each(self.b.value(format_args!(
                    "getelementptr i8, {pointers} {addresses}, i64 {bytes}"
                )))
            }
        }
    }

    /// Moves each lane by bytes of its own.
    fn scattered(&mut self, place: Place, bytes: &str, size: usize) -> Place {
        let kind = self.lanes.of("i64");
        let (pointers, start, bytes) = match place {
            Place::One(address, Spacing::Contiguous) if self.lanes.width > 1 => {
                let steps = (0..self.lanes.width).map(|lane| format!("i64 {}", lane * size));
                let steps = steps.collect::<Vec<_>>().join(", ");
                let bytes = (self.b).value(format_args!("add {kind} {bytes}, <{steps}>"));
                (String::from("ptr"), address, bytes)
            }
            Place::One(address, _) => (String::from("ptr"), address, bytes.to_owned()),
            Place::Each(addresses) => (self.lanes.of("ptr"), addresses, bytes.to_owned()),
        };
        Place::Each(self.b.value(format_args!(
            "getelementptr i8, {pointers} {start}, {kind} {bytes}"
        )))
    }
}
