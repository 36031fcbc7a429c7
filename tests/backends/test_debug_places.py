"""What the backend `debug` says of accesses at computed places: the line, what is wrong there, and the point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import FORWARD, IJ, PARALLEL, Field, GlobalTable, I, computation, interval

SHAPE = (3, 3, 4)


def element(inp: Field[(float, (3,))], n: Field[IJ, int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[0, 0, 0][n]


def written_element(inp: Field[(float, (3,))], n: Field[IJ, int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = 0.0
        inp[0, 0, 0][-n] = 1.0


def entry(inp: GlobalTable[float, (3,)], n: Field[IJ, int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.A[n]


def level(inp: Field[float], n: Field[IJ, int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.at(K=n)


def levels_up(inp: Field[float], n: Field[IJ, int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[0, 0, n]


def written_level(inp: Field[float], n: Field[IJ, int], out: Field[float]):
    with computation(FORWARD), interval(...):
        out[0, 0, n] = inp


def searched(inp: Field[float], n: Field[IJ, int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        k = 3 * (n / 4)
        while inp.at(K=int(k)) == 1.0 and n > 0:
            k += 1.0
        out = k


def level_of_temporary(inp: Field[float], n: Field[IJ, int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        tmp = 2.0 * inp
    with computation(FORWARD), interval(...):
        out = tmp.at(K=n)


def in_rounds(inp: Field[float], n: Field[IJ, int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        rounds = 0
        while rounds < 4 - n:
            tmp = inp
            rounds += 1
        out = tmp


def in_region(inp: Field[float], n: Field[IJ, int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        with horizontal(region[I[0], :]):
            tmp = n * inp
        out = tmp


CASES = [
    (element, errors.OutOfBoundsError, (1, 2, 0), "inp[0, 0, 0][n]", "with the index 4 of data dimension 0"),
    (written_element, errors.OutOfBoundsError, (1, 2, 0), "inp[0, 0, 0][-n]", "with the index -4 of data dimension 0"),
    (entry, errors.OutOfBoundsError, (1, 2, 0), "inp.A[n]", "with the index 4 of data dimension 0"),
    (level, errors.OutOfBoundsError, (1, 2, 4), "inp.at(K=n)", "is accessed at (1, 2, 4)"),
    (levels_up, errors.OutOfBoundsError, (1, 2, 4), "inp[0, 0, n]", "is accessed at (1, 2, 4)"),
    (written_level, errors.OutOfBoundsError, (1, 2, 4), "out[0, 0, n]", "is accessed at (1, 2, 4)"),
    (searched, errors.OutOfBoundsError, (1, 2, 4), "inp.at(K=int(k))", "is accessed at (1, 2, 4)"),
    (level_of_temporary, errors.UninitialisedError, (1, 2, 4), "tmp.at(K=n)", "is read at (1, 2, 4)"),
    (in_rounds, errors.UninitialisedError, (1, 2, 0), "tmp", "is read at (1, 2, 0)"),
    (in_region, errors.UninitialisedError, (1, 0, 0), "tmp", "is read at (1, 0, 0)"),
]


@pytest.mark.parametrize(
    ("definition", "kind", "index", "marked", "words"), CASES, ids=[case[0].__name__ for case in CASES]
)
def test_the_place_is_in_the_message(
    definition: Callable[..., Any], kind: type[errors.ExecutionError], index: Any, marked: str, words: str
) -> None:
    stencil = gtscript.stencil(backend="debug", definition=definition, ignore=["FS0423"])
    shape = {element: (*SHAPE, 3), written_element: (*SHAPE, 3), entry: (3,)}.get(definition, SHAPE)
    n = np.zeros(SHAPE[:2], int)
    n[1, 2] = 4
    with pytest.raises(kind) as caught:
        stencil(np.ones(shape), n, np.zeros(SHAPE))
    [found] = caught.value.diagnostics
    assert caught.value.index == index
    assert words in str(found["message"])
    with open(__file__) as file:
        line = file.readlines()[int(str(found["line"])) - 1]
    assert line[int(str(found["column"])) - 1 : int(str(found["end_column"])) - 1] == marked
