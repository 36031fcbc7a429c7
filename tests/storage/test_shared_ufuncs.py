"""Every universal function that NumPy and CuPy share, for every combination of element types that NumPy accepts.

The names are those of CuPy's reference, https://docs.cupy.dev/en/stable/reference/ufunc.html.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fieldstone import storage
from fieldstone.storage import CPUStorage, Storage

LINES = (
    "add subtract multiply matmul divide logaddexp logaddexp2 true_divide floor_divide negative positive",
    "power float_power remainder mod fmod divmod absolute fabs rint sign heaviside conj conjugate exp",
    "exp2 log log2 log10 expm1 log1p sqrt square cbrt reciprocal gcd lcm sin cos tan arcsin arccos arctan",
    "arctan2 hypot sinh cosh tanh arcsinh arccosh arctanh degrees radians deg2rad rad2deg bitwise_and",
    "bitwise_or bitwise_xor invert left_shift right_shift greater greater_equal less less_equal not_equal",
    "equal logical_and logical_or logical_xor logical_not maximum minimum fmax fmin isfinite isinf isnan",
    "fabs signbit copysign nextafter modf ldexp frexp fmod floor ceil trunc",
)
SHARED = [name for line in LINES for name in line.split()]
UFUNCS = {name: getattr(np, name) for name in sorted(set(SHARED) - {"matmul"})}
REDUCIBLE = [name for name, ufunc in UFUNCS.items() if ufunc.nin == 2 and ufunc.nout == 1]
DTYPES = [np.dtype(code) for code in "?bBhHiIqQefdFD"]
SHAPE = (3, 4, 2)


def values(dtype: np.dtype[Any], seed: int) -> np.ndarray:
    """Small and extreme values, zeros of both signs, nan and infinities, as far as the type has them."""
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.integers(0, 2, SHAPE).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        some = np.array([0, 1, 2, 3, 5, 7, limits.max, limits.min, limits.max // 2, limits.max - 1], dtype)
        return random.choice(some, SHAPE)
    parts = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.5, 3.0, 7.0, 100.0, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny]
    real = random.choice(parts, SHAPE)
    if dtype.kind == "f":
        return real.astype(dtype)
    array = np.zeros(SHAPE, dtype)
    array.real, array.imag = real, random.choice(parts, SHAPE)
    return array


def layouts(array: np.ndarray) -> Iterator[tuple[str, Storage]]:
    """Storages of the same values that lie in memory in different ways."""
    yield "C", storage.storage(array, dims="IJK", defaults="C")
    yield "I contiguous and padded", storage.storage(array, dims="IJK", halo=(1, 1, 0), defaults="cpu_ifirst")
    wide = storage.zeros((6, 4, 2), array.dtype, dims="IJK", layout=(1, 2, 0))
    wide[::-2] = array
    yield "every other point, reversed", wide[::-2]
    yield "transposed", storage.storage(array.T, dims="KJI").T


def outcome(function: Any, *operands: Any, **keywords: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return function(*operands, **keywords)
        except (TypeError, ValueError, OverflowError) as error:
            return error


def assert_same(result: Any, expected: Any, context: str) -> None:
    if isinstance(expected, Exception):
        assert isinstance(result, Exception), f"{context}: {expected} was not raised"
        assert isinstance(result, TypeError) == isinstance(expected, TypeError), context
        return
    assert not isinstance(result, Exception), f"{context}: {result!r}"
    if isinstance(expected, tuple):
        for part, expected_part in zip(result, expected, strict=True):
            assert_same(part, expected_part, context)
        return
    assert type(result) is CPUStorage, context
    assert result.dtype == expected.dtype, context
    array = result.to_numpy()
    if expected.dtype.kind in "fc":
        # NumPy computes some functions with other instructions where the elements are not contiguous.
        np.testing.assert_allclose(array, expected, rtol=4 * np.finfo(expected.dtype).eps, atol=0, err_msg=context)
    else:
        np.testing.assert_array_equal(array, expected, err_msg=context)


@pytest.mark.parametrize("name", UFUNCS)
def test_every_combination_of_types(name: str) -> None:
    ufunc = UFUNCS[name]
    accepted = 0
    for dtypes in itertools.product(DTYPES, repeat=ufunc.nin):
        arrays = [values(dtype, seed) for seed, dtype in enumerate(dtypes)]
        operands = [storage.storage(array, dims="IJK", defaults="C") for array in arrays]
        expected = outcome(ufunc, *arrays)
        assert_same(outcome(ufunc, *operands), expected, f"{name} of {dtypes}")
        accepted += not isinstance(expected, Exception)
    assert accepted


@pytest.mark.parametrize("name", UFUNCS)
def test_every_layout(name: str) -> None:
    ufunc = UFUNCS[name]
    for dtype in map(np.dtype, "?iQefD"):
        arrays = [values(dtype, seed) for seed in range(ufunc.nin)]
        for operands in zip(*(layouts(array) for array in arrays), strict=True):
            names, fields = zip(*operands, strict=True)
            expected = outcome(ufunc, *[field.to_numpy() for field in fields])
            context = f"{name} of {dtype}, {names}"
            result = outcome(ufunc, *fields)
            assert_same(result, expected, context)
            if isinstance(expected, Exception):
                continue
            for part in result if isinstance(result, tuple) else (result,):
                assert (part.dims, part.halo) == (fields[0].dims, fields[0].halo), context
                assert part.layout == fields[0].layout, context


@pytest.mark.parametrize("name", UFUNCS)
def test_no_points_and_one_point(name: str) -> None:
    ufunc = UFUNCS[name]
    for shape in ((0,), (2, 0, 3), (1, 1), (1,)):
        for dtype in map(np.dtype, "?hd"):
            arrays = [np.ones(shape, dtype)] * ufunc.nin
            operands = [storage.storage(array, dims="IJK"[: len(shape)]) for array in arrays]
            assert_same(outcome(ufunc, *operands), outcome(ufunc, *arrays), f"{name} of {dtype} {shape}")
    for number in (True, 3, 2.5, 1j, np.float32(2.5), np.int8(3)):
        array = np.asarray(number)
        expected = outcome(ufunc, *[array] * ufunc.nin)
        result = outcome(ufunc, *[storage.storage(array)] * ufunc.nin)
        assert type(result) is type(expected), name
        if not isinstance(expected, Exception):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", [name for name, ufunc in UFUNCS.items() if ufunc.nin == 2])
@pytest.mark.parametrize("number", [True, 3, -1, 2.5, np.nan, 1j, np.float32(2.5), np.int8(3), np.uint64(2**63)])
def test_numbers(name: str, number: Any) -> None:
    ufunc = UFUNCS[name]
    for dtype in DTYPES:
        array = values(dtype, 1)
        field = storage.storage(array, dims="IJK")
        context = f"{name} of {dtype} and {number!r}"
        for expected, result in (
            (outcome(ufunc, array, number), outcome(ufunc, field, number)),
            (outcome(ufunc, number, array), outcome(ufunc, number, field)),
        ):
            assert isinstance(expected, OverflowError) == isinstance(result, OverflowError)
            assert_same(result, expected, context)


@pytest.mark.parametrize("name", UFUNCS)
def test_outputs_conditions_and_overlap(name: str) -> None:
    """`out=` and `where=` give what they give for arrays, also where the output is one of the inputs, shifted."""
    ufunc = UFUNCS[name]
    dtype = next(np.dtype(types[0]) for types in reversed(ufunc.types) if types[0] not in "gGOmM")
    condition = np.random.default_rng(2).integers(0, 2, SHAPE).astype(bool)
    inputs = [values(dtype, seed) for seed in range(ufunc.nin)]
    results = outcome(ufunc, *inputs)
    results = results if isinstance(results, tuple) else (results,)
    if isinstance(results[0], Exception):
        return
    outs = [np.zeros(SHAPE, part.dtype) for part in results]
    fields = [storage.storage(array, dims="IJK", layout=(2, 1, 0)) for array in inputs]
    targets = [storage.zeros(SHAPE, part.dtype, dims="IJK") for part in results]
    with np.errstate(all="ignore"):
        expected = ufunc(*inputs, out=tuple(outs), where=condition)
        result = ufunc(*fields, out=tuple(targets), where=storage.storage(condition, dims="IJK"))
    for got, target, wanted in zip(
        result if ufunc.nout > 1 else (result,), targets, expected if ufunc.nout > 1 else (expected,), strict=True
    ):
        assert got is target
        assert_same(got, wanted, name)
    if ufunc.nout == 1 and results[0].dtype == dtype:
        whole, field = inputs[0].copy(), storage.storage(inputs[0], dims="IJK", defaults="C")
        with np.errstate(all="ignore"):
            ufunc(*[whole[1:]] * ufunc.nin, out=whole[:-1])
            ufunc(*[field[1:]] * ufunc.nin, out=field[:-1])
        assert_same(field, whole, f"{name}, shifted")


@pytest.mark.parametrize("name", REDUCIBLE)
def test_reductions(name: str) -> None:
    ufunc = UFUNCS[name]
    for dtype in DTYPES:
        array = values(dtype, 3)
        field = storage.storage(array, dims="IJK", halo=(1, 0, 0))
        for axis in (0, 1, -1):
            for keepdims in (False, True):
                expected = outcome(ufunc.reduce, array, axis=axis, keepdims=keepdims)
                result = outcome(ufunc.reduce, field, axis=axis, keepdims=keepdims)
                assert_same(result, expected, f"{name}.reduce of {dtype} along {axis}")
        expected = outcome(ufunc.accumulate, array, axis=1)
        assert_same(outcome(ufunc.accumulate, field, axis="J"), expected, f"{name}.accumulate of {dtype}")


def test_matmul() -> None:
    for dtype in DTYPES:
        first, second = values(dtype, 1)[0], values(dtype, 2)[0].T
        expected = outcome(np.matmul, first, second)
        result = outcome(np.matmul, storage.storage(first, dims="IK"), storage.storage(second, dims="KJ"))
        assert_same(result, expected, f"matmul of {dtype}")
        assert result.dims == ("I", "J")
