"""What the command line answers to wrong use: one sentence, exit status 2, no traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fieldstone.cli import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "fieldstone: the following arguments are required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["demo", "--colour", "red"], "unrecognized arguments: --colour red"),
        (["demo", "--steps", "0"], "argument --steps: expected a whole number from 1, got '0'"),
        (["demo", "--steps", "many"], "argument --steps: expected a whole number from 1, got 'many'"),
        (["demo", "--threads", "-1"], "argument --threads: expected a whole number from 1"),
        (["demo", "--threads", "100000"], "threads is '100000', but .* must be an integer from 1 to 1024"),
        (["demo", "--dtype", "float16"], "argument --dtype: invalid choice: 'float16'"),
        (["demo", "--input", "absent.nc"], "there is no file 'absent.nc'"),
        (["demo", "--input", __file__], "cannot read '.*' as a NetCDF file"),
        (["demo", "--variable", "humidity"], "no variable 'humidity' .* it has 'air_potential_temperature'"),
        (["demo", "--backend", "abacus"], "abacus"),
        (["demo", "--steps", "1", "--output", __file__], "cannot write to '.*test_cli.py'"),
    ],
)
def test_wrong_use(words: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(words)
    except SystemExit as stop:
        status = stop.code
    error = capfd.readouterr().err
    assert status == 2
    assert error.startswith("fieldstone")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert re.search(message, error), error


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["demo", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
    assert "--backend" in capsys.readouterr().out


def test_the_demo_runs_to_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--steps", "2", "--output", str(tmp_path / "out")]) == 0
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".nc", ".png"}
    assert "all backends agree" in capsys.readouterr().out
