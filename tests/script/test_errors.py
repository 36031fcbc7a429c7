"""What a user sees of a wrong definition: the class, the text, the facts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import FORWARD, PARALLEL, Field, computation, interval
from fieldstone.gtscript.stencil import define


def copy_all(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = imp[1, 0, 0]


def test_the_message_shows_the_place():
    with pytest.raises(errors.GTScriptSymbolError) as caught:
        gtscript.stencil(backend="numpy", definition=copy_all)
    line = copy_all.__code__.co_firstlineno + 2
    margin = " " * len(str(line))
    assert str(caught.value) == (
        "error[FS0101]: name `imp` is not defined\n"
        f"{margin}--> tests/script/test_errors.py:{line}:15\n"
        f"{margin} |\n"
        f"{line} |         out = imp[1, 0, 0]\n"
        f"{margin} |               ^^^\n"
        f"{margin} = help: did you mean `inp`?"
    )


def test_the_facts_are_in_the_exception():
    with pytest.raises(errors.GTScriptError) as caught:
        define(copy_all)
    [found] = caught.value.diagnostics
    line = copy_all.__code__.co_firstlineno + 2
    expected = {
        "code": "FS0101",
        "severity": "error",
        "message": "name `imp` is not defined",
        "file": "tests/script/test_errors.py",
        "line": line,
        "column": 15,
        "end_line": line,
        "end_column": 18,
        "help": "did you mean `inp`?",
        "related": [],
    }
    assert {key: found[key] for key in expected} == expected


def test_all_errors_are_reported_at_once_with_the_calls_that_led_there():
    @gtscript.function
    def inner(f):
        return f[1, 0]

    @gtscript.function
    def outer(f):
        return inner(f) + missing

    def definition(inp: Field[float], out: Field[float], other):
        with computation(PARALLEL), interval(...):
            out = outer(inp)
            while out > 0.0:
                out = -out

    with pytest.raises(errors.GTScriptSyntaxError) as caught:
        define(definition)
    found = caught.value.diagnostics
    assert [entry["code"] for entry in found] == ["FS0111", "FS0101", "FS0204"]
    assert [entry["message"] for entry in found[2]["related"]] == ["in this call of `inner`", "in this call of `outer`"]


def test_errors_of_types_show_the_call_that_led_there():
    @gtscript.function
    def complement(f):
        return ~f

    @gtscript.function
    def outside(f):
        return complement(f)

    def definition(inside: Field[bool], inp: Field[float], out: Field[bool]):
        with computation(PARALLEL), interval(...):
            out = complement(inside)
            out = outside(inp)

    with pytest.raises(errors.GTScriptDataTypeError) as caught:
        define(definition)
    [found] = caught.value.diagnostics
    line = definition.__code__.co_firstlineno
    calls = {entry["line"]: entry["message"] for entry in found["related"] if "call" in str(entry["message"])}
    outer = outside.__wrapped__.__code__.co_firstlineno
    assert calls == {outer + 2: "in this call of `complement`", line + 3: "in this call of `outside`"}


def self_assignment(out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = out[1, 0, 0]


def overlapping(out: Field[float]):
    with computation(FORWARD):
        with interval(0, 2):
            out = 1.0
        with interval(1, None):
            out = 2.0


def wrong_types(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = ~inp


def loop(out: Field[float]):
    with computation(PARALLEL), interval(...):
        for n in range(3):
            out = n


def too_far(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[100_000, 0, 0]


@pytest.mark.parametrize(
    ("definition", "kind", "also", "code"),
    [
        (loop, errors.GTScriptSyntaxError, errors.FieldstoneError, "FS0002"),
        (copy_all, errors.GTScriptSymbolError, errors.FieldstoneError, "FS0101"),
        (self_assignment, errors.GTScriptDefinitionError, errors.FieldstoneError, "FS0403"),
        (overlapping, errors.GTScriptDefinitionError, errors.FieldstoneError, "FS0402"),
        (wrong_types, errors.GTScriptDataTypeError, TypeError, "FS0301"),
        (too_far, errors.GTScriptUnsupportedError, NotImplementedError, "FS0407"),
    ],
)
def test_each_family_has_its_class(definition: Any, kind: type[Exception], also: type[Exception], code: str):
    with pytest.raises(kind) as caught:
        define(definition)
    assert isinstance(caught.value, also)
    assert isinstance(caught.value, errors.GTScriptError)
    assert [entry["code"] for entry in caught.value.diagnostics] == [code]


WRONG = [1.0, 2.0]


def module_attribute(out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = math.pie


def wrong_object(out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = WRONG


def undecorated(f):
    return f


def plain_function(out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = undecorated(out)


def module_value(out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = math


def python_builtin(out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = sum(out)


def external(out: Field[float]):
    from __externals__ import wrong

    with computation(PARALLEL), interval(...):
        out = wrong


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (module_attribute, "module `math` has no attribute `pie`\n"),
        (module_attribute, "= help: did you mean `math.pi`?"),
        (wrong_object, "`WRONG` is a `list`, which means nothing in a stencil"),
        (plain_function, "`undecorated` is a Python function, which a stencil cannot call"),
        (plain_function, "= help: decorate `undecorated` with `@gtscript.function`"),
        (module_value, "module `math` is not a value"),
        (python_builtin, "Python's `sum` is not part of gtscript"),
    ],
)
def test_objects_that_mean_nothing(definition: Any, words: str):
    with pytest.raises(errors.GTScriptSyntaxError) as caught:
        define(definition)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.zeros(3), "`wrong` is a NumPy array"),
        ("text", "`wrong` is a `str`"),
        (None, "`wrong` is `None`"),
        (2**64, "`wrong` is an integer that does not fit into 64 bits"),
        (np.complex64(1), "`wrong` is a NumPy scalar of type complex64"),
        (1j, "`wrong` is a `complex`"),
    ],
)
def test_externals_that_mean_nothing(given: Any, words: str):
    with pytest.raises(errors.GTScriptSyntaxError) as caught:
        define(external, externals={"wrong": given})
    assert words in str(caught.value)


def no_element_type(out: Field):
    pass


def unknown_type(out: Field[complex]):
    pass


def not_defined(out: Feild[float]):
    pass


def text(out: Field[float], name: str):
    pass


def sizeless(out: Field[(float, (0,))]):
    pass


def filled(out: Field[float] = 0.0):
    pass


def worded(out: Field[float], factor: float = "half"):
    pass


def broken(out: Field[float], count: int = 2.5):
    pass


def large(out: Field[float], count: np.int8 = 300):
    pass


@pytest.mark.parametrize(
    ("definition", "code", "words"),
    [
        (no_element_type, "FS0112", "the element type is missing, as in `Field[float]`"),
        (unknown_type, "FS0112", "`complex` is no element type"),
        (not_defined, "FS0112", "name `Feild` is not defined"),
        (text, "FS0112", "`str` is no type of a parameter"),
        (sizeless, "FS0112", "`(0,)` are no sizes of data dimensions"),
        (filled, "FS0113", "the default of a field is `None` or nothing"),
        (worded, "FS0113", "this is no number"),
        (broken, "FS0113", "this is no integer, but the type is int64"),
        (large, "FS0113", "int8 holds -128 to 127"),
    ],
)
def test_annotations_that_mean_nothing(definition: Any, code: str, words: str):
    with pytest.raises(errors.GTScriptError) as caught:
        define(definition)
    assert [entry["code"] for entry in caught.value.diagnostics] == [code]
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((float, int), "one element type and one set of axes"),
        (gtscript.IJ, "needs an element type"),
    ],
)
def test_wrong_field_annotations_are_refused_where_they_stand(parts: Any, words: str):
    with pytest.raises(TypeError, match=words):
        Field[parts]


def test_wrong_axes_are_refused_where_they_stand():
    with pytest.raises(errors.DimensionsError, match="axes are some of 'I', 'J' and 'K'"):
        gtscript.Axes["IL"]


def test_a_suspicious_stencil_warns_at_its_place():
    def definition(inp: Field[float], unused: Field[float], out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = inp

    with pytest.warns(UserWarning, match="unused") as caught:
        define(definition)
    assert caught[0].lineno == definition.__code__.co_firstlineno
