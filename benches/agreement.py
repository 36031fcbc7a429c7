"""Whether contenders compute the same."""

from __future__ import annotations

import numpy as np

from benches.contenders import Contender


def outputs(contender: Contender) -> dict[str, np.ndarray]:
    """Return what one call computes on fresh arguments."""
    contender.arguments.outputs()
    contender.call()
    return contender.arguments.outputs()


def check(contender: Contender, expected: dict[str, np.ndarray]) -> None:
    """Raise if results are not the expected ones, within what the case allows."""
    case, dtype = contender.arguments.case, contender.arguments.dtype
    for name, found in outputs(contender).items():
        error = np.max(np.abs(found - expected[name])) / np.max(np.abs(expected[name]))
        if not error <= case.tolerance[dtype]:
            raise RuntimeError(f"{contender.name}: {name} of {case.name}, {dtype}, is off by {error:.1e}")
