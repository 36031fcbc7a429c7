"""Memory of a device, to other libraries and from them. The device is a simulated one: its transfers are counted."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.storage import CUDAManagedGPUStorage, GPUStorage, SoftwareManagedGPUStorage, Storage

from . import ctypes_dlpack as dlpack
from .ctypes_dlpack import Producer, Taken

HOST, SIMULATED = (dlpack.CPU, 0), (12, 0)

VALUES = np.arange(24.0).reshape(2, 3, 4)

KINDS: dict[str, tuple[dict[str, Any], type[Storage]]] = {
    "device": ({"device": "gpu", "managed": False}, GPUStorage),
    "pair": ({"device": "gpu", "managed": "gt4py"}, SoftwareManagedGPUStorage),
    "managed": ({"device": "gpu", "managed": "cuda"}, CUDAManagedGPUStorage),
}


@pytest.fixture(autouse=True)
def gpu() -> Iterator[fieldstone.Device]:
    with fieldstone.simulated_device() as device:
        yield device


def made(kind: str, values: Any = VALUES, **parameters: Any) -> Storage:
    return storage.storage(values, **KINDS[kind][0], **parameters)


def on_device(field: Storage) -> int:
    """Return the address of the first element on the device."""
    return field.__cuda_array_interface__["data"][0]


class Speaks:
    """An object with nothing but the given attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@gtscript.stencil(backend="cpu_kfirst")
def double(inp: Field[np.float64], out: Field[np.float64]):  # type: ignore[no-untyped-def]
    with computation(PARALLEL), interval(...):
        out = 2 * inp


class TestDLPackOut:
    @pytest.mark.parametrize(
        ("kind", "own", "others"),
        [("device", SIMULATED, [HOST]), ("pair", HOST, [SIMULATED]), ("managed", HOST, [])],
    )
    def test_devices(self, kind: str, own: tuple[int, int], others: list[tuple[int, int]]) -> None:
        field = made(kind)
        assert field.__dlpack_device__() == own
        assert Taken(field.__dlpack__()).facts["device"] == own
        for wanted in (own, *others):
            facts = Taken(field.__dlpack__(dl_device=wanted, max_version=(1, 0))).facts
            assert (facts["device"], facts["shape"], facts["strides"]) == (wanted, (2, 3, 4), (12, 4, 1))
            assert facts["flags"] == (dlpack.IS_COPIED if (kind, wanted) == ("device", HOST) else 0)
            facts = Taken(field.__dlpack__(dl_device=wanted, max_version=(1, 0), copy=True)).facts
            assert (facts["device"], facts["flags"]) == (wanted, dlpack.IS_COPIED)
        for wanted in ((dlpack.CUDA, 0), (12, 1), (dlpack.CUDA_MANAGED, 0)):
            with pytest.raises(BufferError, match=r"cannot be exported to device \(.*\) of DLPack"):
                field.__dlpack__(dl_device=wanted)

    def test_memory_on_a_device_only_comes_to_the_host_in_a_copy(self, gpu: fieldstone.Device) -> None:
        field = made("device")
        gpu.transfers.reset()
        np.testing.assert_array_equal(np.from_dlpack(field, device="cpu"), VALUES)
        assert gpu.transfers.downloads == 1
        with pytest.raises(BufferError, match=r"is on device \(12, 0\) of DLPack.*\(1, 0\) of DLPack without a copy"):
            field.__dlpack__(dl_device=HOST, copy=False)

    def test_addresses(self) -> None:
        for kind in KINDS:
            field = made(kind)
            wanted = HOST if kind == "managed" else SIMULATED
            assert Taken(field.__dlpack__(dl_device=wanted)).facts["data"] == on_device(field)

    def test_what_is_lent_of_a_pair_is_current(self, gpu: fieldstone.Device) -> None:
        field = made("pair")
        field[...] = 7
        assert Taken(field.__dlpack__(dl_device=SIMULATED)).facts["device"] == SIMULATED
        assert gpu.transfers.uploads == 1
        field.set_device_modified()
        np.testing.assert_array_equal(np.from_dlpack(field), np.full((2, 3, 4), 7))

    def test_writes_through_what_was_lent_are_not_lost(self) -> None:
        field = made("pair")
        array = np.from_dlpack(field)
        array[...] = 5
        np.testing.assert_array_equal(field.to_cupy().get(), np.full((2, 3, 4), 5))
        array[...] = 6
        np.testing.assert_array_equal(field.to_cupy().get(), np.full((2, 3, 4), 6))

    def test_streams(self) -> None:
        field = made("device")
        for stream in (None, -1, 1, 2, 12345):
            assert Taken(field.__dlpack__(stream=stream)).facts["device"] == SIMULATED
        for wrong in (0, -2, "1", 1.5):
            with pytest.raises(errors.ArgumentValueError, match=r"stream: .* expected None, -1, 1, 2 or the address"):
                field.__dlpack__(stream=wrong)  # type: ignore[arg-type]

    def test_lifetimes(self) -> None:
        field = made("device")
        address = on_device(field)
        taken = Taken(field.__dlpack__())
        del field
        gc.collect()
        again = storage.as_storage(Producer(address, (2, 3, 4), device=SIMULATED))
        np.testing.assert_array_equal(again.to_cupy().get(), VALUES)
        taken.delete()
        with pytest.raises(errors.DeviceError, match="are no memory of device"):
            again.to_cupy().get()


class TestCudaArrayInterface:
    @pytest.mark.parametrize("kind", KINDS)
    def test_out(self, kind: str) -> None:
        for layout, strides in (((0, 1, 2), None), ((2, 0, 1), (8, 64, 16))):
            field = made(kind, layout=layout)
            interface = dict(field.__cuda_array_interface__)
            assert interface.pop("data") == (on_device(field), False)
            assert interface == {"shape": (2, 3, 4), "typestr": "<f8", "strides": strides, "version": 3, "stream": 1}

    def test_none_of_host_memory(self) -> None:
        assert not hasattr(storage.zeros(3), "__cuda_array_interface__")

    @pytest.mark.parametrize("stream", ["absent", None, 1, 2, 12345])
    @pytest.mark.parametrize("strides", ["absent", None, (96, 32, 8)])
    def test_in(self, strides: Any, stream: Any, gpu: fieldstone.Device) -> None:
        field = made("device")
        entries = {"strides": strides, "stream": stream}
        interface = {
            **{key: entry for key, entry in field.__cuda_array_interface__.items() if key not in entries},
            **{key: entry for key, entry in entries.items() if entry != "absent"},
        }
        gpu.transfers.reset()
        around = storage.as_storage(Speaks(__cuda_array_interface__=interface, keep=field))
        assert (type(around), around.shape, around.strides) == (GPUStorage, (2, 3, 4), (96, 32, 8))
        assert on_device(around) == on_device(field)
        assert gpu.transfers.downloads == 0
        around[...] = around + 1
        np.testing.assert_array_equal(field.to_cupy().get(), VALUES + 1)
        np.testing.assert_array_equal(storage.storage(around, device="cpu").to_numpy(), VALUES + 1)

    @pytest.mark.parametrize(
        ("entries", "error", "message"),
        [
            ({"stream": 0}, errors.ArgumentValueError, "the stream 0 .*expected 1, 2 or the address of one"),
            ({"stream": "x"}, errors.ArgumentValueError, "the stream 'x'"),
            ({"mask": object()}, errors.ArgumentValueError, "has a mask"),
            ({"data": (0, False)}, errors.ArgumentValueError, "data is NULL"),
            ({"data": (4096, False)}, errors.DeviceError, r"\(address 0x1000\) that belongs to none"),
            ({"strides": (8,)}, errors.ArgumentValueError, "expected 3 integers"),
            ({"shape": (2, -1, 4)}, errors.ArgumentValueError, "expected integers that are not negative"),
            ({"typestr": ">f8"}, errors.DTypeError, "bytes are swapped"),
            ({"typestr": "|O8"}, errors.ArgumentValueError, "addresses of objects"),
            ({"data": None}, errors.ArgumentTypeError, "has no 'data'"),
            ({"data": bytearray(192)}, errors.ArgumentValueError, r"expected a tuple \(address, read-only\)"),
        ],
    )
    def test_what_is_wrong_is_refused(self, entries: Any, error: type[Exception], message: str) -> None:
        field = made("device")
        lying = Speaks(__cuda_array_interface__={**field.__cuda_array_interface__, **entries}, keep=field)
        with pytest.raises(error, match=message):
            storage.as_storage(lying)

    def test_memory_shorter_than_it_says(self) -> None:
        field = made("device")
        lying = Speaks(__cuda_array_interface__={**field.__cuda_array_interface__, "shape": (200, 3, 4)}, keep=field)
        with pytest.raises(errors.DeviceError, match="are no memory of device"):
            storage.storage(lying, device="cpu")

    def test_read_only_memory_stays_so(self) -> None:
        field = made("device")
        interface = {**field.__cuda_array_interface__, "data": (on_device(field), True)}
        around = storage.as_storage(Speaks(__cuda_array_interface__=interface, keep=field))
        with pytest.raises(errors.ReadOnlyError):
            around[...] = 1
        assert around.__cuda_array_interface__["data"][1] is True

    def test_no_elements(self) -> None:
        interface = {"shape": (0, 3), "typestr": "<f4", "data": (0, False), "version": 3}
        assert storage.as_storage(Speaks(__cuda_array_interface__=interface)).shape == (0, 3)

    def test_what_is_wrapped_is_kept_alive(self) -> None:
        field = made("device")
        around = storage.as_storage(Speaks(__cuda_array_interface__=field.__cuda_array_interface__, keep=field))
        del field
        gc.collect()
        np.testing.assert_array_equal(around.to_cupy().get(), VALUES)


class TestOthersMemory:
    """Memory of a device by any protocol, wherever an object may be given."""

    def objects(self, field: Storage) -> dict[str, Any]:
        interface = {**field.__cuda_array_interface__, "strides": field.strides}
        return {
            "__cuda_array_interface__": Speaks(__cuda_array_interface__=interface, keep=field),
            "DLPack": Producer(on_device(field), (2, 3, 4), device=SIMULATED, keep=field),
            "__gt_data_interface__": Speaks(__gt_data_interface__={"gpu": interface}, keep=field),
            "__gt_interface__": Speaks(__gt_interface__=lambda: {("gpu", 0): lambda: interface}, keep=field),
            "an array of ours": field.to_cupy(),
        }

    def test_it_is_wrapped(self) -> None:
        field = made("device")
        for value in self.objects(field).values():
            around = storage.as_storage(value)
            assert type(around) is GPUStorage
            assert on_device(around) == on_device(field)

    def test_it_is_copied(self) -> None:
        for value in self.objects(made("device")).values():
            np.testing.assert_array_equal(storage.storage(value, device="cpu").to_numpy(), VALUES)
            target = storage.zeros((2, 3, 4), layout=(1, 2, 0))
            target[...] = value
            np.testing.assert_array_equal(target.to_numpy(), VALUES)

    def test_stencils_on_the_host_run_on_a_copy(self, gpu: fieldstone.Device) -> None:
        field, result = made("device"), made("device", np.zeros((2, 3, 4)))
        for (name, inp), out in zip(self.objects(field).items(), self.objects(result).values(), strict=True):
            result[...] = 0
            with pytest.warns(errors.TransferWarning) as caught:
                double(inp, out)
            assert {str(warning.message).split(" is ")[0] for warning in caught} == {"argument 'inp'", "argument 'out'"}
            np.testing.assert_array_equal(result.to_cupy().get(), 2 * VALUES, err_msg=name)

    @pytest.mark.parametrize(
        ("strides", "first"), [((0, 32, 8), 0), ((0, 0, 0), 5), ((-96, -32, -8), 23), ((8, 32, 0), 0)]
    )
    def test_odd_strides_on_a_device(self, strides: tuple[int, ...], first: int) -> None:
        field = made("device")
        interface = {
            **field.__cuda_array_interface__,
            "strides": strides,
            "data": (on_device(field) + 8 * first, False),
        }
        start = VALUES.ravel()[first:]
        expected = np.lib.stride_tricks.as_strided(start, (2, 3, 4), strides)
        value = Speaks(__cuda_array_interface__=interface, keep=field)
        out = np.zeros((2, 3, 4))
        with pytest.warns(errors.TransferWarning):
            double(value, out)
        np.testing.assert_array_equal(out, 2 * expected)
        np.testing.assert_array_equal(storage.storage(value, device="cpu").to_numpy(), expected)

    def test_hooks_are_called_around_the_copy(self) -> None:
        field = made("device")
        seen: list[tuple[str, float]] = []

        def noting(name: str) -> Any:
            return lambda: seen.append((name, float(field.to_cupy().get()[0, 0, 1])))

        interface = {
            **field.__cuda_array_interface__,
            **{hook: noting(hook) for hook in ("acquire", "touch", "release")},
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.TransferWarning)
            double(VALUES + 1, Speaks(__gt_data_interface__={"gpu": interface}, keep=field))
        assert seen == [("acquire", 1.0), ("touch", 4.0), ("release", 4.0)]

    def test_host_memory_comes_first(self) -> None:
        interface = {"gpu": made("device").__cuda_array_interface__, None: VALUES.__array_interface__}
        around = storage.as_storage(Speaks(__gt_data_interface__=interface))
        assert np.shares_memory(around.to_numpy(), VALUES)


class TestPickle:
    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    @pytest.mark.parametrize("kind", KINDS)
    def test_values_come_back_on_the_device(self, kind: str, protocol: int) -> None:
        field = made(kind, dims="IJK", halo=(1, 0, 0), defaults="gtmc")
        for back in (pickle.loads(pickle.dumps(field, protocol)), copy.deepcopy(field)):
            assert type(back) is KINDS[kind][1]
            assert (back.dims, back.halo, back.layout) == (field.dims, field.halo, field.layout)
            np.testing.assert_array_equal(back.to_cupy().get() if kind == "device" else back.to_numpy(), VALUES)

    def test_what_the_device_has_written_is_pickled(self) -> None:
        field = made("pair")
        field.to_cupy()[...] = 9
        buffers: list[pickle.PickleBuffer] = []
        text = pickle.dumps(field, 5, buffer_callback=buffers.append)
        for back in (pickle.loads(text, buffers=buffers), pickle.loads(pickle.dumps(field, 2))):
            np.testing.assert_array_equal(back.to_numpy(), np.full((2, 3, 4), 9))
            np.testing.assert_array_equal(back.to_cupy().get(), np.full((2, 3, 4), 9))

    def test_without_a_device(self) -> None:
        code = "import pickle, sys; pickle.load(sys.stdin.buffer)"
        for kind in KINDS:
            done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(made(kind)), capture_output=True)
            assert b"DeviceError: device: there is no" in done.stderr, done.stderr


def test_a_copy_is_only_read(gpu: fieldstone.Device) -> None:
    field = made("pair")
    field.synchronize()
    gpu.transfers.reset()
    for array in (field.__array__(copy=True), field.__array__(np.float32)):
        np.testing.assert_array_equal(array, VALUES)
    field.synchronize()
    assert (gpu.transfers.uploads, gpu.transfers.downloads) == (0, 0)


def test_buffers_of_pairs_are_leases() -> None:
    field = made("pair")
    view = memoryview(field).cast("B").cast("d")
    view[0] = 42
    assert field.to_cupy().get()[0, 0, 0] == 42
    view[0] = 43
    assert field.to_cupy().get()[0, 0, 0] == 43


def test_memory_on_a_device_only_has_no_buffer() -> None:
    field = made("device")
    for use in (memoryview, np.asarray, lambda given: given.__array_struct__):
        with pytest.raises((BufferError, errors.GTNoSuchBufferError, TypeError), match="on the device only"):
            use(field)
    assert not hasattr(field, "__array_interface__")
