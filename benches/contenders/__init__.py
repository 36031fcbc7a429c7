"""Who takes part: each module makes calls that compute a case, and sweeps the caches with its own threads.

A contender's `sweep` moves so much other data that none of the case's stays in a cache. Each package does that with
the threads it computes with, so that no others are awake when it is timed right after.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from benches.arguments import Arguments

# Untimed calls before timed ones (s): as long as the system needs to spread threads that slept over the cores.
WARM_UP = 0.01


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

    def turn(self, calls: int, *, cold: bool) -> float:
        """Return the median time of so many calls (s); a single one has no untimed calls before it."""
        self.arguments.refresh()
        return turn(self.call, self.sweep, calls, cold=cold)


def turn(call: Callable[[], object], sweep: Callable[[], object], calls: int, *, cold: bool) -> float:
    """Return the median time of so many calls (s), after untimed ones if they are several."""
    clock = time.perf_counter
    if calls > 1:
        warm = clock() + WARM_UP
        while clock() < warm:
            call()
    times = []
    for _ in range(calls):
        if cold:
            sweep()
        begin = clock()
        call()
        times.append(clock() - begin)
    return statistics.median(times)
