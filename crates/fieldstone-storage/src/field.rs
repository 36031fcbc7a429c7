//! A field with one type of element that owns its memory.

use crate::{Allocation, Spec, StorageError, View, copy, fill};
use fieldstone_device::Pool;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A type of which all bytes zero is a value, and which has no padding.
///
/// # Safety
/// Both must be true.
pub unsafe trait Element: Copy + Send + Sync + 'static {}

macro_rules! elements {
    ($($name:ty),*) => {
        $(
            // SAFETY: a number, or `false`, of which zero is a value, without padding.
            unsafe impl Element for $name {}
        )*
    };
}

elements!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

/// A field on the host that owns its memory, for use from Rust: borrowing rules hold for it, so nothing here is unsafe.
///
/// Elements are indexed in the order of the shape, whatever the layout: `field[[i, j, k]]`.
#[derive(Debug)]
pub struct Field<T> {
    view: View,
    element: PhantomData<T>,
}

impl<T: Element> Field<T> {
    /// A field of zeros. Memory is touched when it is first written to.
    ///
    /// # Errors
    /// If the spec is invalid or not for this type, or there is not enough memory.
    pub fn zeros(spec: &Spec) -> Result<Self, StorageError> {
        if spec.itemsize != size_of::<T>() {
            return Err(StorageError::Itemsizes {
                from: spec.itemsize,
                to: size_of::<T>(),
            });
        }
        let (_, view) = Allocation::zeroed(spec)?;
        Ok(Self {
            view,
            element: PhantomData,
        })
    }

    /// The field's memory.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The element at an index, if it is inside.
    pub fn get(&self, index: &[usize]) -> Option<&T> {
        let pointer = self.address(index)?;
        // SAFETY: an aligned element of memory that this field owns, and nobody writes to it while the field is borrowed.
        Some(unsafe { &*pointer })
    }

    /// The element at an index, if it is inside.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        let pointer = self.address(index)?;
        // SAFETY: as for `get`, and the field is borrowed for this reference alone.
        Some(unsafe { &mut *pointer })
    }

    /// Sets all elements, with all cores.
    pub fn fill(&mut self, value: T) {
        let threads = Pool::global().threads();
        // SAFETY: a value without padding is that many bytes.
        let bytes =
            unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        // SAFETY: the field owns its memory and is borrowed for this call alone.
        let filled = unsafe { fill(&self.view, bytes, threads) };
        debug_assert!(
            filled.is_ok(),
            "a field's elements are apart and of its type's size"
        );
    }

    /// Takes over all elements of `other`, whatever its layout, with all cores.
    ///
    /// # Errors
    /// If the shapes differ.
    pub fn copy_from(&mut self, other: &Field<T>) -> Result<(), StorageError> {
        let threads = Pool::global().threads();
        // SAFETY: both fields own their memory; this one is borrowed for this call alone, the other is not written to.
        unsafe { copy(&other.view, &self.view, threads) }
    }

    fn address(&self, index: &[usize]) -> Option<*mut T> {
        let shape = self.view.shape();
        let inside =
            index.len() == shape.len() && index.iter().zip(shape).all(|(i, size)| i < size);
        let offset = || {
            index
                .iter()
                .zip(self.view.strides())
                .map(|(&i, &stride)| i as isize * stride)
        };
        inside.then(|| self.view.pointer().wrapping_offset(offset().sum()).cast())
    }
}

impl<T: Element, const N: usize> Index<[usize; N]> for Field<T> {
    type Output = T;

    /// # Panics
    /// If the index is outside of the field.
    fn index(&self, index: [usize; N]) -> &T {
        let shape = self.view.shape();
        self.get(&index)
            .unwrap_or_else(|| panic!("index {index:?} is outside of shape {shape:?}"))
    }
}

impl<T: Element, const N: usize> IndexMut<[usize; N]> for Field<T> {
    /// # Panics
    /// If the index is outside of the field.
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        let shape = self.view.shape().to_vec();
        self.get_mut(&index)
            .unwrap_or_else(|| panic!("index {index:?} is outside of shape {shape:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dim, Preset};

    fn field(preset: &str) -> Field<f32> {
        let preset = Preset::find(preset).unwrap();
        let spec = Spec::of_preset(&preset, &[Dim::K, Dim::J, Dim::I], vec![4, 5, 6], 4).unwrap();
        Field::zeros(&spec).unwrap()
    }

    #[test]
    fn elements_keep_their_index_in_every_layout() {
        let (mut a, mut b) = (field("cpu_kfirst"), field("F"));
        a.fill(2.5);
        a[[1, 2, 3]] = 7.0;
        b.copy_from(&a).unwrap();
        assert_eq!((b[[1, 2, 3]], b[[3, 2, 1]]), (7.0, 2.5));
        assert_eq!(a.view().strides(), [4, 64, 320]);
        assert_eq!((b.get(&[4, 0, 0]), b.get(&[0, 0])), (None, None));
    }

    #[test]
    fn fields_refuse_what_does_not_fit() {
        let error = Field::<f64>::zeros(&Spec::packed(vec![2], 4)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the source has elements of 4 bytes and the target of 8, but they must be the same"
        );
        let small = Field::<f32>::zeros(&Spec::packed(vec![2], 4)).unwrap();
        field("C").copy_from(&small).unwrap_err();
    }

    #[test]
    #[should_panic(expected = "index [0, 5, 0] is outside of shape [4, 5, 6]")]
    fn indices_outside_panic_like_those_of_slices() {
        let _ = field("C")[[0, 5, 0]];
    }
}
