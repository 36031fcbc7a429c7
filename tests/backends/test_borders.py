"""Rows that begin or end with the domain at a line: their first and last vectors have code of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript, storage
from fieldstone.gtscript import IJ, PARALLEL, Field, I, J, computation, horizontal, interval, region

HALO = 5
UNTOUCHED = 77.0

# Points along the rows, of fewer vectors than have ends, of whole ones, and of one point less or more.
LENGTHS = [6, 8, 16, 17, 31, 32, 33, 40, 47, 48, 49, 64, 95, 96]


def sides(q: Field["real"], out: Field["real"], other: Field["real"]):
    """Regions at both ends, of one point and of several, between stages that read each other along both axes."""
    with computation(PARALLEL), interval(...):
        west = q[-1, 0, 0] + 0.5 * q[1, 0, 0]
        with horizontal(region[I[0], :]):
            west = 2.0 * q
        with horizontal(region[I[0] + 1 : I[0] + 4, :], region[I[-1] - 1, :]):
            west = west - q[2, 0, 0]
        with horizontal(region[I[-1] :, :]):
            west = q[-2, 0, 0]
        along = west[0, -1, 0] + west[1, 0, 0] - 0.25 * west[-2, 1, 0]
        with horizontal(region[: I[0] + 2, :], region[:, J[0]]):
            along = 0.5 * west
        out = along + q
        with horizontal(region[I[0], J[0]], region[I[-1], J[-1]]):
            out = q[1, 1, 0] + q[-1, -1, 0]
        other = along[-1, 0, 0] * 0.5
        with horizontal(region[I[-1] - 2 :, J[-1]]):
            other = other + out


def middle(q: Field["real"], out: Field["real"], other: Field["real"]):
    """A region that ends at the other end of the domain than it begins, and one that is open."""
    with computation(PARALLEL), interval(...):
        first = q[1, 0, 0] - q[-1, 0, 0]
        out = first[1, 0, 0] + first[-1, 1, 0] * 0.5
        with horizontal(region[I[0] + 2 : I[-1], :]):
            out = out + first
        with horizontal(region[I[0] + 5 :, J[0]]):
            out = 0.125 * first
        other = first[0, -1, 0]


def limited(q: Field["real"], out: Field["real"], other: Field["real"]):
    """Diffusion with limited fluxes: no region, three stages of which each reads the one before along both axes."""
    with computation(PARALLEL), interval(...):
        lap = 4.0 * q - (q[1, 0, 0] + q[-1, 0, 0] + q[0, 1, 0] + q[0, -1, 0])
        along_i = lap[1, 0, 0] - lap
        along_i = 0.0 if along_i * (q[1, 0, 0] - q) > 0.0 else along_i
        along_j = lap[0, 1, 0] - lap
        along_j = 0.0 if along_j * (q[0, 1, 0] - q) > 0.0 else along_j
        out = q - 0.25 * (along_i - along_i[-1, 0, 0] + along_j - along_j[0, -1, 0])
        other = lap


def mixed(q: Field["real"], ground: Field[IJ, "real"], out: Field["real"], other: Field["real"]):
    """Results that are read as well, and a field of fewer axes."""
    with computation(PARALLEL), interval(...):
        slope = ground[1, 0] - ground[-1, 0] + q
        with horizontal(region[I[0], :], region[I[-1], :]):
            slope = ground
        out = out + slope[1, 0, 0] * slope[0, 1, 0]
        if slope > 0.5:
            other = slope[-1, 0, 0]


def arguments(
    stencil: Any, shape: tuple[int, int, int], dtype: type, layout: tuple[int, ...], kind: str
) -> dict[str, Any]:
    """Return fields in storages, whose domains begin at lines, or in arrays whose domains begin elsewhere."""
    random, fields = np.random.default_rng(4), {}
    for name, info in stencil.field_info.items():
        axes = "".join(info.axes)
        mine = tuple(n + 2 * HALO if axis != "K" else n for axis, n in zip("IJK", shape, strict=True) if axis in axes)
        ranks = [layout["IJK".index(axis)] for axis in axes]
        ranks = tuple(sorted(ranks).index(rank) for rank in ranks)
        halo = tuple(HALO if axis != "K" else 0 for axis in axes)
        within = {"storage": halo, "array": (0,) * len(axes)}[kind]
        one = storage.empty(mine, dtype, dims=axes, layout=ranks, alignment_size=64, aligned_index=within)
        fields[name] = one if kind == "storage" else np.asarray(one)
        np.asarray(one)[...] = UNTOUCHED if name in ("out", "other") else random.normal(size=mine)
    return fields


def results(
    backend: str, definition: Any, length: int, dtype: type, along: str, kind: str, **options: Any
) -> list[np.ndarray]:
    layout = {"I": (2, 1, 0), "J": (1, 2, 0)}[along]
    stencil = gtscript.stencil(backend, definition, dtypes={"real": dtype}, **options)
    domain = {"I": (length, 6, 3), "J": (6, length, 3)}[along]
    fields = arguments(stencil, domain, dtype, layout, kind)
    stencil(**fields, origin=(HALO, HALO, 0), domain=domain)
    return [np.array(fields[name]) for name in ("out", "other")]


@pytest.mark.parametrize("kind", ["storage", "array"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("definition", [sides, middle, limited, mixed])
def test_rows_of_all_lengths_are_those_of_the_interpreter(definition, dtype, kind):
    for length in LENGTHS:
        for along in "IJ":
            expected = results("debug", definition, length, dtype, along, kind)
            for schedule in ({}, {"stores": "streamed", "fetch": 4}):
                found = results("cpu_ifirst", definition, length, dtype, along, kind, schedule=schedule)
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(one, other, err_msg=f"{length} points along {along}, {schedule}")
