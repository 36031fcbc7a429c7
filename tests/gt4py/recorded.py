"""What GT4Py makes of `constructs`, as ``recorded.npz`` keeps it.

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
FILE = HERE / "recorded.npz"


def ask(python: str, backend: str, *names: str) -> dict[str, Any]:
    """Run constructs on GT4Py."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        command = [python, str(HERE / "run_constructs.py"), str(results), backend, *names]
        subprocess.run(command, check=True, cwd=folder, env=os.environ | {"PYTHONPATH": ""})
        return dict(pickle.loads(results.read_bytes()))


def ask_both(python: str, *names: str) -> dict[str, dict[str, np.ndarray]]:
    """Run constructs on the backend ``numpy``, and those that it refuses on ``debug``."""
    results = ask(python, "numpy", *names)
    refused = [name for name, result in results.items() if isinstance(result, tuple)]
    if refused:
        results |= ask(python, "debug", *refused)
    for name, result in results.items():
        if isinstance(result, tuple):
            raise RuntimeError(f"GT4Py refuses {name}: {result}")
    return results


def write(results: dict[str, dict[str, np.ndarray]]) -> None:
    """Write all fields to one file."""
    fields = {f"{name}.{field}": array for name, result in results.items() for field, array in result.items()}
    np.savez_compressed(
        FILE,
        names=np.array(list(fields)),
        types=np.array([array.dtype.name for array in fields.values()]),
        sizes=np.array([array.size for array in fields.values()]),
        values=np.concatenate([array.ravel() for array in fields.values()]),
    )


def read() -> dict[str, np.ndarray]:
    """All changed fields, flat, by ``"construct.field"``."""
    with np.load(FILE) as file:
        ends = np.cumsum(file["sizes"])
        fields = zip(file["names"], file["types"], np.split(file["values"], ends[:-1]), strict=True)
        return {str(name): values.astype(str(dtype)) for name, dtype, values in fields}


if __name__ == "__main__":
    write(ask_both(sys.argv[1]))
