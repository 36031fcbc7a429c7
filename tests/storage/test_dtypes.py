"""Every element type that NumPy and CuPy have in common, through all that a storage does with elements."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

from fieldstone import arrays, errors, gtscript, storage
from fieldstone.gtscript import Field

DTYPES = [
    np.dtype(name)
    for name in (
        [
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "float32",
            "float64",
            "complex64",
            "complex128",
        ]
    )
]
# Those of the same size and meaning under another name.
TWINS = [np.dtype(code) for code in "lLqQ"]

every_dtype = pytest.mark.parametrize("dtype", DTYPES + TWINS, ids=lambda dtype: dtype.char)


def values(dtype: np.dtype[Any], shape: tuple[int, ...] = (3, 4)) -> np.ndarray[Any, Any]:
    """Values that not all types can hold: negative, large, broken, complex."""
    size = int(np.prod(shape))
    if dtype.kind == "b":
        return (np.arange(size) % 3 == 0).reshape(shape)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        edges = np.array([bounds.min, bounds.max, 0, 1, 2, 100], dtype)
        return np.resize(edges, shape)
    edges = np.array([-0.0, 0.5, -1.25, 3.0, 100.0, 1e-3], dtype)
    if dtype.kind == "c":
        edges = edges + np.array(1j, dtype) * edges[::-1]
    return np.resize(edges, shape).astype(dtype)


def bits(array: Any) -> bytes:
    return np.asarray(array).tobytes()


@every_dtype
class TestEveryType:
    def test_allocation(self, dtype: np.dtype[Any]) -> None:
        for given in (dtype, dtype.char, dtype.str, dtype.type):
            made = storage.empty((3, 4), given)
            assert made.dtype == dtype
            assert (made.itemsize, made.nbytes) == (dtype.itemsize, 12 * dtype.itemsize)

    def test_filling(self, dtype: np.dtype[Any]) -> None:
        assert bits(storage.zeros((3, 4), dtype)) == bits(np.zeros((3, 4), dtype))
        assert bits(storage.ones((3, 4), dtype)) == bits(np.ones((3, 4), dtype))
        for value in values(dtype).ravel():
            # Python's number, NumPy's scalar, and an array without axes.
            for given in (value.item(), value, np.array(value)):
                assert bits(storage.full((3, 4), given, dtype)) == bits(np.full((3, 4), given, dtype))
                assert bits(arrays.full((3, 4), given, dtype)) == bits(np.full((3, 4), given, dtype))

    def test_copies(self, dtype: np.dtype[Any]) -> None:
        array = values(dtype)
        for layout in ((0, 1), (1, 0)):
            made = storage.storage(array, layout=layout, alignment_size=64)
            assert made.dtype == dtype
            assert bits(made) == bits(made.copy()) == bits(array)
            assert bits(pickle.loads(pickle.dumps(made))) == bits(array)
        assert np.shares_memory(storage.as_storage(array).to_numpy(), array)

    def test_indexing(self, dtype: np.dtype[Any]) -> None:
        array = values(dtype)
        made = storage.storage(array, layout=(1, 0))
        for index in np.ndindex(array.shape):
            assert type(made[index]) is type(array[index])
            assert bits(made[index]) == bits(array[index])
        for key in ((slice(None, None, -2), slice(1, 3)), [2, 0], array != 0, ([0, 1], [3, 2])):
            assert bits(made[key]) == bits(array[key])

    def test_assignment(self, dtype: np.dtype[Any]) -> None:
        array = values(dtype)
        made = storage.zeros(array.shape, dtype, layout=(1, 0))
        made[...] = array
        assert bits(made) == bits(array)
        made[0, 1] = array[2, 3].item()
        made[1] = array[0, 0]
        made[2:, ::2] = storage.storage(array[:1, ::2])
        expected = array.copy()
        expected[0, 1], expected[1], expected[2:, ::2] = array[2, 3].item(), array[0, 0], array[:1, ::2]
        assert bits(made) == bits(expected)

    def test_repr(self, dtype: np.dtype[Any]) -> None:
        first, body = repr(storage.storage(values(dtype))).split("\n", 1)
        assert first == f"<CPUStorage (3, 4) {dtype.name}; layout 0 1; host>"
        assert body == str(values(dtype))

    def test_protocols(self, dtype: np.dtype[Any]) -> None:
        made = storage.storage(values(dtype))
        assert np.dtype(made.__array_interface__["typestr"]) == dtype
        assert np.asarray(made).dtype == np.asarray(memoryview(made)).dtype == dtype
        assert np.from_dlpack(made).dtype == dtype

    def test_data_dimensions(self, dtype: np.dtype[Any]) -> None:
        assert storage.zeros((2, 3), (dtype, (4,))).shape == (2, 3, 4)
        assert arrays.zeros((2, 3), (dtype, (4, 5))).shape == (2, 3, 4, 5)


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_casts_give_what_numpy_gives(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    """Assignment and copying convert as `numpy.copyto` does with ``casting="unsafe"``, warnings included."""
    array = values(source)
    with warnings.catch_warnings(record=True) as of_numpy:
        warnings.simplefilter("always")
        expected = np.zeros(array.shape, target)
        expected[...] = array
    for make in (
        lambda: storage.storage(array, dtype=target),
        lambda: storage.storage(storage.storage(array, layout=(1, 0)), dtype=target),
        lambda: assigned(target, array),
        lambda: assigned(target, storage.storage(array)),
    ):
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            made = make()
        assert made.dtype == target
        np.testing.assert_array_equal(made.to_numpy(), expected)
        assert [warning.category for warning in raised] == [warning.category for warning in of_numpy]


def assigned(dtype: np.dtype[Any], value: Any) -> storage.Storage:
    made = storage.zeros(value.shape, dtype)
    made[...] = value
    return made


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("value", [0, 1, -1, 200, 2**40, 2**70, True, 1.5, -2.0, float("nan"), 1e300, 1 + 2j], ids=str)
def test_numbers_are_stored_as_numpy_stores_them(target: np.dtype[Any], value: Any) -> None:
    """A number that NumPy refuses is refused, with an error that names it."""
    expected = np.zeros(3, target)
    made = storage.zeros(3, target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            expected[1] = value
        except (OverflowError, TypeError, ValueError):
            with pytest.raises(errors.ArgumentValueError, match=f"value: expected a number of type {target}, got "):
                made[1] = value
            with pytest.raises(errors.ArgumentValueError, match="fill_value: expected a number of type"):
                storage.full(3, value, target)
            return
        made[1] = value
        full = storage.full((), value, target)
    np.testing.assert_array_equal(made.to_numpy(), expected)
    np.testing.assert_array_equal(full.to_numpy(), expected[1])


@pytest.mark.parametrize(
    "dtype", [dtype for dtype in DTYPES if dtype.kind not in "c" and dtype != np.float16], ids=lambda dtype: dtype.name
)
@pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"])
def test_arguments_of_stencils(dtype: np.dtype[Any], backend: str) -> None:
    @gtscript.stencil(backend=backend, dtypes={"element": dtype})
    def duplicate(source: Field["element"], target: Field["element"]):
        with computation(PARALLEL), interval(...):
            target = source

    array = values(dtype, (3, 4, 5))
    source = storage.storage(array, dims="IJK", defaults="cpu_ifirst")
    target = storage.zeros_like(source, defaults="cpu_kfirst")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.LayoutWarning)
        duplicate(source, target)
    assert bits(target) == bits(array)


@pytest.mark.parametrize("dtype", ["float16", "complex64", "complex128"])
def test_types_that_stencils_do_not_compute_with(dtype: str) -> None:
    @gtscript.stencil(backend="numpy")
    def duplicate(source: Field[float], target: Field[float]):
        with computation(PARALLEL), interval(...):
            target = source

    made = storage.ones((2, 2, 2), dtype, dims="IJK")
    with pytest.raises(errors.DTypeError, match=f"'source'.*{dtype}"):
        duplicate(made, made.copy())


@pytest.mark.parametrize(
    ("dtype", "reason"),
    [
        (object, "storages hold booleans, integers"),
        ("U3", "storages hold booleans, integers"),
        ("M8[s]", "storages hold booleans, integers"),
        ("m8[s]", "storages hold booleans, integers"),
        ("V4", "storages hold booleans, integers"),
        ([("a", "f4"), ("b", "i4")], "storages hold booleans, integers"),
        (np.longdouble, "up to 64 bits per part"),
        (np.clongdouble, "up to 64 bits per part"),
        (">f8", "its bytes are swapped"),
        (">c8", "its bytes are swapped"),
    ],
    ids=str,
)
def test_other_types_are_refused(dtype: Any, reason: str) -> None:
    data = np.zeros(3, dtype)
    for call, name in (
        (lambda: storage.zeros((3,), dtype), "dtype"),
        (lambda: storage.storage([1, 2, 3], dtype=dtype), "dtype"),
        (lambda: arrays.ones((3,), dtype), "dtype"),
        (lambda: storage.as_storage(data), "data"),
    ):
        with pytest.raises(errors.DTypeError, match=f"{name}: elements of type .* are not supported: .*{reason}"):
            call()
