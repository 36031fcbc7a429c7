"""Run `constructs` on whatever ``gt4py`` there is: ``run_constructs.py FILE BACKEND [NAME ...]``.

The file gets, by name of the construct, all fields after the call, or the exception's class and message.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path


def main(file: str, backend: str, *names: str) -> None:
    """Run constructs and write the file."""
    sys.path.insert(0, str(Path(__file__).parent))
    import constructs

    results = {}
    for name in names or constructs.CONSTRUCTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results[name] = constructs.run_construct(name, backend)
            except Exception as error:
                results[name] = (type(error).__name__, str(error))
    Path(file).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
