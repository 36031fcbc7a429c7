"""Whole programs for GT4Py run here unmodified, and give what they give on GT4Py."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import fieldstone.gt4py
from fieldstone.gt4py.cartesian import config

from . import recorded
from .run_programs import PROGRAMS

BACKENDS = ["debug", "numpy", "gt:cpu_kfirst", "gt:cpu_ifirst", "dace:cpu"]
RECORDED = recorded.read("programs")
GT4PY = os.environ.get("FIELDSTONE_GT4PY_PYTHON")


def run(name: str, backend: str) -> dict[str, np.ndarray]:
    with fieldstone.gt4py.installed(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.path.insert(0, str(Path(__file__).parent / "programs"))
        try:
            return dict(importlib.import_module(name).run(backend))
        finally:
            del sys.path[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_on_gt4py(
    name: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(config.cache_settings, "root_path", str(tmp_path))
    monkeypatch.setitem(config.cache_settings, "dir_name", config.cache_settings["dir_name"])
    result = run(name, backend)
    expected = {key.partition(".")[2]: values for key, values in RECORDED.items() if key.partition(".")[0] == name}
    assert set(result) == set(expected)
    for field, values in result.items():
        assert values.dtype == expected[field].dtype, field
        # Rounding: functions such as `exp` differ in the last place, and a program runs many steps.
        close = 1000 * np.finfo(values.dtype).eps if values.dtype.kind == "f" else 0
        scale = abs(expected[field]).max()
        np.testing.assert_allclose(values.ravel(), expected[field], rtol=close, atol=close * scale, err_msg=field)


def test_all_programs_are_recorded() -> None:
    assert {name.partition(".")[0] for name in RECORDED} == set(PROGRAMS)


@pytest.mark.skipif(GT4PY is None, reason="FIELDSTONE_GT4PY_PYTHON names no interpreter that has GT4Py")
def test_what_is_recorded_is_what_gt4py_gives() -> None:
    assert GT4PY is not None
    for name, result in recorded.ask_both("programs", GT4PY).items():
        for field, values in result.items():
            np.testing.assert_array_equal(values.ravel(), RECORDED[f"{name}.{field}"], err_msg=f"{name}.{field}")
