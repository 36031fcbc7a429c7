"""GT4Py's compiled backends, in an interpreter of their own that waits for its turns.

GT4Py needs other versions of packages than the rest, so it runs as a second process. That waits at a pipe while others
are timed, and they wait while it is.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benches.arguments import Arguments
from benches.contenders import Contender

BACKENDS = {"gt:cpu_ifirst": "I", "gt:cpu_kfirst": "K"}
ROOT = Path(__file__).parents[2]


class Refusal(Exception):  # noqa: N818
    """GT4Py does not compile a case."""


def contender(python: str, arguments: Arguments, backend: str, threads: int) -> Contender:
    """Return a case compiled by one of the backends, on fields in the layout that it prefers."""
    worker = _worker(python, threads)
    worker.ask(
        build=arguments.case.name, size=arguments.size, dtype=arguments.dtype, backend=backend, cache=str(_cache())
    )
    return _Remote(f"GT4Py {backend}", worker, _Outputs(worker, arguments))


class _Remote(Contender):
    """A contender whose calls are made, and timed, in the other process."""

    def __init__(self, name: str, worker: _Worker, outputs: _Outputs) -> None:
        super().__init__(name, "GT4Py", lambda: worker.ask(call=name), lambda: None, outputs)
        object.__setattr__(self, "worker", worker)

    def turn(self, calls: int, *, cold: bool) -> float:
        """Return the median time of so many calls (s)."""
        return float(self.worker.ask(turn=self.name, calls=calls, cold=cold))  # type: ignore[attr-defined]


class _Outputs(Arguments):
    """The arguments in the other process."""

    def __init__(self, worker: _Worker, arguments: Arguments) -> None:
        self.case, self.size, self.dtype, self._worker = arguments.case, arguments.size, arguments.dtype, worker

    def refresh(self) -> None:
        """Leave it to the other process."""

    def outputs(self) -> dict[str, np.ndarray]:
        """Fetch the points of the domain of all fields that are written, and reset the fields."""
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "outputs.npz")
            self._worker.ask(outputs=path)
            with np.load(path) as found:
                return dict(found)


class _Worker:
    """The other process, with a fixed number of threads."""

    def __init__(self, python: str, threads: int) -> None:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        self._process = subprocess.Popen(
            [python, "-m", "benches.contenders.gt4py_worker"],
            # What builds its extension modules looks around where it runs.
            cwd=_cache(),
            env=environment | {"OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self._process.kill)

    def ask(self, **question: Any) -> Any:
        """Return the answer to a question."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process that runs GT4Py has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise Refusal(answer["error"])
        return answer["answer"]


@functools.cache
def _worker(python: str, threads: int) -> _Worker:
    return _Worker(python, threads)


def _cache() -> Path:
    folder = ROOT / "benches" / "results" / "gt4py"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
