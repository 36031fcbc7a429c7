"""Refusals by whatever ``gt4py`` there is: ``run_wrong.py FILE BACKEND`` writes class and message, by name."""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path


def main(file: str, backend: str) -> None:
    """Write name of the class and message of each refusal."""
    sys.path.insert(0, str(Path(__file__).parent))
    import wrong

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: wrong.refusal(name, backend) for name in wrong.WRONG}
    results = {name: (type(error).__name__, str(error)) if error else None for name, error in found.items()}
    Path(file).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
