"""Run a module of `random_programs` on whatever ``gt4py`` there is: ``run_random.py FILE BACKEND MODULE``."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

SHAPE = {"I": 23, "J": 22, "K": 6}
ORIGIN, DOMAIN = (9, 9, 0), (5, 4, 6)


def run(module: str, backend: str) -> dict[str, Any]:
    """Both fields after each program, or its refusal."""
    spec = importlib.util.spec_from_file_location(f"random_{zlib.crc32(module.encode())}", module)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    results: dict[str, Any] = {}
    for name in [name for name in vars(found) if name.startswith("program_")]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                results[name] = call(found.gtscript.stencil(backend, getattr(found, name), format_source=False), name)
            except Exception as error:
                results[name] = f"{type(error).__name__}: {error}"
    return results


def call(stencil: Any, name: str) -> dict[str, np.ndarray]:
    """Call with random data; what is written is returned where the domain is."""
    numbers = np.random.default_rng(zlib.crc32(name.encode()))
    given: dict[str, Any] = {"s": 1.5}
    for field, info in sorted(stencil.field_info.items()):
        shape = tuple(SHAPE[axis] for axis in info.axes)
        given[field] = numbers.integers(-3, 4, shape) if info.dtype == np.int64 else numbers.uniform(-2.0, 2.0, shape)
    stencil(**given, origin={"_all_": ORIGIN}, domain=DOMAIN)
    inside = tuple(slice(start, start + points) for start, points in zip(ORIGIN, DOMAIN, strict=True))
    return {field: given[field][inside] for field in "xy"}


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps(run(sys.argv[3], sys.argv[2])))
