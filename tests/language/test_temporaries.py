"""Temporaries along some axes."""

from __future__ import annotations

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, IJ, IJK, PARALLEL, Field, K, computation, interval


def carried(inp: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            total: Field[IJ, "real"] = inp
            out = total
        with interval(1, None):
            total = total + inp
            out = total


def test_a_temporary_without_levels_has_the_value_of_the_level_before(check):
    def reference(f):
        f.out[..., 0] = f.inp[..., 0]
        for k in range(1, f.out.shape[2]):
            f.out[..., k] = f.out[..., k - 1] + f.inp[..., k]

    check(carried, reference)


def of_the_last_level(inp: Field["real"], out: Field["real"], first: Field[IJ, "real"]):
    with computation(BACKWARD):
        with interval(-1, None):
            most: Field[IJ, "real"] = inp
        with interval(0, -1):
            most = max(most, inp)
    with computation(PARALLEL), interval(...):
        out = inp - most
    with computation(FORWARD), interval(0, 1):
        first = most[1, 0]


def test_later_computations_read_the_last_value(check):
    def reference(f):
        f.out[...] = f.inp - f.inp.max(axis=2, keepdims=True)
        f.first[...] = f.at("inp", 1, 0, 0).max(axis=2)

    check(of_the_last_level, reference)


def from_other_columns(inp: Field["real"], out: Field["real"]):
    with computation(FORWARD), interval(...):
        here: Field[IJ, "real"] = inp
        out = here[1, 0] + here[0, -1]


def test_neighbours_are_those_of_the_level(check):
    def reference(f):
        f.out[...] = f.at("inp", 1, 0, 0) + f.at("inp", 0, -1, 0)

    check(from_other_columns, reference)


def of_one_level(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(0, 1):
        surface: Field[IJ, "real"] = 2.0 * inp
    with computation(PARALLEL), interval(...):
        out = inp - surface[-1, 0] * surface


def test_one_level_of_a_parallel_computation_can_assign_it(check):
    def reference(f):
        f.out[...] = f.inp - (2 * f.at("inp", -1, 0, 0)[..., :1]) * (2 * f.inp[..., :1])

    check(of_one_level, reference)


def declared(inp: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            before: Field[IJ, "real"]
            before = 0.0
            out = before
            before = inp
        with interval(1, None):
            out = before
            before = inp
            if inp < 0.0:
                before = before - 1.0


def test_it_is_read_before_it_is_assigned_anew(check):
    def reference(f):
        f.out[..., 0] = 0
        for k in range(1, f.out.shape[2]):
            f.out[..., k] = f.inp[..., k - 1] - (np.where(f.inp[..., k - 1] < 0, 1, 0) if k > 1 else 0)

    check(declared, reference)


def two_loops(inp: Field["real"], out: Field["real"], back: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            state: Field[IJ, "real"] = inp
            out = state
        with interval(1, None):
            state = 0.5 * (state + inp)
            out = state
    with computation(BACKWARD), interval(...):
        state = 0.5 * (state + out)
        back = state


def test_it_lives_on_in_the_next_loop(check):
    def reference(f):
        state = f.inp[..., 0].copy()
        f.out[..., 0] = state
        half = f.inp.dtype.type(0.5)
        for k in range(1, f.out.shape[2]):
            state = half * (state + f.inp[..., k])
            f.out[..., k] = state
        for k in reversed(range(f.out.shape[2])):
            state = half * (state + f.out[..., k])
            f.back[..., k] = state

    check(two_loops, reference)


def test_a_parallel_computation_of_many_levels_cannot_assign_it():
    def ambiguous(inp: Field[float], out: Field[float]):
        with computation(PARALLEL), interval(...):
            last: Field[IJ, float] = inp
            out = last

    with pytest.raises(errors.GTScriptDefinitionError, match=r"FS0404.*`last` has no K axis"):
        gtscript.stencil("numpy", ambiguous)


def test_no_computation_can_assign_a_temporary_of_levels_only():
    def ambiguous(inp: Field[float], out: Field[float]):
        with computation(FORWARD), interval(...):
            profile: Field[K, float] = inp
            out = profile

    with pytest.raises(errors.GTScriptDefinitionError, match=r"FS0404.*`profile` has no I axis"):
        gtscript.stencil("numpy", ambiguous)


def test_its_axes_are_given_once():
    def twice(inp: Field[float], out: Field[float]):
        with computation(FORWARD), interval(...):
            last: Field[IJ, float] = inp
            last: Field[IJK, float] = inp
            out = last

    with pytest.raises(errors.GTScriptError, match="`last` is annotated with two types"):
        gtscript.stencil("numpy", twice)


def test_no_value_is_read_before_one_is_assigned():
    def early(inp: Field[float], out: Field[float]):
        with computation(FORWARD), interval(...):
            last: Field[IJ, float]
            out = last

    with pytest.raises(errors.GTScriptDefinitionError, match="`last` is read before it is assigned"):
        gtscript.stencil("numpy", early)


def at_first(inp: Field["real"], out: Field["real"], later: Field["real"]):
    from __externals__ import COUNT, LOW

    total: Field["real"] = 2.0
    lowest: float = -LOW
    vector: Field[IJK, ("real", (COUNT,))] = 1
    surface: Field[IJ, "real"] = 3.0
    unset: Field["real"]
    with computation(FORWARD):
        with interval(1, -1):
            total = total[0, 0, -1] + inp
            vector[0, 0, 0][COUNT - 1] = inp
        with interval(-1, None):
            surface = inp
    with computation(PARALLEL), interval(...):
        unset = vector[1, 0, 0][1] + vector[0, 0, 0][0]
        out = total + lowest * unset
        later = total[1, 0, 0] - surface[0, -1]


def test_temporaries_are_declared_outside_of_computations(check):
    def reference(f):
        real = f.out.dtype.type

        def total(inp):
            total = np.full_like(inp, 2)
            for k in range(1, inp.shape[2] - 1):
                total[..., k] = total[..., k - 1] + inp[..., k]
            return total

        vector = np.ones_like(f.inp)
        vector[..., 1:-1] = f.at("inp", 1, 0, 0)[..., 1:-1]
        f.out[...] = total(f.inp) + (-4.0 * (vector + real(1)).astype(float)).astype(real)
        f.later[...] = total(f.at("inp", 1, 0, 0)) - f.at("inp", 0, -1, 0)[..., -1:]

    check(at_first, reference, externals={"COUNT": 2, "LOW": 4.0})


def from_a_field(inp: Field[float], out: Field[float]):
    t: Field[float] = inp
    with computation(PARALLEL), interval(...):
        out = t


def of_an_output(inp: Field[float], out: Field[float]):
    out: Field[float] = 0.0
    with computation(PARALLEL), interval(...):
        out += inp


def too_late(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        t = inp
        out = t
    t: Field[float] = 0.0


def never_set(inp: Field[float], out: Field[float]):
    t: Field[float]
    with computation(PARALLEL), interval(...):
        out = inp + t


def without_type(inp: Field[float], out: Field[float]):
    t = 0.0
    with computation(PARALLEL), interval(...):
        out = inp + t


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (from_a_field, "a value outside of every computation must be known at compile time"),
        (of_an_output, "`out` is declared outside of every computation, but it is known already"),
        (too_late, "`t` is declared outside of every computation, but it is known already"),
        (never_set, "`t` is read before it is assigned"),
        (without_type, "a statement stands outside of every computation"),
    ],
)
def test_what_can_stand_outside_of_computations(definition, words):
    with pytest.raises(errors.GTScriptError, match=words):
        gtscript.stencil("numpy", definition)
