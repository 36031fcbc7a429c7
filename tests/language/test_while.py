"""`while`: each point repeats the body by itself until its condition holds no longer."""

from __future__ import annotations

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, PARALLEL, Field, K, computation, interval  # noqa: F401


def halve(inp: Field["real"], out: Field["real"], rounds: Field["int32"]):
    with computation(PARALLEL), interval(...):
        value = inp
        count = 0
        while abs(value) > 0.5:
            value = value * 0.5
            count += 1
        out = value
        rounds = count


def test_each_point_has_rounds_of_its_own(check):
    def reference(f):
        value, count = f.inp.copy(), np.zeros(f.inp.shape, int)
        while (active := abs(value) > 0.5).any():
            value[active] *= 0.5
            count[active] += 1
        f.out[...] = value
        f.rounds[...] = count

    check(halve, reference)


def no_round(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = inp
        while out > 1000.0:
            out = out - 1.0


def test_a_loop_may_have_no_round_at_all(check):
    def reference(f):
        f.out[...] = f.inp

    check(no_round, reference)


def nested(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = 0.0
        outer = 0
        while outer < 3:
            inner = outer
            while inner < 3 and inp + inner < 2.0:
                if inp > 0.0:
                    out += inp
                else:
                    out -= 1.0
                inner += 1
            outer += 1


def test_loops_in_loops_and_conditions_in_loops(check):
    def reference(f):
        result = np.zeros_like(f.inp)
        for outer in range(3):
            inner = np.full(f.inp.shape, outer)
            while (active := (inner < 3) & (f.inp + inner.astype(f.inp.dtype) < 2.0)).any():
                result = np.where(active, np.where(f.inp > 0, result + f.inp, result - f.inp.dtype.type(1)), result)
                inner[active] += 1
        f.out[...] = result

    check(nested, reference)


def in_a_branch(inp: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            out = inp
        with interval(1, None):
            out = out[0, 0, -1]
            if inp > 0.0:
                while out < inp:
                    out = out + 0.25
            else:
                out = inp


def test_a_loop_under_a_condition_and_in_a_vertical_loop(check):
    def reference(f):
        f.out[:, :, 0] = f.inp[:, :, 0]
        for k in range(1, f.inp.shape[2]):
            value, inp = f.out[:, :, k - 1].copy(), f.inp[:, :, k]
            while (active := (inp > 0) & (value < inp)).any():
                value[active] += 0.25
            f.out[:, :, k] = np.where(inp > 0, value, inp)

    check(in_a_branch, reference)


@gtscript.function
def residual(x, target):
    square = x * x
    return square - target


def newton(inp: Field["real"], out: Field["real"], tolerance: "real"):
    with computation(PARALLEL), interval(...):
        target = abs(inp)
        out = target + 1.0
        rounds = 0
        while abs(residual(out, target)) > tolerance and rounds < 60:
            out = out - residual(out, target) / (2.0 * out)
            rounds += 1


def test_functions_in_the_condition_are_evaluated_in_every_round(check):
    """A saturation adjustment in small: Newton's iteration until the residual is small enough at each point."""

    def reference(f, tolerance):
        target = abs(f.inp)
        x = target + f.inp.dtype.type(1)
        for _ in range(60):
            active = abs(x * x - target) > tolerance
            x = np.where(active, x - (x * x - target) / (2 * x), x)
        f.out[...] = x

    check(newton, reference, scalars=lambda rng, domain: {"tolerance": 1e-3})


def wider(inp: Field["real"], out: Field["real"], smooth: Field["real"]):
    with computation(PARALLEL), interval(...):
        value = inp
        while value > 1.0:
            value = value - 1.0
            out = value
        smooth = value[1, 0, 0] + value[-1, 0, 0]


def test_a_field_that_a_loop_assigns_stays_inside_of_the_domain(check):
    """The loop runs around the domain too, since a neighbour of what it computes is read."""

    def last(values):
        values, ran = values.copy(), np.zeros(values.shape, bool)
        while (active := values > 1.0).any():
            values[active] -= 1.0
            ran |= active
        return values, ran

    def reference(f):
        value, ran = last(f.inp)
        f.out[ran] = value[ran]
        f.smooth[...] = last(f.at("inp", 1, 0, 0))[0] + last(f.at("inp", -1, 0, 0))[0]

    check(wider, reference)


def sometimes(inp: Field["real"], mask: Field[bool], out: Field["real"], wide: Field["real"]):
    with computation(PARALLEL), interval(...):
        rounds = 0
        while rounds < 2:
            if mask:
                out = inp
            rounds += 1
        wide = rounds[1, -1, 0] + rounds[-1, 0, 0]


def test_a_round_may_leave_a_field_as_it_is(check):
    def reference(f):
        f.out[...] = np.where(f.mask, f.inp, f.out)
        f.wide[...] = 4

    check(sometimes, reference)


def deposits(inp: Field["real"], level: Field["int32"], out: Field["real"], wide: Field["real"]):
    with computation(FORWARD), interval(...):
        rounds = 0
        while rounds < 2:
            out[0, 0, level - K] = inp + rounds
            rounds += 1
        wide = rounds[1, 0, 0] + out


@pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"])
def test_what_a_loop_assigns_at_a_level_that_is_computed_is_kept(backend):
    """Also where the level is the one that is computed, and the loop runs around the domain."""
    rng = np.random.default_rng(3)
    inp, out, wide = rng.random((3, 8, 6, 5))
    level = rng.integers(0, 5, (8, 6, 5)).astype(np.int32)
    expected, beside = out.copy(), wide.copy()
    for k in range(5):
        np.put_along_axis(expected, level[:, :, k : k + 1].astype(int), inp[:, :, k : k + 1] + 1.0, axis=2)
        beside[:, :, k] = 2.0 + expected[:, :, k]
    stencil = gtscript.stencil(backend, deposits, dtypes={"real": float})
    stencil(inp, level, out, wide, origin=(1, 1, 0), domain=(6, 4, 5))
    inside = np.s_[1:-1, 1:-1]
    assert np.array_equal(out[inside], expected[inside])
    assert np.array_equal(wide[inside], beside[inside])


def endless(out: Field[float], steps: int):
    with computation(PARALLEL), interval(...):
        while steps > 0:
            out = out + 1.0


def always(out: Field[float]):
    with computation(PARALLEL), interval(...):
        while True:
            out = out + 1.0


def neighbours(out: Field[float]):
    with computation(PARALLEL), interval(...):
        while out < 1.0:
            out = out + 1.0
            tmp = out[1, 0, 0]
            out = tmp


def leaves(out: Field[float]):
    with computation(PARALLEL), interval(...):
        while out < 1.0:
            out = out + 1.0
            break


@pytest.mark.parametrize(
    ("definition", "code", "words"),
    [
        (endless, "FS0220", "nothing inside of it changes its condition"),
        (always, "FS0220", "its condition always holds"),
        (neighbours, "FS0410", "neighbours of `out` are read in the `while` that assigns it"),
        (leaves, "FS0002", "`break` is not part of gtscript"),
    ],
)
def test_loops_without_a_meaning_are_refused(definition, code, words):
    with pytest.raises(errors.GTScriptError, match=code) as error:
        gtscript.stencil("numpy", definition)
    assert words in str(error.value)
