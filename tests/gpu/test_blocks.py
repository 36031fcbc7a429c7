"""Blocks of any shape compute the same on a device, whether its stages share memory or compute again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benches.cases import CASES
from benches.cases.edges import edges
from benches.cases.fvt import fvt
from benches.cases.hdiff import hdiff
from benches.cases.lap7 import lap7
from fieldstone import errors, gtscript
from tests.gpu.assembler import assembled
from tests.gpu.constructs import columns, regions, stages

HALO = 4
DOMAIN = (37, 21, 6)
SHAPES = [
    None,
    "tile.I=64",
    "tile.I=8 tile.J=8 tile.K=3",
    "tile.I=5 tile.J=3",
    "tile.J=100",
    "tile.I=64 tile.J=8",
    "tile.I=1 tile.J=1",
    "vector=J",
    "vector=K tile.K=7",
    "levels=3",
    "tile.K=6 levels=2 tile.I=16",
]


def outcome(definition: Any, backend: str, schedule: str | None = None) -> dict[str, Any]:
    """Every field after a call."""
    options = {} if schedule is None else {"schedule": schedule}
    stencil = gtscript.stencil(backend, definition, dtypes={"real": np.float64}, **options)
    random = np.random.default_rng(1)
    values: dict[str, Any] = {}
    for name, info in stencil.field_info.items():
        points = {"I": DOMAIN[0] + 2 * HALO, "J": DOMAIN[1] + 2 * HALO, "K": DOMAIN[2] + 2 * HALO}
        shape = tuple(points[axis] for axis in info.axes)
        values[name] = np.asfortranarray(random.uniform(0.5, 2, shape))
    scalars = {name: info.dtype.type(0.3) for name, info in stencil.parameter_info.items()}
    origins = {name: (HALO,) * values[name].ndim for name in values}
    stencil(**values, **scalars, origin=origins, domain=DOMAIN)
    return values


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("schedule", SHAPES)
@pytest.mark.parametrize(
    "definition", [hdiff, lap7, fvt, edges, stages, regions, columns], ids=lambda one: one.__name__
)
def test_blocks_of_any_shape(definition: Any, schedule: str | None) -> None:
    expected, found = outcome(definition, "cpu_ifirst"), outcome(definition, "gpu", schedule)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name, strict=True)


@pytest.mark.parametrize(
    ("backend", "schedule", "message"),
    [
        ("gpu", "tile.I=8 stores=streamed", "'stores=streamed' cannot be chosen for the backend 'gpu'"),
        ("gpu", "fetch=2", "what can be chosen there: vector, tile.I, tile.J, tile.K, levels"),
        ("gpu", "levels=17", "levels is 17, expected an integer from 1 to 16"),
        ("cpu_kfirst", "tile.I=8 levels=2", "'levels=2' cannot be chosen for the backend 'cpu_kfirst'"),
    ],
)
def test_what_cannot_be_chosen_is_refused(backend: str, schedule: str, message: str) -> None:
    with pytest.raises(errors.ArgumentValueError, match=message):
        gtscript.stencil(backend, hdiff, dtypes={"real": np.float64}, schedule=schedule)


def test_threads_compute_as_many_levels_as_was_chosen() -> None:
    stencil = gtscript.stencil("gpu", lap7, dtypes={"real": np.float64}, schedule={"levels": 8, "tile": {"K": 16}})
    (kernel,) = stencil.explain().kernels
    assert kernel.tile == {"I": 32, "J": 8, "K": 16}
    assert kernel.threads == 512
    assert stencil.explain().chosen == "tile.K=16 levels=8"
    assert "chosen: tile.K=16 levels=8" in str(stencil.explain())


def test_blocks_share_all_the_memory_that_the_device_has(tmp_path: Path) -> None:
    """Beyond what code may have of its own."""
    stencil = gtscript.stencil("gpu", fvt, dtypes={"real": np.float64}, schedule="tile.I=64 tile.J=8")
    (kernel,) = stencil.explain().kernels
    assert kernel.shared_bytes > 48 << 10
    ptx = stencil.inspect("ptx")
    assert ".extern .shared" in ptx
    (found,) = assembled(ptx, "sm_90", tmp_path).values()
    assert found.shared == 0


def test_stages_share_memory_where_computing_again_takes_longer() -> None:
    ptx = {
        name: gtscript.stencil("cpu_ifirst", CASES[name].steps[0][0], dtypes={"real": np.float64})
        ._compiled_for("nvptx64-nvidia-cuda", "sm_80")
        .decode()
        for name in ("hdiff", "fvt", "vadv")
    }
    assert {name for name, text in ptx.items() if ".shared" in text} == {"fvt"}
    assert {name for name, text in ptx.items() if "bar.sync" in text} == {"fvt"}
