"""Arguments that share memory: a call gives what it gives on copies, or it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from fieldstone import errors, gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, PARALLEL, Field, computation, interval

Array = npt.NDArray[Any]
F64 = np.float64
SIZE = 6


def scale(inp: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        out = 2.0 * inp + 1.0


def neighbours(inp: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        half = 0.5 * inp
        out = half[1, 0, 0] - half[0, -1, 0]


def read_again(inp: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        out = inp + 1.0
    with computation(PARALLEL), interval(...):
        out = out + inp


def climb(inp: Field[F64], out: Field[F64]):
    with computation(FORWARD):
        with interval(0, 1):
            out = inp
        with interval(1, None):
            out = 0.5 * out[0, 0, -1] + inp
    with computation(BACKWARD), interval(0, -1):
        out = out + 0.25 * out[0, 0, 1]


def repeat(inp: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        rounds = 0
        while rounds < 2:
            out = 0.5 * out + inp
            rounds += 1


DEFINITIONS = [scale, neighbours, read_again, climb, repeat]
BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"]
STENCILS = {
    (definition.__name__, backend): gtscript.stencil(backend=backend, definition=definition)
    for definition in DEFINITIONS
    for backend in BACKENDS
}


@st.composite
def views(draw: st.DrawFn) -> tuple[slice, ...]:
    """A box of three points along each axis."""
    cuts = []
    for _ in range(3):
        step = draw(st.sampled_from([1, 1, 1, 2, -1, -2]))
        first = draw(st.integers(0, SIZE - 1 - 2 * abs(step)))
        last = first + 2 * abs(step)
        cuts.append(slice(first, last + 1, step) if step > 0 else slice(last, first - 1 if first else None, step))
    return tuple(cuts)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("definition", [definition.__name__ for definition in DEFINITIONS])
@settings(max_examples=60, deadline=None)
@given(inp=views(), out=views(), order=st.permutations(range(3)), same=st.booleans())
def test_views_of_one_array(
    definition: str, backend: str, inp: tuple[slice, ...], out: tuple[slice, ...], order: list[int], same: bool
) -> None:
    base = np.random.default_rng(0).random((SIZE, SIZE, SIZE))
    alone, shared = base.copy(), base.copy()
    if same:
        out = inp

    def pair(array: Array) -> tuple[Array, Array]:
        turned = array[inp] if same else array[inp].transpose(order)
        return turned, array[out]

    stencil = STENCILS[definition, backend]
    stencil(pair(alone)[0].copy(), pair(alone)[1])
    try:
        stencil(*pair(shared))
    except errors.AliasError:
        event("refused")
        np.testing.assert_array_equal(shared, base)
        assert np.shares_memory(*pair(base))
    else:
        event("ran on shared memory" if np.shares_memory(*pair(base)) else "ran")
        np.testing.assert_array_equal(shared, alone)
