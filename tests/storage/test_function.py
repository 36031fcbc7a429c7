"""NumPy's functions on storages: NumPy's values, as storages whose labels and halo are still true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import errors, storage
from fieldstone.storage import CPUStorage, Storage

from .strategies import storages

Function = Callable[[Any], Any]

VALUES = np.random.default_rng(1).integers(-20, 20, (3, 4, 2)).astype("f8") / 4
WITH_NAN = np.where(VALUES > 4, np.nan, VALUES)
HALO = ((1, 1), (0, 2), (0, 0))
LAYOUTS = [(0, 1, 2), (2, 1, 0), (1, 2, 0)]


def field(values: np.ndarray = VALUES, layout: tuple[int, ...] = (2, 1, 0), dims: Any = "IJK") -> Storage:
    return storage.storage(values, dims=dims, halo=HALO, layout=layout, alignment_size=32)


def windows(array: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(array, 2, axis=1)


NONE = (0, 0)
# For each function what it is applied to, and the labels and halo of the result.
KEPT = ("IJK", HALO)
FUNCTIONS: list[tuple[str, Function, str | None, tuple[tuple[int, int], ...]]] = [
    ("round", lambda a: np.round(a, 1), *KEPT),
    ("around", lambda a: np.around(a), *KEPT),
    ("clip", lambda a: np.clip(a, -1, 2), *KEPT),
    ("clip, one bound", lambda a: np.clip(a, None, 2), *KEPT),
    ("clip, names", lambda a: np.clip(a, min=-1, max=np.full((3, 4, 2), 2.0)), *KEPT),
    ("nan_to_num", np.nan_to_num, *KEPT),
    ("real", np.real, *KEPT),
    ("imag", np.imag, *KEPT),
    ("angle", np.angle, *KEPT),
    ("isclose", lambda a: np.isclose(a, 1.0), *KEPT),
    ("isin", lambda a: np.isin(a, [1.0, 2.0]), *KEPT),
    ("digitize", lambda a: np.digitize(a, [-1.0, 0.0, 3.0]), *KEPT),
    ("where", lambda a: np.where(a > 0, a, -1), *KEPT),
    ("where, array", lambda a: np.where(np.ones((1, 4, 1), bool), a, np.nan), *KEPT),
    ("where, last axis", lambda a: np.where(np.array([True, False]), a, 0), *KEPT),
    ("copy", np.copy, *KEPT),
    ("astype", lambda a: np.astype(a, np.float32), *KEPT),
    ("zeros_like", np.zeros_like, *KEPT),
    ("ones_like", lambda a: np.ones_like(a, dtype=int), *KEPT),
    ("full_like", lambda a: np.full_like(a, 7), *KEPT),
    ("full_like, row", lambda a: np.full_like(a, [1, 2]), *KEPT),
    ("zeros_like, shape", lambda a: np.zeros_like(a, shape=(2, 2)), None, (NONE, NONE)),
    ("tril", np.tril, *KEPT),
    ("sum", lambda a: np.sum(a, axis=1), "IK", (HALO[0], HALO[2])),
    ("sum, keepdims", lambda a: np.sum(a, axis=0, keepdims=True), "IJK", (NONE, *HALO[1:])),
    ("sum, dtype", lambda a: np.sum(a, 0, np.float32), "JK", HALO[1:]),
    ("sum, where", lambda a: np.sum(a, axis=-1, where=a > 0, initial=1), "IJ", HALO[:2]),
    ("prod", lambda a: np.prod(a, axis=(0, 2)), "J", HALO[1:2]),
    ("min", lambda a: np.min(a, 1), "IK", (HALO[0], HALO[2])),
    ("amax", lambda a: np.amax(a, axis=1), "IK", (HALO[0], HALO[2])),
    ("any", lambda a: np.any(a, axis=1), "IK", (HALO[0], HALO[2])),
    ("all", lambda a: np.all(a > -4, axis=(1,)), "IK", (HALO[0], HALO[2])),
    ("mean", lambda a: np.mean(a, axis=0), "JK", HALO[1:]),
    ("std", lambda a: np.std(a, axis=(0, 1), ddof=1), "K", HALO[2:]),
    ("var", lambda a: np.var(a, axis=0, keepdims=True), "IJK", (NONE, *HALO[1:])),
    ("median", lambda a: np.median(a, axis=0), "JK", HALO[1:]),
    ("average", lambda a: np.average(a, 1, weights=[1, 2, 3, 4]), "IK", (HALO[0], HALO[2])),
    ("average, returned", lambda a: np.average(a, axis=1, returned=True)[0], "IK", (HALO[0], HALO[2])),
    ("ptp", lambda a: np.ptp(a, axis=2), "IJ", HALO[:2]),
    ("argmax", lambda a: np.argmax(a, axis=2), "IJ", HALO[:2]),
    ("argmin", lambda a: np.argmin(a, 2), "IJ", HALO[:2]),
    ("count_nonzero", lambda a: np.count_nonzero(a, axis=2), "IJ", HALO[:2]),
    ("quantile", lambda a: np.quantile(a, 0.3, axis=0), "JK", HALO[1:]),
    ("percentile, two", lambda a: np.percentile(a, [30, 60], axis=0), None, (NONE, *HALO[1:])),
    ("trapezoid", lambda a: np.trapezoid(a, axis=1), "IK", (HALO[0], HALO[2])),
    ("trapezoid, last axis", np.trapezoid, "IJ", HALO[:2]),
    *[
        (name, lambda a, name=name: getattr(np, name)(a, axis=1), "IK", (HALO[0], HALO[2]))
        for name in ("nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanstd", "nanvar", "nanmedian", "nanargmax")
    ],
    ("cumsum", lambda a: np.cumsum(a, axis=1), *KEPT),
    ("nancumprod", lambda a: np.nancumprod(a, 0), *KEPT),
    ("cumsum, flat", np.cumsum, None, (NONE,)),
    ("gradient", lambda a: np.gradient(a, axis=1), *KEPT),
    ("gradient, all", lambda a: np.gradient(a, axis=(0, 1))[1], *KEPT),
    ("sort", lambda a: np.sort(a, axis=0), "IJK", (NONE, *HALO[1:])),
    ("argsort", lambda a: np.argsort(a, axis=1), "IJK", (HALO[0], NONE, HALO[2])),
    ("sort, flat", lambda a: np.sort(a, axis=None), None, (NONE,)),
    ("roll", lambda a: np.roll(a, 1, axis=1), "IJK", (HALO[0], NONE, HALO[2])),
    ("roll, flat", lambda a: np.roll(a, 1), "IJK", (NONE, NONE, NONE)),
    ("diff", lambda a: np.diff(a, axis=0), "IJK", (NONE, *HALO[1:])),
    ("repeat", lambda a: np.repeat(a, 2, axis=1), "IJK", (HALO[0], NONE, HALO[2])),
    ("delete", lambda a: np.delete(a, 1, axis=1), "IJK", (HALO[0], NONE, HALO[2])),
    ("append", lambda a: np.append(a, a, axis=1), "IJK", (HALO[0], NONE, HALO[2])),
    ("take", lambda a: np.take(a, [0, 2], axis=1), "IJK", (HALO[0], NONE, HALO[2])),
    ("take, one", lambda a: np.take(a, 1, axis=1), "IK", (HALO[0], HALO[2])),
    ("take, flat", lambda a: np.take(a, [[1, 2]]), None, (NONE, NONE)),
    ("pad", lambda a: np.pad(a, ((0, 0), (1, 2), (0, 0))), "IJK", (HALO[0], NONE, HALO[2])),
    ("tile", lambda a: np.tile(a, (1, 1, 2)), "IJK", (*HALO[:2], NONE)),
    ("transpose", np.transpose, "KJI", HALO[::-1]),
    ("transpose, axes", lambda a: np.transpose(a, (1, 0, 2)), "JIK", (HALO[1], HALO[0], HALO[2])),
    ("transpose, name", lambda a: np.transpose(a, axes=(1, 0, 2)), "JIK", (HALO[1], HALO[0], HALO[2])),
    ("moveaxis", lambda a: np.moveaxis(a, 0, -1), "JKI", (HALO[1], HALO[2], HALO[0])),
    ("swapaxes", lambda a: np.swapaxes(a, 0, 2), "KJI", HALO[::-1]),
    ("matrix_transpose", np.matrix_transpose, "IKJ", (HALO[0], HALO[2], HALO[1])),
    ("flip", lambda a: np.flip(a, 1), "IJK", (HALO[0], (2, 0), HALO[2])),
    ("rot90", lambda a: np.rot90(a), "JIK", ((2, 0), HALO[0], HALO[2])),
    ("squeeze", lambda a: np.squeeze(a[:, :, :1]), "IJ", HALO[:2]),
    ("expand_dims", lambda a: np.expand_dims(a, 1), None, (HALO[0], NONE, *HALO[1:])),
    ("atleast_1d", np.atleast_1d, *KEPT),
    ("split", lambda a: np.split(a, 2, axis=1)[1], "IJK", (HALO[0], (0, 2), HALO[2])),
    ("broadcast_to", lambda a: np.broadcast_to(a[:, :, :1], (2, 3, 4, 5)), None, (NONE, *HALO[:2], NONE)),
    ("sliding_window_view", windows, None, (NONE, NONE, NONE, NONE)),
    ("reshape", lambda a: np.reshape(a, (4, -1)), None, (NONE, NONE)),
    ("reshape, same", lambda a: np.reshape(a, (3, 4, 2)), *KEPT),
    ("ravel", np.ravel, None, (NONE,)),
    ("concatenate", lambda a: np.concatenate([a, a, np.ones((3, 1, 2))], axis=1), "IJK", (HALO[0], NONE, HALO[2])),
    ("concat", lambda a: np.concat((a, a)), "IJK", (NONE, *HALO[1:])),
    ("concatenate, flat", lambda a: np.concatenate([a, a], axis=None), None, (NONE,)),
    ("stack", lambda a: np.stack([a, a], axis=1), None, (HALO[0], NONE, *HALO[1:])),
    ("vstack", lambda a: np.vstack([a, a]), "IJK", (NONE, *HALO[1:])),
    ("einsum", lambda a: np.einsum("ijk,lk->jil", a, np.ones((5, 2))), None, (HALO[1], HALO[0], NONE)),
    ("einsum, ellipsis", lambda a: np.einsum("...k,...k->...", a, a), "IJ", HALO[:2]),
    ("tensordot", lambda a: np.tensordot(a, np.ones((2, 5)), 1), None, (NONE, NONE, NONE)),
]


@pytest.mark.parametrize(("name", "function", "dims", "halo"), FUNCTIONS, ids=[case[0] for case in FUNCTIONS])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions(name: str, function: Function, dims: str | None, halo: Any, layout: tuple[int, ...]) -> None:
    values = WITH_NAN if name.startswith("nan") else VALUES
    source = field(values, layout)
    # The order of sums is that of the memory.
    expected = function(source.to_numpy())
    result = function(source)
    assert type(result) is CPUStorage
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(result.to_numpy(), expected)
    assert result.dims == (None if dims is None else tuple(dims))
    assert result.halo == halo
    assert function(field(values, layout, dims=None)).dims is None


@given(storages(dtype=np.float64, labelled=True), st.data())
def test_functions_that_rearrange_make_views(field: Storage, data: st.DataObject) -> None:
    """Whatever NumPy makes a view of, is a view of the storage; labels and halo follow each axis."""
    ndim = field.ndim
    axis = st.integers(-ndim, ndim - 1) if ndim else st.nothing()
    functions: list[st.SearchStrategy[Function]] = [st.just(np.transpose), st.just(np.flip), st.just(np.squeeze)]
    if ndim:
        functions += [
            axis.map(lambda n: lambda a: np.flip(a, n)),
            st.tuples(axis, axis).map(lambda pair: lambda a: np.moveaxis(a, *pair)),
            st.tuples(axis, axis).map(lambda pair: lambda a: np.swapaxes(a, *pair)),
            axis.map(lambda n: lambda a: np.array_split(a, 2, axis=n)[1]),
            axis.map(lambda n: lambda a: np.expand_dims(a, n)),
        ]
    function = data.draw(st.one_of(functions))
    marked = np.arange(field.size).reshape(field.shape)
    expected, result = function(marked), function(field)
    np.testing.assert_array_equal(result, function(field.to_numpy()))
    if not isinstance(expected, np.ndarray):
        return
    assert type(result) is CPUStorage
    assert result.shape == expected.shape
    if result.size:
        assert np.shares_memory(result.to_numpy(), field.to_numpy())
        result[...] = -1
        assert (field.to_numpy().ravel()[np.ravel(expected)] == -1).all()


def test_a_reshaped_storage_is_a_view_where_one_can_be() -> None:
    packed = storage.zeros((2, 3, 4), defaults="C")
    for flat in (packed.reshape(6, 4), np.reshape(packed, 24), packed.ravel(), packed.reshape((4, 6))):
        flat[0] = 1
        assert packed[0, 0, 0] == 1
        packed[...] = 0
    assert packed.flatten().to_numpy().base is not packed.to_numpy().base
    transposed = packed.T.ravel()
    transposed[...] = 1
    assert not packed.any()
    with pytest.raises(ValueError, match="cannot reshape"):
        packed.reshape(5, 5)


def test_labels_are_axes() -> None:
    whole = field()
    for name in ("sum", "mean", "median", "argmax", "cumsum", "sort", "diff", "nanmax"):
        function = getattr(np, name)
        np.testing.assert_array_equal(function(whole, axis="J"), function(VALUES, axis=1))
    np.testing.assert_array_equal(np.mean(whole, axis=("K", "I")), VALUES.mean((0, 2)))  # type: ignore[arg-type]
    np.testing.assert_array_equal(whole.sum("K"), VALUES.sum(2))
    np.testing.assert_array_equal(np.concatenate([whole, whole], axis="K"), np.concatenate([VALUES] * 2, 2))  # type: ignore[arg-type]


def test_operands_are_matched_by_label() -> None:
    whole = field()
    row = storage.storage([0.0, 1.0, -2.0, 3.0], dims="J")
    np.testing.assert_array_equal(np.where(whole > row, whole, row), np.maximum(VALUES, row.to_numpy()[:, None]))
    assert np.where(row > 0, storage.ones((3,), dims="I"), 0).dims == ("I", "J")
    np.testing.assert_array_equal(np.clip(whole, row, None), np.maximum(VALUES, row.to_numpy()[:, None]))
    other = storage.storage(VALUES.T, dims="KJI")
    joined = np.concatenate([whole, other], axis=1)
    assert joined.dims == ("I", "J", "K")
    np.testing.assert_array_equal(joined, np.concatenate([VALUES, VALUES], 1))
    assert np.allclose(whole, other)
    target = storage.zeros((4, 3, 2), dims="JIK")
    np.copyto(target, row, where=whole > 0)
    np.testing.assert_array_equal(np.transpose(target, (1, 0, 2)), np.where(VALUES > 0, row.to_numpy()[:, None], 0.0))
    product = np.einsum("ijk,j->ik", whole, row)
    assert (product.dims, product.halo) == (("I", "K"), (HALO[0], HALO[2]))


def test_results_written_to_out() -> None:
    target = storage.zeros((3, 2), dims="IK")
    for call in (
        lambda: np.sum(field(), axis=1, out=target),
        lambda: np.mean(field(), 1, None, target),
        lambda: field().max(1, target),
        lambda: np.clip(storage.ones((3, 2), dims="IK"), 2, 3, out=target),
        lambda: np.cumsum(storage.ones((3, 2), dims="IK"), 0, None, target),
    ):
        target[...] = -1
        assert call() is target
        assert (target != -1).all()
    turned = storage.zeros((2, 3), dims="KI")
    np.clip(field()[:, 0], 0, None, out=turned)
    np.testing.assert_array_equal(turned.T, VALUES[:, 0].clip(0))
    array = np.zeros((3, 2))
    assert np.median(field(), axis=1, out=array) is array
    np.testing.assert_array_equal(array, np.median(VALUES, axis=1))


METHODS: list[Function] = [
    lambda a: a.sum(),
    lambda a: a.sum(1),
    lambda a: a.sum(axis=(0, 2), keepdims=True),
    lambda a: a.prod(0),
    lambda a: a.mean(),
    lambda a: a.mean(axis=-1, dtype="f4"),
    lambda a: a.std(ddof=1),
    lambda a: a.var(2),
    lambda a: a.min(),
    lambda a: a.max(1),
    lambda a: a.any(1),
    lambda a: a.all(),
    lambda a: a.argmin(),
    lambda a: a.argmax(1),
    lambda a: a.argsort(),
    lambda a: a.cumsum(),
    lambda a: a.cumprod(0),
    lambda a: a.clip(-1, 1),
    lambda a: a.clip(min=-1),
    lambda a: a.round(1),
    lambda a: a.repeat(2, 0),
    lambda a: a.take([0, 1], 1),
    lambda a: a.squeeze(),
    lambda a: a.swapaxes(0, 1),
    lambda a: a.ravel(),
    lambda a: a.ravel("F"),
    lambda a: a.flatten("F"),
    lambda a: a.reshape(4, 6),
    lambda a: a.reshape((-1, 3), order="F"),
    lambda a: a.diagonal(),
    lambda a: a.trace(),
    lambda a: a.dot([1.0, 2.0]),
    lambda a: a.nonzero(),
    lambda a: a.astype("i4"),
    lambda a: a.astype(float, copy=False),
    lambda a: a.astype(complex, order="C"),
    lambda a: a.view("i8"),
    lambda a: a.conj(),
    lambda a: a.real,
    lambda a: a.imag,
    lambda a: a.item(3),
    lambda a: a.item(1, 2, 1),
    lambda a: a.tolist(),
    lambda a: a.tobytes(),
    lambda a: a[0, 0].searchsorted(1.0),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dims", ["IJK", None])
def test_methods(method: Function, dims: str | None) -> None:
    expected = method(VALUES)
    result = method(field(dims=dims))
    np.testing.assert_array_equal(result, expected)
    assert getattr(result, "dtype", None) == getattr(expected, "dtype", None)
    assert not isinstance(expected, np.ndarray) or np.shape(result) == expected.shape


def test_methods_that_write() -> None:
    whole = field()
    whole.sort(0)
    np.testing.assert_array_equal(whole, np.sort(VALUES, 0))
    whole.fill(3)
    assert (whole == 3).all()
    complex_field = storage.zeros((2, 2), complex, dims="IJ")
    complex_field.real[...] = 1
    complex_field.imag[0] = 2
    np.testing.assert_array_equal(complex_field, [[1 + 2j, 1 + 2j], [1, 1]])
    assert complex_field.real.dims == ("I", "J")
    with pytest.raises(errors.ReadOnlyError, match="read-only"):
        np.broadcast_to(whole, (2, 3, 4, 2))[0] = 1


@pytest.mark.parametrize(
    "function",
    [
        np.nonzero,
        np.argwhere,
        np.unique,
        lambda a: np.linalg.norm(a[0], axis=0),
        lambda a: np.histogram(a, bins=3)[0],
        lambda a: np.fft.fft(a),
        lambda a: np.cov(a[0]),
        lambda a: np.where(a > 0),
        lambda a: np.select([a > 0], [a]),
        lambda a: np.ix_(a[:, 0, 0], a[0, :, 0]),
    ],
)
def test_other_functions_give_numpy_arrays(function: Function) -> None:
    expected, result = function(VALUES), function(field())
    for part, expected_part in (
        zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
    ):
        assert type(part) is np.ndarray
        np.testing.assert_array_equal(part, expected_part)


def test_questions_about_shape_and_type() -> None:
    whole = field()
    assert (np.shape(whole), np.ndim(whole), np.size(whole), np.size(whole, 1)) == ((3, 4, 2), 3, 24, 4)
    assert np.result_type(whole, np.float32) == np.float64
    assert not np.iscomplexobj(whole)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: np.sum(a, axis="0"), errors.DimensionsError, "axis: the storage has no axis '0'; its labels are"),
        (lambda a: np.sum(a, axis=3), np.exceptions.AxisError, "axis 3 is out of bounds"),
        (lambda a: np.mean(a, axis=-4), np.exceptions.AxisError, "axis -4 is out of bounds"),
        (lambda a: np.concatenate([a, a[0]]), errors.DimensionsError, r"concatenate: the storages have the axes \('I'"),
        (lambda a: np.concatenate([a, a[1:]], axis=1), ValueError, "must match exactly"),
        (lambda a: np.transpose(a, (0, 0, 1)), errors.ArgumentValueError, "axes: expected a permutation"),
    ],
)
def test_wrong_arguments_are_refused(call: Function, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(field())


def test_who_else_has_functions_of_numpy_decides() -> None:
    class Other:
        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> str:
            return "mine"

    assert np.concatenate([field(), Other()]) == "mine"  # type: ignore[list-item, comparison-overlap]
