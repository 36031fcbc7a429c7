"""Random programs with storages of all kinds, on a simulated device that poisons, beside the same programs with arrays.

``FIELDSTONE_FUZZ_SEEDS=5000 pytest tests/storage/test_sync_fuzz.py`` runs that many programs, from the seed
``FIELDSTONE_FUZZ_FIRST`` on.
"""

from __future__ import annotations

import copy
import os
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.storage import CPUStorage, GPUStorage, SoftwareManagedGPUStorage, Storage

FIRST = int(os.environ.get("FIELDSTONE_FUZZ_FIRST", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("FIELDSTONE_FUZZ_SEEDS", "200")))
STEPS = 40

KINDS: list[dict[str, Any]] = [
    {"device": "cpu"},
    {"device": "gpu", "managed": None},
    {"device": "gpu", "managed": "gt4py"},
    {"device": "gpu", "managed": "gt4py"},
    {"device": "gpu", "managed": "cuda"},
]
DTYPES = [np.float64, np.float64, np.float32, np.int32, np.complex128]


def scale(source: Field[np.float64], target: Field[np.float64], factor: float):
    with computation(PARALLEL), interval(...):
        target = factor * source


STENCILS = [gtscript.stencil(backend=backend, definition=scale) for backend in ("numpy", "cpu_ifirst", "cpu_kfirst")]


@dataclass
class Twin:
    """A storage, and the array that does the same."""

    stored: Any
    array: Any


@dataclass
class Program:
    """A random program; its storages, and the arrays of them that it holds."""

    choose: random.Random
    gpu: fieldstone.Device
    twins: list[Twin] = field(default_factory=list)
    held: list[Twin] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    value: int = 0

    def run(self) -> None:
        self.create()
        for _ in range(STEPS):
            step = self.choose.choice(STEP_LIST)
            self.log.append(step.__name__)
            step(self)
            self.log.append(" ")
            self.compare_held()
            del self.twins[:-6]
            del self.held[:-2]
        for twin in self.twins:
            self.compare(twin)

    def compare_held(self) -> None:
        for held in self.held:
            np.testing.assert_array_equal(held.stored, held.array, err_msg=f"a held array is stale: {self.log}")

    def number(self) -> int:
        self.value = self.value % 100 + 1
        return self.value

    def twin(self) -> Twin:
        return self.choose.choice(self.twins)

    def note(self, twin: Twin, *what: object) -> None:
        self.log.append(f"{type(twin.stored).__name__}{twin.stored.shape} {what}")

    def compare(self, twin: Twin) -> None:
        """Read on the host and on the device, and read again, which moves nothing."""
        stored, sides = twin.stored, ["host", "device"]
        self.choose.shuffle(sides)
        for side in sides:
            values = read(stored, side)
            np.testing.assert_array_equal(values, twin.array, err_msg=f"{side}: {self.log}")
        if isinstance(stored, SoftwareManagedGPUStorage) and not self.held:
            stored.synchronize()
            before = moved(self.gpu)
            stored.__gt_data_interface__[None]["acquire"]()
            stored.__gt_data_interface__["gpu"]["acquire"]()
            read(stored, "host")
            assert moved(self.gpu) == before, self.log

    # Steps

    def create(self) -> None:
        choose = self.choose
        dims = choose.choice(["IJK", "IJK", "IJK", "KIJ", "IJ", "K", ("I", "J", "K", "0")])
        shape = tuple(choose.choice([1, 2, 3, 4, 5]) for _ in dims)
        array = (np.arange(np.prod(shape)) % 50 + self.number()).reshape(shape).astype(choose.choice(DTYPES))
        given: dict[str, Any] = dict(choose.choice(KINDS))
        if choose.random() < 0.25 and given != KINDS[1]:
            # Memory of one's own, some of it strided; the array that goes with it is a copy.
            own = np.zeros(tuple(2 * size for size in shape), array.dtype)[tuple(slice(None, None, 2) for _ in shape)]
            own[...] = array
            if given.get("managed") == "cuda":
                given = {"device": "cpu"}
            stored = storage.as_storage(own, dims=dims, **given)
            self.twins.append(Twin(stored, array))
            return self.note(self.twins[-1], "wraps", own.strides)
        layout = list(range(len(shape)))
        choose.shuffle(layout)
        made = choose.choice([storage.storage, storage.empty, storage.zeros])
        more = {"dims": dims, "layout": layout, "alignment_size": choose.choice([1, 64]), **given}
        if made is storage.storage:
            stored = storage.storage(array, **more)
        else:
            stored = made(shape, array.dtype, **more)
            stored[...] = array
        self.twins.append(Twin(stored, array))
        return self.note(self.twins[-1], made.__name__, layout)

    def view(self) -> None:
        twin, choose = self.twin(), self.choose
        keys = [
            choose.choice(
                [
                    slice(None),
                    slice(1, None),
                    slice(None, None, -1),
                    slice(None, None, 2),
                    choose.randrange(n) if n else slice(None),
                ]
            )
            for n in twin.array.shape
        ]
        key = tuple(keys[: choose.randint(0, len(keys))])
        view = twin.stored[key]
        if isinstance(view, Storage) and view.ndim:
            self.twins.append(Twin(view, twin.array[key]))
            self.note(self.twins[-1], key)

    def transpose(self) -> None:
        twin = self.twin()
        axes = list(range(twin.array.ndim))
        self.choose.shuffle(axes)
        self.twins.append(Twin(twin.stored.transpose(*axes), twin.array.transpose(axes)))
        self.note(self.twins[-1], axes)

    def read(self) -> None:
        self.compare(self.twin())

    def write_scalar(self) -> None:
        twin, value = self.twin(), self.number()
        points = [0, -1] if twin.array.shape[0] else []
        key: Any = self.choose.choice([..., *points, slice(1, None), slice(0, 0)])
        self.note(twin, key, value)
        twin.stored[key] = value
        twin.array[key] = value

    def write_array(self) -> None:
        twin = self.twin()
        values = np.full(twin.array.shape, self.number(), twin.array.dtype)
        self.note(twin, values.flat[:1])
        twin.stored[...] = values
        twin.array[...] = values

    def write_storage(self) -> None:
        """What is assigned may be of another kind, and a view of the same memory."""
        target = self.twin()
        others = [twin for twin in self.twins if twin.array.shape == target.array.shape]
        source = self.choose.choice(others)
        if target.stored.dims != source.stored.dims or not np.can_cast(source.array, target.array.dtype, "same_kind"):
            return
        self.note(target, "=", type(source.stored).__name__, source.stored.strides)
        target.stored[...] = source.stored
        target.array[...] = source.array.copy()

    def write_on_device(self) -> None:
        target = self.twin()
        values = np.full(target.array.shape, self.number(), target.array.dtype)
        if not isinstance(target.stored, CPUStorage):
            self.note(target, values.flat[:1])
            target.stored[...] = storage.storage(values, device="gpu", managed=None)
            target.array[...] = values

    def add_in_place(self) -> None:
        target = self.twin()
        self.note(target)
        target.stored += 1
        target.array += 1

    def add(self) -> None:
        twin = self.twin()
        self.note(twin)
        self.twins.append(Twin(twin.stored + twin.stored, twin.array + twin.array))

    def reduce(self) -> None:
        twin = self.twin()
        self.note(twin)
        np.testing.assert_allclose(np.asarray(read(twin.stored.sum(0), "host")), twin.array.sum(0), rtol=1e-6)

    def copy(self) -> None:
        twin = self.twin()
        made: Callable[[Any], Any] = self.choose.choice(
            [copy.deepcopy, lambda stored: stored.copy(), lambda stored: pickle.loads(pickle.dumps(stored, 5))]
        )
        self.note(twin)
        self.twins.append(Twin(made(twin.stored), twin.array.copy()))

    def hold(self) -> None:
        twin = self.twin()
        if isinstance(twin.stored, GPUStorage):
            return
        export: Callable[[Any], Any] = self.choose.choice(
            [
                np.asarray,
                np.from_dlpack,
                lambda stored: stored.to_numpy(),
                lambda stored: np.asarray(memoryview(stored)),
            ]
        )
        self.note(twin)
        self.held.append(Twin(export(twin.stored), twin.array))

    def write_held(self) -> None:
        if self.held:
            held, value = self.choose.choice(self.held), self.number()
            if held.stored.flags.writeable:
                held.stored[...] = value
                held.array[...] = value

    def release(self) -> None:
        if self.held:
            self.held.pop(self.choose.randrange(len(self.held)))

    def drop(self) -> None:
        if len(self.twins) > 1:
            self.twins.pop(self.choose.randrange(len(self.twins)))

    def transfer(self) -> None:
        twin = self.twin()
        name = self.choose.choice(["host_to_device", "device_to_host", "synchronize"])
        self.note(twin, name)
        getattr(twin.stored, name)()

    def declare(self) -> None:
        """When both are equal, whatever is said is true."""
        twin = self.twin()
        names = ["set_host_modified", "set_device_modified", "set_synchronized", "set_device_synchronized"]
        name = self.choose.choice(names)
        self.note(twin, name)
        twin.stored.synchronize()
        getattr(twin.stored, name)()

    def force(self) -> None:
        twin = self.twin()
        twin.stored.synchronize()
        self.note(twin)
        self.choose.choice([twin.stored.host_to_device, twin.stored.device_to_host])(force=True)

    def stencil(self) -> None:
        fields = [twin for twin in self.twins if twin.stored.dims == ("I", "J", "K") and twin.array.dtype == np.float64]
        fields = [twin for twin in fields if not isinstance(twin.stored, GPUStorage)]
        if not fields:
            return
        source = self.choose.choice(fields)
        target = self.choose.choice([twin for twin in fields if twin.array.shape == source.array.shape])
        if target is not source and np.shares_memory(source.array, target.array):
            return
        self.note(source, "to", type(target.stored).__name__, target.stored.strides)
        self.choose.choice(STENCILS)(source.stored, target.stored, 0.5)
        target.array[...] = 0.5 * source.array


STEP_LIST: list[Callable[[Program], None]] = [
    Program.create,
    Program.view,
    Program.view,
    Program.transpose,
    Program.read,
    Program.read,
    Program.write_scalar,
    Program.write_scalar,
    Program.write_array,
    Program.write_storage,
    Program.write_storage,
    Program.write_on_device,
    Program.write_on_device,
    Program.add_in_place,
    Program.add,
    Program.reduce,
    Program.copy,
    Program.hold,
    Program.write_held,
    Program.write_held,
    Program.release,
    Program.drop,
    Program.transfer,
    Program.declare,
    Program.force,
    Program.stencil,
]


def read(stored: Any, side: str) -> Any:
    """Read the values that a side has."""
    if not isinstance(stored, Storage):
        return stored
    if side == "device" and isinstance(stored, SoftwareManagedGPUStorage):
        target = storage.empty_like(stored, device="gpu", managed=None)
        stored.__gt_data_interface__["gpu"]["acquire"]()
        target[...] = stored
        stored = target
    return storage.storage(stored, device="cpu").to_numpy()


def moved(gpu: fieldstone.Device) -> tuple[int, int]:
    return gpu.transfers.uploads, gpu.transfers.downloads


@pytest.mark.filterwarnings("ignore::fieldstone.errors.LayoutWarning", "ignore::fieldstone.errors.TransferWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_programs_with_storages_do_what_those_with_arrays_do(seed: int) -> None:
    choose = random.Random(seed)
    with fieldstone.simulated_device(asynchronous=choose.random() < 0.5) as gpu:
        Program(choose, gpu).run()
