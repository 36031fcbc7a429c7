"""Operators and universal functions: NumPy's results, matched by label."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import errors, storage
from fieldstone.storage import CPUStorage

from .strategies import LABELS, storages

SIZES = dict(zip(LABELS, (3, 4, 2, 5, 1), strict=True))


@st.composite
def labelled(draw: st.DrawFn) -> storage.Storage:
    """Draw a storage whose size along each label is always the same."""
    dims = draw(st.permutations(LABELS))[: draw(st.integers(0, 3))]
    shape = [SIZES[dim] for dim in dims]
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(1, 9, shape)
    return storage.storage(
        values,
        dtype=draw(st.sampled_from([np.int32, np.float32, np.float64])),
        dims=dims,
        layout=draw(st.permutations(range(len(dims)))),
        alignment_size=draw(st.sampled_from([1, 8, 64])),
    )


def aligned(field: storage.Storage, dims: tuple[str, ...]) -> np.ndarray:
    """Give an array the axes `dims`, those that the storage lacks being of one point."""
    assert field.dims is not None
    array = field.to_numpy().transpose([field.dims.index(dim) for dim in dims if dim in field.dims])
    return array[tuple(slice(None) if dim in field.dims else None for dim in dims)]


@given(labelled(), labelled(), st.sampled_from([np.add, np.subtract, np.multiply, np.maximum, np.less, np.true_divide]))
def test_storages_are_matched_by_label(first: storage.Storage, second: storage.Storage, ufunc: Any) -> None:
    result = ufunc(first, second)
    assert first.dims is not None
    assert second.dims is not None
    if not first.dims and not second.dims:
        assert result == ufunc(first.to_numpy(), second.to_numpy())
        return
    assert type(result) is CPUStorage
    assert result.dims is not None
    assert set(result.dims) == {*first.dims, *second.dims}
    if set(result.dims) not in (set(first.dims), set(second.dims)):
        assert list(result.dims) == sorted(result.dims, key=LABELS.index)
    expected = ufunc(aligned(first, result.dims), aligned(second, result.dims))
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result.to_numpy(), expected)
    assert result.alignment_size == max(first.alignment_size, second.alignment_size)
    if first.dims == result.dims and min(result.shape) > 1:
        assert result.layout == first.layout


@given(storages(labelled=False, dtype=np.float32), st.data())
def test_storages_without_labels_broadcast_as_numpy_does(field: storage.Storage, data: st.DataObject) -> None:
    shape = [data.draw(st.sampled_from([size, 1])) for size in field.shape]
    shape = shape[data.draw(st.integers(0, len(shape))) :]
    other = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(field + other, field.to_numpy() + other)
    np.testing.assert_array_equal(other - field, other - field.to_numpy())
    np.testing.assert_array_equal(field * storage.storage(other), field.to_numpy() * other)


def test_parameters_of_the_result() -> None:
    first = storage.ones((6, 7), dims="JI", halo=(1, 2), defaults="F", alignment_size=32, aligned_index=(1, 2))
    second = storage.ones((7, 6, 5), np.float32, dims="IJK", halo=((1, 3), 0, 1), alignment_size=48)
    result = first * second
    assert (result.dims, result.dtype) == (("I", "J", "K"), np.float64)
    assert result.halo == ((2, 3), (1, 1), (1, 1))
    assert (result.default_origin, result.aligned_index) == ((2, 1, 1), (2, 1, 1))
    assert (result.alignment_size, result.layout) == (96, (1, 2, 0))


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "eq", "ne", "gt", "ge"]


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators(name: str) -> None:
    function = getattr(operator, name)
    values = np.arange(1, 7).reshape(2, 3)
    field = storage.storage(values, dims="IJ")
    for other in (2, 2.5, np.float32(3), values[::-1], [[1, 2, 3]]):
        for result, expected in (
            (function(field, other), function(values, other)),
            (function(other, field), function(other, values)),
        ):
            assert type(result) is CPUStorage
            assert (result.dims, result.dtype) == (("I", "J"), expected.dtype)
            np.testing.assert_array_equal(result.to_numpy(), expected)


@pytest.mark.parametrize("name", ["and_", "or_", "xor", "lshift", "rshift"])
def test_operators_on_integers(name: str) -> None:
    values = np.arange(6)
    function = getattr(operator, name)
    np.testing.assert_array_equal(function(storage.storage(values), 2), function(values, 2))
    np.testing.assert_array_equal(function(2, storage.storage(values)), function(2, values))


@pytest.mark.parametrize("function", [operator.neg, operator.pos, abs, np.sqrt, np.exp, np.isnan, np.signbit])
def test_unary_operators_and_functions(function: Any) -> None:
    values = np.arange(6.0).reshape(2, 3)
    result = function(storage.storage(values, dims="KI", halo=(1, 0)))
    assert (result.dims, result.halo) == (("K", "I"), ((1, 1), (0, 0)))
    np.testing.assert_array_equal(result.to_numpy(), function(values))


def test_in_place() -> None:
    field = whole = storage.ones((3, 4, 5), dims="IJK", halo=(1, 0, 0), defaults="gtmc")
    field += 1
    field *= storage.full((4,), 3.0, dims="J")
    field[1] -= 6
    field[0, 1:] /= 2
    assert field is whole
    assert (field.halo, field.layout, field.alignment_size) == (((1, 1), (0, 0), (0, 0)), (2, 1, 0), 64)
    expected = np.full((3, 4, 5), 6.0)
    expected[1] = 0
    expected[0, 1:] = 3
    np.testing.assert_array_equal(field.to_numpy(), expected)


def test_output_buffers() -> None:
    field = storage.storage(np.arange(3.0), dims="I")
    out = storage.zeros((2, 3, 4), dims="JIK")
    assert np.add(field, 1, out=out) is out
    np.testing.assert_array_equal(out.to_numpy(), np.broadcast_to(np.arange(1.0, 4.0)[:, None], (2, 3, 4)))
    array = np.zeros(3)
    assert np.multiply(field, 2, out=array) is array
    np.testing.assert_array_equal(array, [0, 2, 4])
    np.add(field, 10, out=out, where=storage.storage([True, False], dims="J"))
    np.testing.assert_array_equal(out.to_numpy()[:, :, 0], [[10, 11, 12], [1, 2, 3]])
    quotient, remainder = np.divmod(field, 2)
    np.testing.assert_array_equal([quotient, remainder], np.divmod(np.arange(3.0), 2))
    target = storage.zeros((3,), dims="I")
    assert np.modf(field + 0.25, out=(None, target))[1] is target
    fraction, whole = np.modf(field + 0.5, out=(None, array))
    assert whole is array
    assert (type(fraction), fraction.dims) == (CPUStorage, ("I",))


@given(storages(dtype=np.float64), st.data())
def test_reductions(field: storage.Storage, data: st.DataObject) -> None:
    axes = [axis for axis in range(field.ndim) if data.draw(st.booleans())]
    axis = data.draw(st.sampled_from([None, tuple(axes)]))
    keepdims = data.draw(st.booleans())
    values = field.to_numpy()
    for function in (np.sum, np.any, np.all):
        expected = function(values, axis=axis, keepdims=keepdims)
        result = function(field, axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(np.asarray(result), expected)
        assert np.shape(result) == np.shape(expected)
        if type(result) is CPUStorage and axis is not None:
            kept = [n for n in range(field.ndim) if keepdims or n not in axis]
            assert result.dims == (None if field.dims is None else tuple(field.dims[n] for n in kept))
            assert result.halo == tuple((0, 0) if n in axis else field.halo[n] for n in kept)


def test_reductions_along_labels() -> None:
    field = storage.storage(np.arange(24.0).reshape(2, 3, 4), dims="KJI")
    np.testing.assert_array_equal(np.add.reduce(field, axis="K"), field.to_numpy().sum(axis=0))
    assert np.max(field, axis=("I", "K")).dims == ("J",)  # type: ignore[arg-type]
    out = storage.zeros((4, 3), dims="IJ")
    assert np.add.reduce(field, axis="K", out=out) is out
    np.testing.assert_array_equal(out.to_numpy(), field.to_numpy().sum(axis=0).T)


def test_truth_and_hash() -> None:
    assert bool(storage.ones((1, 1)))
    assert float(storage.full((), 2.5)) == 2.5
    assert int(storage.full((), 7, np.int8)) == 7
    with pytest.raises(ValueError, match="ambiguous"):
        bool(storage.ones(2))
    with pytest.raises(TypeError, match="unhashable"):
        hash(storage.ones(2))


@given(st.lists(labelled(), min_size=2, max_size=3))
def test_arithmetic_is_that_of_xarray(fields: list[storage.Storage]) -> None:
    """xarray matches dims by name as well; it knows no order of its own among them."""
    xr = pytest.importorskip("xarray")
    arrays = [xr.DataArray(field.to_numpy(), dims=[f"d{dim}" for dim in field.dims or ()]) for field in fields]
    first, *others = fields
    result, expected = first, arrays[0]
    for other, array in zip(others, arrays[1:], strict=True):
        result, expected = result * other - 2, expected * array - 2
    if not isinstance(result, storage.Storage):
        assert result == expected
        return
    ordered = expected.transpose(*[f"d{dim}" for dim in result.dims or ()])
    np.testing.assert_array_equal(result.to_numpy(), ordered.values)
    assert result.dtype == ordered.dtype


def test_arrays_of_three_axes_extend_along_space() -> None:
    """Without labels they have the axes I, J, K where the storage has fewer."""
    plane = storage.storage(np.arange(6.0).reshape(2, 3), dims="IJ")
    flat, column = np.arange(6.0).reshape(2, 3, 1), np.arange(4.0).reshape(1, 1, 4)
    for result in (plane + flat, flat + plane):
        assert result.dims == ("I", "J")
        np.testing.assert_array_equal(result, 2 * plane.to_numpy())
    result = plane * column
    assert result.dims == ("I", "J", "K")
    np.testing.assert_array_equal(result, plane.to_numpy()[:, :, None] * column)
    turned = plane.T + flat
    assert turned.dims == ("J", "I")
    np.testing.assert_array_equal(turned, 2 * plane.to_numpy().T)
    out = np.zeros((2, 3, 4))
    assert np.add(plane, 1, out=out) is out
    np.testing.assert_array_equal(out, np.broadcast_to(plane.to_numpy()[:, :, None] + 1, (2, 3, 4)))


def test_what_is_no_number_is_not_equal() -> None:
    field = storage.zeros((2, 3), dims="IJ")
    for other in (None, "text", b"bytes"):
        assert not (field == other).any()
        assert (field != other).all()
        assert (field == other).dims == ("I", "J")


def test_who_has_universal_functions_decides() -> None:
    class Other:
        def __array_ufunc__(self, *arguments: Any, **keywords: Any) -> str:
            return "mine"

    class Refuses:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "reflected"

    field = storage.zeros((2,), dims="I")
    assert field + Other() == "mine"
    assert np.add(Other(), field) == "mine"
    assert field + Refuses() == "reflected"
    with pytest.raises(TypeError, match="unsupported operand"):
        field - Refuses()


def test_kinds_of_arrays(tmp_path: Any) -> None:
    """Arrays in files are arrays; masked elements have no values that a storage could have."""
    field = storage.storage(np.arange(4.0), dims="I")
    in_file = np.memmap(tmp_path / "data", np.float64, "w+", shape=(4,))
    in_file[:] = 2
    for result in (field + in_file, in_file + field, np.add(in_file, field)):
        assert type(result) is CPUStorage
        np.testing.assert_array_equal(result, np.arange(4.0) + 2)
    in_file *= field
    np.testing.assert_array_equal(in_file, 2 * np.arange(4.0))
    masked = np.ma.masked_array([1.0, 2, 3, 4], [True, False, False, False])
    with pytest.raises((TypeError, ValueError), match="mask"):
        field + masked


def test_accumulate_outer_at_reduceat() -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    field = storage.storage(values, dims="IJK", halo=(1, (0, 2), 0))
    sums = np.add.accumulate(field, axis="K")
    assert (sums.dims, sums.halo) == (field.dims, field.halo)
    np.testing.assert_array_equal(sums, np.add.accumulate(values, axis=2))
    parts = np.add.reduceat(field, [0, 2], axis="J")
    assert (parts.dims, parts.halo) == (field.dims, ((1, 1), (0, 0), (0, 0)))
    np.testing.assert_array_equal(parts, np.add.reduceat(values, [0, 2], axis=1))
    row, column = storage.storage([1.0, 2.0], dims="I", halo=((1, 0),)), storage.storage([3.0, 4.0, 5.0], dims="K")
    product = np.multiply.outer(row, column)
    assert (product.dims, product.halo) == (("I", "K"), ((1, 0), (0, 0)))
    np.testing.assert_array_equal(product, np.multiply.outer(row.to_numpy(), column.to_numpy()))
    assert np.multiply.outer(row, row).dims is None
    np.add.at(row, [0, 0, 1], 10)
    np.testing.assert_array_equal(row, [21, 12])
    out = np.zeros((2, 3, 4))
    assert np.add.accumulate(field, axis=0, out=out) is out
    np.testing.assert_array_equal(out, np.add.accumulate(values, axis=0))


def test_products_of_matrices() -> None:
    first, second = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    product = storage.storage(first, dims="IK", halo=(1, 0)) @ storage.storage(second, dims="KJ", halo=(0, (2, 1)))
    assert (product.dims, product.halo) == (("I", "J"), ((1, 1), (2, 1)))
    np.testing.assert_array_equal(product, first @ second)
    np.testing.assert_array_equal(first @ storage.storage(second), first @ second)
    np.testing.assert_array_equal(storage.storage(first) @ second, first @ second)
    assert storage.ones(3) @ storage.ones(3) == 3


@given(storages(dtype=np.int64, max_ndim=3), st.data())
def test_overlapping_outputs_give_what_they_give_for_arrays(field: storage.Storage, data: st.DataObject) -> None:
    """An output that shares memory with the inputs is written as if it did not."""
    if not field.ndim or not field.size:
        return
    axis = data.draw(st.integers(0, field.ndim - 1))
    shift = data.draw(st.integers(0, field.shape[axis] - 1))
    size = field.shape[axis] - shift
    lower, upper = (np.s_[:],) * axis + (np.s_[:size],), (np.s_[:],) * axis + (np.s_[shift:],)
    reverse = (np.s_[:],) * axis + (np.s_[::-1],)
    array = field.to_numpy().copy(order="K")
    for target, first, second in ((lower, upper, upper), (upper, lower, upper), (upper, lower, lower)):
        np.subtract(array[first], array[second] * 3, out=array[target])
        np.subtract(field[first], field[second] * 3, out=field[target])
        array[lower] += array[upper]
        field[lower] += field[upper]
        array += array[reverse]
        field += field[reverse]
        np.testing.assert_array_equal(field, array)


def test_a_refused_call_writes_nothing() -> None:
    out = storage.full((2, 3), 7.0, dims="IJ")
    whole = storage.full((3,), 7, np.int32, dims="I")
    for call in (
        lambda: np.add(storage.ones((2, 4), dims="IJ"), 1, out=out),
        lambda: np.add(storage.ones((2, 3), complex, dims="IJ"), 1, out=out),
        lambda: np.add(storage.ones((2,), dims="K"), 1, out=out),
        lambda: np.add.reduce(storage.ones((2, 4, 2), dims="IJK"), axis=2, out=out),
        lambda: np.modf(storage.ones((3,), dims="I"), out=(whole, whole)),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert (out == 7).all()
    assert (whole == 7).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda field: field + np.ones(4), errors.DimensionsError, r"add: an array of shape \(4,\) has no labels"),
        (
            lambda field: np.add(field, 1, out=storage.zeros((4,), dims="J")),
            errors.DimensionsError,
            "out: it has the axes .* but the result has an axis 'I' as well",
        ),
        (lambda field: np.add.reduce(field, axis="K"), errors.DimensionsError, "axis: the storage has no axis 'K'"),
        (
            lambda field: field + storage.zeros((5, 3), dims="JI"),
            errors.ShapeError,
            "add: one operand has 4 points along J, another 5",
        ),
        (
            lambda field: storage.zeros((2, 3)) * np.zeros(4),
            errors.ShapeError,
            r"multiply: operands of the shapes \(2, 3\) and \(4,\) cannot be broadcast to one shape",
        ),
        (
            lambda field: np.add(field, 1, out=storage.zeros((3, 5), dims="IJ")),
            errors.ShapeError,
            "add: out has 5 points along J, the result 4",
        ),
        (
            lambda field: np.add(storage.zeros((3, 4)), 1, out=np.zeros((4, 3))),
            errors.ShapeError,
            r"add: out has the shape \(4, 3\), the result \(3, 4\)",
        ),
        (
            lambda field: np.add.reduce(field, axis=0, out=storage.zeros((3,), dims="J")),
            errors.ShapeError,
            "add: out has 3 points along J, the result 4",
        ),
        (
            lambda field: np.clip(field, storage.zeros((5,), dims="J"), 1),
            errors.ShapeError,
            "clip: .* 4 .* J, another 5",
        ),
        (
            lambda field: field @ storage.ones((3, 4), dims="KJ"),
            errors.DimensionsError,
            r"matmul: the sum is along 'J' of the axes \('I', 'J'\) and along 'K' of the axes \('K', 'J'\)",
        ),
        (lambda field: field + "text", errors.DTypeError, "operand: elements of type .* are not supported"),
        (lambda field: field + object(), errors.ArgumentTypeError, "operand: an object of type object is no array"),
        (lambda field: field & 1.5, TypeError, "bitwise_and"),
        (lambda field: field + {"I": 1}, TypeError, "operand"),
    ],
)
def test_wrong_operands_are_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(storage.ones((3, 4), dims="IJ"))
