"""Who takes part: each module makes calls that compute a case, and sweeps the caches with its own threads.

A contender's `sweep` moves so much other data that none of the case's stays in a cache. Each package does that with
the threads it computes with, so that no others are awake when it is timed right after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benches.arguments import Arguments


@dataclass(frozen=True)
class Contender:
    """A call that computes a case.

    Attributes
    ----------
    name : str
        Package, and what tells it from others of the package.
    package : str
        Contenders of the same package share threads.
    call : callable
        Computes once.
    sweep : callable
        Evicts the caches.
    arguments : Arguments
        What it computes on.
    """

    name: str
    package: str
    call: Callable[[], object]
    sweep: Callable[[], object]
    arguments: Arguments
