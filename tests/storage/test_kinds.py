"""Storages with memory on a device, here a simulated one: which kind they are, and what GDP 3 says of each."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fieldstone
from fieldstone import arrays, errors, storage, utils
from fieldstone.storage import (
    CPUStorage,
    CUDAManagedGPUStorage,
    GPUStorage,
    SimulatedArray,
    SoftwareManagedGPUStorage,
    Storage,
    SyncState,
)

from .strategies import advanced_keys, basic_keys, storages

VALUES = np.arange(24.0).reshape(2, 3, 4)

# What is given, and the kind that it makes.
PLACES: list[tuple[dict[str, Any], type[Storage]]] = [
    ({}, CPUStorage),
    ({"device": None}, CPUStorage),
    ({"device": "cpu"}, CPUStorage),
    ({"device": "cpu", "managed": "cuda"}, CPUStorage),
    ({"managed": "gt4py"}, CPUStorage),
    ({"gpu": False, "managed": "gt4py"}, CPUStorage),
    ({"device": "gpu"}, SoftwareManagedGPUStorage),
    ({"gpu": True}, SoftwareManagedGPUStorage),
    ({"device": ("gpu", 0)}, SoftwareManagedGPUStorage),
    ({"device": "gpu", "managed": "gt4py"}, SoftwareManagedGPUStorage),
    ({"device": "gpu", "managed": None}, GPUStorage),
    ({"device": "gpu", "managed": False}, GPUStorage),
    ({"gpu": True, "managed": False}, GPUStorage),
    ({"device": "gpu", "managed": "cuda"}, CUDAManagedGPUStorage),
    ({"defaults": "gpu"}, SoftwareManagedGPUStorage),
    ({"defaults": "gtcuda"}, SoftwareManagedGPUStorage),
    ({"default_parameters": "cuda", "managed": False}, GPUStorage),
    ({"defaults": "gt:gpu", "device": "cpu"}, CPUStorage),
    ({"defaults": "gtx86", "device": "gpu"}, SoftwareManagedGPUStorage),
    ({"defaults": "F", "device": "gpu", "managed": "cuda"}, CUDAManagedGPUStorage),
]

KINDS = [CPUStorage, GPUStorage, SoftwareManagedGPUStorage, CUDAManagedGPUStorage]
ON_DEVICE = KINDS[1:]
WITH_HOST = [kind for kind in KINDS if kind is not GPUStorage]

GIVEN: dict[type[Storage], dict[str, Any]] = {
    CPUStorage: {"device": "cpu"},
    GPUStorage: {"device": "gpu", "managed": None},
    SoftwareManagedGPUStorage: {"device": "gpu", "managed": "gt4py"},
    CUDAManagedGPUStorage: {"device": "gpu", "managed": "cuda"},
}

every_kind = pytest.mark.parametrize("kind", KINDS)
on_device = pytest.mark.parametrize("kind", ON_DEVICE)


@pytest.fixture(autouse=True)
def gpu() -> Iterator[fieldstone.Device]:
    with fieldstone.simulated_device() as gpu:
        yield gpu


def made(kind: type[Storage], values: Any = VALUES, **parameters: Any) -> Storage:
    return storage.storage(values, **GIVEN[kind], **parameters)


def moved(gpu: fieldstone.Device) -> tuple[int, int]:
    """Count the copies from the host, and to it."""
    return gpu.transfers.uploads, gpu.transfers.downloads


def values_of(field: Storage) -> np.ndarray[Any, Any]:
    return storage.storage(field, device="cpu").to_numpy()


class TestKinds:
    @pytest.mark.parametrize(("given", "kind"), PLACES)
    def test_device_and_managed_choose(self, given: dict[str, Any], kind: type[Storage]) -> None:
        for field in (
            storage.empty((2, 3, 4), **given),
            storage.zeros((2, 3, 4), **given),
            storage.storage(VALUES, **given),
            Storage(VALUES, **given),
            storage.storage(copy=False, shape=(2, 3, 4), **given),
            storage.as_storage(shape=(2, 3, 4), **given),
            storage.zeros_like(VALUES, **given),
        ):
            assert type(field) is kind
            assert isinstance(field, Storage)
            assert field.shape == (2, 3, 4)

    def test_their_other_names(self) -> None:
        assert storage.GT4PySyncedGPUStorage is SoftwareManagedGPUStorage
        assert storage.CUDASyncedGPUStorage is storage.CudaManagedGPUStorage is CUDAManagedGPUStorage

    @every_kind
    def test_they_are_not_called(self, kind: type[Storage]) -> None:
        with pytest.raises(TypeError, match=f"{kind.__name__}: the class cannot be called; make storages"):
            kind(VALUES)

    @every_kind
    def test_priority(self, kind: type[Storage]) -> None:
        """Of storages that keep two copies equal, or one for both, it is higher."""
        assert kind.__array_priority__ == (11 if kind in (SoftwareManagedGPUStorage, CUDAManagedGPUStorage) else 10)

    def test_preset_of_devices(self) -> None:
        field = storage.zeros((4, 5, 6), dims="KJI", halo=(1, 2, 3), defaults="gtcuda")
        assert (field.layout, field.alignment_size) == ((0, 1, 2), 128)

    def test_presets_of_ones_own(self) -> None:
        storage.register_preset("test: on a device", "IKJ", alignment_size=32, device="gpu")
        field = storage.zeros((4, 5, 6), dims="IJK", defaults="test: on a device")
        assert (type(field), field.layout, field.alignment_size) == (SoftwareManagedGPUStorage, (0, 2, 1), 32)
        assert type(arrays.zeros((4, 5, 6), backend="test: on a device")) is SimulatedArray
        storage.register_preset("test: on a device, by position", "F", device="gpu")
        assert type(storage.zeros((4, 5), defaults="test: on a device, by position")) is SoftwareManagedGPUStorage

    def test_without_a_device(self) -> None:
        code = "from fieldstone import storage\nstorage.zeros((2,), device='gpu')"
        result = run(code, FIELDSTONE_DEVICE="cuda", CUDA_VISIBLE_DEVICES="")
        assert "DeviceError: device: there is no GPU 0" in result
        assert "FIELDSTONE_DEVICE=sim" in result


def run(code: str, **environment: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    return done.stdout + done.stderr


class TestCreation:
    @every_kind
    def test_values(self, kind: type[Storage]) -> None:
        for dtype in (np.float64, np.float32, np.int8, np.bool_, np.complex64):
            for field, expected in (
                (storage.zeros((3, 4), dtype, **GIVEN[kind]), np.zeros((3, 4), dtype)),
                (storage.ones((3, 4), dtype, **GIVEN[kind]), np.ones((3, 4), dtype)),
                (storage.full((3, 4), 5, dtype, **GIVEN[kind]), np.full((3, 4), 5, dtype)),
                (made(kind, np.arange(12).reshape(3, 4), dtype=dtype), np.arange(12).reshape(3, 4).astype(dtype)),
            ):
                assert field.dtype == dtype
                np.testing.assert_array_equal(values_of(field), expected)

    @every_kind
    @pytest.mark.parametrize("make", [storage.empty_like, storage.zeros_like, storage.storage, storage.as_storage])
    def test_of_templates(self, kind: type[Storage], make: Any) -> None:
        """Where the memory is and who keeps it equal are parameters like the others."""
        template = made(kind, dims="IJK", halo=(0, 1, 0), layout=(2, 1, 0), alignment_size=64)
        field = make(template)
        assert type(field) is kind
        assert (field.dims, field.halo, field.layout) == (template.dims, template.halo, (2, 1, 0))
        if make is not storage.as_storage:
            for other in KINDS:
                assert type(make(template, **GIVEN[other])) is other

    @every_kind
    @pytest.mark.parametrize("other", KINDS)
    def test_copies_between_kinds(self, kind: type[Storage], other: type[Storage]) -> None:
        field = made(other, made(kind), layout=(1, 2, 0))
        assert type(field) is other
        np.testing.assert_array_equal(values_of(field), VALUES)

    @every_kind
    def test_layout_and_alignment(self, kind: type[Storage]) -> None:
        field = storage.zeros(
            (5, 6, 7), np.float32, layout=(1, 2, 0), alignment_size=256, aligned_index=(1, 2, 3), **GIVEN[kind]
        )
        host = storage.zeros((5, 6, 7), np.float32, layout=(1, 2, 0), alignment_size=256, aligned_index=(1, 2, 3))
        assert (field.strides, field.layout, field.alignment_size) == (host.strides, (1, 2, 0), 256)
        at = int(np.dot(field.aligned_index, field.strides))
        for interface in field.__gt_data_interface__.values():
            assert (interface["data"][0] + at) % 256 == 0


class TestWrapping:
    def test_both_buffers(self) -> None:
        host, device = VALUES.copy(), made(GPUStorage)
        for more in ({}, {"device": "gpu"}, {"managed": "gt4py"}, {"defaults": "C"}):
            field = storage.as_storage(host, device, **more)
            assert type(field) is SoftwareManagedGPUStorage
            assert field.__array_interface__["data"] == host.__array_interface__["data"]
            assert field.__cuda_array_interface__["data"] == device.__cuda_array_interface__["data"]

    @pytest.mark.parametrize("state", ["SYNC_CLEAN", "SYNC_HOST_DIRTY", "SYNC_DEVICE_DIRTY"])
    def test_sync_state_says_which_is_current(self, state: str) -> None:
        host, device = VALUES.copy(), made(GPUStorage, VALUES + 100)
        for said in (getattr(SyncState, state), SyncState(getattr(SyncState, state))):
            expected = VALUES + 100 if state == "SYNC_DEVICE_DIRTY" else VALUES
            copied = storage.storage(host, device, sync_state=said)
            assert type(copied) is SoftwareManagedGPUStorage
            np.testing.assert_array_equal(copied.to_numpy(), expected)
            field = storage.as_storage(host.copy(), device.copy(), sync_state=said)
            assert field.sync_state.state == getattr(SyncState, state)
            np.testing.assert_array_equal(field.to_numpy(), expected)

    def test_the_state_of_a_storage_goes_with_its_buffers(self) -> None:
        """Buffers taken from a storage are wrapped again with the state taken from it."""
        first = made(SoftwareManagedGPUStorage)
        second = storage.as_storage(first.to_numpy(), first.to_cupy(), sync_state=first.sync_state)
        assert second.sync_state is first.sync_state
        first.set_device_modified()
        assert second.sync_state.state == SyncState.SYNC_DEVICE_DIRTY

    def test_one_buffer(self) -> None:
        host = VALUES.copy()
        field = storage.as_storage(host, device="gpu")
        assert type(field) is SoftwareManagedGPUStorage
        assert field.__array_interface__["data"] == host.__array_interface__["data"]
        np.testing.assert_array_equal(field.to_cupy().get(), VALUES)
        device = made(GPUStorage)
        for buffers in ({"data": device}, {"device_data": device}, {"data": device.to_cupy()}):
            field = storage.as_storage(**buffers)
            assert type(field) is GPUStorage
            assert field.__cuda_array_interface__["data"] == device.__cuda_array_interface__["data"]

    @every_kind
    def test_storages(self, kind: type[Storage]) -> None:
        first = made(kind)
        second = storage.as_storage(first)
        assert type(second) is kind
        second[0] = -1
        np.testing.assert_array_equal(values_of(first)[0], np.full((3, 4), -1))
        if kind is SoftwareManagedGPUStorage:
            assert second.sync_state is first.sync_state

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (
                lambda: storage.as_storage(VALUES, sync_state=SyncState()),
                errors.ArgumentValueError,
                "sync_state: it says which of two buffers is current, but the storage has one buffer; leave it out",
            ),
            (
                lambda: storage.storage(VALUES, device="gpu", sync_state=SyncState()),
                errors.ArgumentValueError,
                "sync_state: .* there is one buffer to copy from, not two",
            ),
            (
                lambda: storage.as_storage(shape=(2,), device="gpu", sync_state=SyncState()),
                errors.ArgumentValueError,
                "sync_state: .* there is no data",
            ),
            (
                lambda: storage.as_storage(made(SoftwareManagedGPUStorage), sync_state=SyncState()),
                errors.ArgumentValueError,
                "sync_state: .* the storage that is wrapped has a state of its own",
            ),
            (
                lambda: storage.as_storage(VALUES, made(GPUStorage), sync_state="clean"),
                errors.ArgumentTypeError,
                "sync_state: expected a SyncState, .* or one of its constants, got 'clean'",
            ),
            (lambda: SyncState(7), errors.ArgumentValueError, "state: expected SyncState.SYNC_CLEAN, .*, got 7"),
            (
                lambda: storage.as_storage(VALUES, VALUES, device="gpu"),
                errors.DeviceError,
                "data and device_data: expected memory of the host and memory of a device, got one in host memory and",
            ),
            (
                lambda: storage.as_storage(device_data=VALUES),
                errors.DeviceError,
                "device_data: expected memory of a device, got host memory; pass that as data",
            ),
            (
                lambda: storage.as_storage(VALUES, made(GPUStorage), managed="cuda"),
                errors.DeviceError,
                "device_data: two buffers make a storage with device='gpu', .* and managed='gt4py' only",
            ),
            (
                lambda: storage.as_storage(VALUES, made(GPUStorage), device="cpu"),
                errors.DeviceError,
                "device_data: two buffers make a storage with device='gpu'",
            ),
            (
                lambda: storage.as_storage(VALUES, made(GPUStorage)[:1]),
                errors.ShapeError,
                r"device_data: its shape is \(1, 3, 4\), that of data \(2, 3, 4\); two copies have one shape",
            ),
            (
                lambda: storage.storage(VALUES, made(GPUStorage)[:1]),
                errors.ShapeError,
                r"device_data: its shape is \(1, 3, 4\), that of data \(2, 3, 4\); two copies have one shape",
            ),
            (
                lambda: storage.as_storage(VALUES, made(GPUStorage, layout=(2, 1, 0))),
                errors.LayoutError,
                "device_data: its strides are .* bytes, those of data .*; two copies lie in memory alike",
            ),
            (
                lambda: storage.as_storage(VALUES, made(GPUStorage, dtype=np.float32)),
                errors.DTypeError,
                "device_data: its elements are of type float32, those of data float64; two copies have one type",
            ),
            (
                lambda: storage.as_storage(VALUES, device="gpu", managed=None),
                errors.DeviceError,
                r"device: the data is in host memory, .* on a device only .* cannot wrap that; storage\(data, ...\)",
            ),
            (
                lambda: storage.as_storage(made(GPUStorage), device="cpu"),
                errors.DeviceError,
                "device: the data is on a device, and a storage in host memory cannot wrap that",
            ),
            (
                lambda: storage.zeros((2,), device=("gpu", 7)),
                errors.DeviceError,
                r"device: there is no GPU 7: there is one only, of number 0$",
            ),
        ],
    )
    def test_wrong_buffers_are_refused(self, call: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call()


class TestAttributes:
    @every_kind
    def test_device_and_gpu(self, kind: type[Storage]) -> None:
        assert made(kind).device == (None if kind is CPUStorage else "gpu")
        assert made(kind).gpu is (kind is not CPUStorage)
        assert made(kind)[0].device == made(kind).device

    def test_the_second_device(self) -> None:
        with fieldstone.simulated_device(2):
            for device in ("gpu:1", ("gpu", 1)):
                for managed in (None, "gt4py", "cuda"):
                    field = storage.storage(VALUES, device=device, managed=managed)
                    assert field.device == ("gpu", 1)
                    assert storage.zeros_like(field).device == ("gpu", 1)
                    np.testing.assert_array_equal(values_of(field), VALUES)

    @every_kind
    def test_data(self, kind: type[Storage]) -> None:
        data = made(kind).data
        if kind is GPUStorage:
            assert data is None
        else:
            assert isinstance(data, memoryview)
            np.testing.assert_array_equal(np.asarray(data), VALUES)

    @every_kind
    def test_device_data(self, kind: type[Storage]) -> None:
        field = made(kind)
        if kind is CPUStorage:
            assert field.device_data is None
        else:
            assert field.device_data.ptr == field.__cuda_array_interface__["data"][0]

    def test_the_class_of_sync_states(self) -> None:
        assert Storage.SyncState is made(SoftwareManagedGPUStorage).SyncState is SyncState

    @every_kind
    def test_sync_state(self, kind: type[Storage]) -> None:
        """An attribute of storages with two copies only, and the same object for all views."""
        field = made(kind)
        if kind is not SoftwareManagedGPUStorage:
            assert not hasattr(field, "sync_state")
            return
        state = field.sync_state
        assert isinstance(state, SyncState)
        for view in (field[1:], field.T, field.domain_view, storage.as_storage(field), field.transpose(1, 0, 2)):
            assert view.sync_state is state
        assert field.copy().sync_state is not state

    @every_kind
    def test_interfaces(self, kind: type[Storage]) -> None:
        field = made(kind, dims="IJK", halo=(0, 1, 0))
        assert hasattr(field, "__array_interface__") is (kind in WITH_HOST)
        assert hasattr(field, "__cuda_array_interface__") is (kind in ON_DEVICE)
        interface = field.__gt_data_interface__
        devices = {None: kind in WITH_HOST, "gpu": kind in ON_DEVICE}
        assert set(interface) == {device for device, there in devices.items() if there}
        for device, buffer in interface.items():
            name = "__array_interface__" if device is None else "__cuda_array_interface__"
            expected = getattr(field, name)
            assert {key: buffer[key] for key in ("shape", "typestr", "data")} == {
                key: expected[key] for key in ("shape", "typestr", "data")
            }
            assert buffer["strides"] == field.strides
            assert (buffer["dims"], buffer["halo"]) == (("I", "J", "K"), ((0, 0), (1, 1), (0, 0)))
            assert buffer.get("release") is None

    def test_the_data_interface_keeps_two_copies_equal(self) -> None:
        """What it says to call before a read and after a write moves the data and marks it."""
        field = made(SoftwareManagedGPUStorage)
        host, device = field.__gt_data_interface__[None], field.__gt_data_interface__["gpu"]
        for buffer, other, dirty in (
            (host, device, SyncState.SYNC_HOST_DIRTY),
            (device, host, SyncState.SYNC_DEVICE_DIRTY),
        ):
            buffer["acquire"]()
            buffer["touch"]()
            assert field.sync_state.state == dirty
            other["acquire"]()
            assert field.sync_state.state == SyncState.SYNC_CLEAN

    @every_kind
    def test_what_needs_no_elements(self, kind: type[Storage], gpu: fieldstone.Device) -> None:
        field = made(kind, dims="IJK", halo=(0, 1, 0), alignment_size=64)
        before = moved(gpu)
        assert (field.shape, field.ndim, field.size, field.itemsize, field.nbytes) == ((2, 3, 4), 3, 24, 8, 192)
        assert (field.dims, field.axes, field.mask) == (("I", "J", "K"), "IJK", (True, True, True))
        assert (field.halo, field.default_origin) == (((0, 0), (1, 1), (0, 0)), (0, 1, 0))
        field.halo = (0, 0, (1, 2))
        assert (field.domain_view.shape, field.T.shape, field[1:, 0].shape) == ((2, 3, 1), (4, 3, 2), (1, 4))
        assert type(field.domain_view) is type(field.T) is type(field[0]) is type(field.transpose("KIJ")) is kind
        assert moved(gpu) == before


class TestMethods:
    @every_kind
    def test_to_numpy(self, kind: type[Storage]) -> None:
        field = made(kind)
        if kind is GPUStorage:
            with pytest.raises(
                errors.GTNoSuchBufferError, match=r"on the device only .*; to_cupy\(\) gives them there"
            ):
                field.to_numpy()
            return
        array = field.to_numpy()
        assert type(array) is np.ndarray
        assert array.ctypes.data == field.__array_interface__["data"][0]
        np.testing.assert_array_equal(array, VALUES)

    @every_kind
    def test_to_cupy(self, kind: type[Storage]) -> None:
        field = made(kind)
        if kind is CPUStorage:
            with pytest.raises(errors.GTNoSuchBufferError, match=r"no buffer on a device; to_numpy\(\) gives its host"):
                field.to_cupy()
            return
        array = field.to_cupy()
        assert type(array) is SimulatedArray
        assert array.data.ptr == field.__cuda_array_interface__["data"][0]
        np.testing.assert_array_equal(array.get(), VALUES)

    @every_kind
    def test_to_ndarray(self, kind: type[Storage]) -> None:
        """The device's array if there is one, else the host's."""
        assert type(made(kind).to_ndarray()) is (np.ndarray if kind is CPUStorage else SimulatedArray)

    @every_kind
    def test_array(self, kind: type[Storage]) -> None:
        field = made(kind)
        if kind is GPUStorage:
            with pytest.raises((errors.GTNoSuchBufferError, TypeError)):
                np.asarray(field)
            return
        np.testing.assert_array_equal(np.asarray(field), VALUES)

    @every_kind
    def test_copies(self, kind: type[Storage]) -> None:
        field = made(kind, dims="IJK", halo=(0, 1, 0), alignment_size=64)
        for other in (field.copy(), copy.copy(field), copy.deepcopy(field)):
            assert type(other) is kind
            for name in ("shape", "dims", "halo", "layout", "alignment_size", "aligned_index", "device"):
                assert getattr(other, name) == getattr(field, name)
            field[...] = 0
            np.testing.assert_array_equal(values_of(other), VALUES)
            field[...] = VALUES

    @every_kind
    def test_indexing(self, kind: type[Storage]) -> None:
        field = made(kind)
        for key in ((1, 2, 3), (0,), (slice(None, None, -1), 1), (..., slice(1, 3)), ([1, 0], 2), (VALUES > 3,)):
            part = field[key]
            expected = VALUES[key]
            assert isinstance(part, Storage) is (expected.ndim > 0 and not any(map(is_array, key)))
            if isinstance(part, Storage):
                assert type(part) is kind
                part = values_of(part)
            np.testing.assert_array_equal(part.get() if isinstance(part, SimulatedArray) else part, expected)

    @every_kind
    @settings(max_examples=50)
    @given(data=st.data())
    def test_every_key_selects_what_it_selects_of_an_array(self, kind: type[Storage], data: st.DataObject) -> None:
        """Reading and writing, by integers and slices, by arrays and masks."""
        array = data.draw(storages(dtype=np.float64)).to_numpy().copy()
        entries = data.draw(advanced_keys(array.shape) | basic_keys(array.shape, new_axes=True).map(as_tuple))
        key = tuple(entries)
        try:
            expected = array[key]
        except IndexError:  # masks that select different numbers of points
            return
        field = made(kind, array)
        part = field[key]
        if isinstance(part, Storage):
            assert type(part) is kind
            part = values_of(part)
        np.testing.assert_array_equal(part.get() if isinstance(part, SimulatedArray) else part, expected)
        value = np.arange(np.size(expected), dtype=np.float64).reshape(np.shape(expected)) + 100
        value_kind = data.draw(st.sampled_from([None, *KINDS]))
        array[key] = value
        field[key] = value if value_kind is None else made(value_kind, value)
        np.testing.assert_array_equal(values_of(field), array)

    @every_kind
    @pytest.mark.parametrize("value_kind", [None, *KINDS])
    def test_assignment(self, kind: type[Storage], value_kind: type[Storage] | None) -> None:
        for key in ((1, 2, 3), (0,), (slice(None, None, -1), 1), (..., slice(1, 3)), ([1, 0], 2), (VALUES > 3,)):
            expected = VALUES.copy()
            field = made(kind)
            value = np.arange(expected[key].size, dtype=np.float32).reshape(expected[key].shape) - 50
            expected[key] = value
            field[key] = value if value_kind is None else made(value_kind, value)
            np.testing.assert_array_equal(values_of(field), expected)
            field[key] = 3
            expected[key] = 3
            np.testing.assert_array_equal(values_of(field), expected)

    @every_kind
    @pytest.mark.parametrize("key_kind", KINDS)
    def test_keys(self, kind: type[Storage], key_kind: type[Storage]) -> None:
        field, mask, indices = made(kind), made(key_kind, VALUES % 2 == 0), made(key_kind, np.array([1, 0, 1]))
        for key, plain in ((mask, VALUES % 2 == 0), (indices, [1, 0, 1])):
            values = field[key]
            np.testing.assert_array_equal(values.get() if isinstance(values, SimulatedArray) else values, VALUES[plain])
            field[key] = -7
            assert (values_of(field)[plain] == -7).all()
            field[...] = VALUES

    @every_kind
    def test_dims_are_matched(self, kind: type[Storage]) -> None:
        field = made(kind, dims="IJK")
        for other in KINDS:
            field[...] = made(other, np.arange(3.0), dims="J")
            np.testing.assert_array_equal(values_of(field), np.broadcast_to(np.arange(3.0)[:, None], (2, 3, 4)))

    @every_kind
    def test_synchronisation_changes_no_values(self, kind: type[Storage]) -> None:
        field = made(kind)
        for call in (
            field.synchronize,
            field.host_to_device,
            field.device_to_host,
            field.set_synchronized,
            field.set_device_synchronized,
            lambda: field.host_to_device(force=True),
            lambda: field.device_to_host(force=True),
        ):
            assert call() is None
            np.testing.assert_array_equal(values_of(field), VALUES)


def is_array(entry: Any) -> bool:
    return isinstance(entry, np.ndarray | list)


def as_tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


class TestTwoCopies:
    """What the methods of GDP 3 do to a storage with two copies."""

    def test_device_to_host(self) -> None:
        field = storage.full((2, 3), 1.0, device="gpu")
        field.to_cupy()[...] = 2.0
        field.set_device_modified()
        assert field.sync_state.state == SyncState.SYNC_DEVICE_DIRTY
        field.device_to_host()
        assert field.sync_state.state == SyncState.SYNC_CLEAN
        assert (field.to_numpy() == 2).all()

    def test_host_to_device(self) -> None:
        field = storage.full((2, 3), 1.0, device="gpu")
        field.to_numpy()[...] = 2.0
        field.set_host_modified()
        assert field.sync_state.state == SyncState.SYNC_HOST_DIRTY
        field.host_to_device()
        assert field.sync_state.state == SyncState.SYNC_CLEAN
        assert (field.to_cupy().get() == 2).all()

    def test_nothing_is_copied_where_nothing_is_modified(self, gpu: fieldstone.Device) -> None:
        field = storage.full((2, 3), 1.0, device="gpu")
        field.synchronize()
        before = moved(gpu)
        for call in (field.synchronize, field.host_to_device, field.device_to_host):
            call()
        assert moved(gpu) == before
        field.host_to_device(force=True)
        field.device_to_host(force=True)
        assert moved(gpu) == (before[0] + 1, before[1] + 1)

    @pytest.mark.parametrize("modified", ["host", "device"])
    def test_synchronize(self, modified: str) -> None:
        field = storage.full((2, 3), 1.0, device="gpu")
        if modified == "host":
            field.to_numpy()[...] = 2
            field.set_host_modified()
        else:
            field.to_cupy()[...] = 2
            field.set_device_modified()
        field.synchronize()
        assert field.sync_state.state == SyncState.SYNC_CLEAN
        assert (field.to_numpy() == 2).all()
        assert (field.to_cupy().get() == 2).all()

    def test_the_state_is_one_of_three(self) -> None:
        states = (SyncState.SYNC_CLEAN, SyncState.SYNC_HOST_DIRTY, SyncState.SYNC_DEVICE_DIRTY)
        assert len(set(states)) == 3
        field = storage.zeros((2,), device="gpu")
        for state in states:
            field.sync_state.state = state
            assert field.sync_state.state == field[:1].sync_state.state == state

    @pytest.mark.parametrize(
        ("value", "side"),
        [
            (3.0, None),
            (np.ones((2, 3)), "host"),
            (CPUStorage, "host"),
            (GPUStorage, "device"),
            (CUDAManagedGPUStorage, "device"),
            ("in step", "device"),
            ("device modified", "device"),
            ("host modified", "host"),
        ],
        ids=str,
    )
    def test_what_is_assigned_chooses_the_device(self, value: Any, side: str | None) -> None:
        """Values on the device are written there, others on the host."""
        if isinstance(value, type):
            value = made(value, np.ones((2, 3)))
        elif isinstance(value, str):
            name, value = value, storage.ones((2, 3), device="gpu")
            value.synchronize()
            if name == "device modified":
                value.set_device_modified()
            elif name == "host modified":
                value.set_host_modified()
        field = storage.zeros((2, 3), device="gpu")
        field.synchronize()
        field[1:] = value[1:] if isinstance(value, np.ndarray | Storage) else value
        if side is not None:
            expected = {"host": SyncState.SYNC_HOST_DIRTY, "device": SyncState.SYNC_DEVICE_DIRTY}[side]
            assert field.sync_state.state == expected
        assert (field.to_numpy()[1] == (3 if isinstance(value, float) else 1)).all()


class TestPlainArrays:
    """Arrays of a device's library."""

    def test_of_backends_and_devices(self) -> None:
        for array in (
            arrays.zeros((2, 3, 4), backend="gpu"),
            arrays.zeros((2, 3, 4), device="gpu"),
            arrays.ones((2, 3, 4), backend="gtcuda"),
            arrays.full((2, 3, 4), 3, device=("gpu", 0)),
            arrays.zeros_like(VALUES, backend="gt:gpu"),
            arrays.from_array(VALUES, device="gpu"),
        ):
            assert type(array) is SimulatedArray
            assert array.shape == (2, 3, 4)
        array = arrays.from_array(VALUES, backend="gpu")
        assert array.strides[0] == 8
        np.testing.assert_array_equal(array.get(), VALUES)
        assert type(arrays.zeros((2,), backend="cpu_ifirst")) is np.ndarray
        assert type(arrays.zeros_like(array)) is SimulatedArray
        assert type(arrays.from_array(array, device="cpu")) is np.ndarray

    @every_kind
    def test_as_numpy_and_as_cupy(self, kind: type[Storage]) -> None:
        field = made(kind)
        if kind in WITH_HOST:
            np.testing.assert_array_equal(utils.as_numpy(field), VALUES)
        else:
            with pytest.raises(errors.GTNoSuchBufferError, match="on the device only"):
                utils.as_numpy(field)
        if kind in ON_DEVICE:
            np.testing.assert_array_equal(utils.as_cupy(field).get(), VALUES)
            assert utils.as_cupy(field).data.ptr == field.device_data.ptr
        else:
            with pytest.raises(errors.GTNoSuchBufferError, match="no buffer on a device"):
                utils.as_cupy(field)

    def test_as_cupy_of_arrays(self) -> None:
        array = arrays.from_array(VALUES, device="gpu")
        assert utils.as_cupy(array).data.ptr == array.data.ptr
        assert utils.get_dims(made(GPUStorage, dims="IJK")) == ("I", "J", "K")
        assert utils.get_origin(made(GPUStorage, halo=(0, 1, 0))) == (0, 1, 0)
