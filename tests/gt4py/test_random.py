"""Random programs give what they give on GT4Py, wherever GT4Py takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldstone.gt4py

from .random_programs import CHOSEN
from .run_random import run

BACKENDS = ("debug", "numpy", "gt:cpu_ifirst")
_, COUNT = CHOSEN


@pytest.fixture(scope="session")
def ours(random_module: Path) -> dict[str, dict[str, Any]]:
    """Results by backend and name."""
    with fieldstone.gt4py.installed():
        return {backend: run(str(random_module), backend) for backend in BACKENDS}


def test_random_programs_agree_on_all_backends(ours: dict[str, dict[str, Any]]) -> None:
    assert sum(isinstance(result, dict) for result in ours["debug"].values()) > COUNT // 2
    for name, expected in ours["debug"].items():
        for backend, results in ours.items():
            compare(f"{name} on {backend}", results[name], expected)


def test_random_programs_agree_with_gt4py(
    ours: dict[str, dict[str, Any]], random_programs_on_gt4py: dict[str, Any]
) -> None:
    taken = {name: result for name, result in random_programs_on_gt4py.items() if not isinstance(result, str)}
    assert len(taken) > COUNT // 2
    for name, expected in taken.items():
        compare(name, ours["numpy"][name], expected)


def compare(name: str, result: dict[str, np.ndarray] | str, expected: dict[str, np.ndarray] | str) -> None:
    """Both are refused, or have the same values to rounding."""
    if isinstance(result, str) or isinstance(expected, str):
        assert isinstance(result, str), name
        assert isinstance(expected, str), f"{name}: {result}"
        return
    for field in expected:
        np.testing.assert_allclose(result[field], expected[field], rtol=1e-9, atol=1e-9, err_msg=f"{name}.{field}")
