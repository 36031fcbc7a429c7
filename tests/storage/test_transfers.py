"""Sequences of accesses to a storage with two copies, and exactly what each moves."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import storage
from fieldstone.storage import GPUStorage, Storage

SHAPE = (4, 5, 6)
ALL = 4 * 5 * 6 * 8
PLANE = 5 * 6 * 8

Step = Callable[[Any, Any], Any]

# Steps with a field of two copies, equal at first, and one of the same shape on the device only.


def host_write(field: Any, _: Any) -> None:
    field[...] = np.ones(SHAPE)


def host_write_plane(field: Any, _: Any) -> None:
    field[1] = np.ones(SHAPE[1:])


def host_update(field: Any, _: Any) -> None:
    np.add(np.asarray(field), 1.0, out=np.asarray(field))


def host_read(field: Any, _: Any) -> None:
    storage.storage(field, device="cpu")


def host_read_element(field: Any, _: Any) -> None:
    assert field[3, 4, 5] == field[3, 4, 5]


def host_read_view(field: Any, _: Any) -> None:
    storage.storage(field[1:3, ::2].transpose(2, 0, 1)[0], device="cpu")


def device_write(field: Any, on_device: Any) -> None:
    field[...] = on_device


def device_write_plane(field: Any, on_device: Any) -> None:
    field[1] = on_device[1]


def device_write_row(field: Any, on_device: Any) -> None:
    field[3, 2] = on_device[3, 2]


def device_read(field: Any, _: Any) -> None:
    field.__gt_data_interface__["gpu"]["acquire"]()


def device_read_view(field: Any, _: Any) -> None:
    device_read(field[1:3].transpose(2, 0, 1), None)


def device_update(field: Any, on_device: Any) -> None:
    device_read(field, on_device)
    field += 1.0


def host_to_device(field: Any, _: Any) -> None:
    field.host_to_device()


def device_to_host(field: Any, _: Any) -> None:
    field.device_to_host()


def synchronize(field: Any, _: Any) -> None:
    field.synchronize()


def describe(field: Any, _: Any) -> None:
    (
        repr(field),
        field.shape,
        field.strides,
        field.dims,
        field.layout,
        field.nbytes,
        field[1:],
        field.T,
        field.sync_state,
    )


def write_nothing(field: Any, on_device: Any) -> None:
    field[2:2] = 1.0
    field[2:2] = on_device[2:2]


def duplicate(field: Any, _: Any) -> None:
    copy.deepcopy(field), copy.copy(field), field.copy()


def pickled(field: Any, _: Any) -> None:
    pickle.loads(pickle.dumps(field))


# Name: steps, uploads, their bytes, downloads, their bytes.
SEQUENCES: dict[str, tuple[list[Step], int, int, int, int]] = {
    "nothing": ([], 0, 0, 0, 0),
    "descriptions and views": ([host_write, describe, device_write, describe], 0, 0, 0, 0),
    "write on host, read on device twice": ([host_write, device_read, device_read], 1, ALL, 0, 0),
    "write on host, read views on device twice": ([host_write, device_read_view, device_read_view], 1, ALL, 0, 0),
    "write on device, read on host twice": ([device_write, host_read, host_read], 0, 0, 1, ALL),
    "write on device, read elements": ([device_write, host_read_element, host_read_element], 0, 0, 1, ALL),
    "write on device, read views on host twice": ([device_write, host_read_view, host_read_view], 0, 0, 1, ALL),
    "write a plane on host, read on device": ([host_write_plane, device_read], 1, PLANE, 0, 0),
    "write a plane on host, read that on device": ([host_write_plane, device_read_view], 1, PLANE, 0, 0),
    "write a plane on device, read on host": ([device_write_plane, host_read], 0, 0, 1, PLANE),
    "write two planes apart on device": ([device_write_plane, device_write_row, host_read], 0, 0, 2, PLANE + 6 * 8),
    "write elsewhere than is read": ([device_write_row, host_read_view], 0, 0, 0, 0),
    "read on both sides": ([host_read, device_read, host_read, device_read], 0, 0, 0, 0),
    "write on host again and again": ([host_write, host_write_plane, host_update, host_write], 0, 0, 0, 0),
    "write on device again and again": ([device_write, device_write_plane, device_update], 0, 0, 0, 0),
    "overwrite on host what the device wrote": ([device_write, host_write, host_read], 0, 0, 0, 0),
    "overwrite on device what the host wrote": ([host_write, device_write, device_read], 0, 0, 0, 0),
    "write a part on host of what the device wrote": ([device_write, host_write_plane, host_read], 0, 0, 1, ALL),
    "and read it on the device": ([device_write, host_write_plane, device_read], 1, PLANE, 1, ALL),
    "update on both sides in turn": ([device_update, host_update, device_update, host_read], 1, ALL, 2, 2 * ALL),
    "explicit transfers of equal copies": ([host_to_device, device_to_host, synchronize], 0, 0, 0, 0),
    "explicit transfers against the direction": ([host_write, device_to_host, device_to_host], 0, 0, 0, 0),
    "explicit upload": ([host_write, host_to_device, host_to_device, synchronize, device_read], 1, ALL, 0, 0),
    "explicit download": ([device_write, device_to_host, device_to_host, synchronize, host_read], 0, 0, 1, ALL),
    "synchronize either way": ([host_write, synchronize, device_write, synchronize], 1, ALL, 1, ALL),
    "empty slices": ([device_write, write_nothing, host_write, write_nothing], 0, 0, 0, 0),
    "copies where the values are": ([host_write, duplicate, synchronize, device_write, duplicate], 1, ALL, 0, 0),
    "pickles hold the host's copy": ([device_write, pickled, pickled], 0, 0, 1, ALL),
}


@pytest.fixture
def gpu() -> Iterator[fieldstone.Device]:
    with fieldstone.simulated_device() as gpu:
        yield gpu


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_move_what_they_must_and_nothing_else(name: str, asynchronous: bool) -> None:
    steps, *expected = SEQUENCES[name]
    with fieldstone.simulated_device(asynchronous=asynchronous) as gpu:
        field = storage.zeros(SHAPE, device="gpu")
        on_device = storage.storage(np.full(SHAPE, 2.0), device="gpu", managed=None)
        gpu.transfers.reset()
        for step in steps:
            step(field, on_device)
        moved = gpu.transfers
        assert [moved.uploads, moved.uploaded_bytes, moved.downloads, moved.downloaded_bytes] == expected


def test_views_share_what_is_known(gpu: fieldstone.Device) -> None:
    """What is moved for one view is not moved again for another, nor for the whole."""
    field = storage.zeros(SHAPE, dims="IJK", device="gpu")
    field[...] = np.ones(SHAPE)
    gpu.transfers.reset()
    for view in (field[1:], field[:, 2], field.T, field.domain_view, field[::-1, ::2], field):
        device_read(view, None)
    assert (gpu.transfers.uploads, gpu.transfers.uploaded_bytes) == (1, ALL)


def test_an_array_that_is_held_costs_a_transfer_for_each_access_on_the_device(gpu: fieldstone.Device) -> None:
    field = storage.zeros(SHAPE, device="gpu")
    held = np.asarray(field[1])
    for turn in range(3):
        held[...] = turn
        device_read(field, None)
    assert (gpu.transfers.uploads, gpu.transfers.uploaded_bytes) == (3, 3 * PLANE)
    before = gpu.transfers.downloads
    for turn in range(2):
        field[1] = storage.full(SHAPE[1:], float(turn), device="gpu", managed=None)
        assert (held == turn).all()
    assert gpu.transfers.downloads >= before + 2
    del held
    field.synchronize()
    gpu.transfers.reset()
    device_read(field, None)
    assert (gpu.transfers.uploads, gpu.transfers.downloads) == (0, 0)


@pytest.mark.parametrize("managed", [None, "cuda"])
def test_one_copy_has_nothing_to_keep_equal(gpu: fieldstone.Device, managed: Any) -> None:
    field: Storage = storage.full(SHAPE, 3.0, device="gpu", managed=managed)
    other: Storage = storage.zeros(SHAPE, device="gpu", managed=managed)
    gpu.transfers.reset()
    other[...] = field
    other[1] = field[2]
    for method in ("host_to_device", "device_to_host", "synchronize", "set_host_modified", "set_device_modified"):
        getattr(other, method)()
    assert (gpu.transfers.uploads, gpu.transfers.downloads) == (0, 0)
    if isinstance(field, GPUStorage):
        assert (storage.storage(other, device="cpu").to_numpy()[1] == 3.0).all()
        assert gpu.transfers.downloads == 1
