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
from benches.cases.vadv import vadv
from fieldstone import errors, gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, Field, computation, interval
from tests.gpu.assembler import assembled
from tests.gpu.constructs import columns, regions, stages

F64 = np.float64
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


def solve(lower: Field[F64], upper: Field[F64], right: Field[F64], out: Field[F64], sum: Field[gtscript.IJ, F64]):
    with computation(FORWARD):
        with interval(0, 1):
            ratio = upper / 2.0
            partial = right / 2.0
            sum = 0.0
        with interval(1, None):
            pivot = 1.0 / (2.0 - lower * ratio[0, 0, -1])
            ratio = upper * pivot
            partial = (right - lower * partial[0, 0, -1]) * pivot
            sum = sum + partial
    with computation(BACKWARD):
        with interval(-1, None):
            out = partial
        with interval(1, -1):
            partial = partial - ratio * partial[0, 0, 1]
            out = partial + ratio[0, 0, -1] * sum
        with interval(0, 1):
            out = partial - ratio * out[0, 0, 1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("schedule", ["columns=shared", "columns=shared vector=J", "columns=shared tile.I=16 tile.J=3"])
@pytest.mark.parametrize("definition", [solve, vadv, columns, hdiff], ids=lambda one: one.__name__)
def test_columns_in_shared_memory(definition: Any, schedule: str) -> None:
    expected, found = outcome(definition, "cpu_ifirst"), outcome(definition, "gpu", schedule)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name, strict=True)


def test_columns_are_shared_where_there_is_room_for_them(tmp_path: Path) -> None:
    stencil = gtscript.stencil("gpu", solve, schedule="columns=shared")
    places = [
        {one.name: one.lives_in for one in stencil.explain(domain=(64, 64, levels)).temporaries}
        for levels in (40, 2000)
    ]
    assert [place["ratio"] for place in places] == [place["partial"] for place in places] == ["shared", "array"]
    assert stencil.explain(domain=(64, 64, 40)).kernels[0].shared_bytes == 40 * 32 * 2 * 8
    ptx = stencil.inspect("ptx")
    assert ".extern .shared" in ptx
    (kernel,) = assembled(ptx, "sm_90", tmp_path).values()
    assert (kernel.stack, kernel.stores, kernel.loads) == (0, 0, 0)


def test_code_of_the_cache_is_not_used_for_more_levels_than_it_has_room_for(tmp_path: Path) -> None:
    options: dict[str, Any] = {"schedule": "columns=shared", "cache_settings": {"root_path": tmp_path}}
    gtscript.stencil("gpu", solve, **options).compile()
    stencil = gtscript.stencil("gpu", solve, raise_if_not_cached=True, **options)

    def solved(levels: int) -> float:
        lower, upper, right, out = (np.ones((4, 3, levels), order="F") for _ in range(4))
        stencil(lower, upper, right, out, np.ones((4, 3), order="F"))
        return float(out[0, 0, -1])

    assert solved(40) > 0.0
    with pytest.raises(errors.CacheError, match=r"no code of it .* that has room for 4001 levels; run it once without"):
        solved(4001)


@pytest.mark.parametrize(
    ("backend", "schedule", "message"),
    [
        ("gpu", "tile.I=8 stores=streamed", "'stores=streamed' cannot be chosen for the backend 'gpu'"),
        ("gpu", "fetch=2", "what can be chosen there: vector, tile.I, tile.J, tile.K, columns, levels"),
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
