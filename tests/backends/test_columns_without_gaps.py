"""Columns of arrays that follow each other without a gap are computed as one, with the same results as one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import IJ, PARALLEL, Field, I, J, K, computation, horizontal, interval, region

REAL = Field["real"]
UNTOUCHED = -77


def scaled(inp: REAL, other: REAL, out: REAL):
    with computation(PARALLEL), interval(...):
        out = inp * 2 + other if inp > other else inp - other


def neighbours(inp: REAL, other: REAL, out: REAL):
    with computation(PARALLEL), interval(...):
        twice = other * 2
        out = inp[-1, 0, 0] + inp[1, 0, 0] * 3 - inp[0, -1, 0] + inp[0, 1, 0] * 5 - twice


def on_planes(inp: REAL, other: REAL, plane: Field[IJ, "real"], out: REAL):
    with computation(PARALLEL), interval(...):
        out = inp * plane + other


def on_columns(inp: REAL, other: REAL, column: Field[K, "real"], out: REAL):
    with computation(PARALLEL), interval(...):
        out = inp * column + other


def by_level(inp: REAL, out: REAL):
    with computation(PARALLEL), interval(...):
        out = inp * K


def by_row(inp: REAL, other: REAL, out: REAL):
    with computation(PARALLEL), interval(...):
        out = inp + other
        with horizontal(region[I[0], :], region[:, J[-1]]):
            out = other


def in_sections(inp: REAL, other: REAL, out: REAL):
    with computation(PARALLEL):
        with interval(0, 1):
            out = inp
        with interval(1, -1):
            out = inp[0, 0, -1] + other
        with interval(-1, None):
            out = other


def one_level(inp: REAL, other: REAL, out: REAL):
    with computation(PARALLEL), interval(...):
        out = inp + other.at(K=0)


def repeated(inp: REAL, other: REAL, out: REAL):
    with computation(PARALLEL), interval(...):
        left = inp
        while left > 2:
            left = left - 2
        out = left + other


DEFINITIONS = [scaled, neighbours, on_planes, on_columns, by_level, by_row, in_sections, one_level, repeated]
# Planes of one row and of several for threads, columns of whole cache lines and of one point.
SHAPES = [(5, 7, 3), (9, 12, 47), (6, 70, 64), (3, 2, 1), (40, 90, 5), (130, 1, 33), (1, 130, 33), (60, 50, 1)]
# Axes from the one with the largest stride to the contiguous one.
ORDERS = ["IJK", "JIK", "KJI", "KIJ"]


def in_order(values: np.ndarray, axes: str, order: str) -> np.ndarray:
    """Return the values in memory without a gap, the axes of `order` from the largest stride to the smallest."""
    places = [axes.index(axis) for axis in order if axis in axes]
    return np.ascontiguousarray(values.transpose(places)).transpose(np.argsort(places))


def arguments(
    definition: Callable[..., Any], shape: tuple[int, int, int], order: str, dtype: type
) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    lengths = dict(zip("IJK", shape, strict=True))
    axes = {"inp": "IJK", "other": "IJK", "plane": "IJ", "column": "K"}
    fields = {name: random.integers(0, 9, [lengths[axis] for axis in own]).astype(dtype) for name, own in axes.items()}
    fields["out"] = np.full(shape, UNTOUCHED, dtype)
    used = {name: fields[name] for name in definition.__annotations__}
    return {name: in_order(values, axes.get(name, "IJK"), order) for name, values in used.items()}


@pytest.mark.parametrize("stores", ["cached", "streamed"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda one: one.__name__)
def test_results_are_those_of_points_one_by_one(
    definition: Callable[..., Any], dtype: type, order: str, stores: str, threads: int
) -> None:
    options = {"definition": definition, "dtypes": {"real": dtype}}
    backend = "cpu_kfirst" if order.endswith("K") else "cpu_ifirst"
    native = gtscript.stencil(backend, schedule={"stores": stores}, **options)
    oracle = gtscript.stencil("debug", **options)
    for shape in SHAPES:
        halo = (1, 1, 0) if definition is neighbours else (0, 0, 0)
        if definition is in_sections and shape[2] < 2:
            continue
        whole = tuple(points + 2 * around for points, around in zip(shape, halo, strict=True))
        # The whole array, without its first planes, and without its first columns and levels, which leaves gaps.
        for first in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]:
            domain = tuple(points - before for points, before in zip(shape, first, strict=True))
            if min(domain) < 1 or (definition is in_sections and domain[2] < 2):
                continue
            found, expected = (arguments(definition, whole, order, dtype) for _ in range(2))
            origin = tuple(around + before for around, before in zip(halo, first, strict=True))
            native(**found, origin=origin, domain=domain)
            oracle(**expected, origin=origin, domain=domain)
            np.testing.assert_array_equal(found["out"], expected["out"], err_msg=f"{shape} from {first}")


def test_an_array_beside_one_with_gaps() -> None:
    native = gtscript.stencil("cpu_kfirst", definition=scaled, dtypes={"real": np.float64})
    shape = (20, 30, 40)
    found, expected = (arguments(scaled, shape, "IJK", np.float64) for _ in range(2))
    wide = np.zeros((20, 30, 43))
    wide[..., :40] = found["other"]
    found["other"] = wide[..., :40]
    native(**found)
    gtscript.stencil("debug", definition=scaled, dtypes={"real": np.float64})(**expected)
    np.testing.assert_array_equal(found["out"], expected["out"])
    assert not wide[..., 40:].any()
