"""Stencils and other Python threads."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fieldstone
from fieldstone import _core, gtscript
from fieldstone.gtscript import FORWARD, PARALLEL, Field, computation, exp, interval, sin


def count_up(rounds: Field[int], out: Field[int]):
    with computation(PARALLEL), interval(...):
        out = 0
        while out < rounds:
            out += 1


def smoothed(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        sum_i = inp[-1, 0, 0] + inp[0, 0, 0] + inp[1, 0, 0]
        mean = (sum_i[0, -1, 0] + sum_i[0, 0, 0] + sum_i[0, 1, 0]) / 9.0
    with computation(FORWARD):
        with interval(0, 1):
            out = mean
        with interval(1, None):
            out = mean + 0.5 * out[0, 0, -1]


def shifted(inp: Field[float], out: Field[float]):
    from __externals__ import SHIFT

    with computation(PARALLEL), interval(...):
        out = sin(inp + SHIFT) if inp > SHIFT else exp(inp)


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


WORKERS = """
import time
from pathlib import Path

import numpy as np

from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval


@gtscript.stencil("cpu_ifirst")
def add_up(a: Field[float], b: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a + b


def workers(expected: int) -> list[str]:
    # A thread that has just been started takes its time until it has a name.
    for _ in range(1000):
        if len(names()) >= expected:
            break
        time.sleep(0.01)
    return names()


def names() -> list[str]:
    names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    return sorted(name for name in names if name.startswith("fieldstone"))


def run(*shape: int) -> None:
    a, b, out = (np.ones(shape, order="F") for _ in range(3))
    add_up(a, b, out)
    assert (out == 2).all()


run(4, 4, 4)
run(16, 16, 8)
print(workers(0))
run(128, 64, 64)
print(workers(2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the threads in /proc")
def test_a_tiny_domain_starts_no_thread(tmp_path: Path) -> None:
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    environment = {**os.environ, "FIELDSTONE_NUM_THREADS": "3"}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "['fieldstone-1', 'fieldstone-2']"]


@pytest.mark.parametrize("backend", ["cpu_kfirst", "cpu_ifirst"])
def test_the_number_of_threads_and_the_work_for_each_change_no_bit(backend: str) -> None:
    stencil = gtscript.stencil(backend, smoothed)
    inp = np.random.default_rng(3).normal(size=(37, 29, 11))
    results = []
    threads, work = fieldstone.num_threads(), _core._set_work_per_thread(0)
    try:
        for number, least in itertools.product([1, 2, 3, 8], [0, 100, 10_000]):
            fieldstone.set_num_threads(number)
            _core._set_work_per_thread(least)
            out = np.zeros_like(inp)
            stencil(inp, out, origin=(1, 1, 0), domain=(35, 27, 11))
            results.append(out.tobytes())
    finally:
        fieldstone.set_num_threads(threads)
        _core._set_work_per_thread(work)
    assert len(set(results)) == 1


@pytest.mark.parametrize("backend", ["cpu_kfirst", "cpu_ifirst"])
def test_threads_compile_at_once(backend: str) -> None:
    inp = np.random.default_rng(5).normal(size=(7, 6, 5))
    start = threading.Barrier(4)

    def compute(shift: int) -> np.ndarray:
        if shift < 4:
            start.wait()
        out = np.zeros_like(inp)
        stencil = gtscript.stencil(backend, shifted, externals={"SHIFT": 0.125 * shift}, rebuild=True)
        stencil(inp, out)
        return out

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(compute, range(12)))
    for shift, result in enumerate(results):
        expected = np.where(inp > 0.125 * shift, np.sin(inp + 0.125 * shift), np.exp(inp))
        np.testing.assert_allclose(result, expected, rtol=1e-15)
