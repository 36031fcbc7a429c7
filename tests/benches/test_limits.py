"""The C that shows what has to be done at the least does that, and no less."""

from __future__ import annotations

import ctypes
import os
import shutil

import numpy as np
import pytest

from benches import limits
from benches.case import HALO
from benches.cases import edges, hdiff, lap7, vdiff
from benches.windows import window

pytestmark = pytest.mark.skipif(shutil.which(os.environ.get("CC", "gcc")) is None, reason="needs a C compiler")


def lines(*shape: int) -> np.ndarray:
    """Return random doubles that begin at a cache line."""
    found = limits._lines(8 * int(np.prod(shape))).view("float64").reshape(shape)
    found[...] = np.random.default_rng(0).random(shape)
    return found


def call(function: str, *arguments: object) -> None:
    """Call a function of `limits.c` once."""
    kernel = limits.library()[function]
    kernel.restype = None
    kernel(*(ctypes.c_size_t(value) if isinstance(value, int) else value for value in (1, *arguments)))


def test_rows_become_columns():
    source, target = lines(5, 16, 24), lines(5, 24, 16)
    call("transpose_planes", *source.shape, source.ctypes.data, target.ctypes.data)
    np.testing.assert_array_equal(target, source.transpose(0, 2, 1))


def test_squares_are_moved_to_where_they_would_be_as_columns():
    source, target = lines(5, 16, 24), lines(5, 24, 16)
    call("move_squares", *source.shape, source.ctypes.data, target.ctypes.data)
    np.testing.assert_array_equal(target.reshape(5, 3, 8, 2, 8), source.reshape(5, 2, 8, 3, 8).transpose(0, 3, 2, 1, 4))


def test_columns_are_turned_there_and_back():
    source, target = lines(32, 64), lines(32, 64)
    target[...] = 0
    call("turn_columns", 32, 64, 512, source.ctypes.data, target.ctypes.data)
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("ahead", [0, 2])
def test_fields_are_read_and_one_is_written(ahead):
    fields = [lines(6, 64) for _ in range(limits.FIELDS)]
    addresses = (ctypes.c_void_p * limits.FIELDS)(*(field.ctypes.data for field in fields))
    total = sum(fields[1:], fields[0].copy())
    call("update_straight", fields[0].nbytes, addresses)
    np.testing.assert_allclose(fields[0], total, rtol=1e-14)
    expected = fields[0] + sum(fields[1:], fields[0].copy()).sum(axis=0)
    call("update_columns", 6, 512, 256, ahead, addresses)
    np.testing.assert_allclose(fields[0], expected, rtol=1e-14)


@pytest.mark.parametrize("count", [1, 2])
def test_fields_are_added(count):
    fields, total = [lines(6, 64) for _ in range(count)], lines(6, 64)
    addresses = (ctypes.c_void_p * count)(*(field.ctypes.data for field in fields))
    call("sum_straight", total.nbytes, count, addresses, ctypes.c_void_p(total.ctypes.data))
    np.testing.assert_allclose(total, sum(fields), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("vectors", limits.VECTORS)
def test_the_solver_is_that_of_the_stencil_however_columns_lie(dtype, vectors):
    size = (128, 2, 21)
    ni, nj, nk = size
    profile = limits.Profile.of(size, dtype)
    planes, columns = (limits.pitch(size, dtype, layout) for layout in "IK")
    around = [(HALO, HALO), (HALO, HALO)]
    phi = np.random.default_rng(0).random((nk, nj + 2 * HALO, ni + 2 * HALO)).astype(dtype) + 1
    surface = np.pad(profile.ground.reshape(nj, ni), around, "edge")
    expected = np.empty_like(phi)
    vdiff.with_numpy(phi, profile.height, profile.sigma, surface, expected, 30.0, 5.0)
    for layout, ways in limits.WAYS.items():
        strides = (planes, ni, 1) if layout == "I" else (1, ni * columns, columns)
        given, found = (
            np.lib.stride_tricks.as_strided(array, (nk, nj, ni), [stride * array.itemsize for stride in strides])
            for array in (profile.phi, profile.phi_new)
        )
        given[...] = window(phi)
        for way in ways.values():
            found[...] = 0
            profile.contender(layout, way, vectors)(1)
            np.testing.assert_allclose(found, window(expected), rtol={"float64": 1e-12, "float32": 1e-4}[dtype])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_are_those_of_the_stencils(dtype):
    rows, points, around = 4, 48, 2 * limits.CACHE_LINE // np.dtype(dtype).itemsize
    tolerance = {"float64": 1e-13, "float32": 1e-5}[dtype]

    def levels(*fields):
        """The rows as a level, twice before and twice after themselves, so that they are far from its sides."""
        return [np.tile(field.reshape(rows, -1), (5, 1))[np.newaxis] for field in fields]

    q, coefficient, q_new = limits.few_rows(2, points, dtype)
    for name, read, whole in (
        ("hdiff", (q, coefficient), hdiff.diffused(np, *levels(q, coefficient))),
        ("edges", (q,), edges.inside(np, *levels(q))),
    ):
        call(f"{name}_rows_{dtype}", 16, points, *(field.ctypes.data for field in (*read, q_new)))
        found = q_new[: rows * points].reshape(rows, points)
        inside = whole[0, 2 * rows - HALO :, around - HALO :]
        np.testing.assert_allclose(found, inside[:rows, :points], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("choice", [(8, 0, 0), (16, 1, 1), (128, 0, 1), (32, 1, 0)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_columns_are_those_of_the_stencils(dtype, choice):
    size = (9, 21, 37)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    fields = limits.few_planes(size, dtype)
    q, coefficient, result = (field[..., : size[2]].transpose() for field in fields)
    around = np.pad(q, [(0, 0)] + 2 * [(HALO - 2,) * 2]), np.pad(coefficient, [(0, 0)] + 2 * [(HALO - 2,) * 2])
    for name, levels, expected in [
        ("hdiff", slice(None), hdiff.diffused(np, *around)),
        ("lap7", slice(1, -1), lap7.inner(around[0])),
    ]:
        fields[2][...] = 0
        limits.along_k(name, size, dtype, fields, *choice)(1)
        np.testing.assert_allclose(result[levels, 2:-2, 2:-2], expected, rtol=tolerance, atol=tolerance)
        outside = np.ones_like(result, bool)
        outside[levels, 2:-2, 2:-2] = False
        assert not result[outside].any()
