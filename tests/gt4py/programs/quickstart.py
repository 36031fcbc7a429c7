"""First steps: storages, a stencil as a decorator, a function, externals, how often and how long it runs."""

from __future__ import annotations

import gt4py.storage as gt_storage
import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval

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


def run(backend: str) -> dict[str, np.ndarray]:
    results = {}
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
