"""Contenders that take turns in rounds, in one process, so that a slow moment of the machine hits all of them alike."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from benches.contenders import Contender
from benches.paired import Rounds

# Longer than idle threads of OpenMP spin (s).
PAUSE = 0.02

# Timed calls of a turn: as many as take that long (s), within bounds.
TURN = 0.01
MOST_CALLS, FEWEST_CALLS = 15, 3

# A contender whose call takes longer has one call in a turn (s), and a turn in every so many rounds.
SLOW, SELDOM = 0.05, 5


def take(contenders: Sequence[Contender], rounds: int, *, cold: bool = False) -> Rounds:
    """Return for each round the median time of each contender's calls.

    A turn begins with a pause, in which threads of the package before stop waiting for work lest they take a core from
    this one. Then the contender is called again and again, as a model does: at first untimed, until its threads are
    awake, each on a core of its own, and its data is where it keeps them between calls. With ``cold``, it moves other
    data through the caches before each call that is timed.
    """
    calls = {contender.name: _calls(contender, cold) for contender in contenders}
    times: dict[str, list[float | None]] = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        # Who comes first, and after whom, is not always the same.
        start = number % len(contenders)
        before = ""
        for contender in (*contenders[start:], *contenders[:start]):
            if calls[contender.name] == 1 and number % SELDOM:
                times[contender.name].append(None)
                continue
            if before != contender.package:
                time.sleep(PAUSE)
            before = contender.package
            times[contender.name].append(contender.turn(calls[contender.name], cold=cold))
    return Rounds(times)


def fastest(contenders: Iterable[Contender], *, cold: bool = False, rounds: int = 3) -> Contender:
    """Return the contender with the shortest median."""
    each = list(contenders)
    if len(each) == 1:
        return each[0]
    found = take(each, rounds, cold=cold)
    return min(each, key=lambda contender: found.time(contender.name))


def _calls(contender: Contender, cold: bool) -> int:
    contender.call()
    begin = time.perf_counter()
    contender.call()
    elapsed = time.perf_counter() - begin
    if elapsed > SLOW:
        return 1
    return FEWEST_CALLS if cold else max(FEWEST_CALLS, min(MOST_CALLS, int(TURN / elapsed)))
