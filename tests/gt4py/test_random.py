"""Random programs give what they give on GT4Py, wherever GT4Py takes them."""

from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest

import fieldstone.gt4py

from .random_programs import module
from .run_random import run

GT4PY = os.environ.get("FIELDSTONE_GT4PY_PYTHON")
FIRST, COUNT = map(int, os.environ.get("FIELDSTONE_GT4PY_PROGRAMS", "0:30").split(":"))


def test_random_programs_agree_on_all_backends(tmp_path: Path) -> None:
    file = tmp_path / "programs.py"
    file.write_text(module(FIRST, COUNT))
    with fieldstone.gt4py.installed():
        ours = {backend: run(str(file), backend) for backend in ("numpy", "debug", "gt:cpu_ifirst")}
    assert sum(isinstance(result, dict) for result in ours["debug"].values()) > COUNT // 2
    for name, expected in ours["debug"].items():
        for backend, results in ours.items():
            compare(f"{name} on {backend}", results[name], expected)


@pytest.mark.skipif(GT4PY is None, reason="FIELDSTONE_GT4PY_PYTHON names no interpreter that has GT4Py")
def test_random_programs_agree_with_gt4py(tmp_path: Path) -> None:
    assert GT4PY is not None
    file, results = tmp_path / "programs.py", tmp_path / "results"
    file.write_text(module(FIRST, COUNT))
    command = [GT4PY, str(Path(__file__).parent / "run_random.py"), str(file), str(results), "numpy"]
    subprocess.run(command, check=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": ""})
    with fieldstone.gt4py.installed():
        ours = run(str(file), "numpy")
    taken = {name: result for name, result in pickle.loads(results.read_bytes()).items() if not isinstance(result, str)}
    assert len(taken) > COUNT // 2
    for name, expected in taken.items():
        compare(name, ours[name], expected)


def compare(name: str, result: dict[str, np.ndarray] | str, expected: dict[str, np.ndarray] | str) -> None:
    """Both are refused, or have the same values to rounding."""
    if isinstance(result, str) or isinstance(expected, str):
        assert isinstance(result, str), name
        assert isinstance(expected, str), f"{name}: {result}"
        return
    for field in expected:
        np.testing.assert_allclose(result[field], expected[field], rtol=1e-9, atol=1e-9, err_msg=f"{name}.{field}")
