"""Whole programs for GT4Py run here unmodified, and give what they give on GT4Py."""

from __future__ import annotations

import functools
import importlib
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import fieldstone.gt4py
from fieldstone.gt4py.cartesian import config

from .run_programs import PROGRAMS

BACKENDS = ["debug", "numpy", "gt:cpu_kfirst", "gt:cpu_ifirst", "dace:cpu"]


@functools.cache
def run(name: str, backend: str) -> dict[str, np.ndarray]:
    folder = str(Path(__file__).parent / "programs")
    with (
        tempfile.TemporaryDirectory() as cache,
        mock.patch.dict(config.cache_settings, root_path=cache),
        mock.patch.object(sys, "path", [folder, *sys.path]),
        fieldstone.gt4py.installed(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        return dict(importlib.import_module(name).run(backend))


def compare(result: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert set(result) == set(expected)
    for field, values in result.items():
        assert values.dtype == expected[field].dtype, field
        # Rounding: functions such as `exp` differ in the last place, and a program runs many steps.
        close = 1000 * np.finfo(values.dtype).eps if values.dtype.kind == "f" else 0
        scale = abs(expected[field]).max()
        np.testing.assert_allclose(values, expected[field], rtol=close, atol=close * scale, err_msg=field)


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_same_on_all_backends(name: str, backend: str) -> None:
    assert run(name, "debug")
    compare(run(name, backend), run(name, "debug"))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_on_gt4py(name: str, backend: str, programs_on_gt4py: dict[str, Any]) -> None:
    expected = programs_on_gt4py[name]
    assert isinstance(expected, dict), expected
    compare(run(name, backend), expected)
