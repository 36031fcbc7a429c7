"""Slips of the pen: what is marked, and what is said to write instead."""

from __future__ import annotations

import enum
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.gtscript.stencil import define

weights = np.array([0.25, 0.5, 0.25])
constants = {"gravity": 9.81, "earth": {"radius": 6.371e6}}
gravity = 9.81


class Scheme(enum.Enum):
    CENTRED = 1
    NAMED = "upwind"


def plain(f):
    return f


@gtscript.function
def double(f):
    return 2.0 * f


@gtscript.function
def both(f):
    return f, 2.0 * f


STATEMENTS = [
    # offsets
    ("out = inp[i + 1, j, k]", "FS0101", "i", "offsets count from the point that is computed: write `inp[1, 0, 0]`"),
    ("out = inp[i, j - 2, k]", "FS0101", "i", "offsets count from the point that is computed: write `inp[0, -2, 0]`"),
    ("out = inp[k - 1]", "FS0101", "k", "offsets count from the point that is computed: write `inp[K - 1]`"),
    ("out = inp[1 + I]", "FS0207", "1 + I", "the axis stands first, then what is added or taken away: `I + 1`"),
    ("out = inp[0.5, 0, 0]", "FS0207", "0.5", "use an integer or an external"),
    ("out = inp[:, :, :]", "FS0207", ":", "write the name without brackets, or offsets of neighbours"),
    ("out = inp.at(K=0)[1, 0, 0]", "FS0206", "inp.at(K=0)", "`at` reads the same column"),
    # data dimensions and tables
    ("out = wind[1]", "FS0204", "1", "write `wind[0, 0, 0][1]`"),
    ("out = wind[1, 0, 0, 1]", "FS0204", "1, 0, 0, 1", "write `wind[1, 0, 0][1]`"),
    ("wind[1] = inp", "FS0204", "1", "write `wind[0, 0, 0][1]`"),
    ("out = table[2]", "FS0204", "2", "write `table.A[2]`"),
    ("out = table.B[2]", "FS0102", "table.B", "a table `table.A`"),
    ("table.A[0] = inp", "FS0008", "table.A[0]", "a table cannot be assigned"),
    ("out = wind", "FS0240", "wind", "as in `wind[0, 0, 0][0]`"),
    # objects and functions
    ("out = weights[0] * inp", "FS0107", "weights", "`GlobalTable[float, (10,)]`"),
    ("out = constants['gravity']", "FS0106", "constants", "write `constants.gravity`"),
    ("out = constants.earth.mass", "FS0102", "constants.earth.mass", "it has `radius`"),
    ("out = gravity[0, 0, 0]", "FS0206", "gravity", "write `gravity` without an offset"),
    ("out = double[inp]", "FS0206", "double", "call it: `double(…)`"),
    ("out = plain(inp)", "FS0107", "plain", "decorate `plain` with `@gtscript.function`"),
    ("out = np.where(inp > 0.0, inp, 0.0)", "FS0107", "np.where", "write `a if condition else b`"),
    ("out = Scheme.NAMED", "FS0107", "Scheme.NAMED", "enum members"),
    ("out = halve(inp)", "FS0101", "halve", "define `halve` above the stencil, decorated with `@gtscript.function`"),
    ("out = -inf", "FS0101", "inf", "`from math import inf, nan, pi`"),
    ("out = float('nan')", "FS0003", "'nan'", "`from math import inf, nan, pi`"),
    ("double(inp)", "FS0002", "double(inp)", "`name = double(inp)`"),
    ("print(inp)", "FS0101", "print", "backend 'debug'"),
    ("out = sum(inp)", "FS0101", "sum", "carried from level to level in `computation(FORWARD)`"),
    ("out = both(inp)", "FS0211", "out", "name a target for each value"),
    ("out, _ = inp", "FS0211", "out, _", "one value for each target"),
    ("out = float", "FS0106", "float", "convert a value: `float(…)`"),
    # conditions and operators
    ("out = inp ^ 2", "FS0301", "inp ^ 2", "a power is written `x ** 2`"),
    ("out = 1.0 if inp > 0.0 & out > 0.0 else 0.0", "FS0301", "0.0 & out", "`(a > 0) & (b > 0)`"),
    ("out = inp if inp is not None else 0.0", "FS0003", "inp is not None", "`if __INLINED(GIVEN):`"),
    # words
    (
        "with horizontl(region[I[0], :]):\n            out = inp",
        "FS0005",
        "horizontl(region[I[0], :])",
        "`horizontal(…)`",
    ),
    ("with horizontal(regoin[I[0], :]):\n            out = inp", "FS0013", "regoin[I[0], :]", "`region[…]`"),
    ("total: flaot = inp\n        out = total", "FS0101", "flaot", "did you mean `float`?"),
    ("total: 'flaot' = inp\n        out = total", "FS0112", "'flaot'", "did you mean `float`?"),
]


def defined(text: str, tmp_path: Any) -> FunctionType:
    file = tmp_path / "model.py"
    file.write_text(text)
    names = dict(globals())
    # Annotations are postponed there as they are here.
    exec(compile(text, str(file), "exec"), names)
    function: FunctionType = names["model"]
    return function


def only(function: FunctionType, **options: Any) -> dict[str, Any]:
    """The one error of a definition."""
    with pytest.raises(errors.GTScriptError) as caught:
        define(function, **options)
    [found] = caught.value.diagnostics
    return found


def marked(found: dict[str, Any], text: str) -> str:
    """What the carets stand below."""
    line = text.splitlines()[found["line"] - 1]
    return line[found["column"] - 1 : found["end_column"] - 1]


@pytest.mark.parametrize(("statement", "code", "place", "words"), STATEMENTS, ids=[case[0] for case in STATEMENTS])
def test_a_wrong_statement_says_what_to_write(statement: str, code: str, place: str, words: str, tmp_path: Any):
    text = (
        "def model(inp: Field[float], wind: Field[(float, (2,))], "
        "table: gtscript.GlobalTable[float, (4,)], out: Field[float]):\n"
        "    with computation(PARALLEL), interval(...):\n"
        f"        {statement}\n"
    )
    found = only(defined(text, tmp_path))
    assert (found["code"], marked(found, text)) == (code, place)
    assert words in found["help"]


HEADERS = [
    ("inp: Feild[float], out: Field[float]", "Feild", "did you mean `Field`?"),
    ("inp: Field[flaot], out: Field[float]", "flaot", "did you mean `float`?"),
    ("inp: Field[ijk, float], out: Field[float]", "ijk", "did you mean `IJK`?"),
    ("inp: Field[Ijk, float], out: Field[float]", "Ijk", "did you mean `IJK`?"),
    ("inp: Field[JI, float], out: Field[float]", "JI", "did you mean `IJ`?"),
    ("inp: Field[np.flot32], out: Field[float]", "flot32", "did you mean `float32`?"),
    ("inp: Field['raal'], out: Field[float]", "raal", "did you mean `real`?"),
    ("inp: Field['weight'], out: Field[float]", "weight", 'say what it stands for: `dtypes={"weight": float}`'),
    ("inp: 'Feild[float]', out: Field[float]", "Feild", "did you mean `Field`?"),
]


@pytest.mark.parametrize(("parameters", "place", "words"), HEADERS, ids=[case[0] for case in HEADERS])
def test_a_wrong_annotation_says_which_word_is_wrong(parameters: str, place: str, words: str, tmp_path: Any):
    text = f"def model({parameters}):\n    with computation(PARALLEL), interval(...):\n        out = 2.0 * inp\n"
    found = only(defined(text, tmp_path), dtypes={"real": np.float32})
    assert (found["code"], marked(found, text), found["help"]) == ("FS0112", place, words)


@pytest.mark.parametrize("parameter", ["inp: Field['real'], ", "inp: 'real', "])
@pytest.mark.parametrize(("given", "shown"), [("f16", "`'f16'`"), (str, "`str`")])
def test_dtypes_that_are_none_are_said_to_come_from_there(parameter: str, given: Any, shown: str, tmp_path: Any):
    text = (
        f"def model({parameter}out: Field[float]):\n    with computation(PARALLEL), interval(...):\n        out = inp\n"
    )
    found = only(defined(text, tmp_path), dtypes={"real": given})
    assert found["code"] == "FS0112"
    assert f"`dtypes` says that it is {shown}, which is no " in str(found)


WITHS = [
    ("computaton(PARALLEL), interval(...)", "FS0005", "computaton(PARALLEL)", "did you mean `computation(…)`?"),
    ("computation(PARALEL), interval(...)", "FS0101", "PARALEL", "did you mean `PARALLEL`?"),
    ("computation('PARALLEL'), interval(...)", "FS0006", "'PARALLEL'", "write `computation(PARALLEL)`, without quotes"),
    ("computation(PARALLEL), intervl(...)", "FS0005", "intervl(...)", "did you mean `interval(…)`?"),
    ("computation(PARALLEL), gtscript.intervl(...)", "FS0005", "gtscript.intervl(...)", "`gtscript.interval(…)`"),
    ("computation(PARALLEL), interval[...]", "FS0005", "interval[...]", "write `interval(…)`, with round brackets"),
    ("computation(PARALLEL) and interval(...)", "FS0005", "computation(PARALLEL) and interval(...)", "a comma"),
    ("computation(PARALLEL), interval(0, -9999999)", "FS0007", "-9999999", "`None` is the open end"),
]


@pytest.mark.parametrize(("items", "code", "place", "words"), WITHS, ids=[case[0] for case in WITHS])
def test_a_wrong_with_says_what_to_write(items: str, code: str, place: str, words: str, tmp_path: Any):
    text = f"def model(inp: Field[float], out: Field[float]):\n    with {items}:\n        out = 2.0 * inp\n"
    found = only(defined(text, tmp_path))
    assert (found["code"], marked(found, text)) == (code, place)
    assert words in found["help"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("from __external__ import alpha", "did you mean `from __externals__ import alpha`?"),
        ("from externals import alpha", "did you mean `from __externals__ import alpha`?"),
        ("import __externals__", "did you mean `from __externals__ import name`?"),
        ("from __gtscript__ import computaton", "did you mean `computation`?"),
        ("from __externals__ import alhpa", "did you mean `alpha`?"),
    ],
)
def test_a_wrong_import_says_what_to_write(line: str, words: str, tmp_path: Any):
    text = (
        f"def model(out: Field[float]):\n    {line}\n\n"
        "    with computation(PARALLEL), interval(...):\n        out = 1.0\n"
    )
    found = only(defined(text, tmp_path), externals={"alpha": 1.0})
    assert found["help"] == words


def test_what_is_assigned_though_it_is_fixed_is_one_error():
    def definition(inp: Field[float], out: Field[float]):
        from __externals__ import order

        with computation(PARALLEL), interval(...):
            out = order * inp
            order = 4

    assert only(definition, externals={"order": 3})["message"] == "external `order` cannot be assigned"


def test_levels_that_race_are_one_error():
    def definition(out: Field[float]):
        with computation(PARALLEL), interval(1, None):
            out = out[0, 0, -1] + 1.0

    assert only(definition)["code"] == "FS0201"


def test_every_operand_of_an_expression_is_looked_at():
    def definition(inp: Field[float], out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = (inp and out) + (inp or out) + (inp if inp else 0.0)

    with pytest.raises(errors.GTScriptDataTypeError) as caught:
        define(definition)
    assert [found["code"] for found in caught.value.diagnostics] == ["FS0302", "FS0302", "FS0303"]


def test_a_compile_time_condition_says_what_its_names_stand_for():
    def definition(out: Field[float]):
        from __externals__ import order

        compile_assert(order == 2 or order == 4)
        with computation(PARALLEL), interval(...):
            out = order

    assert only(definition, externals={"order": 3})["label"] == "`order` is 3"


def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp


@pytest.mark.parametrize("make", [gtscript.stencil, gtscript.lazy_stencil])
def test_a_misspelt_backend_is_an_error(make: Any):
    with pytest.raises(errors.ArgumentTypeError, match="no keyword argument 'backnd'; did you mean 'backend'"):
        make(backnd="numpy", definition=copy)


@pytest.mark.parametrize(("given", "meant"), [("external", "externals"), ("dtype", "dtypes"), ("thread", "threads")])
def test_a_misspelt_option_is_a_warning(given: str, meant: str):
    with pytest.warns(UserWarning, match=rf"option\(s\) {given} are not known .*\(did you mean '{meant}'\?\)"):
        gtscript.stencil(backend="numpy", definition=copy, **{given: None})
