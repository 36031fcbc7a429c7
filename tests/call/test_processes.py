"""Stencils where processes fork, end, or have many threads; each case is a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
import atexit, faulthandler, os, sys, threading, time
import numpy as np
from fieldstone import gtscript
from fieldstone.gtscript import FORWARD, PARALLEL, Field, computation, interval
import fieldstone

faulthandler.enable()
BACKEND = sys.argv[1]
fieldstone.set_num_threads(4)

def smooth(inp: Field[float], out: Field[float], *, weight: float = 1.0):
    with computation(PARALLEL), interval(...):
        out = weight * (inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0])

def make():
    return gtscript.stencil(BACKEND, smooth)

SHAPE = (40, 36, 6) if BACKEND != "debug" else (8, 7, 3)

def check(stencil, value=1.0, shape=SHAPE, order="C"):
    inp, out = np.full(shape, value, order=order), np.zeros(shape, order=order)
    stencil(inp, out)
    assert (out[1:-1, 1:-1] == 4.0 * value).all(), value
    assert not out[0].any()
"""

PROGRAMS = {
    # The first calls compile; each thread has layouts of its own, too.
    "many threads on one stencil at once": """
stencil = make()
barrier, failures = threading.Barrier(12), []

def work(n):
    try:
        barrier.wait()
        for turn in range(10):
            check(stencil, float(n + turn), order="CF"[n % 2])
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failures, failures
""",
    "many threads that make stencils": """
failures = []

def work(n):
    try:
        for _ in range(3):
            check(make(), float(n))
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failures, failures
""",
    "a child of a process whose pool has threads": """
stencil = make()
check(stencil)
children = []
for n in range(3):
    child = os.fork()
    if child == 0:
        check(stencil, 2.0 + n)
        check(make(), 3.0, order="F")
        os._exit(7)
    children.append(child)
check(stencil, 5.0)
for child in children:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
check(stencil, 6.0)
""",
    "a child of a process that computes in another thread": """
stencil = make()
check(stencil)
stop = threading.Event()

def work():
    while not stop.is_set():
        check(stencil, 2.0)

thread = threading.Thread(target=work)
thread.start()
for n in range(8):
    child = os.fork()
    if child == 0:
        check(stencil, 3.0)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop.set()
thread.join()
""",
    "a child that makes the first call": """
stencil = make()
child = os.fork()
if child == 0:
    check(stencil, 2.0)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
check(stencil, 3.0)
""",
    "a daemon thread that computes while the interpreter ends": """
stencil = make()
check(stencil)

def work():
    while True:
        check(stencil, 2.0)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
""",
    "a daemon thread that makes stencils while the interpreter ends": """
def work():
    while True:
        check(make(), 2.0)

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
""",
    "a call at exit": """
stencil = make()
late = make()
check(stencil)
atexit.register(lambda: (check(stencil, 2.0), check(late, 3.0), check(make(), 4.0), print("at exit")))
""",
    "a call when an object is collected": """
stencil = make()
check(stencil)

class Last:
    def __init__(self):
        self.stencil, self.write = stencil, os.write
        self.inp, self.out = np.ones((4, 4, 4)), np.zeros((4, 4, 4))

    def __del__(self):
        self.stencil(self.inp, self.out)
        self.write(1, b"collected\\n" if self.out[1, 1, 1] == 4.0 else b"wrong\\n")

last = Last()
threading.kept = Last()
""",
    "a stencil in a reference cycle that is collected": """
import gc
for _ in range(20):
    stencil = make()
    check(stencil)
    stencil.me = [stencil]
    frozen = stencil.freeze(origin=(1, 1, 0), domain=(2, 2, 1))
    stencil.frozen = frozen
    del stencil, frozen
gc.collect()
""",
    "an interrupt": """
import signal
stencil = make()
check(stencil)
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
for _ in range(20):
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    try:
        while True:
            check(stencil, 2.0)
    except KeyboardInterrupt:
        pass
check(stencil, 3.0)
""",
}
OUTPUT = {"a call at exit": "at exit\n", "a call when an object is collected": "collected\ncollected\n"}


@pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_ifirst"])
@pytest.mark.parametrize("case", PROGRAMS)
def test_a_program_with(case: str, backend: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(HEAD + PROGRAMS[case])
    command = [sys.executable, "-W", "error", str(program), backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if backend == "numpy" and case == "a call when an object is collected":
        # NumPy itself may be gone by then, which Python reports; no more than that happens.
        assert done.returncode == 0
        return
    assert (done.returncode, done.stdout, done.stderr) == (0, OUTPUT.get(case, ""), "")
