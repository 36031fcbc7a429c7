"""Questions to GT4Py itself: scripts that run under an interpreter that has it, while the tests go on.

``FIELDSTONE_GT4PY_PYTHON`` names the interpreter. Each script is called as ``SCRIPT FILE ARGUMENT...`` and pickles what
it has found into the file.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
from pathlib import Path
from typing import Any

GIVEN = os.environ.get("FIELDSTONE_GT4PY_PYTHON")
PYTHON = None if GIVEN is None else os.path.abspath(shutil.which(GIVEN) or GIVEN)
UNKNOWN = "FIELDSTONE_GT4PY_PYTHON names no interpreter that has GT4Py"


class Question:
    """A script that runs on GT4Py.

    Parameters
    ----------
    script : str
        One of the files ``run_….py`` here.
    folder : path
        An empty folder, where GT4Py keeps its cache too.
    *arguments : str
        What else the script is given.
    """

    def __init__(self, script: str, folder: Path, *arguments: str) -> None:
        assert PYTHON is not None, UNKNOWN
        self._results = folder / "results"
        self._told = folder / "told"
        environment = os.environ | {"PYTHONPATH": "", "GT_CACHE_ROOT": str(folder)}
        command = [PYTHON, str(Path(__file__).parent / script), str(self._results), *arguments]
        with self._told.open("wb") as told:
            self._process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=told, stderr=subprocess.STDOUT
            )

    def answer(self) -> Any:
        """Wait for the script, and give what it has found."""
        if self._process.wait() != 0:
            raise RuntimeError(f"{self._process.args!r} failed:\n{self._told.read_text(errors='replace')}")
        return pickle.loads(self._results.read_bytes())

    def stop(self) -> None:
        """Let nothing of it remain."""
        self._process.kill()
        self._process.wait()
