"""Contenders measured in rounds, and ratios of what was measured in the same round."""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# How long one contender is timed in one round (s); a call that takes longer is timed once.
TURN = 0.002


@dataclass(frozen=True)
class Spread:
    """A median and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """Return that of some values."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def mapped(self, function: Callable[[float], float]) -> Spread:
        """Return that of what a function, which only rises or only falls, makes of the values."""
        low, high = sorted((function(self.low), function(self.high)))
        return Spread(function(self.median), low, high)

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


class Rounds:
    """The times of contenders, round by round (s per call); None in rounds that a contender has no turn in."""

    def __init__(self, times: Mapping[str, Sequence[float | None]]) -> None:
        self.times = {name: list(found) for name, found in times.items()}

    def time(self, name: str) -> float:
        """Return a contender's median time."""
        return statistics.median(time for time in self.times[name] if time is not None)

    def fastest(self, *names: str) -> str:
        """Return the contender with the least median time."""
        return min(names, key=self.time)

    def ratio(self, name: str, *others: str) -> Spread:
        """Return how long a contender takes relative to the fastest of others in the same round."""
        columns = [self.times[other] for other in others]
        rounds = zip(self.times[name], *columns, strict=True)
        return Spread.of([own / min(_known(row)) for own, *row in rounds if own is not None and _known(row)])

    def without(self, name: str) -> Rounds:
        """Return the times of the others less that of one, as what is common to all of them."""
        common = self.time(name)
        return Rounds(
            {
                other: [None if time is None else time - common for time in times]
                for other, times in self.times.items()
                if other != name
            }
        )


def _known(times: Iterable[float | None]) -> list[float]:
    return [time for time in times if time is not None]


def measure(contenders: Mapping[str, Callable[[int], float]], rounds: int, *, warm_up: float = 0.0) -> Rounds:
    """Let each contender take its turn in every round: first untimed, until data and threads are where they stay.

    A contender is called with a number of calls to make and returns how long they took (s). It is called untimed as
    often as timed, and again until ``warm_up`` seconds have passed: contenders with several threads need that.
    """
    calls = {name: _calls_per_turn(contender) for name, contender in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            warm = time.perf_counter() + warm_up
            contender(calls[name])
            while time.perf_counter() < warm:
                contender(1)
            times[name].append(contender(calls[name]) / calls[name])
    return Rounds(times)


def _calls_per_turn(contender: Callable[[int], float]) -> int:
    # The very first call may compile.
    contender(1)
    calls = 1
    while (elapsed := contender(calls)) < TURN / 8:
        calls *= 4
    return max(1, round(calls * TURN / elapsed))


def of_statement(statement: str, names: Mapping[str, Any]) -> Callable[[int], float]:
    """Return a contender that runs a statement with these names."""
    return timeit.Timer(statement, globals=dict(names)).timeit
