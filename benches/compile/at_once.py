"""Several stencils compiled at the same time by threads, in an interpreter of its own; prints seconds as JSON.

Run with the number of threads and the number of stencils.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benches.compile import programs

STATEMENTS = 60


def main() -> None:
    """Run what the command line says."""
    threads, count = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        definitions = [_definition(Path(folder), number) for number in range(count)]
        # What is loaded once is loaded before.
        _compile(_definition(Path(folder), count), folder)
        begin = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda definition: _compile(definition, folder), definitions))
        json.dump(time.perf_counter() - begin, sys.stdout)


def _definition(folder: Path, number: int) -> Any:
    path = folder / f"program{number}.py"
    path.write_text(programs.HEAD.format(package="fieldstone") + programs.column_physics(STATEMENTS + number))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.stencil


def _compile(definition: Any, folder: str) -> None:
    from fieldstone import gtscript

    gtscript.stencil(
        "cpu_ifirst", definition=definition, cache_settings={"root_path": folder, "dir_name": "cache"}
    ).compile()


if __name__ == "__main__":
    main()
