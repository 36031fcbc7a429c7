"""Small programs that mean nothing, written against GT4Py's names only.

Each stands with the class of the exception that GT4Py raises. Where that is one of its implementation, such as a
`KeyError`, a second class says what a user is told here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import IJ, BACKWARD, FORWARD, PARALLEL, Field, I, J, K, computation, interval


@dataclass
class Wrong:
    """A program that is refused.

    Attributes
    ----------
    definition : function
        The stencil.
    gt4py : str or None
        Class of GT4Py's exception; None where GT4Py compiles the program, and something else than it says.
    here : str
        Class of the exception that is raised here, or a base class of it; ``"nothing"`` where the program means
        something here.
    options : dict
        Keyword arguments of ``gtscript.stencil``.
    """

    definition: Callable[..., None]
    gt4py: str | None
    here: str
    options: dict[str, Any] = field(default_factory=dict)


WRONG: dict[str, Wrong] = {}


def wrong(gt4py: str | None, here: str = "", **options: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Put a program into the table."""

    def add(definition: Callable[..., None]) -> Callable[..., None]:
        WRONG[definition.__name__] = Wrong(definition, gt4py, here or str(gt4py), options)
        return definition

    return add


def refusal(name: str, backend: str) -> BaseException | None:
    """The exception that a program raises."""
    case = WRONG[name]
    try:
        gtscript.stencil(backend=backend, definition=case.definition, **case.options)
    except Exception as error:
        return error
    return None


@gtscript.function
def _square(x):
    return x * x


@gtscript.function
def _pair(x):
    return x, -x


def _plain(x):
    return x


SOMETHING = object()


# --- names


@wrong("GTScriptSymbolError")
def undefined_name(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp + missing


@wrong("GTScriptSymbolError")
def undefined_function(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = smooth(inp)


@wrong("GTScriptDefinitionError")
def missing_external(inp: Field[float], out: Field[float]):
    from __externals__ import missing

    with computation(PARALLEL), interval(...):
        out = missing * inp


@wrong("GTScriptSyntaxError")
def read_before_assigned(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp + later
        later = inp


@wrong("GTScriptDefinitionError")
def object_without_meaning(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp + SOMETHING


@wrong("TypeError", here="GTScriptDefinitionError")
def plain_function(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _plain(inp)


@wrong("TypeError", here="GTScriptDefinitionError", externals={"operation": _plain})
def plain_function_as_an_external(inp: Field[float], out: Field[float]):
    from __externals__ import operation

    with computation(PARALLEL), interval(...):
        out = operation(inp)


@wrong("GTScriptDefinitionError")
def missing_attribute(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp + np.no_such_constant


# --- the signature


@wrong("GTScriptDefinitionError")
def arguments_without_end(inp: Field[float], *others):
    with computation(PARALLEL), interval(...):
        inp = 1.0


@wrong("GTScriptDefinitionError")
def keywords_without_end(inp: Field[float], **others):
    with computation(PARALLEL), interval(...):
        inp = 1.0


@wrong("GTScriptDefinitionError")
def no_annotation(inp, out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp


@wrong("GTScriptValueError")
def annotation_without_meaning(inp: "list[int]", out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = 1.0


@wrong("GTScriptValueError")
def default_of_another_type(inp: Field[float], out: Field[float], factor: float = "one"):
    with computation(PARALLEL), interval(...):
        out = factor * inp


@wrong("ValueError")
def unknown_type_name(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = inp


# --- computations and intervals


@wrong("GTScriptSyntaxError")
def no_computation(inp: Field[float], out: Field[float]):
    out = inp


@wrong("GTScriptSyntaxError")
def no_interval(inp: Field[float], out: Field[float]):
    with computation(PARALLEL):
        out = inp


@wrong("GTScriptSyntaxError")
def no_order(inp: Field[float], out: Field[float]):
    with computation(), interval(...):
        out = inp


@wrong("GTScriptSymbolError")
def unknown_order(inp: Field[float], out: Field[float]):
    with computation(SIDEWAYS), interval(...):
        out = inp


@wrong("GTScriptSyntaxError")
def interval_alone(inp: Field[float], out: Field[float]):
    with interval(...):
        out = inp


@wrong("GTScriptSyntaxError")
def two_computations_in_one(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), computation(FORWARD), interval(...):
        out = inp


@wrong("GTScriptSyntaxError")
def statements_beside_intervals(inp: Field[float], out: Field[float]):
    with computation(PARALLEL):
        with interval(0, 1):
            out = inp
        out = 2.0 * inp


@wrong("GTScriptSyntaxError")
def overlapping_intervals(inp: Field[float], out: Field[float]):
    with computation(PARALLEL):
        with interval(0, 2):
            out = inp
        with interval(1, None):
            out = 2.0 * inp


@wrong("GTScriptSyntaxError")
def intervals_out_of_order(inp: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(1, None):
            out = inp
        with interval(0, 1):
            out = 2.0 * inp


@wrong("GTScriptSyntaxError")
def intervals_out_of_order_backward(inp: Field[float], out: Field[float]):
    with computation(BACKWARD):
        with interval(0, 1):
            out = inp
        with interval(1, None):
            out = 2.0 * inp


@wrong("GTScriptSyntaxError")
def empty_interval(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(2, 2):
        out = inp


@wrong("GTScriptSyntaxError")
def interval_upside_down(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(3, 1):
        out = inp


@wrong(None, here="GTScriptSyntaxError")
def interval_of_a_real_number(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(0.5, 2):
        out = inp


@wrong(None, here="GTScriptSyntaxError")
def interval_of_three(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(0, 1, 2):
        out = inp


@wrong("GTScriptSyntaxError", here="nothing")
def interval_from_nowhere(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(None, 2):
        out = inp


@wrong("ValueError", here="GTScriptSyntaxError")
def interval_to_a_field_with_levels(inp: Field[float], out: Field[float], top: Field[np.int64]):
    with computation(FORWARD), interval(0, top):
        out = inp


# --- reading and writing


@wrong("ValueError")
def self_assignment_with_an_offset(inout: Field[float]):
    with computation(PARALLEL), interval(...):
        inout = inout[1, 0, 0]


@wrong("ValueError")
def self_assignment_with_a_vertical_offset(inout: Field[float]):
    with computation(PARALLEL), interval(0, -1):
        inout = inout[0, 0, 1]


@wrong("ValueError")
def read_above_and_written_in_parallel(inp: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(1, None):
        out = inp
        other = out[0, 0, -1]


@wrong("GTScriptSyntaxError")
def write_at_an_offset(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out[1, 0, 0] = inp


@wrong("GTScriptSyntaxError")
def write_at_a_level_in_parallel(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(0, -1):
        out[0, 0, 1] = inp


@wrong("GTScriptSyntaxError")
def too_few_offsets(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[1, 0]


@wrong("GTScriptSyntaxError")
def too_many_offsets(plane: Field[IJ, float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = plane[1, 0, 0]


@wrong("GTScriptSyntaxError")
def offset_along_an_axis_that_is_not_there(plane: Field[IJ, float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = plane[K - 1]


@wrong("GTScriptSyntaxError", here="nothing")
def axes_out_of_order(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[J + 1, I + 1]


@wrong("GTScriptSyntaxError")
def axis_twice(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[I + 1, I - 1]


@wrong("GTScriptSyntaxError")
def slice_of_a_field(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[0:1, 0, 0]


@wrong("GTScriptSyntaxError")
def plane_written_in_parallel(inp: Field[float], plane: Field[IJ, float]):
    with computation(PARALLEL), interval(...):
        plane = inp


@wrong("GTScriptSyntaxError")
def profile_written(inp: Field[float], profile: Field[K, float]):
    with computation(FORWARD), interval(...):
        profile = inp


@wrong(None, here="GTScriptDefinitionError")
def offset_of_a_number(inp: Field[float], out: Field[float], factor: float):
    with computation(PARALLEL), interval(...):
        out = inp * factor[1, 0, 0]


@wrong("KeyError", here="GTScriptSymbolError")
def assignment_to_a_number(inp: Field[float], out: Field[float], factor: float):
    with computation(PARALLEL), interval(...):
        factor = 2.0
        out = factor * inp


@wrong("GTScriptSyntaxError")
def assignment_to_an_expression(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out.real = inp


@wrong("GTScriptSyntaxError", here="nothing")
def two_targets(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        a = out = inp


@wrong("GTScriptSyntaxError")
def horizontal_axis_as_a_number(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp * I


# --- statements and expressions


@wrong("GTScriptSyntaxError")
def string(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = "text"


@wrong("NotImplementedError", here="GTScriptSyntaxError")
def nothing_assigned(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = None


@wrong("GTScriptSymbolError", here="GTScriptSyntaxError")
def for_loop(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        for i in range(3):
            out = inp


@wrong("TypeError", here="GTScriptSyntaxError")
def list_of_values(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = [inp, inp]


@wrong("GTScriptSyntaxError")
def lambda_expression(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        f = lambda x: x
        out = f(inp)


@wrong("GTScriptSymbolError")
def comprehension(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = sum([inp for i in range(3)])


@wrong("TypeError", here="GTScriptSyntaxError")
def return_from_a_stencil(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
    return out


@wrong("GTScriptSyntaxError")
def import_of_a_module(inp: Field[float], out: Field[float]):
    import math

    with computation(PARALLEL), interval(...):
        out = math.sqrt(inp)


@wrong("GTScriptSyntaxError", here="nothing", externals={"weight": 1.0})
def import_under_another_name(inp: Field[float], out: Field[float]):
    from __externals__ import weight as w

    with computation(PARALLEL), interval(...):
        out = w * inp


@wrong("ValueError")
def condition_of_a_number(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp:
            out = 1.0


@wrong("ValueError")
def not_of_a_number(inp: Field[float], out: Field[bool]):
    with computation(PARALLEL), interval(...):
        out = not inp


@wrong("ValueError")
def and_of_numbers(inp: Field[float], out: Field[bool]):
    with computation(PARALLEL), interval(...):
        out = inp and inp


@wrong("ValueError")
def minus_a_boolean(inp: Field[bool], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = -inp


@wrong("GTScriptSyntaxError")
def compile_time_condition_of_a_field(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if __INLINED(inp > 0.0):
            out = inp


@wrong("GTScriptAssertionError", externals={"order": 3})
def assertion(inp: Field[float], out: Field[float]):
    from __externals__ import order

    compile_assert(order == 2)
    with computation(PARALLEL), interval(...):
        out = inp


@wrong("GTScriptSyntaxError")
def assertion_of_a_field(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        compile_assert(inp > 0.0)
        out = inp


# --- functions


@gtscript.function
def _without_return(x):
    y = x


@gtscript.function
def _recursive(x):
    from __externals__ import again

    return again(x)


@gtscript.function
def _two_returns(x):
    if x > 0.0:
        return x
    return -x


@wrong("GTScriptSyntaxError")
def function_without_return(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _without_return(inp)


@wrong("GTScriptSyntaxError", externals={"again": _recursive})
def recursion(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _recursive(inp)


@wrong("GTScriptSyntaxError")
def two_returns(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _two_returns(inp)


@wrong("GTScriptSyntaxError")
def too_many_arguments(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _square(inp, inp)


@wrong("GTScriptSyntaxError")
def missing_argument(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _square()


@wrong("GTScriptSyntaxError")
def too_few_targets(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = _pair(inp)


@wrong("GTScriptSyntaxError")
def too_many_targets(inp: Field[float], out: Field[float], other: Field[float]):
    with computation(PARALLEL), interval(...):
        out, other = _square(inp)


@wrong("GTScriptSyntaxError")
def pair_in_an_expression(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = 1.0 + _pair(inp)


@wrong("GTScriptSyntaxError")
def function_in_a_condition(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if sqrt(inp, inp) > 0.0:
            out = 1.0


@wrong("GTScriptSyntaxError")
def too_many_arguments_of_sqrt(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = sqrt(inp, inp)


# --- regions, data dimensions, levels


@wrong("GTScriptSyntaxError")
def region_of_the_wrong_axes(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        with horizontal(region[J[0], I[0]]):
            out = inp


@wrong("GTScriptSyntaxError", here="nothing")
def nested_regions(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        with horizontal(region[I[0], :]):
            with horizontal(region[:, J[0]]):
                out = inp


@wrong("GTScriptSyntaxError")
def computation_in_a_region(inp: Field[float], out: Field[float]):
    with horizontal(region[I[0], :]):
        with computation(PARALLEL), interval(...):
            out = inp


@wrong("GTScriptSyntaxError")
def data_index_out_of_range(v: Field[(float, (3,))], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][3]


@wrong("GTScriptSyntaxError")
def too_many_data_indices(v: Field[(float, (3,))], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][1, 1]


@wrong("GTScriptSyntaxError", here="nothing")
def absolute_level_of_a_word(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.at(K=K)


@wrong("GTScriptSyntaxError")
def absolute_column(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.at(I=1)
