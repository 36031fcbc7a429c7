"""``storage[key]`` and ``storage[key] = value``, with NumPy as the oracle."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import errors, storage
from fieldstone.storage import CPUStorage

from .strategies import advanced_keys, basic_keys, is_array, slices, storages


@given(st.data())
def test_basic_keys_make_the_views_numpy_makes(data: st.DataObject) -> None:
    field = data.draw(storages())
    key = data.draw(basic_keys(field.shape, new_axes=True))
    array = field.to_numpy()
    expected = array[key]
    part = field[key]
    if not isinstance(expected, np.ndarray):
        assert type(part) is type(expected)
        assert part == expected
        return
    assert type(part) is CPUStorage
    assert (part.shape, part.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(part.to_numpy(), expected)
    if expected.size:
        assert part.to_numpy().ctypes.data == expected.ctypes.data
        assert np.shares_memory(part.to_numpy(), array)
    assert part.alignment_size in (1, field.alignment_size)


@given(st.data())
def test_halos_follow_slices(data: st.DataObject) -> None:
    """The domain of a view is where the view meets the domain."""
    field = data.draw(storages(dtype=np.int64))
    inside = np.zeros(field.shape, bool)
    inside[tuple(slice(low, size - up) for (low, up), size in zip(field.halo, field.shape, strict=True))] = True
    key = tuple(
        data.draw(st.integers(-3, 3).filter(bool).map(lambda step: slice(None, None, step)))
        if data.draw(st.booleans())
        else slice(data.draw(st.integers(0, size)), data.draw(st.integers(0, size)))
        for size in field.shape
    )
    part = field[(*key, ...)]
    expected = inside[(*key, ...)]
    domain = np.zeros(part.shape, bool)
    domain[tuple(slice(low, size - up) for (low, up), size in zip(part.halo, part.shape, strict=True))] = True
    np.testing.assert_array_equal(domain, expected)
    assert part.dims == field.dims
    np.testing.assert_array_equal(part.domain_view.to_numpy().ravel(), part.to_numpy()[expected])


@given(st.data())
def test_views_of_views(data: st.DataObject) -> None:
    """What a storage says of its memory stays true of every view of a view."""
    field = data.draw(storages(dtype=np.int32))
    array = field.to_numpy()
    for _ in range(4):
        if data.draw(st.booleans()):
            order = data.draw(st.permutations(range(field.ndim)))
            field, array = field.transpose(order), array.transpose(order)
        elif data.draw(st.booleans()):
            key = tuple(slice(low, size - up) for (low, up), size in zip(field.halo, field.shape, strict=True))
            field, array = field.domain_view, array[key]
        else:
            key = (..., *data.draw(st.tuples(*map(slices, field.shape))))
            if field.ndim and field.shape[0] and data.draw(st.booleans()):
                key = (data.draw(st.integers(0, field.shape[0] - 1)), *key[2:], ...)
            field, array = field[key], array[key]
        np.testing.assert_array_equal(field.to_numpy(), array)
        assert all(low + up <= size for (low, up), size in zip(field.halo, field.shape, strict=True))
        assert all(index <= size for index, size in zip(field.aligned_index, field.shape, strict=True))
        assert sorted(field.layout) == list(range(field.ndim))
        if field.size:
            offset = sum(index * stride for index, stride in zip(field.aligned_index, field.strides, strict=True))
            assert (field.__array_interface__["data"][0] + offset) % field.alignment_size == 0
            wide = [abs(field.strides[axis]) for axis in np.argsort(field.layout) if field.shape[axis] > 1]
            assert wide == sorted(wide, reverse=True)


def test_integers_drop_labels_and_halo() -> None:
    field = storage.zeros((4, 5, 6, 2), dims="IJK0", halo=(1, (2, 0), 0, 0))
    part = field[1:, 2, :, -1]
    assert (part.dims, part.axes, part.mask) == (("I", "K"), "IK", (True, False, True))
    assert (part.halo, part.default_origin) == (((0, 1), (0, 0)), (0, 0))
    assert field[..., 0].dims == ("I", "J", "K")


def test_views_keep_what_is_aligned() -> None:
    field = storage.zeros((8, 8, 8), halo=(2, 2, 0), defaults="cpu_ifirst")
    assert (field[:, 3, 5].alignment_size, field[:, 3, 5].aligned_index) == (64, (2,))
    assert (field[1:].alignment_size, field[1:].aligned_index) == (64, (1, 2, 0))
    assert field.domain_view.aligned_index == (0, 0, 0)
    assert field[3].alignment_size == 1


def test_views_keep_memory_alive() -> None:
    part = storage.full((1000, 10), 3.0)[1:, 2][::-1]
    array = np.asarray(storage.full((1000, 10), 4.0)[1:, 2])
    gc.collect()
    assert (np.asarray(part) == 3).all()
    assert (array == 4).all()


class Interface:
    """An object with nothing but a data interface."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.acquired = 0

    def acquire(self) -> None:
        self.acquired += 1

    @property
    def __gt_data_interface__(self) -> dict[Any, Any]:
        return {None: {**self.array.__array_interface__, "acquire": self.acquire}}


class Exchange:
    """An object with nothing but DLPack."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


# What may stand for a NumPy array in a key.
KINDS = {
    "array": lambda array: array,
    "list": lambda array: array.tolist(),
    "storage": lambda array: storage.storage(array, layout=range(array.ndim)[::-1]),
    "labelled storage": lambda array: storage.storage(array, dims="KJI0"[: array.ndim]),
    "view": lambda array: storage.storage(np.repeat(array, 2, axis=0))[::2] if array.ndim else array,
    "data interface": Interface,
    "DLPack": lambda array: Exchange(array) if array.dtype != bool else array,
    "buffer": lambda array: memoryview(array.copy()),
    "xarray": lambda array: xr.DataArray(array, dims=[f"x{axis}" for axis in range(array.ndim)]),
}


@given(st.data())
def test_advanced_keys_give_the_arrays_numpy_gives(data: st.DataObject) -> None:
    field = data.draw(storages())
    entries = data.draw(advanced_keys(field.shape))
    array = field.to_numpy()
    try:
        expected = array[tuple(entries)]
    except IndexError:  # masks that select different numbers of points
        with pytest.raises(IndexError):
            field[tuple(entries)]
        return
    wrap = KINDS[data.draw(st.sampled_from(sorted(KINDS)))]
    given_key: Any = tuple(wrap(entry) if is_array(entry) and entry.size else entry for entry in entries)
    if len(given_key) == 1 and not isinstance(given_key[0], list) and data.draw(st.booleans()):
        given_key = given_key[0]
    if not any(is_array(entry) and entry.ndim for entry in entries):
        return  # a basic key
    result = field[given_key]
    assert type(result) is np.ndarray
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(result, expected)
    assert not np.shares_memory(result, array)


@given(st.data())
def test_what_advanced_keys_select_is_stored_as_numpy_stores_it(data: st.DataObject) -> None:
    field = data.draw(storages(dtype=np.float64))
    entries = data.draw(advanced_keys(field.shape).filter(lambda entries: any(map(is_array, entries))))
    expected = field.to_numpy().copy()
    try:
        selected = expected[tuple(entries)]
    except IndexError:
        return
    value = np.arange(100, 100 + selected.size, dtype=np.float32).reshape(selected.shape)
    if data.draw(st.booleans()):
        value = value.reshape(-1)[:1].reshape((1,) * selected.ndim) if selected.size else value
    expected[tuple(entries)] = value
    wrap = KINDS[data.draw(st.sampled_from(sorted(KINDS)))]
    wrap_value = KINDS[data.draw(st.sampled_from(["array", "list", "storage", "data interface", "DLPack", "xarray"]))]
    key = tuple(wrap(entry) if is_array(entry) and entry.size else entry for entry in entries)
    field[key] = wrap_value(value) if value.size else value
    np.testing.assert_array_equal(field.to_numpy(), expected)


def test_single_numbers_that_are_no_integers_of_python() -> None:
    """An array without axes is an index as in NumPy; True and False are masks."""
    field = storage.storage(np.arange(6).reshape(2, 3), dims="IJ")
    for index in (np.int8(1), np.array(1), storage.storage(np.array(1)), np.uint64(1)):
        assert field[index].dims == ("J",)
        np.testing.assert_array_equal(field[index].to_numpy(), [3, 4, 5])
        assert field[index, np.array(2)] == 5
    for flag in (True, np.True_, False):
        np.testing.assert_array_equal(field[flag], field.to_numpy()[flag])


def test_a_key_is_acquired_before_it_is_read() -> None:
    field, key, value = storage.zeros((3, 2)), Interface(np.array([0, 2])), Interface(np.ones((2, 2)))
    field[key]
    field[key] = value
    assert (key.acquired, value.acquired) == (2, 1)
    np.testing.assert_array_equal(field.to_numpy(), [[1, 1], [0, 0], [1, 1]])
    field[...] = Interface(np.array([5.0, 6.0]))
    np.testing.assert_array_equal(field.to_numpy(), [[5, 6]] * 3)


def test_storages_are_keys() -> None:
    field = storage.storage(np.arange(6).reshape(2, 3))
    mask = storage.storage(np.arange(6).reshape(2, 3) % 2 == 0)
    np.testing.assert_array_equal(field[mask], [0, 2, 4])
    field[mask] = -1
    np.testing.assert_array_equal(field.to_numpy(), [[-1, 1, -1], [3, -1, 5]])
    field[[0, 1], [0, 2]] = storage.storage([8, 9])
    np.testing.assert_array_equal(field.to_numpy(), [[8, 1, -1], [3, -1, 9]])


@given(st.data())
def test_values_are_stored_as_numpy_stores_them(data: st.DataObject) -> None:
    field = data.draw(storages(labelled=False))
    key = data.draw(basic_keys(field.shape, new_axes=False))
    array = field.to_numpy().copy()
    part = np.asarray(array[key])
    shape = [data.draw(st.sampled_from([size, 1])) for size in part.shape]
    shape = shape[data.draw(st.integers(0, len(shape))) :]
    kind = data.draw(st.sampled_from(["same", "other", "scalar", "numpy scalar"]))
    dtype = (
        data.draw(st.sampled_from([np.dtype("i1"), np.dtype("f4"), np.dtype("f8")])) if kind == "other" else array.dtype
    )
    value: Any = (np.arange(int(np.prod(shape))).reshape(shape) + 1).astype(dtype)
    if "scalar" in kind:
        value = 1 if kind == "scalar" else np.float32(2.0)
    expected = array.copy()
    expected[key] = value
    for wrap in (lambda value: value, storage.storage):
        field[...] = array
        field[key] = value if np.isscalar(value) else wrap(value)
        np.testing.assert_array_equal(field.to_numpy(), expected)


@given(st.data())
def test_storages_are_stored_along_their_labels(data: st.DataObject) -> None:
    target = data.draw(storages(labelled=True, dtype=np.float64))
    assert target.dims is not None
    dims = data.draw(st.permutations(target.dims))[: data.draw(st.integers(0, target.ndim))]
    shape = [target.shape[target.dims.index(dim)] for dim in dims]
    layout = data.draw(st.permutations(range(len(dims))))
    value = storage.storage(np.arange(np.prod(shape)).reshape(shape), dims=dims, layout=layout)
    target[...] = value
    for index in np.ndindex(target.shape):
        at = tuple(index[target.dims.index(dim)] for dim in dims)
        assert target[index] == value[at]


@given(st.data())
def test_memory_that_overlaps_is_read_before_it_is_written(data: st.DataObject) -> None:
    field = data.draw(storages(labelled=data.draw(st.booleans()), dtype=np.int32))
    key = tuple(data.draw(st.sampled_from([slice(1, None), slice(None, None, -1), slice(None)])) for _ in field.shape)
    moved = tuple(slice(None, -1) if entry == slice(1, None) else slice(None) for entry in key)
    expected = field.to_numpy().copy()
    expected[key] = expected[moved].copy()
    field[key] = field[moved]
    np.testing.assert_array_equal(field.to_numpy(), expected)


def test_wide_memory_is_copied_between_layouts() -> None:
    values = np.random.default_rng(0).random((70, 80, 90), np.float32)
    for layout in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        field = storage.empty(values.shape, np.float32, layout=layout, alignment_size=64, aligned_index=(3, 3, 0))
        field[...] = values
        np.testing.assert_array_equal(field.to_numpy(), values)
        field[1:-1, ::2] = 0
        field[1:-1, ::2] = values[1:-1, ::2].T.copy().T
        np.testing.assert_array_equal(storage.storage(field, layout=(0, 2, 1)).to_numpy(), values)


def test_assignment_is_a_function_with_an_output() -> None:
    """What is assigned is matched and repeated as `numpy.positive` does into ``out``."""
    assigned, computed = (storage.zeros((4, 6, 3), dims="IJK", layout=(1, 2, 0)) for _ in range(2))
    level = storage.storage(np.arange(8.0).reshape(2, 4), dims="JI")
    assigned[:, 3:5, 0] = level
    np.positive(level, out=computed[:, 3:5, 0])
    np.testing.assert_array_equal(assigned.to_numpy(), computed.to_numpy())
    np.testing.assert_array_equal(assigned.to_numpy()[:, 3:5, 0], np.arange(8.0).reshape(2, 4).T)
    for target in (assigned, computed):
        target[...] = 0
    column = storage.storage(np.arange(3.0), dims="K")
    assigned[1:, ::2] = column
    np.positive(column, out=computed[1:, ::2])
    np.testing.assert_array_equal(assigned.to_numpy(), computed.to_numpy())


def test_xarray_values() -> None:
    """Stored along their labels; where the storage has none, by position, whatever their dims are called."""
    values = np.arange(6.0).reshape(3, 2)
    field = storage.zeros((2, 3), dims="IJ")
    field[...] = xr.DataArray(values, dims=("J", "I"))
    np.testing.assert_array_equal(field.to_numpy(), values.T)
    positional = storage.zeros((3, 2))
    positional[...] = xr.DataArray(values, dims=("x", "y"))
    np.testing.assert_array_equal(positional.to_numpy(), values)
    with pytest.raises(errors.DimensionsError, match="x: unknown"):
        field[...] = xr.DataArray(values, dims=("x", "J"))


def test_rows_one_after_the_other() -> None:
    field = storage.storage(np.arange(6).reshape(2, 3), dims="IJ")
    assert len(field) == 2
    rows = list(field)
    assert all(type(row) is CPUStorage and row.dims == ("J",) for row in rows)
    np.testing.assert_array_equal(rows, np.arange(6).reshape(2, 3))
    assert 4 in field
    assert 9 not in field


def test_rows_from_the_last_to_the_first() -> None:
    values = np.arange(6.0).reshape(2, 3)
    field = storage.as_storage(values, dims="IJ")
    rows = list(reversed(field))
    assert [row.dims for row in rows] == [("J",), ("J",)]
    np.testing.assert_array_equal(rows, values[::-1])
    rows[0][0] = -1.0
    assert values[1, 0] == -1.0
    with pytest.raises(TypeError, match="iteration over a storage without axes"):
        reversed(storage.ones(()))


def test_elements_are_not_deleted() -> None:
    field = storage.ones((2, 3))
    with pytest.raises(errors.ArgumentValueError, match=r"del: elements of a storage cannot be deleted; numpy.delete"):
        del field[0]  # type: ignore[attr-defined]
    assert np.delete(field, 0, axis=0).shape == (1, 3)
