"""Every construct of gtscript means what it means in GT4Py: results of GT4Py itself are the reference."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

import fieldstone.gt4py
from fieldstone import errors

from . import recorded

with fieldstone.gt4py.installed():
    from . import constructs

BACKENDS = ["debug", "numpy", "gt:cpu_kfirst", "gt:cpu_ifirst", "dace:cpu"]
RECORDED = recorded.read("constructs")
GT4PY = os.environ.get("FIELDSTONE_GT4PY_PYTHON")


def run(name: str, backend: str) -> dict[str, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return constructs.run_construct(name, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", constructs.CONSTRUCTS)
def test_a_construct_means_what_it_means_in_gt4py(name: str, backend: str) -> None:
    try:
        result = run(name, backend)
    except errors.GTScriptUnsupportedError as error:
        pytest.xfail(str(error).splitlines()[0])
    expected = {key.partition(".")[2]: values for key, values in RECORDED.items() if key.partition(".")[0] == name}
    assert set(result) == set(expected)
    for field, values in result.items():
        assert values.dtype == expected[field].dtype
        # A few units in the last place: functions such as `exp` are not the same ones.
        close = 8 * np.finfo(values.dtype).eps
        np.testing.assert_allclose(values.ravel(), expected[field], rtol=close, atol=close, err_msg=field)


def test_all_constructs_are_recorded() -> None:
    assert {name.partition(".")[0] for name in RECORDED} == set(constructs.CONSTRUCTS)


@pytest.mark.skipif(GT4PY is None, reason="FIELDSTONE_GT4PY_PYTHON names no interpreter that has GT4Py")
def test_what_is_recorded_is_what_gt4py_gives() -> None:
    assert GT4PY is not None
    for name, result in recorded.ask_both("constructs", GT4PY).items():
        for field, values in result.items():
            np.testing.assert_array_equal(values.ravel(), RECORDED[f"{name}.{field}"], err_msg=f"{name}.{field}")
