"""What gtscript means: every construct against NumPy, on the backend that checks every access and on native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, IJ, PARALLEL, Field, I, J, K, computation, interval

F64 = np.float64
Array = npt.NDArray[Any]
H = 2
SHAPE = (5, 4, 6)


@pytest.fixture(params=["debug", "numpy", "cpu_ifirst"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def at(field: Array, i: int = 0, j: int = 0) -> Array:
    """The domain of a padded field, moved by an offset."""
    return field[H + i : H + i + SHAPE[0], H + j : H + j + SHAPE[1]]


def result(backend: str, definition: Callable[..., Any], **externals: Any) -> tuple[Array, Array]:
    """A padded field of random numbers, and what the stencil writes for it."""
    inp = np.random.default_rng(7).normal(size=(SHAPE[0] + 2 * H, SHAPE[1] + 2 * H, SHAPE[2]))
    out = np.zeros(SHAPE)
    stencil = gtscript.stencil(backend=backend, definition=definition, externals=externals)
    stencil(inp, out, origin={"inp": (H, H, 0), "out": (0, 0, 0)}, domain=SHAPE)
    return inp, out


@gtscript.function
def difference(f):
    return f[1, 0, 0] - f


@gtscript.function
def second(f):
    return difference(difference(f[-1, 0, 0]))


@gtscript.function
def gradient(f, *, scale=0.5):
    return scale * difference(f), scale * (f[0, 1, 0] - f)


@gtscript.function
def clipped(f, bound=0.25):
    if f > bound:
        f = bound
    return f


@gtscript.function
def sign(f):
    if f > 0.0:
        return 1.0
    elif f < 0.0:
        return -1.0
    else:
        return 0.0


@gtscript.function
def apply(operation, f):
    return operation(f)


def test_offsets_of_plain_arguments_compose(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = difference(inp[-1, 1, 0])

    inp, out = result(backend, definition)
    np.testing.assert_array_equal(out, at(inp, 0, 1) - at(inp, -1, 1))


def test_offsets_of_expressions_move_the_expression(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = difference(inp * inp[0, 1, 0])

    inp, out = result(backend, definition)
    np.testing.assert_array_equal(out, at(inp, 1) * at(inp, 1, 1) - at(inp) * at(inp, 0, 1))


def test_functions_nest(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = second(inp)

    inp, out = result(backend, definition)
    np.testing.assert_array_equal(out, (at(inp, 1) - at(inp)) - (at(inp) - at(inp, -1)))


def test_functions_have_several_results_defaults_and_keywords(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            dx, dy = gradient(inp)
            ex, ey = gradient(f=inp, scale=2.0)
            out = dx * dy + ex * ey

    inp, out = result(backend, definition)
    dx, dy = at(inp, 1) - at(inp), at(inp, 0, 1) - at(inp)
    np.testing.assert_array_equal(out, (0.5 * dx) * (0.5 * dy) + (2.0 * dx) * (2.0 * dy))


def test_functions_change_their_own_arguments_only(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            value = inp
            limited = clipped(value)
            out = limited + 10.0 * value

    inp, out = result(backend, definition)
    np.testing.assert_array_equal(out, np.minimum(at(inp), 0.25) + 10.0 * at(inp))


def test_functions_return_from_branches(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = sign(inp) + 3.0 * sign(-inp)

    inp, out = result(backend, definition)
    np.testing.assert_array_equal(out, -2.0 * np.sign(at(inp)))


@gtscript.function
def steep(f):
    slope = f[1, 0, 0] - f
    return slope * slope


@gtscript.function
def chosen(f):
    if f > 0.0:
        return steep(f)
    elif f > -0.5:
        return steep(2.0 * f) + 1.0
    else:
        return -steep(f[-1, 0, 0])


@gtscript.function
def chosen_again(f):
    if f < 1.0:
        return chosen(f)
    else:
        return chosen(0.5 * f)


def test_branches_return_what_functions_compute(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = chosen_again(inp)

    def by_hand(scale: float) -> Array:
        here, behind, before = scale * at(inp), scale * at(inp, -1), scale * at(inp, 1)
        low = np.where(here > -0.5, (2.0 * (before - here)) ** 2 + 1.0, -((here - behind) ** 2))
        return np.where(here > 0.0, (before - here) ** 2, low)

    inp, out = result(backend, definition)
    np.testing.assert_allclose(out, np.where(at(inp) < 1.0, by_hand(1.0), by_hand(0.5)), rtol=1e-13)


def test_functions_are_arguments(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = apply(difference, inp)

    inp, out = result(backend, definition)
    np.testing.assert_array_equal(out, at(inp, 1) - at(inp))


def test_functions_called_under_a_condition_see_all_neighbours(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            if inp > 0.0:
                out = second(2.0 * inp)
            elif second(3.0 * inp) > 0.0:
                out = 1.0
            else:
                out = -1.0

    inp, out = result(backend, definition)
    inner = 2.0 * inp
    curved = (at(inner, 1) - at(inner)) - (at(inner) - at(inner, -1))
    inner = 3.0 * inp
    other = (at(inner, 1) - at(inner)) - (at(inner) - at(inner, -1))
    np.testing.assert_array_equal(out, np.where(at(inp) > 0.0, curved, np.where(other > 0.0, 1.0, -1.0)))


def test_expressions_are_moved_along_k_in_every_order(backend: str):
    @gtscript.function
    def below(f):
        return f[0, 0, -1]

    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(1, None):
            out = below(2.0 * inp)
        with computation(FORWARD), interval(0, 1):
            out = below(inp[0, 0, 1] + 1.0)

    inp, out = result(backend, definition)
    np.testing.assert_array_equal(out[:, :, 1:], 2.0 * at(inp)[:, :, :-1])
    np.testing.assert_array_equal(out[:, :, 0], at(inp)[:, :, 0] + 1.0)


def test_tuples_are_assigned_at_once(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            a = inp
            b = 2.0 * inp
            a, b = b, a
            c = d = a - b
            out = a + 10.0 * b + 100.0 * c + 1000.0 * d

    inp, out = result(backend, definition)
    x = at(inp)
    np.testing.assert_array_equal(out, 2.0 * x + 10.0 * x + 100.0 * x + 1000.0 * x)


def test_axes_name_offsets(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(FORWARD), interval(1, -1):
            out = inp[I + 1, J - 1] + inp[K - 1] + inp[K + 1, I - 1] + inp[...]

    inp, out = result(backend, definition)
    below, above = at(inp)[:, :, :-2], at(inp, -1)[:, :, 2:]
    np.testing.assert_array_equal(out[:, :, 1:-1], at(inp, 1, -1)[:, :, 1:-1] + below + above + at(inp)[:, :, 1:-1])


def test_comparisons_chain(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = 1.0 if -0.5 < inp <= 0.5 != inp[1, 0, 0] else 0.0

    inp, out = result(backend, definition)
    np.testing.assert_array_equal(out, (at(inp) > -0.5) & (at(inp) <= 0.5) & (at(inp, 1) != 0.5))


def test_conditions_known_at_compile_time_choose_code(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        from __externals__ import order, with_sum

        compile_assert(order > 0)
        if order == 2:
            with computation(PARALLEL), interval(...):
                out = inp
        else:
            with computation(PARALLEL), interval(...):
                out = missing
        with computation(PARALLEL), interval(...):
            if __INLINED(with_sum and order >= 2):
                out += 1.0
            else:
                out += missing
            out = out * 2.0 if order == 2 else missing

    inp, out = result(backend, definition, order=2, with_sum=True)
    np.testing.assert_array_equal(out, (at(inp) + 1.0) * 2.0)


def test_intervals_come_from_externals(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        from __externals__ import depth

        with computation(BACKWARD):
            with interval(-depth, None):
                out = inp
            with interval(0, -depth):
                out = out[0, 0, 1] + inp

    inp, out = result(backend, definition, depth=2)
    expected = at(inp).copy()
    for k in reversed(range(SHAPE[2] - 2)):
        expected[:, :, k] += expected[:, :, k + 1]
    np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_min_and_max_take_any_number_of_values(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = min(inp, inp[1, 0, 0], inp[0, 1, 0], 0.5) + max(inp, inp[-1, 0, 0], -0.5)

    inp, out = result(backend, definition)
    smallest = np.minimum(np.minimum(at(inp), at(inp, 1)), np.minimum(at(inp, 0, 1), 0.5))
    np.testing.assert_array_equal(out, smallest + np.maximum(np.maximum(at(inp), at(inp, -1)), -0.5))


def test_lower_dimensional_fields_are_read_along_their_axes(backend: str):
    def definition(inp: Field[F64], surface: Field[IJ, F64], profile: Field[K, F64], out: Field[F64]):
        with computation(FORWARD), interval(1, None):
            out = inp + surface[1, 0] * profile[-1] + surface[J + 1]

    rng = np.random.default_rng(3)
    inp, surface, profile = rng.normal(size=SHAPE), rng.normal(size=(6, 5)), rng.normal(size=6)
    out = np.zeros(SHAPE)
    gtscript.stencil(backend=backend, definition=definition)(inp, surface, profile, out, domain=SHAPE, origin=(0, 0, 0))
    expected = inp[:, :, 1:] + surface[1:, :-1, None] * profile[None, None, :-1] + surface[:-1, 1:, None]
    np.testing.assert_array_equal(out[:, :, 1:], expected)


def test_numpy_scalars_have_their_type_and_literals_take_it(backend: str):
    def definition(inp: Field[np.float32], out: Field[np.float32]):
        from __externals__ import strong, weak

        with computation(PARALLEL), interval(...):
            a = weak * inp
            b = strong * inp
            out = float32(b) - a + (1.0 / 3.0) * inp

    inp = np.random.default_rng(5).normal(size=SHAPE).astype(np.float32)
    out = np.zeros_like(inp)
    externals = {"weak": 0.1, "strong": np.float64(0.1)}
    gtscript.stencil(backend=backend, definition=definition, externals=externals)(inp, out)
    expected = (np.float64(0.1) * inp).astype(np.float32) - 0.1 * inp + (1.0 / 3.0) * inp
    assert expected.dtype == np.float32
    np.testing.assert_array_equal(out, expected)


def test_temporaries_have_the_type_of_their_annotation(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            a: np.float32 = inp
            b: Field[float32] = inp[1, 0, 0]
            c: Field[IJK, "single"] = inp[0, 1, 0]
            d: int = 2.7
            out = float(a) + float(b) + float(c) + d

    inp = np.random.default_rng(7).normal(size=(6, 5, 2))
    out = np.zeros((5, 4, 2))
    stencil = gtscript.stencil(backend=backend, definition=definition, dtypes={"single": np.float32})
    stencil(inp, out, origin=(0, 0, 0), domain=(5, 4, 2))
    a, b, c = (part.astype(np.float32).astype(F64) for part in (inp[:-1, :-1], inp[1:, :-1], inp[:-1, 1:]))
    np.testing.assert_array_equal(out, a + b + c + 2.0)


def test_temporaries_may_hide_functions_and_axes(backend: str):
    def definition(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            gamma = 2.0 * inp
            mod = gamma + 1.0
            K = mod[1, 0, 0]
            out = gamma + mod + K

    inp, out = result(backend, definition)
    np.testing.assert_array_equal(out, 2.0 * at(inp) + (2.0 * at(inp) + 1.0) + (2.0 * at(inp, 1) + 1.0))
