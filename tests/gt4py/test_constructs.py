"""Every construct of gtscript means what it means in GT4Py."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest

import fieldstone.gt4py

with fieldstone.gt4py.installed():
    from . import constructs

BACKENDS = ["debug", "numpy", "gt:cpu_kfirst", "gt:cpu_ifirst", "dace:cpu"]


@functools.cache
def run(name: str, backend: str) -> dict[str, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return constructs.run_construct(name, backend)


def compare(result: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert set(result) == set(expected)
    for field, values in result.items():
        assert values.dtype == expected[field].dtype
        # A few units in the last place: functions such as `exp` are not the same ones.
        close = 8 * np.finfo(values.dtype).eps
        np.testing.assert_allclose(values, expected[field], rtol=close, atol=close, err_msg=field)


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.parametrize("name", constructs.CONSTRUCTS)
def test_a_construct_means_the_same_on_all_backends(name: str, backend: str) -> None:
    assert run(name, "debug"), "the call has changed nothing"
    compare(run(name, backend), run(name, "debug"))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", constructs.CONSTRUCTS)
def test_a_construct_means_what_it_means_in_gt4py(name: str, backend: str, constructs_on_gt4py: dict[str, Any]) -> None:
    expected = constructs_on_gt4py[name]
    assert isinstance(expected, dict), f"GT4Py refuses it: {expected}"
    compare(run(name, backend), expected)
