"""Small programs, one for each construct of gtscript, written against GT4Py's names only.

The same file runs on GT4Py and on fieldstone; `run_constructs` gives what each program makes of the same random data.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import IJ, IJK, BACKWARD, FORWARD, PARALLEL, Field, I, J, K, computation, interval

ORIGIN = {"I": 2, "J": 2, "K": 1}
DOMAIN = {"I": 5, "J": 4, "K": 5}
SHAPE = {"I": 9, "J": 8, "K": 7}


@dataclass
class Construct:
    """A program and how it is called.

    Attributes
    ----------
    definition : function
        The stencil.
    options : dict
        Keyword arguments of ``gtscript.stencil``.
    data : dict
        Range of random values by name, in place of -2 to 2 for reals and -4 to 4 for integers.
    scalars : dict
        Values by name, in place of 1.5, 2 and True.
    call : dict
        Keyword arguments of the call, in place of the usual origin and domain.
    """

    definition: Callable[..., None]
    options: dict[str, Any] = field(default_factory=dict)
    data: dict[str, tuple[float, float]] = field(default_factory=dict)
    scalars: dict[str, Any] = field(default_factory=dict)
    call: dict[str, Any] = field(default_factory=dict)


CONSTRUCTS: dict[str, Construct] = {}


def construct(
    data: Mapping[str, tuple[float, float]] | None = None,
    scalars: Mapping[str, Any] | None = None,
    call: Mapping[str, Any] | None = None,
    **options: Any,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Put a program into the table."""

    def add(definition: Callable[..., None]) -> Callable[..., None]:
        CONSTRUCTS[definition.__name__] = Construct(
            definition, dict(options), dict(data or {}), dict(scalars or {}), dict(call or {})
        )
        return definition

    return add


def arguments(case: Construct, stencil: Any) -> dict[str, Any]:
    """Random arguments, the same wherever this runs."""
    random = np.random.default_rng(zlib.crc32(case.definition.__name__.encode()))
    made: dict[str, Any] = {}
    for name, info in sorted(stencil.field_info.items()):
        shape = tuple(SHAPE[axis] for axis in info.axes) + tuple(info.data_dims)
        dtype = np.dtype(info.dtype)
        if dtype.kind == "b":
            made[name] = random.random(shape) < 0.5
        elif dtype.kind in "iu":
            low, high = case.data.get(name, (-4, 5))
            made[name] = random.integers(int(low), int(high), shape).astype(dtype)
        else:
            low, high = case.data.get(name, (-2.0, 2.0))
            made[name] = random.uniform(low, high, shape).astype(dtype)
    for name, info in stencil.parameter_info.items():
        value = case.scalars.get(name, {"b": True, "i": 2, "f": 1.5}[np.dtype(info.dtype).kind])
        made[name] = np.dtype(info.dtype).type(value)
    return made


def origins(stencil: Any) -> dict[str, tuple[int, ...]]:
    """Where the domain begins in each field."""
    return {
        name: tuple(ORIGIN[axis] for axis in info.axes) + (0,) * len(info.data_dims)
        for name, info in stencil.field_info.items()
    }


def run_construct(name: str, backend: str) -> dict[str, np.ndarray]:
    """What the call changes: by name of the field, its values where they are others than before, and NaN elsewhere."""
    case = CONSTRUCTS[name]
    stencil = gtscript.stencil(backend=backend, definition=case.definition, format_source=False, **case.options)
    given = arguments(case, stencil)
    before = {name: given[name].copy() for name in stencil.field_info}
    call = {"origin": origins(stencil), "domain": tuple(DOMAIN.values())} | case.call
    stencil(**given, **call)
    changed = {name: given[name] != values for name, values in before.items()}
    return {name: np.where(where, given[name], np.nan) for name, where in changed.items() if where.any()}


# --- reading and writing


@construct()
def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp


@construct()
def zero_offsets(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out[0, 0, 0] = inp[0, 0, 0]


@construct()
def offsets(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[-1, 0, 0] + 2.0 * inp[1, 0, 0] + 3.0 * inp[0, -2, 0] + 4.0 * inp[0, 1, 0] + 5.0 * inp[1, -1, -1]


@construct()
def offsets_by_axis(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[I - 1] + 2.0 * inp[J + 2] + 3.0 * inp[I + 1, J - 1] + 4.0 * inp[K - 1] + 5.0 * inp[I, K + 1]


@construct(externals={"shift": 2})
def offsets_by_axis_and_external(inp: Field[float], out: Field[float]):
    from __externals__ import shift

    with computation(PARALLEL), interval(...):
        out = inp[I - shift] + inp[J + shift]


@construct(externals={"mode": np.int64(2), "switch": np.bool_(False), "factor": np.float64(0.5)})
def externals_that_are_numpys(inp: Field[float], out: Field[float]):
    from __externals__ import factor, mode, switch

    with computation(PARALLEL), interval(...):
        if __INLINED(mode == 2 and not switch):
            out = inp[-1, 0, 0] * factor
        else:
            out = inp[0, 1, 0]
        if __INLINED(mode - 1 > 1 or factor < 0.25):
            out = 2.0 * out
        out = -out + mode


@construct()
def vertical_offsets_in_parallel(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(1, -1):
        out = inp[0, 0, 1] - inp[0, 0, -1]


@construct()
def in_place(inout: Field[float]):
    with computation(PARALLEL), interval(...):
        inout = 2.0 * inout + 1.0


@construct()
def written_then_read(inp: Field[float], out: Field[float], again: Field[float]):
    with computation(PARALLEL), interval(...):
        out = 2.0 * inp
        again = out + 1.0


@construct()
def plane(surface: Field[IJ, float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = surface + surface[1, 0] - surface[0, -1]


@construct()
def profile(levels: Field[K, float], out: Field[float]):
    with computation(PARALLEL), interval(1, None):
        out = levels + 10.0 * levels[-1]


@construct()
def row(along: Field[I, float], across: Field[J, float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = along + 10.0 * across


@construct()
def slice_of_planes(upright: Field[gtscript.IK, float], out: Field[float]):
    with computation(PARALLEL), interval(1, None):
        out = upright[1, 0] + upright[0, -1]


@construct()
def plane_written_in_a_loop(inp: Field[float], total: Field[IJ, float]):
    with computation(FORWARD), interval(...):
        total = total + inp


@construct()
def plane_of_the_last_level(inp: Field[float], last: Field[IJ, float]):
    with computation(FORWARD), interval(-1, None):
        last = inp


@construct()
def plane_written_backward(inp: Field[float], first: Field[IJ, float]):
    with computation(BACKWARD), interval(...):
        first = inp


@construct()
def named_axes(inp: Field[IJK, float], out: Field[IJK, np.float64]):
    with computation(PARALLEL), interval(...):
        out = inp


@construct(call={"origin": {"_all_": (1, 2, 1), "out": (0, 1, 2)}, "domain": (4, 3, 5)})
def origin_for_each(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp


@construct(call={"origin": (2, 2, 0), "domain": (3, 3, 7)})
def origin_for_all(inp: Field[float], out: Field[float], surface: Field[IJ, float]):
    with computation(PARALLEL), interval(...):
        out = inp[1, 0, 0] + surface


@construct(call={"origin": (1, 0, 1), "domain": None})
def domain_from_the_arrays(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[-1, 0, 0] + inp[1, 0, 0] + inp[0, 1, 0]


# --- temporaries


@construct()
def temporary(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        double = 2.0 * inp
        out = double + 1.0


@construct()
def temporary_at_an_offset(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        lap = 4.0 * inp - inp[1, 0, 0] - inp[-1, 0, 0] - inp[0, 1, 0] - inp[0, -1, 0]
        out = lap[1, 0, 0] - lap[0, -1, 0]


@construct()
def temporaries_of_temporaries(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        a = inp[1, 0, 0] - inp
        b = a[-1, 0, 0] + a[0, 1, 0]
        out = b * a[-1, 0, 0]


@construct()
def temporary_of_another_computation(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        a = inp * inp
    with computation(PARALLEL), interval(1, None):
        out = a[0, 0, -1] + a[1, 0, 0]


@construct()
def temporary_updated(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        a = inp
        a = a + 1.0
        a *= 2.0
        out = a


@construct()
def temporary_updated_between_offsets(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        a = inp
        b = a[1, 0, 0]
        a = 3.0 * inp
        out = a[-1, 0, 0] + b


@construct()
def temporary_by_intervals(inp: Field[float], out: Field[float]):
    with computation(PARALLEL):
        with interval(0, 2):
            a = inp
        with interval(2, None):
            a = -inp
    with computation(PARALLEL), interval(...):
        out = a


@construct()
def temporary_carried_forward(inp: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            total = inp
            out = total
        with interval(1, None):
            total = total[0, 0, -1] + inp
            out = total


@construct()
def typed_temporaries(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        low: float32 = inp
        count: int = 3
        out = low + count


@construct()
def temporary_of_integers(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        seven = 7
        out = inp + seven / 2


@construct()
def temporary_plane(inp: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            total: Field[IJ, float] = 0.0
            total = inp
        with interval(1, None):
            total = total + inp
            out = total


# --- intervals and orders


@construct()
def intervals(inp: Field[float], out: Field[float]):
    with computation(PARALLEL):
        with interval(0, 1):
            out = inp
        with interval(1, -1):
            out = 2.0 * inp
        with interval(-1, None):
            out = 3.0 * inp


@construct()
def negative_intervals(inp: Field[float], out: Field[float]):
    with computation(PARALLEL):
        with interval(0, -3):
            out = inp
        with interval(-3, -1):
            out = 2.0 * inp


@construct()
def some_levels_only(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(2, 4):
        out = inp


@construct(externals={"first": 1, "last": -2})
def intervals_by_externals(inp: Field[float], out: Field[float]):
    from __externals__ import first, last

    with computation(PARALLEL), interval(first, last):
        out = inp


@construct(externals={"first": 2})
def interval_of_an_expression(inp: Field[float], out: Field[float]):
    from __externals__ import first

    with computation(PARALLEL), interval(first - 1, first + 2):
        out = inp


@construct()
def nested_with(inp: Field[float], out: Field[float]):
    with computation(PARALLEL):
        with interval(...):
            out = inp


@construct()
def forward(inp: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            out = inp
        with interval(1, None):
            out = 0.5 * out[0, 0, -1] + inp


@construct()
def backward(inp: Field[float], out: Field[float]):
    with computation(BACKWARD):
        with interval(-1, None):
            out = inp
        with interval(0, -1):
            out = 0.5 * out[0, 0, 1] + inp


@construct()
def looks_ahead_forward(inp: Field[float], out: Field[float]):
    with computation(FORWARD), interval(0, -1):
        out = out[0, 0, 1] + inp


@construct()
def two_sweeps(inp: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            up = inp
        with interval(1, None):
            up = up[0, 0, -1] * 0.5 + inp
    with computation(BACKWARD):
        with interval(-1, None):
            out = up
        with interval(0, -1):
            out = up - 0.25 * out[0, 0, 1]


@construct(data={"diag": (3.0, 4.0)})
def tridiagonal(inf: Field[float], diag: Field[float], sup: Field[float], rhs: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            sup = sup / diag
            rhs = rhs / diag
        with interval(1, None):
            sup = sup / (diag - sup[0, 0, -1] * inf)
            rhs = (rhs - inf * rhs[0, 0, -1]) / (diag - sup[0, 0, -1] * inf)
    with computation(BACKWARD):
        with interval(-1, None):
            out = rhs
        with interval(0, -1):
            out = rhs - sup * out[0, 0, 1]


@construct()
def horizontal_offset_in_a_loop(inp: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            a = inp
        with interval(1, None):
            a = 0.5 * (inp[1, 0, 0] + inp[-1, 0, 0])
    with computation(PARALLEL), interval(...):
        out = a[0, 1, 0] - a


@construct()
def several_computations(inp: Field[float], a: Field[float], b: Field[float]):
    with computation(PARALLEL), interval(...):
        a = inp[1, 0, 0]
    with computation(PARALLEL), interval(...):
        b = a
    with computation(PARALLEL), interval(0, 3):
        a = b + inp


# --- conditions


@construct()
def condition(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.5:
            out = inp
        elif inp < -0.5:
            out = -inp
        else:
            out = 0.0


@construct()
def condition_without_else(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            out = inp


@construct()
def condition_on_what_changes(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            inp = -inp
            out = inp
        else:
            out = 5.0


@construct()
def nested_conditions(inp: Field[float], other: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            if other > 0.0:
                out = 1.0
            else:
                out = 2.0
        else:
            if other > 0.0 and inp < -1.0:
                out = 3.0


@construct()
def temporary_in_both_branches(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            a = inp
        else:
            a = 2.0
        out = a + 1.0


@construct()
def temporary_in_both_branches_at_an_offset(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp[1, 0, 0] > 0.0:
            a = inp[0, 1, 0]
        else:
            a = -inp
        out = a[-1, 0, 0] + a


@construct(scalars={"flag": False})
def condition_on_a_scalar(inp: Field[float], out: Field[float], flag: bool, limit: float):
    with computation(PARALLEL), interval(...):
        if flag:
            out = 1.0
        else:
            out = 2.0
        if limit > 1.0:
            out = out + inp


@construct()
def choice(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp if inp > 0.0 else -2.0 * inp[1, 0, 0]


@construct()
def nested_choices(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = 1.0 if inp > 1.0 else (2.0 if inp > 0.0 else 3.0)


@construct()
def logic(a: Field[float], b: Field[float], out: Field[bool]):
    with computation(PARALLEL), interval(...):
        out = (a > 0.0 and b > 0.0) or not (a < -1.0 or b < -1.0)


@construct()
def comparisons(a: Field[np.int64], b: Field[np.int64], out: Field[np.int64]):
    with computation(PARALLEL), interval(...):
        out = 0
        if a == b:
            out = out + 1
        if a != b:
            out = out + 2
        if a <= b:
            out = out + 4
        if a >= b:
            out = out + 8


@construct()
def boolean_fields(mask: Field[bool], inp: Field[float], out: Field[float], inverse: Field[bool]):
    with computation(PARALLEL), interval(...):
        inverse = not mask
        if mask:
            out = inp
        if mask == False:
            out = -inp


@construct()
def true_and_false(inp: Field[float], out: Field[bool]):
    with computation(PARALLEL), interval(...):
        out = True
        if inp > 0.0:
            out = False


@construct()
def condition_in_a_loop(inp: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            out = inp
        with interval(1, None):
            if inp > 0.0:
                out = out[0, 0, -1] + inp
            else:
                out = out[0, 0, -1]


@construct(data={"inp": (0, 9)})
def loop_with_condition(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        while out > 1.0:
            out = 0.5 * out


@construct(data={"count": (0, 6)})
def loop_that_counts(count: Field[np.int64], inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        i = 0
        out = 0.0
        while i < count:
            out = out + inp * i
            i = i + 1


@construct()
def loop_in_a_condition(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        if inp > 0.0:
            while out < 3.0:
                out = out + 1.0


# --- arithmetic


@construct()
def operators(a: Field[float], b: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a + b * a - b / (a * a + 1.0) - -a + +b


@construct()
def precedence(a: Field[float], b: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a - b - a * b / 2.0 * b + -((a**2) ** 2) - 2.0 * -a


@construct(data={"a": (0.1, 3.0)})
def powers(a: Field[float], b: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a**b + a**2 + a**0.5 + a**-1.0 + a**3


@construct()
def power_of_negative_numbers(a: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a**3 + a**2 - a**-2


@construct(data={"b": (0.5, 2.0)})
def remainder(a: Field[float], b: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a % b
        other = mod(a, -b)


@construct(data={"b": (1, 4)})
def remainder_of_integers(a: Field[np.int64], b: Field[np.int64], out: Field[np.int64], other: Field[np.int64]):
    with computation(PARALLEL), interval(...):
        out = a % b
        other = mod(a, -b)


@construct()
def integers(a: Field[np.int64], b: Field[np.int64], out: Field[np.int64]):
    with computation(PARALLEL), interval(...):
        out = a * b - 3 * a + 7 - -b


@construct(data={"b": (0, 4)})
def power_of_integers(a: Field[np.int64], b: Field[np.int64], out: Field[np.int64]):
    with computation(PARALLEL), interval(...):
        out = a**b + a**2


@construct()
def augmented(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        out += 2.0
        out *= inp
        out -= inp[1, 0, 0]
        out /= 3.0


@construct()
def small_functions(a: Field[float], b: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = abs(a) + 10.0 * min(a, b) + 100.0 * max(a, b)
        other = max(min(a, 0.5), -0.5)


@construct(data={"a": (0.1, 4.0)})
def roots_and_logarithms(a: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = sqrt(a) + exp(a) + log(a)
        other = log10(a) + cbrt(a)


@construct()
def trigonometry(a: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = sin(a) + 2.0 * cos(a) + 3.0 * tan(a)
        other = atan(a) + asin(0.5 * a) + acos(0.5 * a)


@construct(data={"b": (1.0, 3.0)})
def hyperbolic(a: Field[float], b: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = sinh(a) + cosh(a) + tanh(a)
        other = asinh(a) + acosh(b) + atanh(0.4 * a)


@construct(data={"b": (0.2, 5.0)})
def special_functions(a: Field[float], b: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = gamma(b)
        other = erf(a) + 2.0 * erfc(a)


@construct(data={"a": (-3, 3)})
def rounding(a: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = floor(a) + 10.0 * ceil(a) + 100.0 * trunc(a)
        other = round(a) + 10.0 * round_away_from_zero(a)


@construct()
def rounding_of_halves(a: Field[np.int64], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = round(a / 2.0)
        other = round_away_from_zero(a / 2.0)


@construct()
def not_finite(a: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        big = exp(a * 1000.0)
        nan = big - big
        out = 0.0
        if isfinite(big):
            out = 1.0
        if isinf(big):
            out = out + 2.0
        if isnan(nan):
            out = out + 4.0


# --- types


@construct()
def single_precision(inp: Field[np.float32], out: Field[np.float32]):
    with computation(PARALLEL), interval(...):
        out = inp * inp + inp


@construct()
def single_precision_and_literals(inp: Field[np.float32], out: Field[np.float32]):
    with computation(PARALLEL), interval(...):
        out = 0.1 * inp + inp / 3.0


@construct(literal_float_precision=32)
def single_precision_and_short_literals(inp: Field[np.float32], out: Field[np.float32]):
    with computation(PARALLEL), interval(...):
        out = 0.1 * inp + inp / 3.0


@construct(literal_float_precision=32)
def short_literals_and_double_precision(inp: Field[np.float64], out: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        out = 0.1 * inp + inp / 3.0


@construct()
def single_precision_temporary(inp: Field[np.float32], out: Field[np.float32]):
    with computation(PARALLEL), interval(...):
        a = inp * inp
        b = a / 3.0
        out = b - a


@construct()
def mixed_precision(a: Field[np.float32], b: Field[np.float64], low: Field[np.float32], high: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        low = a * b
        high = a * b


@construct()
def single_precision_functions(a: Field[np.float32], out: Field[np.float32], other: Field[np.float32]):
    with computation(PARALLEL), interval(...):
        out = exp(a) + sin(a)
        other = sqrt(abs(a)) / 3


@construct()
def single_precision_scalar(a: Field[np.float32], out: Field[np.float32], factor: np.float32):
    with computation(PARALLEL), interval(...):
        out = factor * a


@construct()
def small_integers(a: Field[np.int32], b: Field[np.int64], out: Field[np.int64], short: Field[np.int32]):
    with computation(PARALLEL), interval(...):
        out = a * b + 1
        short = a * 3


@construct()
def integers_and_reals(a: Field[np.int32], b: Field[np.float32], out: Field[np.float32], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a * b
        other = a * b + 0.1


@construct()
def reals_to_integers(a: Field[float], out: Field[np.int64]):
    with computation(PARALLEL), interval(...):
        out = a * 10.0


@construct()
def booleans_as_numbers(a: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        positive = a > 0.0
        out = a * positive


@construct()
def conversions(a: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = int(a * 10.0) * 0.5 + float(int32(a))
        other = float32(a) + int64(a * 100.0)


@construct(dtypes={"real": np.float32})
def named_type(inp: Field["real"], out: Field["real"], factor: "real"):
    with computation(PARALLEL), interval(...):
        out = factor * inp


@construct(dtypes={float: np.float32})
def replaced_type(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        a: float = inp
        out = a * inp


# --- scalars and defaults


@construct(scalars={"shift": 3})
def scalars(inp: Field[float], out: Field[float], factor: float, shift: int, flag: bool):
    with computation(PARALLEL), interval(...):
        out = factor * inp + shift
        if flag:
            out = -out


@construct()
def keyword_only(inp: Field[float], out: Field[float], *, factor: float):
    with computation(PARALLEL), interval(...):
        out = factor * inp


@construct()
def unused_parameters(inp: Field[float], unused: Field[float], out: Field[float], number: float):
    with computation(PARALLEL), interval(...):
        out = inp


# --- functions


@gtscript.function
def _square(x):
    return x * x


@gtscript.function
def _gradient(f):
    return f[1, 0, 0] - f, f[0, 1, 0] - f


@gtscript.function
def _laplacian(f):
    gx = f[1, 0, 0] - 2.0 * f + f[-1, 0, 0]
    gy = f[0, 1, 0] - 2.0 * f + f[0, -1, 0]
    return gx + gy


@gtscript.function
def _scaled(f, factor=3.0, shift=0.0):
    return factor * f + shift


@gtscript.function
def _limited(f, limit):
    result = f
    if f > limit:
        result = limit
    return result


@construct()
def function(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _square(inp) + 1.0


@construct()
def function_with_offsets(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _laplacian(inp)


@construct()
def function_of_an_offset(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _square(inp[1, -1, 0]) - _square(inp)


@construct()
def function_of_a_function(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        lap = _laplacian(inp)
        out = _laplacian(lap)


@construct()
def function_with_two_results(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        gx, gy = _gradient(inp)
        out = sqrt(gx * gx + gy * gy)


@construct()
def function_with_defaults(inp: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _scaled(inp) + _scaled(inp, 2.0)
        other = _scaled(inp, shift=1.0, factor=0.5)


@construct()
def function_with_a_condition(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _limited(inp, 0.5) + _limited(f=inp[1, 0, 0], limit=0.25)


@construct()
def function_in_a_condition(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            out = _square(inp)
        else:
            out = _scaled(inp)


@gtscript.function
def _nested(f):
    return _square(_scaled(f, 0.5)) + _limited(f, 1.0)


@construct()
def nested_functions(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _nested(inp) - _nested(inp[0, 1, 0])


@gtscript.function
def _with_external(f):
    from __externals__ import weight

    return weight * f


@construct(externals={"weight": 4.0})
def function_with_an_external(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _with_external(inp)


@construct(externals={"operation": _square})
def function_as_an_external(inp: Field[float], out: Field[float]):
    from __externals__ import operation

    with computation(PARALLEL), interval(...):
        out = operation(inp)


# --- values from outside

FACTOR = 2.5
MANY = 3


class constants:
    """A namespace."""

    GRAVITY = 9.81
    LEVELS = 2


@construct()
def values_of_the_module(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = FACTOR * inp + MANY


@construct()
def values_of_a_namespace(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = constants.GRAVITY * inp + constants.LEVELS


@construct(externals={"alpha": 0.3, "count": 3})
def externals(inp: Field[float], out: Field[float]):
    from __externals__ import alpha, count

    with computation(PARALLEL), interval(...):
        out = alpha * inp + count


@construct(externals={"order": 4})
def compile_time_condition(inp: Field[float], out: Field[float]):
    from __externals__ import order

    with computation(PARALLEL), interval(...):
        if __INLINED(order == 2):
            out = inp
        elif __INLINED(order == 4):
            out = 2.0 * inp
        else:
            out = 3.0 * inp


@construct(externals={"positive": True})
def compile_time_flag(inp: Field[float], out: Field[float]):
    from __externals__ import positive

    with computation(PARALLEL), interval(...):
        if __INLINED(positive):
            out = max(inp, 0.0)
        else:
            out = inp


@construct(externals={"order": 4})
def compile_time_assertion(inp: Field[float], out: Field[float]):
    from __externals__ import order

    with computation(PARALLEL), interval(...):
        compile_assert(order > 2)
        out = inp


@construct(externals={"number": np.float32(0.1)})
def external_of_numpy(inp: Field[np.float32], out: Field[float]):
    from __externals__ import number

    with computation(PARALLEL), interval(...):
        out = number * inp


# --- regions


@construct()
def region_edge(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        with horizontal(region[I[0], :]):
            out = 10.0


@construct()
def region_corners(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        with horizontal(region[I[0], J[0]], region[I[-1], J[-1]]):
            out = 2.0 * inp


@construct()
def region_ranges(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        with horizontal(region[I[0] : I[0] + 2, J[-1] - 1 :], region[I[-1] - 1 : I[-1], :]):
            out = -inp


@construct(externals={"i_end": I[-1], "j_start": J[0]})
def region_by_externals(inp: Field[float], out: Field[float]):
    from __externals__ import i_end, j_start

    with computation(PARALLEL), interval(...):
        out = inp
        with horizontal(region[i_end, j_start : j_start + 2]):
            out = 100.0


@construct()
def region_of_a_temporary(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        a = inp
        with horizontal(region[I[0] - 1, :]):
            a = 5.0 * inp
        with horizontal(region[I[-1] + 1, :]):
            a = 7.0 * inp
        out = a[-1, 0, 0] + a[1, 0, 0]


@construct()
def region_outside_of_the_domain(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        with horizontal(region[I[0] - 1, :], region[:, J[-1] + 2]):
            out = 5.0


@construct()
def region_with_a_condition(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        with horizontal(region[:, J[0]]):
            if inp > 0.0:
                out = 1.0
            else:
                out = inp[0, 1, 0]


@construct()
def region_with_offsets(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[1, 0, 0] - inp
        with horizontal(region[I[-1], :]):
            out = inp - inp[-1, 0, 0]


@construct()
def region_in_a_loop(inp: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            out = inp
        with interval(1, None):
            out = inp
            with horizontal(region[:, J[-1]]):
                out = out[0, 0, -1] + inp


# --- data dimensions


@construct()
def vectors(v: Field[(float, (3,))], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][0] + 2.0 * v[1, 0, 0][1] - v[0, 0, 0][2]


@construct()
def vectors_written(inp: Field[float], v: Field[(float, (2,))]):
    with computation(PARALLEL), interval(...):
        v[0, 0, 0][0] = inp
        v[0, 0, 0][1] = 2.0 * inp


@construct()
def matrices(m: Field[IJK, (float, (2, 2))], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = m[0, 0, 0][0, 0] * m[0, 0, 0][1, 1] - m[0, 0, 0][0, 1] * m[0, 0, 0][1, 0]


@construct(scalars={"which": 1})
def vector_at_a_computed_index(v: Field[(float, (3,))], out: Field[float], which: int):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][which]


@construct()
def table(values: gtscript.GlobalTable[(float, (4,))], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = values.A[1] + 10.0 * values.A[3]


@construct(data={"index": (0, 4)})
def table_at_a_computed_index(values: gtscript.GlobalTable[(float, (4,))], index: Field[np.int32], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = values.A[index]


@construct()
def planes_of_vectors(v: Field[IJ, (float, (2,))], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0][0] + v[1, 0][1]


# --- levels that are computed


@construct(data={"shift": (-1, 2)})
def computed_level(inp: Field[float], shift: Field[np.int32], out: Field[float]):
    with computation(PARALLEL), interval(1, -1):
        out = inp[0, 0, shift]


@construct(scalars={"shift": 1})
def computed_level_of_a_scalar(inp: Field[float], out: Field[float], shift: int):
    with computation(PARALLEL), interval(1, -1):
        out = inp[0, 0, shift] + 2.0 * inp[0, 0, -shift]


@construct()
def absolute_level(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.at(K=2) + inp


@construct(data={"level": (0, 5)})
def absolute_level_of_a_field(inp: Field[float], level: Field[IJ, np.int32], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.at(K=level)


@construct()
def level_as_a_number(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp * K


@construct()
def level_written_ahead(inp: Field[float], out: Field[float]):
    with computation(FORWARD), interval(0, -1):
        out[0, 0, 1] = inp


@construct(scalars={"top": 3})
def interval_to_a_scalar(inp: Field[float], out: Field[float], top: int):
    with computation(PARALLEL), interval(0, top):
        out = inp


@construct(data={"top": (2, 4)})
def interval_to_a_field(inp: Field[float], out: Field[float], top: Field[IJ, np.int64]):
    with computation(FORWARD), interval(0, top):
        out = inp


@construct()
def iterated_search(inp: Field[float], found: Field[IJ, np.int64]):
    with computation(FORWARD):
        with interval(0, 1):
            found = -1
        with interval(1, None):
            if inp > 1.0:
                found = K
