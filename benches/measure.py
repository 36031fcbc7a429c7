"""Times contenders in turns, so that a slow moment of the machine hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

# Longer than idle threads of OpenMP and of fieldstone spin (s).
PAUSE = 0.004


def in_turns(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median time of each contender (s).

    Every timed call follows an untimed one of the same contender, which brings its data to where it keeps them between
    calls: to the caches as far as they fit. Before that, threads of the contender before are given time to stop waiting
    for work, lest they take a core from this one.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            time.sleep(PAUSE)
            contender()
            begin = time.perf_counter()
            contender()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in times.items()}


def fastest(variants: Mapping[str, Callable[[], object]], rounds: int = 5) -> str:
    """Name of the variant with the shortest median."""
    medians = in_turns(variants, rounds)
    return min(medians, key=medians.__getitem__)
