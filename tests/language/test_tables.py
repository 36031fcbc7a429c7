"""Tables: numbers without a place on the grid."""

from __future__ import annotations

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import PARALLEL, Field, GlobalTable, computation, interval

from .conftest import Way


def constant(t: GlobalTable["real", (4,)], m: GlobalTable[("real", (2, 3))], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = t.A[0] + t.A[3] * m.A[1, 2]


def test_a_table_is_read_at_constant_indices(way: Way) -> None:
    t, m, out = way.array("", (4,)), way.array("", (2, 3)), way.array()
    way.run(constant, t, m, out)
    way.close(way.inner(out), np.full(way.domain, t[0] + t[3] * m[1, 2]))


def computed(t: GlobalTable["real", (100,)], m: GlobalTable["real", (5, 4)], n: Field[int], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = t.A[n] + m.A[n % 5, n % 4]


def test_a_table_is_read_at_indices_of_each_point(way: Way) -> None:
    t, m, n, out = way.array("", (100,)), way.array("", (5, 4)), way.array(integers=100), way.array()
    way.run(computed, t, m, n, out)
    n = way.inner(n)
    way.close(way.inner(out), t[n] + m[n % 5, n % 4])


@gtscript.function
def interpolated(table, position):
    n = int(floor(position))
    return table.A[n] + (position - n) * (table.A[n + 1] - table.A[n])


def looked_up(t: GlobalTable["real", (5,)], x: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = interpolated(t, 2.0 + x)


def test_a_table_is_an_argument(way: Way) -> None:
    t, x, out = way.array("", (5,)), way.array(), way.array()
    way.run(looked_up, t, x, out)
    expected = np.interp(2.0 + way.inner(x).astype(float), np.arange(5.0), t)
    np.testing.assert_allclose(way.inner(out), expected, atol=30 * np.finfo(way.real).eps)


def assigned(t: GlobalTable[float, (4,)], inp: Field[float]):
    with computation(PARALLEL), interval(...):
        t.A[1] = inp


def test_a_table_cannot_be_assigned() -> None:
    with pytest.raises(errors.GTScriptSyntaxError, match=r"`\.A` is read only"):
        gtscript.stencil("numpy", assigned)


def test_a_table_has_sizes() -> None:
    with pytest.raises(TypeError, match=r"GlobalTable\[\.\.\.\] takes an element type and sizes"):
        GlobalTable[float]
