"""What GT4Py refuses for a reason of the language is refused with the same class of exception."""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from pathlib import Path

import pytest

import fieldstone.gt4py

with fieldstone.gt4py.installed():
    from . import wrong

GT4PY = os.environ.get("FIELDSTONE_GT4PY_PYTHON")


@pytest.mark.parametrize("name", wrong.WRONG)
def test_a_wrong_program_is_refused_as_by_gt4py(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = wrong.refusal(name, "debug")
    if wrong.WRONG[name].here == "nothing":
        assert error is None
        return
    assert wrong.WRONG[name].here in {base.__name__ for base in type(error).__mro__}, error


@pytest.mark.skipif(GT4PY is None, reason="FIELDSTONE_GT4PY_PYTHON names no interpreter that has GT4Py")
def test_the_table_says_what_gt4py_raises(tmp_path: Path) -> None:
    assert GT4PY is not None
    command = [GT4PY, str(Path(__file__).parent / "run_wrong.py"), "numpy"]
    output = subprocess.run(
        command, check=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True
    ).stdout
    found = {name: error and error[0] for name, error in json.loads(output).items()}
    assert found == {name: case.gt4py for name, case in wrong.WRONG.items()}
