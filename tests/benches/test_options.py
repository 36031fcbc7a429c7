"""What ``python -m benches`` answers to wrong use, and where it leaves what it has measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches import __main__ as command


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr("sys.argv", ["benches", *words])
    command.main()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rounds", "0"], "argument --rounds: expected a whole number from 1 to 1024, got '0'"),
        (["--threads", "1,-2"], "argument --threads: expected a whole number from 1 to 1024, got '-2'"),
        (["--only", "copy,tape"], "argument --only: expected some of copy"),
        (["--sizes", "128x128"], "argument --sizes: expected sizes such as 128x128x60, got '128x128'"),
        (["--gt4py-python", "no/python"], "argument --gt4py-python: there is no program 'no/python'"),
        (["figures", "--output", "no.json"], "there is no file 'no.json' that stencils have written"),
    ],
)
def test_wrong_use_is_said_before_anything_is_measured(words, message, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("output", ["folder", "folder/mine.json"])
def test_drawings_lie_beside_what_was_measured(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    drawn = []
    monkeypatch.setattr(command.threads, "limit", lambda _: None)
    monkeypatch.setattr(command.figures, "draw", lambda *paths: drawn.append(paths) or [])
    monkeypatch.setitem(command.MEASURES, "stencils", lambda _: [("a table", {"a": 1})])
    run(monkeypatch, "--threads", "1", "--output", str(tmp_path / output))
    file = tmp_path / ("folder/stencils.json" if output == "folder" else output)
    assert json.loads(file.read_text())["results"] == [{"a": 1}]
    assert drawn == [(file, file.parent)]
