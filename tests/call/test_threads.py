"""Stencils and other Python threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval


def count_up(rounds: Field[int], out: Field[int]):
    with computation(PARALLEL), interval(...):
        out = 0
        while out < rounds:
            out += 1


@pytest.fixture
def _no_switches() -> Iterator[None]:
    """A thread gives the interpreter to another one only of its own accord."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_no_switches")
@pytest.mark.parametrize("backend", ["debug", "cpu_kfirst", "cpu_ifirst"])
def test_other_threads_run_python_while_a_stencil_runs(backend: str) -> None:
    stencil = gtscript.stencil(backend, count_up)
    rounds, out = np.full((4, 4, 4), 20_000 if backend == "debug" else 5_000_000), np.zeros((4, 4, 4), int)
    stencil(np.ones((4, 4, 4), int), out)  # compiled
    go, seen = threading.Lock(), []
    go.acquire()

    def watch() -> None:
        with go:
            seen.append(True)

    watcher = threading.Thread(target=watch)
    watcher.start()
    go.release()
    # From here on nothing but the stencil lets the other thread run.
    before = list(seen)
    for _ in range(200):
        stencil(rounds, out)
        if seen:
            break
    after = list(seen)
    watcher.join()
    assert before == []
    assert after == [True]
    assert (out == rounds).all()
