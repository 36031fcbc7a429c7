"""Run `constructs` on whatever ``gt4py`` there is: ``run_constructs.py FILE BACKEND``.

The file gets, by name of the construct, what the call has changed, or the exception's class and message. What GT4Py's
backend ``numpy`` does not have, its backend ``debug`` is asked for.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path
from typing import Any


def main(file: str, backend: str) -> None:
    """Run constructs and write the file."""
    sys.path.insert(0, str(Path(__file__).parent))
    import constructs

    def result(name: str, backend: str) -> Any:
        try:
            return constructs.run_construct(name, backend)
        except Exception as error:
            return (type(error).__name__, str(error))

    results = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in constructs.CONSTRUCTS:
            results[name] = result(name, backend)
            if not isinstance(results[name], dict):
                results[name] = result(name, "debug")
    Path(file).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
