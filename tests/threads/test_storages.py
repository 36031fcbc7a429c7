"""Storages in several threads, in a child that was forked, and at the end of the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import storage

KINDS: list[dict[str, Any]] = [
    {"device": "cpu"},
    {"device": "gpu", "managed": None},
    {"device": "gpu", "managed": "gt4py"},
    {"device": "gpu", "managed": "cuda"},
]

# Small ones come from the heap, large ones from pages that are kept, and several threads fill and copy them.
SHAPES = [(3, 4, 5), (40, 50, 60), (130, 70, 70)]


def worked(seed: int) -> bool:
    """Make, fill, slice, copy and drop storages, all of this thread alone."""
    for turn in range(8):
        given, shape = KINDS[(seed + turn) % len(KINDS)], SHAPES[(seed + turn) % len(SHAPES)]
        field = storage.full(shape, float(seed), layout=(2, 1, 0), alignment_size=64, **given)
        field[1:, ::2] = float(turn)
        other = storage.storage(field.transpose(1, 2, 0), layout=(0, 1, 2))
        expected = np.full(shape, float(seed))
        expected[1:, ::2] = turn
        values = storage.storage(other, device="cpu").to_numpy()
        if not np.array_equal(values, expected.transpose(1, 2, 0)):
            return False
    return True


def test_threads_with_storages_of_their_own() -> None:
    with fieldstone.simulated_device(), ThreadPoolExecutor(6) as threads:
        assert all(threads.map(worked, range(24)))


@pytest.mark.parametrize("given", KINDS)
def test_threads_that_read_one_storage(given: dict[str, Any]) -> None:
    with fieldstone.simulated_device():
        values = np.arange(130.0 * 70 * 30).reshape(130, 70, 30)
        field = storage.storage(values, **given)
        if hasattr(field, "sync_state"):
            field[...] = storage.storage(values, device="gpu", managed=None)

        def total(plane: int) -> bool:
            view = field[plane : plane + 9]
            return np.array_equal(storage.storage(view, device="cpu").to_numpy(), values[plane : plane + 9])

        with ThreadPoolExecutor(6) as threads:
            assert all(threads.map(total, range(0, 120, 3)))


@pytest.mark.parametrize("given", KINDS)
def test_threads_that_write_to_parts_of_one_storage(given: dict[str, Any]) -> None:
    with fieldstone.simulated_device():
        field = storage.zeros((24, 70, 30), **given)

        def write(plane: int) -> None:
            for turn in range(4):
                field[plane] = float(turn)
            field[plane] = float(plane)

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(write, range(24)))
        values = storage.storage(field, device="cpu").to_numpy()
        assert np.array_equal(values, np.broadcast_to(np.arange(24.0)[:, None, None], values.shape))


def test_arrays_that_are_handed_out_and_dropped_by_threads() -> None:
    with fieldstone.simulated_device():
        field = storage.ones((64, 8, 8), device="gpu")

        def borrow(_: int) -> float:
            array = np.asarray(field[1:])
            return (
                float(array.sum()) + float(np.from_dlpack(field)[0].sum()) + float(np.asarray(memoryview(field)).max())
            )

        with ThreadPoolExecutor(6) as threads:
            assert set(threads.map(borrow, range(200))) == {63 * 64.0 + 64 + 1}
        field.synchronize()
        assert field.sync_state.state == storage.SyncState.SYNC_CLEAN  # type: ignore[attr-defined]


def run(code: str) -> None:
    """Run a program that says nothing and leaves with 0."""
    code = f"KINDS = {KINDS}\n{code}"
    environment = {**os.environ, "FIELDSTONE_DEVICE": "sim", "PYTHONFAULTHANDLER": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


FORK = """
import os, sys
import numpy as np
from fieldstone import storage
fields = [storage.ones((130, 70, 70), **given) for given in KINDS]
for field in fields:
    field[1:] = 2.0
child = os.fork()
for field in fields:
    field[2:] = 3.0
    values = storage.storage(field, device="cpu", layout=(2, 1, 0)).to_numpy()
    assert values[0, 0, 0] == 1 and values[1, 5, 5] == 2 and values[100, 9, 9] == 3
    del field, values
more = [storage.zeros((130, 70, 70), **given) for given in KINDS]
del fields, more
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_uses_what_its_parent_made() -> None:
    run("import warnings\nwarnings.simplefilter('ignore', DeprecationWarning)\n" + FORK)


END = """
import threading, warnings, weakref
import numpy as np
from fieldstone import errors, storage
warnings.simplefilter("ignore", errors.SyncWarning)
fields = [storage.ones((70, 70, 40), **given) for given in KINDS]
views = [field[1:].transpose(2, 0, 1) for field in fields]
exports = [np.asarray(field) for field in fields if not isinstance(field, storage.GPUStorage)]
exports += [memoryview(field) for field in fields if not isinstance(field, storage.GPUStorage)]
exports += [np.from_dlpack(field) for field in fields if not isinstance(field, storage.GPUStorage)]
devices = [field.to_cupy() for field in fields if not isinstance(field, storage.CPUStorage)]
capsules = [field.__dlpack__() for field in fields if not isinstance(field, storage.GPUStorage)]
interfaces = [field.__gt_data_interface__ for field in fields]
for field in fields:
    field[...] = 3.0
"""

ENDS = {
    "module variables": "",
    "a cycle": "class Cycle: pass\ncycle = Cycle()\ncycle.self, cycle.fields, cycle.exports = cycle, fields, exports\n"
    "del fields, views, exports, devices, capsules, interfaces",
    "exports alone": "del fields, views, interfaces",
    "an exit handler": "import atexit\natexit.register(lambda: [field.__setitem__(..., 4.0) for field in fields])",
    "a module that lives longest": "import sys\nsys.kept = (fields, views, exports, devices, capsules, interfaces)",
    "a thread that still works": "def work():\n    while True:\n        storage.ones((40, 50, 60))[1:] = 2.0\n"
    "threading.Thread(target=work, daemon=True).start()",
    "an object with a finalizer": "class Last:\n    def __init__(self): self.fields = fields\n"
    "    def __del__(self):\n        for field in self.fields: field[...] = 5.0\nlast = Last()",
}


@pytest.mark.parametrize("kept", ENDS)
def test_the_interpreter_ends_with_storages_alive(kept: str) -> None:
    run(END + ENDS[kept])
