"""How a definition's text, its place and the values of its free names are found."""

from __future__ import annotations

import enum
import functools
import linecache
import math
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import FORWARD, IJ, PARALLEL, Field, K, computation, interval
from fieldstone.gtscript.stencil import define

F64 = np.float64
FACTOR = 2.0


class Scheme(enum.Enum):
    EULER = 1
    HEUN = 2


class Order(enum.IntEnum):
    SECOND = 2
    FOURTH = 4


constants = types.SimpleNamespace(gravity=9.81, earth=types.SimpleNamespace(radius=6371e3), order=Order.SECOND)


def run(definition: Callable[..., Any], *arrays: Any, **options: Any) -> None:
    gtscript.stencil(backend="numpy", definition=definition, **options)(*arrays, validate_args=True)


def value_of(definition: Callable[..., Any], **options: Any) -> float:
    """What a stencil with the one parameter ``out`` writes."""
    out = np.full((1, 1, 1), np.nan)
    run(definition, out, **options)
    return float(out[0, 0, 0])


def test_free_names_come_from_the_module():
    def definition(out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = FACTOR * constants.earth.radius + constants.order + gtscript.sqrt(4.0)

    assert value_of(definition) == 2.0 * 6371e3 + 2 + 2


def test_free_names_come_from_enclosing_functions_first():
    FACTOR = 3.0

    @gtscript.function
    def scaled(f):
        return FACTOR * f

    def definition(out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = scaled(FACTOR)

    assert value_of(definition) == 9.0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (2, 2.0),
        (0.5, 0.5),
        (True, 1.0),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.int16(-7), -7.0),
        (np.bool_(True), 1.0),
        (Scheme.HEUN, 2.0),
        (Order.FOURTH, 4.0),
        (-(2**63), -(2.0**63)),
    ],
)
def test_externals_are_numbers(given: Any, expected: float):
    def definition(out: Field[F64]):
        from __externals__ import value

        with computation(PARALLEL), interval(...):
            out = value

    assert value_of(definition, externals={"value": given}) == expected


def test_externals_are_nested_namespaces_and_functions():
    @gtscript.function
    def double(f):
        return 2.0 * f

    def definition(out: Field[F64]):
        from __externals__ import model as m
        from __externals__ import transform

        with computation(PARALLEL), interval(...):
            out = transform(m.physics.gravity)

    model = {"physics": types.SimpleNamespace(gravity=9.81)}
    assert value_of(definition, externals={"model": model, "transform": double}) == 2.0 * 9.81


def test_maths_functions_of_python_numpy_and_math_are_gtscripts():
    def definition(out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = math.sqrt(16.0) + np.minimum(3.0, 2.0) + np.float32(0.5) + max(1.0, 2.0) + np.arctan(0.0)

    assert value_of(definition) == 8.5


def test_functions_are_looked_up_when_a_stencil_is_made():
    @gtscript.function
    def outer(f):
        return inner(f) + 1.0

    @gtscript.function
    def inner(f):
        return 10.0 * f

    def definition(out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = outer(2.0)

    assert value_of(definition) == 21.0


def test_functions_can_be_called_from_python():
    @gtscript.function
    def limited(flux, bound=1.0):
        """Limit a flux."""
        return min(flux, bound)

    assert limited(3.0) == 1.0
    assert limited(3.0, bound=2.0) == 2.0
    assert limited.__doc__ == "Limit a flux."
    assert "limited" in repr(limited)


def test_annotations_name_types():
    real = np.float32

    def definition(
        a: Field[real], b: Field["my"], c: Field[IJ, "my"], d: my, e: "Field[K, float]", f: int, g: Field[int]
    ):
        with computation(FORWARD), interval(...):
            a = b + c + d + e + f + g

    stencil = gtscript.stencil(
        backend="numpy", definition=definition, dtypes={"my": np.float16, int: np.int32} | {"my": F64}
    )
    types_ = {name: info.dtype for name, info in (stencil.field_info | stencil.parameter_info).items()}
    assert types_ == {
        "a": np.float32,
        "b": np.float64,
        "c": np.float64,
        "d": np.float64,
        "e": np.float64,
        "f": np.int32,
        "g": np.int32,
    }
    axes = {name: "".join(info.axes) for name, info in stencil.field_info.items()}
    assert axes == {"a": "IJK", "b": "IJK", "c": "IJ", "e": "K", "g": "IJK"}


def test_parts_of_annotations_may_be_in_brackets():
    def definition(
        a: Field[gtscript.DType[np.float32]],
        b: Field[gtscript.DType[np.float32], gtscript.Axes["IJ"]],
        c: Field[np.float32, gtscript.Axes["K"]],
        d: Field[IJ, gtscript.DType["f4"]],
    ):
        with computation(FORWARD), interval(...):
            a = b + c + d

    stencil = gtscript.stencil(backend="numpy", definition=definition)
    assert {info.dtype for info in stencil.field_info.values()} == {np.dtype(np.float32)}
    axes = {name: "".join(info.axes) for name, info in stencil.field_info.items()}
    assert axes == {"a": "IJK", "b": "IJ", "c": "K", "d": "IJ"}


def test_the_text_of_a_notebook_cell_is_found():
    cell = (
        "from fieldstone import gtscript\n"
        "from fieldstone.gtscript import *\n"
        "if True:\n"
        "    @gtscript.stencil(\n"
        "        backend='numpy',\n"
        "    )\n"
        "    def cell(out: Field[float]):\n"
        "        with computation(PARALLEL), interval(...):\n"
        "            out = undefined_name\n"
    )
    file = "<ipython-input-7-0123456789ab>"
    linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
    with pytest.raises(errors.GTScriptSymbolError) as caught:
        exec(compile(cell, file, "exec"), {"__name__": "__main__"})
    [found] = caught.value.diagnostics
    assert (found["file"], found["line"], found["column"]) == (file, 9, 19)
    assert "9 |             out = undefined_name\n  |                   ^^^^^^^^^^^^^^" in str(caught.value)


def test_a_text_that_nobody_keeps_is_an_error():
    names: dict[str, Any] = {"gtscript": gtscript, "Field": Field}
    exec("def unknown(out: Field[float]):\n    pass\n", names)
    with pytest.raises(errors.GTScriptDefinitionError, match="the text of `unknown` is not to be found"):
        gtscript.stencil(backend="numpy", definition=names["unknown"])


def test_a_text_that_was_changed_since_is_an_error():
    text = "def changed(out: Field[float]):\n    with computation(PARALLEL), interval(...):\n        out = 1.0\n"
    names: dict[str, Any] = {"Field": Field}
    exec(compile(text, "<changed>", "exec"), names)
    for now in ("import math\n", f"import math\n{text}", text.replace("changed", "other")):
        linecache.cache["<changed>"] = (len(now), None, now.splitlines(keepends=True), "<changed>")
        with pytest.raises(
            errors.GTScriptDefinitionError, match="at line 1 of <changed>, which was changed after it was"
        ):
            gtscript.stencil(backend="numpy", definition=names["changed"])


def test_long_strings_may_stick_out_of_the_indentation():
    def definition(out: Field[float]):
        """A docstring
        that sticks out.
        """
        with computation(PARALLEL), interval(...):
            out = 1.0

    assert value_of(definition) == 1.0


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


class Model:
    def step(self, out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = 1.0


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (Model().step, "`Model.step` is a method of an object: define it outside of the class"),
        (plain(lambda out: None), "another decorator replaced the function"),
        (lambda out: None, "not from a lambda"),
        (3, "a function defined with `def`, not from 3"),
        (Scheme, "a function defined with `def`"),
    ],
)
def test_only_plain_functions_have_a_text(definition: Any, words: str):
    with pytest.raises(errors.ArgumentTypeError, match=words):
        gtscript.stencil(backend="numpy", definition=definition)
    with pytest.raises(errors.ArgumentTypeError, match=words):
        gtscript.function(definition)


def test_a_backend_is_named():
    def definition(out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = 1.0

    with pytest.raises(errors.ArgumentTypeError, match=r"backend is a string, as in @gtscript\.stencil"):
        gtscript.stencil(definition)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"externals": [1]}, errors.ArgumentTypeError, "externals is a mapping"),
        ({"externals": {1: 2}}, errors.ArgumentTypeError, "one of its names is 1"),
        ({"name": 3}, errors.ArgumentTypeError, "name is a string, not 3"),
        ({"name": "fall speed"}, errors.ArgumentValueError, "name is 'fall speed', expected one that a function can"),
        ({"name": "physics.class"}, errors.ArgumentValueError, "name is 'physics.class'"),
        ({"name": "physics."}, errors.ArgumentValueError, "name is 'physics.'"),
        ({"dtypes": "float"}, errors.ArgumentTypeError, "dtypes is a mapping"),
        (
            {"literal_float_precision": 16},
            errors.ArgumentValueError,
            "literal_float_precision is None, 32 or 64, not 16",
        ),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], kind: type[Exception], words: str):
    def definition(out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = 1.0

    with pytest.raises(kind, match=words):
        define(definition, **options)


@pytest.mark.parametrize("word", [gtscript.computation, gtscript.sin, gtscript.interval])
def test_words_mean_nothing_outside_of_a_stencil(word: Any):
    with pytest.raises(errors.GTScriptDefinitionError, match="inside of a stencil"):
        word(1.0)
    with pytest.raises(TypeError, match="inside of a stencil"):
        K + 1


def test_every_public_name_is_there():
    for name in gtscript.__all__:
        assert hasattr(gtscript, name), name


def nested(functions: int) -> Callable[..., Any]:
    """A stencil whose functions call each other that deep."""
    text = "from fieldstone import gtscript\nfrom fieldstone.gtscript import *\n"
    text += "@gtscript.function\ndef f0(x):\n    return x[1, 0, 0] - x\n"
    for n in range(1, functions):
        text += f"@gtscript.function\ndef f{n}(x):\n    y = f{n - 1}(x) + 1.0\n    return y\n"
    text += "def stencil(inp: Field[float], out: Field[float]):\n    with computation(PARALLEL), interval(...):\n"
    text += f"        out = f{functions - 1}(inp)\n"
    file = f"<nested {functions}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, file, "exec"), names)
    definition: Callable[..., Any] = names["stencil"]
    return definition


def in_small_thread(work: Callable[[], Any]) -> Any:
    """What `work` returns or raises on a thread with little stack."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    return found[0]


def long_sum(terms: int) -> Callable[..., Any]:
    text = "def stencil(inp: Field[float], out: Field[float]):\n    with computation(PARALLEL), interval(...):\n"
    text += f"        out = {' + '.join(['inp'] * terms)}\n"
    file = f"<sum of {terms}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = dict(vars(gtscript))
    exec(compile(text, file, "exec"), names)
    definition: Callable[..., Any] = names["stencil"]
    return definition


def test_the_stack_of_a_small_thread_is_enough():
    for definition in (nested(40), long_sum(300)):
        assert in_small_thread(lambda definition=definition: define(definition).name) == "stencil"


@pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_ifirst"])
def test_a_long_sum_is_compiled_and_run_on_a_small_thread(backend):
    inp, out = np.ones((3, 3, 3)), np.zeros((3, 3, 3))
    stencil = in_small_thread(lambda: gtscript.stencil(backend, long_sum(300)))
    in_small_thread(lambda: stencil(inp, out))
    assert (out == 300).all()


def test_a_sum_that_is_too_long_is_an_error_on_a_small_thread():
    definition = long_sum(1000)
    error = in_small_thread(lambda: define(definition))
    assert isinstance(error, errors.GTScriptUnsupportedError)
    assert "too long" in str(error)


def test_functions_nested_without_end_are_an_error():
    with pytest.raises(errors.GTScriptUnsupportedError, match="functions call functions too deeply") as caught:
        define(nested(400))
    assert "in this call of `f399`, and " in str(caught.value)
    assert str(caught.value).count("in this call of") == 6
