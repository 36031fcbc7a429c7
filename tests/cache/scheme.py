"""A stencil and its result; run as a program, it computes one and prints where the code came from, as JSON."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import threading
import warnings

import numpy as np

from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval


def average(inp: Field[np.float64], out: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        out = 0.25 * (inp[-1, 0, 0] + inp[1, 0, 0] + inp[0, -1, 0] + inp[0, 1, 0])


def doubled(inp: Field[np.float64], out: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        out = 2.0 * inp


def make(definition=average, directory=None, **keywords):
    """Return the stencil, with its code in a directory."""
    if directory is not None:
        keywords["cache_settings"] = {"root_path": directory.parent, "dir_name": directory.name}
    return gtscript.stencil("cpu_ifirst", definition, **keywords)


def run(stencil, order="F"):
    """Call the stencil and return whether its code was in the cache; its result must be right."""
    inp = np.asarray(np.random.default_rng(1).random((9, 8, 3)), order=order)
    out = np.zeros_like(inp)
    stencil(inp, out)
    if stencil.name == "average":
        expected = 0.25 * (inp[:-2, 1:-1] + inp[2:, 1:-1] + inp[1:-1, :-2] + inp[1:-1, 2:])
        np.testing.assert_allclose(out[1:-1, 1:-1], expected, rtol=1e-15)
    else:
        np.testing.assert_array_equal(out, 2.0 * inp)
    return stencil._compilations[-1][0]


def reused(directory, **keywords):
    """Make the stencil, run it, and return whether its code was in the directory."""
    return run(make(directory=directory, **keywords))


PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def without_privileges(*words):
    """Start this program anew, with permissions that hold also for the superuser."""
    if os.geteuid() == 0:
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0
    os.execv(sys.executable, [sys.executable, __file__, *words])


def forked_while_compiling():
    """Let a child of this process compile that was forked while a thread was about to."""
    from fieldstone import _jit

    holding, done = threading.Event(), threading.Event()

    def hold():
        with _jit._lock:
            holding.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    holding.wait()
    # Newer versions of Python warn of any fork beside threads.
    warnings.simplefilter("ignore", DeprecationWarning)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if not run(make()) else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    done.set()
    holder.join()
    assert code == 0


if __name__ == "__main__":
    # On a full disk, or where files may not grow, a program is killed that does not say otherwise.
    for number, word in enumerate(sys.argv[1:]):
        kind, _, value = word.partition("=")
        if kind == "file_size":
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(value), int(value)))
        elif kind == "dies":
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        elif kind == "unprivileged":
            without_privileges(*sys.argv[2 + number :])
        elif kind == "forks":
            forked_while_compiling()
    json.dump({"cached": run(make())}, sys.stdout)
