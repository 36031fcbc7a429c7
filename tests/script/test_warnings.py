"""What a user sees of a suspicious definition, and what silences it."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.gtscript.stencil import define

PAGE = Path(__file__).resolve().parents[2] / "docs" / "diagnostics.md"


def suspicious(inp: Field[float], unused: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        uot = inp


def codes(definition: Callable[..., Any], **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        define(definition, **options)
    assert all(issubclass(warning.category, errors.StencilWarning) for warning in caught)
    return [str(warning.message)[:6] for warning in caught]


def test_a_warning_begins_with_its_code_and_has_the_facts():
    with pytest.warns(errors.StencilWarning, match=r"FS042\d: ") as caught:
        gtscript.stencil(backend="debug", definition=suspicious)
    line = suspicious.__code__.co_firstlineno
    assert [(warning.filename, warning.lineno) for warning in caught] == [
        ("tests/script/test_warnings.py", line),
        ("tests/script/test_warnings.py", line + 3),
    ]
    message = caught[1].message
    assert isinstance(message, errors.StencilWarning)
    assert str(message).startswith("FS0421: `uot` is assigned but never read\n")
    assert message.diagnostic["code"] == "FS0421"
    assert message.diagnostic["help"] == "did you mean `out`?"


@pytest.mark.parametrize(
    ("ignore", "expected"),
    [
        ([], ["FS0420", "FS0421"]),
        (["FS0421"], ["FS0420"]),
        (("FS0421", "FS0420"), []),
        ({"FS0424"}, ["FS0420", "FS0421"]),
        (["FS0421", "FS421"], ["FS0425", "FS0420"]),
        (["FS0101"], ["FS0425", "FS0420", "FS0421"]),
    ],
)
def test_codes_are_ignored(ignore: Any, expected: list[str], monkeypatch: pytest.MonkeyPatch):
    assert codes(suspicious, ignore=ignore) == expected
    monkeypatch.setenv("FIELDSTONE_IGNORE", " , ".join(ignore))
    assert codes(suspicious) == expected


@pytest.mark.parametrize("ignore", ["FS0421", 421, [421], None])
def test_what_is_no_list_of_codes_is_refused(ignore: Any):
    with pytest.raises(errors.ArgumentTypeError, match=re.escape("as in ignore=['FS0421']")):
        define(suspicious, ignore=ignore)


def test_comments_silence_their_line():
    def definition(inp: Field[float], unused: Field[float], out: Field[float]):  # fieldstone: ignore[FS0420]
        with computation(PARALLEL), interval(...):
            out = inp
            uot = inp  # fieldstone: ignore

    assert codes(definition) == []


def test_pythons_filters_know_the_codes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="FS0420")
        warnings.filterwarnings("ignore", message="FS0421", category=errors.StencilWarning)
        define(suspicious)


def test_the_filter_of_the_command_line_knows_the_codes(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(
        "from fieldstone.gtscript import PARALLEL, Field, computation, interval, stencil\n\n\n"
        '@stencil(backend="numpy")\n'
        "def copy(inp: Field[float], unused: Field[float], out: Field[float]):\n"
        "    with computation(PARALLEL), interval(...):\n"
        "        out = inp\n"
    )
    for filters, given in [([], True), (["-W", "ignore:FS0420"], False), (["-W", "ignore:FS0421"], True)]:
        run = subprocess.run([sys.executable, *filters, str(program)], capture_output=True, text=True, check=True)
        assert ("StencilWarning: FS0420: the parameter `unused` is not used" in run.stderr) is given


def test_every_warning_is_known_to_the_silencers():
    explained = re.findall(r"^### (FS04[234]\d)$", PAGE.read_text(), flags=re.MULTILINE)
    with pytest.warns(errors.StencilWarning) as caught:
        define(suspicious, ignore=["FS9999"])
    assert str(caught[0].message).endswith(f"the warnings are {', '.join(explained)}")


def test_options_that_nobody_knows_are_warned_of_where_they_are_given(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(
        "from fieldstone.gtscript import PARALLEL, Field, computation, interval, stencil\n\n\n"
        '@stencil(backend="numpy", thread=2)\n'
        "def copy(inp: Field[float], out: Field[float]):\n"
        "    with computation(PARALLEL), interval(...):\n"
        "        out = inp\n\n\n"
        'stencil("numpy", copy, schedul="tuned")\n'
    )
    run = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    places = re.findall(r"^(.*): UserWarning: .*\(did you mean '(.*)'\?\)$", run.stderr, flags=re.MULTILINE)
    assert places == [(f"{program}:4", "threads"), (f"{program}:10", "schedule")]
