"""Questions to GT4Py itself: scripts that run under an interpreter that has it, while the tests go on.

``FIELDSTONE_GT4PY_PYTHON`` names the interpreter. Each script is called as ``SCRIPT FILE ARGUMENT...`` and pickles what
it has found into the file. Of several processes that share the tests, the first that wants to know asks for all.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

GIVEN = os.environ.get("FIELDSTONE_GT4PY_PYTHON")
PYTHON = None if GIVEN is None else os.path.abspath(shutil.which(GIVEN) or GIVEN)
UNKNOWN = "FIELDSTONE_GT4PY_PYTHON names no interpreter that has GT4Py"


# What was found counts once all of it is there, and whether or not somebody waits.
ASK = '"$@" && mv unfinished results || touch failed'


class Question:
    """A script that runs on GT4Py.

    Parameters
    ----------
    script : str
        One of the files ``run_….py`` here.
    folder : path
        Where it works, and GT4Py keeps its cache. Whoever makes the folder asks; if it is there, somebody else has.
    *arguments : str
        What else the script is given.
    shared : bool
        Whether other processes may want to know as well.
    """

    def __init__(self, script: str, folder: Path, *arguments: str, shared: bool) -> None:
        assert PYTHON is not None, UNKNOWN
        self._folder = folder
        self._shared = shared
        self._process: subprocess.Popen[bytes] | None = None
        try:
            folder.mkdir()
        except FileExistsError:
            return
        environment = os.environ | {"PYTHONPATH": "", "GT_CACHE_ROOT": str(folder)}
        command = ["sh", "-c", ASK, script, PYTHON, str(Path(__file__).parent / script), "unfinished", *arguments]
        with (folder / "told").open("wb") as told:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdout=told,
                stderr=subprocess.STDOUT,
                process_group=None if shared else 0,
            )

    def answer(self) -> Any:
        """Wait for the script, and give what it has found."""
        results = self._folder / "results"
        while not results.exists():
            if (self._folder / "failed").exists():
                told = (self._folder / "told").read_text(errors="replace")
                raise RuntimeError(f"{self._folder.name} failed:\n{told}")
            time.sleep(0.05)
        return pickle.loads(results.read_bytes())

    def stop(self) -> None:
        """Let nothing of it remain, once others have the answer."""
        if self._process is None:
            return
        if not self._shared and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
