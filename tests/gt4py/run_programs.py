"""Run programs on whatever ``gt4py`` there is: ``run_programs.py FILE BACKEND``."""

from __future__ import annotations

import importlib
import pickle
import sys
import traceback
import warnings
from pathlib import Path

PROGRAMS = sorted(path.stem for path in (Path(__file__).parent / "programs").glob("[!_]*.py"))


def main(file: str, backend: str) -> None:
    """Write what each program returns, or the text of its exception."""
    sys.path.insert(0, str(Path(__file__).parent / "programs"))
    results = {}
    for name in PROGRAMS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results[name] = importlib.import_module(name).run(backend)
            except Exception:
                results[name] = traceback.format_exc()
    Path(file).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
