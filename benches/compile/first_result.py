"""Times one stencil from its definition to its first result, in an interpreter of its own; prints the times as JSON.

Run with the path of a program, a backend and the directory of the cache; ``llvm`` behind them tells LLVM's time apart,
and imports it beforehand.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import time
from typing import Any

import numpy as np

SHAPE = (12, 12, 10)
HALO = 3


def main() -> None:
    """Run what the command line says."""
    path, backend, cache, *watched = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("program", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["program"] = module
    spec.loader.exec_module(module)
    llvm = _watch_llvm() if watched else []
    arguments = _arguments(module.stencil)

    begin = time.perf_counter()
    root, _, name = cache.rpartition("/")
    stencil: Any = module.gtscript.stencil(
        backend, definition=module.stencil, cache_settings={"root_path": root, "dir_name": name}
    )
    defined = time.perf_counter()
    stencil(**arguments, origin=(HALO, HALO, 0), domain=(SHAPE[0] - 2 * HALO, SHAPE[1] - 2 * HALO, SHAPE[2]))
    end = time.perf_counter()
    json.dump({"total": end - begin, "define": defined - begin, "call": end - defined, "llvm": sum(llvm)}, sys.stdout)


def _arguments(definition: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    scalars = {"dt": 0.1}
    names = inspect.signature(definition).parameters
    return {name: scalars[name] if name in scalars else 1.0 + rng.random(SHAPE) for name in names}


def _watch_llvm() -> list[float]:
    """Return a list that gets the time of each compilation by LLVM."""
    from fieldstone import _jit

    times: list[float] = []
    compile = _jit.compile

    def timed(texts: list[str]) -> list[bytes]:
        begin = time.perf_counter()
        objects = compile(texts)
        times.append(time.perf_counter() - begin)
        return objects

    _jit.compile = timed
    return times


if __name__ == "__main__":
    main()
