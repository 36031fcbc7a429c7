"""NumPy: whole-array expressions, as one writes them by hand."""

from __future__ import annotations

import numpy as np

from benches.arguments import Arguments
from benches.contenders import Contender, sweeping


def contender(arguments: Arguments) -> Contender:
    """Return the case on arrays indexed [k, j, i]."""
    arrays, scalars = arguments.kji(), tuple(arguments.case.scalars.values())
    return Contender("NumPy", "NumPy", lambda: arguments.case.numpy(*arrays, *scalars), _sweep, arguments)


def _sweep() -> None:
    source, target = sweeping.arrays()
    np.copyto(target, source)
