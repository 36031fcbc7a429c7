"""Sweeps along columns in memory transpose groups of levels on the way, whatever sections and columns there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, Field, computation, interval

ROWS, COLUMNS = 2, 75


def upwards(phi: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            ratio = 1.0 / (2.0 + phi)
            out = phi / (3.0 + ratio)
        with interval(1, -1):
            ratio = 1.0 / (2.0 + phi + ratio[0, 0, -1])
            out = (phi + out[0, 0, -1]) / (3.0 + ratio)
        with interval(-1, None):
            out = out[0, 0, -1] + phi / ratio[0, 0, -1]


def downwards(phi: Field["real"], out: Field["real"]):
    with computation(BACKWARD):
        with interval(-1, None):
            ratio = 1.0 / (2.0 + phi)
            out = phi / (3.0 + ratio)
        with interval(0, -1):
            ratio = 1.0 / (2.0 + phi + ratio[0, 0, 1])
            out = (phi + out[0, 0, 1]) / (3.0 + ratio)


def in_place(phi: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 2):
            phi = 1.0 / (2.0 + phi)
        with interval(2, None):
            phi = (phi + phi[0, 0, -2]) / (3.0 + phi[0, 0, -1])
    with computation(BACKWARD):
        with interval(-1, None):
            out = phi
        with interval(0, -1):
            out = phi + 0.5 * out[0, 0, 1]


@pytest.mark.parametrize("schedule", ["", "tile.J=8", "tile.J=16", "tile.J=24", "tile.J=128"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("definition", [upwards, downwards, in_place])
def test_columns_in_memory_give_the_bits_of_rows(definition: Any, dtype: Any, schedule: str) -> None:
    options = {"schedule": schedule} if schedule else {}
    stencil = gtscript.stencil("cpu_kfirst", definition, dtypes={"real": dtype}, **options)
    rows = gtscript.stencil("cpu_ifirst", definition, dtypes={"real": dtype})
    for levels in (2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 50):
        phi = np.random.default_rng(levels).random((ROWS, COLUMNS, levels)).astype(dtype)
        found, expected = ([phi.copy(order=order), np.zeros_like(phi, order=order)] for order in "CF")
        stencil(*found)
        rows(*expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
