"""Rows of levels of which half a vector or less is left share one where a stage takes many instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript, storage
from fieldstone.gtscript import IJ, PARALLEL, Field, K, computation, exp, interval, log

LINE = 64
UNTOUCHED = 77.0


def heavy(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = exp(inp) + log(inp) * exp(inp[-1, 0, 0]) - inp[0, 1, 0]


def updated(inp: Field["real"], out: Field["real"], other: Field["real"], scale: "real"):
    with computation(PARALLEL), interval(...):
        grown = exp(inp * 0.25) * scale
        if inp > 1.5:
            out = out + log(grown)
        other = exp(grown - out)


def between(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(1, -1):
        out = exp(inp) * log(inp) / (1.0 + exp(inp * 0.5))


def at_place(inp: Field["real"], out: Field["real"], plane: Field[IJ, "real"], level: Field[K, "real"]):
    with computation(PARALLEL), interval(...):
        out = exp(inp) * log(inp) / (plane + level * exp(inp * 0.5))


def arguments(stencil: Any, shape: tuple[int, int, int], dtype: type, begin: int, padded: bool) -> dict[str, Any]:
    """Return fields whose columns begin so many elements behind the begin of a line, in storages or in plain arrays."""
    random, fields = np.random.default_rng(5), {}
    for name, info in stencil.field_info.items():
        dims = "".join(info.axes)
        mine = tuple(length for axis, length in zip("IJK", shape, strict=True) if axis in dims)
        aligned = (0,) * (len(mine) - 1) + (begin,)
        layout = tuple(range(len(mine)))
        one = storage.empty(mine, dtype, dims=dims, layout=layout, alignment_size=LINE, aligned_index=aligned)
        fields[name] = one if padded else np.asarray(one)
        np.asarray(one)[...] = UNTOUCHED if name in ("out", "other") else random.uniform(1, 2, mine)
    return fields


@pytest.mark.parametrize("definition", [heavy, updated, between, at_place])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("stores", ["streamed", "cached"])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_all_rows_are_whole(definition, dtype, stores, padded, rows):
    schedule = {"stores": stores, "fetch": 4 if padded else 0}
    stencil = gtscript.stencil("cpu_kfirst", definition, dtypes={"real": dtype}, schedule=schedule)
    oracle = gtscript.stencil("debug", definition, dtypes={"real": dtype})
    for levels in (4, 5, 9, 12, 13, 16, 20, 23, 24, 60):
        for begin in (0, 3):
            fields = arguments(stencil, (6, rows + 3, levels + 1), dtype, begin, padded)
            wanted = {name: np.array(field) for name, field in fields.items()}
            scalars = {"scale": 2.0} if "scale" in stencil.parameter_info else {}
            where = {"origin": (1, 1, 0), "domain": (4, rows, levels)}
            stencil(**fields, **scalars, **where)
            oracle(**wanted, **scalars, **where)
            for name, field in fields.items():
                message = f"{name}, {levels} levels from {begin}"
                np.testing.assert_array_equal(np.asarray(field), wanted[name], err_msg=message)
