"""What the backend ``debug`` finds in a run: the class, the place in the source, the place in the grid."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval

F32 = np.float32


@gtscript.function
def root(x):
    return sqrt(x - 1.0)


def energies(inp: Field[F32], dt: F32, out: Field[F32]):
    with computation(PARALLEL), interval(...):
        t = inp * dt
        out = inp + root(t[1, 0, 0]) / (inp + dt)


def test_the_first_nan_is_shown_with_what_it_comes_from():
    inp, out = np.full((6, 5, 4), 3, F32), np.zeros((6, 5, 4), F32)
    inp[2, 3, 1] = 0.5
    with pytest.raises(errors.NaNError) as caught:
        gtscript.stencil("debug", energies, check_nan=True)(inp, 0.5, out)
    assert caught.value.index == (1, 3, 1)
    [found] = caught.value.diagnostics
    line = root.__wrapped__.__code__.co_firstlineno + 2
    assert (found["code"], found["line"], found["column"], found["end_column"]) == ("FS0604", line, 12, 25)
    assert (found["message"], found["label"]) == ("`out` becomes NaN at (1, 3, 1)", "this gives NaN")
    assert [entry["message"] for entry in found["related"]] == [
        "-0.75",
        "0.25",
        "assigned here",
        "in this call of `root`",
    ]
    assert isinstance(caught.value, FloatingPointError)
    assert isinstance(caught.value, errors.ExecutionError)


def masked(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            out = sqrt(inp)


def through(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[0, 1, 0]


def test_values_that_are_not_assigned_may_be_nan():
    inp = np.random.default_rng(0).standard_normal((9, 8, 7))
    out = np.zeros_like(inp)
    gtscript.stencil("debug", masked, check_nan=True)(inp, out)
    np.testing.assert_array_equal(out[inp > 0], np.sqrt(inp[inp > 0]))


def test_nan_is_no_error_unless_asked_for():
    inp, out = np.full((2, 2, 2), np.nan), np.zeros((2, 2, 2))
    gtscript.stencil("debug", through)(inp, out)
    assert np.isnan(out[:, 0]).all()
    with pytest.raises(errors.NaNError, match="this is NaN already") as caught:
        gtscript.stencil("debug", through, check_nan=True)(inp, out)
    assert caught.value.index == (0, 0, 0)


@pytest.mark.parametrize(
    ("backend", "given", "words"),
    [
        ("numpy", True, "check_nan=True is an option of the backend 'debug'"),
        ("cpu_ifirst", True, "this stencil is for 'cpu_ifirst'"),
        ("debug", "yes", "check_nan is yes, expected True or False"),
    ],
)
def test_check_nan_is_an_option_of_debug(backend: str, given: Any, words: str):
    with pytest.raises(errors.ArgumentValueError, match=re.escape(words)):
        gtscript.stencil(backend, through, check_nan=given)
    gtscript.stencil(backend, through, check_nan=False)


def test_an_access_outside_of_an_array_is_an_index_error():
    inp, out = np.ones((5, 4, 3)), np.zeros((5, 4, 3))
    with pytest.raises(errors.OutOfBoundsError, match=re.escape("covers I 0..5, J 0..4, K 0..3")) as caught:
        gtscript.stencil("debug", through)(inp, out, origin=(0, 0, 0), domain=(5, 4, 3), validate_args=False)
    assert caught.value.index == (0, 4, 0)
    assert isinstance(caught.value, IndexError)


def conditional(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            value = inp
        out = value  # fieldstone: ignore[FS0423]


def test_a_read_of_what_was_not_assigned_has_its_place():
    inp, out = np.ones((3, 3, 3)), np.zeros((3, 3, 3))
    inp[1, 2, 0] = -1.0
    with pytest.raises(errors.UninitialisedError) as caught:
        gtscript.stencil("debug", conditional)(inp, out)
    assert caught.value.index == (1, 2, 0)
    assert [entry["line"] for entry in caught.value.diagnostics] == [conditional.__code__.co_firstlineno + 4]


def test_arguments_that_share_memory_are_a_race_also_where_checks_are_left_out():
    data = np.ones((5, 4, 3))
    place: dict[str, Any] = {"origin": (0, 0, 0), "domain": (5, 3, 3)}
    with pytest.raises(errors.AliasError):
        gtscript.stencil("debug", through)(data, data, **place)
    with pytest.raises(errors.RaceError, match="in the same memory") as caught:
        gtscript.stencil("debug", through)(data, data, validate_args=False, **place)
    [found] = caught.value.diagnostics
    assert (found["code"], found["line"]) == ("FS0603", through.__code__.co_firstlineno)
