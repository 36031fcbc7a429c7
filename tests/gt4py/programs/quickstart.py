"""First steps: storages, stencils as decorators and not, functions, defaults, externals, a solver, how long it runs."""

from __future__ import annotations

import gt4py.storage as gt_storage
import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import BACKWARD, FORWARD, PARALLEL, Field, computation, interval

SHAPE = (20, 18, 6)
ORIGIN = (2, 2, 0)


@gtscript.function
def laplacian(field):
    return -4.0 * field[0, 0, 0] + field[-1, 0, 0] + field[1, 0, 0] + field[0, -1, 0] + field[0, 1, 0]


def smooth(inp: Field["dtype"], out: Field["dtype"], *, strength: "dtype"):
    """One step of diffusion of second or fourth order."""
    from __externals__ import FOURTH_ORDER

    with computation(PARALLEL), interval(...):
        if __INLINED(FOURTH_ORDER):
            lap = laplacian(inp)
            out = inp - strength * laplacian(lap)
        else:
            out = inp + strength * laplacian(inp)


def combine(
    a: gtscript.Field[np.float64],
    b: gtscript.Field[np.float64],
    c: gtscript.Field[np.float64],
    result: gtscript.Field[np.float64],
    *,
    alpha: np.float64,
    weight: np.float64 = 2.0,
):
    with computation(PARALLEL), interval(...):
        result = a[0, 0, 0] - (1 - alpha) * (b[0, 0, 0] - weight * c[0, 0, 0])


@gtscript.function
def second_differences(v, h=0.1):
    along_x = v[-1, 0, 0] + v[1, 0, 0] - 2.0 * v[0, 0, 0]
    along_y = v[0, -1, 0] + v[0, 1, 0] - 2.0 * v[0, 0, 0]
    along_z = v[0, 0, -1] + v[0, 0, 1] - 2.0 * v[0, 0, 0]
    return along_x / (h * h), along_y / (h * h), along_z / (h * h)


def second_derivatives(v: Field[np.float64], total: Field[np.float64], part: Field[np.float64], *, h: np.float64 = 0.2):
    with computation(PARALLEL), interval(1, -1):
        x, y, z = second_differences(v, h)
        total = x + y + z
        x, y, z = second_differences(v)
        part = x + y


def solve(
    lower: Field[np.float64],
    diagonal: Field[np.float64],
    upper: Field[np.float64],
    right: Field[np.float64],
    out: Field[np.float64],
):
    with computation(FORWARD):
        with interval(0, 1):
            upper = upper / diagonal
            right = right / diagonal
        with interval(1, None):
            upper = upper / (diagonal - upper[0, 0, -1] * lower)
            right = (right - lower * right[0, 0, -1]) / (diagonal - upper[0, 0, -1] * lower)
    with computation(BACKWARD):
        with interval(-1, None):
            out = right
        with interval(0, -1):
            out = right - upper * out[0, 0, 1]


def run_small_ones(backend: str) -> dict[str, np.ndarray]:
    random = np.random.default_rng(4)
    a, b, c, d = (gt_storage.from_array(random.random(SHAPE) + 1.0, np.float64, backend=backend) for _ in range(4))
    combined, total, part, solved = (gt_storage.zeros(SHAPE, backend=backend) for _ in range(4))
    combination = gtscript.stencil(backend=backend)(combine)
    assert callable(combination)
    assert f'quickstart.combine> [backend="{backend}"]' in str(combination).replace("'", '"')
    combination(a, b, c, combined, alpha=0.5)
    derivatives = gtscript.stencil(backend, second_derivatives)
    derivatives(a, total, part, origin=(1, 1, 1), domain=(18, 16, 4))
    gtscript.stencil(backend=backend, definition=solve)(a, 4.0 * b, c, d, solved)
    return {"combined": combined, "total": total, "part": part, "solved": solved, "right": d}


def run(backend: str) -> dict[str, np.ndarray]:
    results = run_small_ones(backend)
    for dtype in (np.float64, np.float32):
        for fourth_order in (False, True):
            stencil = gtscript.stencil(
                backend=backend,
                definition=smooth,
                dtypes={"dtype": dtype},
                externals={"FOURTH_ORDER": fourth_order},
                name=f"quickstart.smooth_{int(fourth_order)}",
            )
            initial = np.random.default_rng(1).random(SHAPE)
            inp = gt_storage.from_array(initial, dtype, backend=backend, aligned_index=ORIGIN)
            out = gt_storage.zeros(SHAPE, dtype, backend=backend, aligned_index=ORIGIN)
            times: dict[str, float] = {}
            for _ in range(3):
                stencil(inp, out, strength=dtype(0.03), origin=ORIGIN, domain=(16, 14, 6), exec_info=times)
                inp, out = out, inp
            assert times["run_end_time"] >= times["run_start_time"]
            assert stencil.field_info["inp"].boundary.lower_indices == ((2, 2, 0) if fourth_order else (1, 1, 0))
            results[f"{np.dtype(dtype).name}_{int(fourth_order)}"] = np.asarray(inp)
    return results
