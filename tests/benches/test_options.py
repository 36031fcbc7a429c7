"""What ``python -m benches`` answers to wrong use, and where it leaves what it has measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches import __main__ as command
from benches import repeated, suite


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
        (["repeated"], "repeated needs the file of a run before: --beside FILE"),
        (["repeated", "--beside", "no.json"], "there is no file 'no.json' that stencils have written"),
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


def written(path: Path, times: dict[str, float]) -> Path:
    """Write what one comparison with these times has measured, as if in two rounds."""
    setting = {"case": "copy", "size": [8, 8, 8], "dtype": "float64", "threads": 1, "cold": False}
    ratios = {name: dict.fromkeys(("median", "low", "high"), time / times["C"]) for name, time in times.items()}
    comparison = {
        "setting": setting,
        "times": {name: [time, time] for name, time in times.items()},
        "copy_bandwidth": 2e9,
        "traffic": 1e3,
        "floating": 0.0,
        "peak": None,
        "c": "C",
        "ratios": ratios,
        "refused": {},
    }
    path.write_text(json.dumps({"results": [{"comparisons": [comparison]}]}))
    return path


def test_two_runs_stand_beside_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"C": 1e-6, "fieldstone I": 1.02e-6, "fieldstone J": 1.03e-6}
    before = written(tmp_path / "before.json", {**rows, "fieldstone K": 1.2e-6})
    now = written(tmp_path / "now.json", {**rows, "fieldstone K": 1.1e-6})
    run(monkeypatch, "repeated", "--beside", str(before), "--output", str(now))
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert ["copy", "1, 1 µs", "1.02, 1.02", "1.03, 1.03", "1.20, 1.10", "49%, 49%", "1.18, 1.08"] in cells
    assert ["along I and J at most 1.02 of C", "2", "1", "0", "1"] in cells
    assert ["K / I at most 1.15", "1", "0", "1", "0"] in cells


def test_why_a_contender_refuses_a_case_is_told(tmp_path: Path) -> None:
    file = written(tmp_path / "now.json", {"C": 1e-6, "fieldstone I": 1e-6})
    (comparison,) = repeated.read(file)
    comparison.refused["GT4Py gt:cpu_ifirst"] = "GTScriptSyntaxError: no regions\nat line 3"
    lines = suite.details(comparison).as_text().splitlines()
    assert lines[1] == "GT4Py gt:cpu_ifirst refuses: GTScriptSyntaxError: no regions"
