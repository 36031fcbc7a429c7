"""What GT4Py makes of `constructs` and of `programs`, as ``recorded_constructs.npz`` and the like keep it.

``python recorded.py PYTHON`` records it anew, with a Python interpreter that has GT4Py. Where GT4Py's backend ``numpy``
does not have a part of the language yet, its backend ``debug`` is asked.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
KINDS = ("constructs", "programs")


def file(kind: str) -> Path:
    """Where the results of a kind are kept."""
    return HERE / f"recorded_{kind}.npz"


def ask(kind: str, python: str, backend: str, *names: str) -> dict[str, Any]:
    """Run constructs or programs on GT4Py."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        command = [python, str(HERE / f"run_{kind}.py"), str(results), backend, *names]
        subprocess.run(command, check=True, cwd=folder, env=os.environ | {"PYTHONPATH": ""})
        return dict(pickle.loads(results.read_bytes()))


def ask_both(kind: str, python: str) -> dict[str, dict[str, np.ndarray]]:
    """Run all on the backend ``numpy``, and those that it refuses on ``debug``."""
    results = ask(kind, python, "numpy")
    refused = [name for name, result in results.items() if not isinstance(result, dict)]
    if refused:
        results |= ask(kind, python, "debug", *refused)
    for name, result in results.items():
        if not isinstance(result, dict):
            raise RuntimeError(f"GT4Py refuses {name}: {result}")
    return results


def write(kind: str, results: dict[str, dict[str, np.ndarray]]) -> None:
    """Write all fields to one file."""
    fields = {f"{name}.{field}": array for name, result in results.items() for field, array in result.items()}
    np.savez_compressed(
        file(kind),
        names=np.array(list(fields)),
        types=np.array([array.dtype.name for array in fields.values()]),
        sizes=np.array([array.size for array in fields.values()]),
        values=np.concatenate([array.ravel() for array in fields.values()]),
    )


def read(kind: str) -> dict[str, np.ndarray]:
    """All changed fields, flat, by ``"construct.field"`` or ``"program.field"``."""
    with np.load(file(kind)) as kept:
        ends = np.cumsum(kept["sizes"])
        fields = zip(kept["names"], kept["types"], np.split(kept["values"], ends[:-1]), strict=True)
        return {str(name): values.astype(str(dtype)) for name, dtype, values in fields}


if __name__ == "__main__":
    for chosen in sys.argv[2:] or KINDS:
        write(chosen, ask_both(chosen, sys.argv[1]))
