"""How errors look: as text, in a terminal, in a notebook."""

from __future__ import annotations

import logging
import os
import pickle
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fieldstone import errors
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.gtscript.stencil import define

PROGRAM = """\
from fieldstone.gtscript import PARALLEL, Field, computation, interval, stencil


@stencil(backend="numpy")
def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = imp
"""
ESCAPE = "\x1b["


def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = imp


def error() -> errors.GTScriptError:
    with pytest.raises(errors.GTScriptError) as caught:
        define(copy)
    return caught.value


def uncaught(file: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    file.write_text(PROGRAM)
    run = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env={**environment, **variables})
    return run.stderr


@pytest.mark.parametrize(
    ("variables", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_the_environment_decides_on_colours(tmp_path: Path, variables: dict[str, str], colored: bool):
    text = uncaught(tmp_path / "program.py", **variables)
    assert ("\x1b[1;31merror[FS0101]" in text) is colored
    assert "name `imp` is not defined" in text


def test_a_terminal_gets_colours_and_lines_that_fit(tmp_path: Path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.replace("= imp", "= imp" + " + inp" * 30))
    ours, theirs = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    variables.pop("NO_COLOR", None)
    with subprocess.Popen([sys.executable, str(file)], stderr=theirs, env=variables):
        os.close(theirs)
        text = ""
        while True:
            try:
                read = os.read(ours, 4096).decode()
            except OSError:  # the other end is closed
                break
            if not read:
                break
            text += read
    os.close(ours)
    assert "\x1b[1;31merror[FS0101]" in text
    _, _, shown = re.sub(r"\x1b\[[\d;]*m", "", text).partition("error[FS0101]")
    lines = shown.replace("\r", "").splitlines()
    assert lines[3].startswith("7 |         out = imp + inp")
    assert lines[3].endswith("…")
    assert len(lines[3]) == 80


def test_whoever_asks_for_the_text_gets_it_plain(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = error()
    assert ESCAPE not in str(found)
    assert ESCAPE not in repr(found)
    try:
        raise found
    except errors.GTScriptError:
        logging.getLogger("test").exception("failed")
    assert ESCAPE not in caplog.text


def test_a_notebook_shows_the_users_frames_and_the_message(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = error()._render_traceback_()
    files = re.findall(r'File "([^"]*)"', "\n".join(lines))
    assert {Path(file).name for file in files} == {"test_rendering.py"}
    assert lines[-1].startswith("GTScriptSymbolError: \x1b[1;31merror[FS0101]")
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in "\n".join(error()._render_traceback_())


def test_errors_survive_pickling():
    found = error()
    copied = pickle.loads(pickle.dumps(found))
    assert type(copied) is type(found)
    assert str(copied) == str(found)
    assert copied.diagnostics == found.diagnostics


def test_very_many_errors_are_counted():
    def wrong(inp: Field[float], out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11 + a12
            out = b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9 + b10 + b11 + b12

    with pytest.raises(errors.GTScriptSymbolError) as caught:
        define(wrong)
    assert len(caught.value.diagnostics) == 24
    assert str(caught.value).count("error[FS0101]") == 20
    assert str(caught.value).endswith("\n\nand 4 more errors; correct these first")
