"""``storage[key]`` and ``storage[key] = value``, with NumPy as the oracle."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import errors, storage
from fieldstone.storage import CPUStorage, Storage

from .strategies import basic_keys, slices, storages


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


@given(st.data())
def test_advanced_keys_give_arrays(data: st.DataObject) -> None:
    field = data.draw(storages().filter(lambda field: field.ndim and field.size))
    array = field.to_numpy()
    for key in (
        array > array.mean() if array.dtype.kind != "c" else array.real > 1,
        [0, -1, 0],
        (np.array([[0], [-1]]), ...),
        np.array(0),
        True,
    ):
        expected = array[key]
        result = field[key]
        if isinstance(key, np.ndarray) and key.ndim == 0:
            result = np.asarray(result)
        else:
            assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, expected)


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


def test_rows_one_after_the_other() -> None:
    field = storage.storage(np.arange(6).reshape(2, 3), dims="IJ")
    assert len(field) == 2
    rows = list(field)
    assert all(type(row) is CPUStorage and row.dims == ("J",) for row in rows)
    np.testing.assert_array_equal(rows, np.arange(6).reshape(2, 3))
    assert 4 in field
    assert 9 not in field


READ_ONLY = np.arange(6.0).reshape(2, 3)
READ_ONLY.flags.writeable = False


def store(field: Storage, key: Any, value: Any) -> None:
    field[key] = value


def field(**parameters: Any) -> Storage:
    return storage.zeros((2, 3), **parameters)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: field()[2], IndexError, "index 2 is out of bounds for axis 0 with size 2"),
        (lambda: field()[0, -4], IndexError, "index -4 is out of bounds for axis 1 with size 3"),
        (lambda: field()[0, 0, 0], IndexError, "too many indices: the storage has 2 axes, but 3 were indexed"),
        (lambda: field()[..., ...], IndexError, "can only have one ellipsis"),
        (lambda: field()[1.0], IndexError, "integers"),
        (lambda: field()["I"], IndexError, "integers"),
        (lambda: len(storage.zeros(())), TypeError, r"len\(\) of a storage without axes"),
        (lambda: iter(storage.zeros(())), TypeError, "iteration over a storage without axes"),
        (
            lambda: store(field(), ..., [1, 2]),
            errors.ShapeError,
            r"value: its shape \(2,\) cannot be broadcast to \(2, 3\)",
        ),
        (
            lambda: store(field(), 0, "x"),
            errors.ArgumentValueError,
            "value: expected a number of type float64, got 'x'",
        ),
        (
            lambda: store(field(), 0, object()),
            errors.ArgumentTypeError,
            "value: an object of type object is no array of numbers",
        ),
        (lambda: store(field(), 0, 1j), errors.ArgumentValueError, "value: expected a number of type float64, got 1j"),
        (lambda: store(field(dtype=np.int8), 0, 300), errors.ArgumentValueError, "value: .*300"),
        (
            lambda: store(field(dims="IJ"), ..., storage.zeros((3,), dims="K")),
            errors.DimensionsError,
            "value: it has an axis 'K', which the storage written to does not have",
        ),
        (
            lambda: store(field(dims="IJ"), ..., storage.zeros((4,), dims="J")),
            errors.ShapeError,
            "value: it has 4 points along J, the storage written to 3",
        ),
        (
            lambda: store(storage.as_storage(READ_ONLY), 0, 1),
            errors.ReadOnlyError,
            "the storage wraps read-only memory",
        ),
    ],
)
def test_wrong_keys_and_values_are_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
