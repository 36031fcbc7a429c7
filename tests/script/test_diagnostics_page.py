"""Of each code that docs/diagnostics.md explains, the first example has the error and the second has none."""

from __future__ import annotations

import ast
import linecache
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldstone import errors
from fieldstone.gtscript.stencil import define

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "diagnostics.md"
TEXT = PAGE.read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTIONS = dict(zip(*[iter(re.split(r"^### (FS\d{4})$", TEXT, flags=re.MULTILINE)[1:])] * 2, strict=True))
EXAMPLES = {code: BLOCK.findall(text) for code, text in SECTIONS.items() if "```python" in text}

# Codes that no example can have, and what stands in the way.
WITHOUT_EXAMPLE = {
    "FS0001": "Python refuses the text before a stencil could be made of it",
    "FS0306": "what reads a temporary before anything else was assigned to it is refused as FS0104",
    "FS0308": "a precision that is no type is an ArgumentValueError of `gtscript.stencil` before it is looked at",
    "FS0406": "such conditions are split; the error guards those that split them",
    "FS0450": "a bug of fieldstone: no text is known that leads there",
    "FS0460": "the internal form is read as a text by programs in Rust only",
}


def executed(code: str, number: int) -> dict[str, Any]:
    """The names of the page's first block and of an example."""
    preamble = BLOCK.findall(TEXT)[0]
    block = EXAMPLES[code][number]
    file = f"<{code} {number}>"
    linecache.cache[file] = (len(block), None, block.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(preamble, names)
    exec(compile(block, file, "exec"), names)
    return names


def definition(code: str, number: int) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The last function of an example, and the options it is compiled with."""
    names, block = executed(code, number), EXAMPLES[code][number]
    functions = [
        node.name for node in ast.parse(block).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    options: dict[str, Any] = {"dtypes": {"my type": np.float32}}
    if externals := re.match(r"# externals=(.*)\n", block):
        options["externals"] = ast.literal_eval(externals[1])
    return names[functions[-1]], options


def found(code: str, number: int) -> set[str]:
    """The codes of the errors and warnings of an example."""
    if code >= "FS06":
        return found_by_run(code, number)
    function, options = definition(code, number)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            define(function, **options)
        except errors.GTScriptError as error:
            return {str(entry["code"]) for entry in error.diagnostics}
    return {str(warning.message)[:6] for warning in caught if issubclass(warning.category, errors.StencilWarning)}


def found_by_run(code: str, number: int) -> set[str]:
    """The code of the error that an example, which calls its stencil, catches as `found`."""
    error = executed(code, number).get("found")
    if error is None:
        return set()
    assert isinstance(error, errors.ExecutionError)
    assert (error.index is None) is (code == "FS0603")
    return {str(entry["code"]) for entry in error.diagnostics}


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_first_example_is_wrong_and_the_second_right(code: str):
    assert len(EXAMPLES[code]) == 2
    assert code in found(code, 0)
    assert found(code, 1) == set()


def test_every_code_is_explained():
    sources = [path.read_text() for path in sorted(ROOT.glob("crates/*/src/**/*.rs"))]
    # A code is a number in a constant or in the table of rules.
    numbers = [
        number
        for text in sources
        for pair in re.findall(r"\bCode\((\d+)\)|^        [A-Z_]+ = (\d+);", text, flags=re.MULTILINE)
        for number in filter(None, pair)
    ]
    assert len(numbers) == len(set(numbers)), "two errors have one code"
    assert {f"FS{int(number):04}" for number in numbers} == set(SECTIONS)
    assert set(SECTIONS) - set(EXAMPLES) == set(WITHOUT_EXAMPLE)


def test_no_other_code_is_named():
    files = [path for folder in ("crates", "python", "docs") for path in sorted((ROOT / folder).rglob("*"))]
    for path in files:
        if path.suffix in (".rs", ".py", ".pyi", ".md"):
            text = re.sub(r"FS\d{4} to FS\d{4}", "", path.read_text())
            assert set(re.findall(r"\bFS\d{4}\b", text)) <= set(SECTIONS), path
