"""Times contenders in turns, so that a slow moment of the machine hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

# Longer than idle threads of OpenMP spin (s).
PAUSE = 0.02

# Untimed calls before timed ones (s): as long as the system needs to spread threads that slept over the cores.
WARM_UP = 0.01

TIMED_CALLS = 5


def in_turns(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median time of each contender (s).

    A contender's turn begins with a pause, in which threads of the one before stop waiting for work lest they take a
    core from this one. Then it is called again and again, as a model does: at first untimed, until its threads are
    awake, each on a core of its own, and its data is where it keeps them between calls.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            time.sleep(PAUSE)
            warm = time.perf_counter() + WARM_UP
            while time.perf_counter() < warm:
                contender()
            for _ in range(TIMED_CALLS):
                begin = time.perf_counter()
                contender()
                times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in times.items()}


def fastest(variants: Mapping[str, Callable[[], object]], rounds: int = 5) -> str:
    """Name of the variant with the shortest median."""
    medians = in_turns(variants, rounds)
    return min(medians, key=medians.__getitem__)
