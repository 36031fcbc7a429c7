"""Programs of the size of real ones: a column physics of two thousand statements, a core of hundreds of stencils.

Their text is written by a seeded generator, once in gtscript and once, statement by statement, for NumPy arrays.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript

BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"]
FIELDS = [f"q{n}" for n in range(40)]
UNUSED = ["FS0420", "FS0421"]
"""A generated program does not use everything."""
EXTERNALS = {f"c{n}": 0.1 + 0.01 * n for n in range(100)}

PREAMBLE = """
import numpy as np
from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval
"""

# Nested four deep; each text is a gtscript function and, without its decorator, one for arrays.
FUNCTIONS = """
{decorator}
def scaled(a, b):
    return a * b + 0.5

{decorator}
def twice(a, b):
    x = scaled(a, b)
    return scaled(x, a) - x

{decorator}
def limited(a, b, c):
    y = twice(a, b)
    return minimum(y, twice(c, b))

{decorator}
def flux(a, b, c):
    return limited(a, b, c) / (1.0 + absolute(twice(b, c)))
"""


def statement(random: random.Random, target: str, before: list[str]) -> tuple[list[str], list[str]]:
    """One to five lines of gtscript that assign `target`, and lines that do the same with arrays."""
    a = random.choice(FIELDS)
    b, c = (random.choice(before[-reach:] or FIELDS) for reach in (30, 300))
    external = random.choice(list(EXTERNALS))
    kind = random.choice(["sum"] * 12 + ["flux", "branch", "root", "limit"])
    if kind == "branch":
        script = [f"{target} = {a}", f"if {b} > {external}:", f"    {target} = {c} * {external}"]
        script += ["else:", f"    {target} = {b} - {a}"]
        return script, [f"{target} = np.where({b} > {external}, {c} * {external}, {b} - {a})"]
    text = {
        "sum": f"{target} = {a} * {external} + {b} * dt - {c}",
        "flux": f"{target} = flux({a}, {b}, {c})",
        "root": f"{target} = sqrt(absolute({a})) * {b} + {external}",
        "limit": f"{target} = maximum({a}, minimum({b}, {c}))",
    }[kind]
    return [text], [text]


def column_physics(statements: int) -> str:
    """The text of a module with `physics`, a definition, and `physics_of_arrays`, a function."""
    chance = random.Random(11)
    script: list[str] = []
    arrays: list[str] = []
    temporaries: list[str] = []
    for n in range(statements):
        one, other = statement(chance, f"t{n}", temporaries)
        script, arrays = script + one, arrays + other
        temporaries.append(f"t{n}")
        if n % 50 == 49:
            output = chance.choice(FIELDS[:8])
            script.append(f"{output} = t{n} + {chance.choice(temporaries)}")
            arrays.append(f"{output} = {script[-1].split(' = ')[1]}")
    words = {"minimum": "min", "maximum": "max", "absolute": "abs", "dt": "dt"}
    gtscript_lines = ["        " + line for line in script]
    body = "\n".join(gtscript_lines)
    functions = FUNCTIONS.format(decorator="@gtscript.function")
    for numpy_word, word in words.items():
        body, functions = body.replace(numpy_word, word), functions.replace(numpy_word, word)
    parameters = ", ".join(f"{name}: Field[float]" for name in FIELDS)
    return "\n".join(
        [
            PREAMBLE,
            functions,
            f"def physics({parameters}, *, dt: float):",
            f"    from __externals__ import {', '.join(EXTERNALS)}",
            "    with computation(PARALLEL), interval(...):",
            body,
            "",
            "def of_arrays():",
            "    from numpy import absolute, maximum, minimum, sqrt",
            *("    " + line for line in FUNCTIONS.format(decorator="").splitlines()),
            f"    def physics_of_arrays({', '.join(FIELDS)}, {', '.join(EXTERNALS)}, dt):",
            *("        " + line for line in arrays),
            f"        return {', '.join(FIELDS[:8])}",
            "    return physics_of_arrays",
        ]
    )


def load(text: str, path: Path) -> ModuleType:
    """The module of a text, from a file, as the text of stencils is read from one."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def physics(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return load(column_physics(2000), tmp_path_factory.mktemp("programs") / "physics.py")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_column_physics_of_two_thousand_statements(physics: ModuleType, backend: str) -> None:
    stencil = gtscript.stencil(backend, physics.physics, externals=EXTERNALS, ignore=UNUSED)
    values = np.random.default_rng(5).random((len(FIELDS), 5, 4, 6))
    fields = dict(zip(FIELDS, values.copy(), strict=True))
    stencil(**fields, dt=0.01)
    with np.errstate(all="ignore"):
        expected = physics.of_arrays()(*values, *EXTERNALS.values(), 0.01)
    for name, outcome in zip(FIELDS, expected, strict=False):
        np.testing.assert_allclose(fields[name], outcome, rtol=1e-10, err_msg=name)


def dynamical_core(stencils: int) -> str:
    """The text of a module with many definitions, each a step of another kind."""
    steps = {
        "advect": "out = a - c * (a[1, 0, 0] - a[-1, 0, 0]) * b",
        "diffuse": "out = a + c * (a[1, 0, 0] + a[-1, 0, 0] + a[0, 1, 0] + a[0, -1, 0] - 4.0 * a)",
        "limit": "out = a if a > b[0, 1, 0] else b[0, -1, 0] * c",
    }
    lines = [PREAMBLE]
    for n in range(stencils):
        kind, text = list(steps.items())[n % len(steps)]
        lines += [
            f"def {kind}_{n}(a: Field[float], b: Field[float], out: Field[float], *, c: float):",
            "    with computation(PARALLEL), interval(...):",
            f"        {text}",
        ]
        lines.append("")
    return "\n".join(lines)


def step(kind: str, a: Any, b: Any, c: float) -> Any:
    """What a stencil of `dynamical_core` does inside of one point of halo."""
    inner = (slice(1, -1), slice(1, -1))
    west, east, south, north = a[:-2, 1:-1], a[2:, 1:-1], a[1:-1, :-2], a[1:-1, 2:]
    if kind == "advect":
        return a[inner] - c * (east - west) * b[inner]
    if kind == "diffuse":
        return a[inner] + c * (east + west + north + south - 4.0 * a[inner])
    return np.where(a[inner] > b[1:-1, 2:], a[inner], b[1:-1, :-2] * c)


@pytest.mark.parametrize("backend", ["numpy", "cpu_kfirst"])
def test_a_dynamical_core_of_two_hundred_stencils(tmp_path: Path, backend: str) -> None:
    module = load(dynamical_core(200), tmp_path / "core.py")
    definitions: list[Callable[..., Any]] = [
        value for name, value in vars(module).items() if name.split("_")[0] in ("advect", "diffuse", "limit")
    ]
    assert len(definitions) == 200
    generator = np.random.default_rng(8)
    a, b = generator.random((2, 8, 7, 3))
    field, expected = a.copy(), a.copy()
    out = np.zeros_like(a)
    for definition in definitions:
        stencil = gtscript.stencil(backend, definition, ignore=UNUSED)
        stencil(field, b, out, c=0.1, origin=(1, 1, 0), domain=(6, 5, 3))
        field[1:-1, 1:-1] = out[1:-1, 1:-1]
        expected[1:-1, 1:-1] = step(definition.__name__.split("_")[0], expected, b, 0.1)
    np.testing.assert_allclose(field, expected, rtol=1e-12)


def test_a_function_of_sixty_arguments(tmp_path: Path) -> None:
    names = [f"a{n}" for n in range(60)]
    text = "\n".join(
        [
            PREAMBLE,
            "@gtscript.function",
            f"def combine({', '.join(names)}):",
            *(f"    s{n} = {name}[{n % 3 - 1}, 0, 0] * {n}.0" for n, name in enumerate(names)),
            f"    return {' + '.join(f's{n}' for n in range(30))}, {' + '.join(f's{n}' for n in range(30, 60))}",
            "",
            "def definition(inp: Field[float], first: Field[float], second: Field[float]):",
            "    with computation(PARALLEL), interval(...):",
            f"        first, second = combine({', '.join(f'a{n}=inp + {n}.0' for n in reversed(range(60)))})",
        ]
    )
    definition = load(text, tmp_path / "sixty.py").definition
    inp = np.random.default_rng(2).random((9, 4, 3))
    terms = [(inp[n % 3 : n % 3 + 7] + n) * n for n in range(60)]
    for backend in BACKENDS:
        first, second = np.zeros((2, 9, 4, 3))
        gtscript.stencil(backend, definition)(inp, first, second, origin=(1, 0, 0), domain=(7, 4, 3))
        np.testing.assert_allclose(first[1:-1], sum(terms[:30]), rtol=1e-12)
        np.testing.assert_allclose(second[1:-1], sum(terms[30:]), rtol=1e-12)
