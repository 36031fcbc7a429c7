"""Pickle, and copies by the `copy` module."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import _core, errors, storage
from fieldstone.storage import Storage

from ..strategies import storages


def assert_same(made: Storage, field: Storage) -> None:
    assert type(made) is type(field)
    np.testing.assert_array_equal(made.to_numpy(), field.to_numpy())
    assert (made.dtype, made.dims, made.halo) == (field.dtype, field.dims, field.halo)
    assert (made.default_origin, made.aligned_index) == (field.default_origin, field.aligned_index)
    assert (made.alignment_size, made.layout) == (field.alignment_size, field.layout)


def address(field: Storage) -> int:
    return field.__array_interface__["data"][0]


def beside(field: Storage) -> tuple[bytes, list[pickle.PickleBuffer]]:
    buffers: list[pickle.PickleBuffer] = []
    return pickle.dumps(field, 5, buffer_callback=buffers.append), buffers


@given(storages(), st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_in_band(field: Storage, protocol: int) -> None:
    made = pickle.loads(pickle.dumps(field, protocol))
    assert_same(made, field)
    made[...] = 0


@given(storages())
def test_out_of_band(field: Storage) -> None:
    text, buffers = beside(field)
    assert_same(pickle.loads(text, buffers=buffers), field)
    # Who gets the bytes by a message may have them read-only, and anywhere.
    for convert in (bytes, bytearray, lambda raw: memoryview(b"\0" + bytes(raw))[1:]):
        made = pickle.loads(text, buffers=[convert(buffer.raw()) for buffer in buffers])
        assert_same(made, field)
        assert np.asarray(made).flags.writeable


PADDED: dict[str, Any] = {"dims": "IJK", "defaults": "gtmc", "halo": (1, 1, 0)}


@pytest.mark.parametrize("parameters", [{}, {"layout": (1, 2, 0)}, PADDED], ids=["C", "layout", "padded"])
def test_nothing_is_copied_out_of_band(parameters: Any) -> None:
    field = storage.storage(np.arange(210.0).reshape(5, 6, 7), **parameters)
    text, [buffer] = beside(field)
    with buffer.raw() as raw:
        assert ctypes.addressof(ctypes.c_char.from_buffer(raw)) == address(field)
        spread = sum((size - 1) * stride for size, stride in zip(field.shape, field.strides, strict=True))
        assert raw.nbytes == spread + field.itemsize
    made = pickle.loads(text, buffers=[buffer])
    assert address(made) == address(field)
    made[0, 0, 0] = 7
    assert field[0, 0, 0] == 7
    assert len(text) < 500


def test_bytes_that_lie_well_are_wrapped_and_kept() -> None:
    field = storage.storage(np.arange(210.0).reshape(5, 6, 7), **PADDED)
    text, [buffer] = beside(field)
    size = buffer.raw().nbytes
    room = np.zeros(size + 128, np.uint8)
    for shift, wrapped in ((0, True), (8, False), (1, False)):
        start = (address(field) - room.ctypes.data) % 64 + shift
        block = room[start : start + size]
        block[...] = np.frombuffer(buffer.raw(), np.uint8)
        made = pickle.loads(text, buffers=[block])
        assert (address(made) == block.ctypes.data) is wrapped
        assert_same(made, field)
    made = pickle.loads(text, buffers=[bytearray(buffer.raw())])
    gc.collect()
    assert_same(made, field)


def test_views_travel_without_what_is_between_their_elements() -> None:
    field = storage.storage(np.arange(24.0).reshape(4, 6), halo=(1, 1))
    for view in (field[::2], field[:, 1:3], field[::-1], field[1:3].T, field[:, 0]):
        text, [buffer] = beside(view)
        assert buffer.raw().nbytes == view.nbytes
        assert_same(pickle.loads(text, buffers=[buffer]), view)


def test_wrong_buffers() -> None:
    text, _ = beside(storage.zeros((2, 3)))
    for wrong in (bytearray(40), bytearray(56), memoryview(bytearray(96))[::2]):
        with pytest.raises((errors.ArgumentValueError, BufferError), match=r"needs a buffer of 48 bytes|contiguous"):
            pickle.loads(text, buffers=[wrong])


def test_read_only_memory_comes_back_writeable() -> None:
    array = np.arange(5.0)
    array.flags.writeable = False
    field = storage.as_storage(array)
    text, buffers = beside(field)
    assert buffers[0].raw().readonly
    for made in (pickle.loads(pickle.dumps(field)), pickle.loads(text, buffers=buffers)):
        made[0] = 3
        assert array[0] == 0


def test_several_views_in_one_pickle() -> None:
    field = storage.storage(np.arange(6.0))
    same, again, part = pickle.loads(pickle.dumps([field, field, field[2:]]))
    assert same is again
    np.testing.assert_array_equal(part.to_numpy(), field.to_numpy()[2:])


def test_in_another_process(tmp_path: Path) -> None:
    field = storage.storage(np.arange(210.0).reshape(5, 6, 7), **PADDED)
    path = tmp_path / "field"
    path.write_bytes(pickle.dumps(field))
    code = (
        f"import pickle; field = pickle.load(open({str(path)!r}, 'rb')); print(type(field), field.dims, field[4, 5, 6])"
    )
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert answer == "<class 'fieldstone.storage.CPUStorage'> ('I', 'J', 'K') 209.0\n"


@given(storages())
def test_copies(field: Storage) -> None:
    for made in (field.copy(), copy.copy(field), copy.deepcopy(field)):
        assert_same(made, field)
        assert not np.shares_memory(made.to_numpy(), field.to_numpy())
    one, other = copy.deepcopy([field, field])
    assert one is other


def test_an_origin_of_its_own_is_kept() -> None:
    field = storage.zeros((8, 8), halo=(1, 1), default_origin=(3, 2))
    text, buffers = beside(field)
    for made in (
        pickle.loads(pickle.dumps(field)),
        pickle.loads(pickle.dumps(field, 2)),
        pickle.loads(text, buffers=buffers),
        copy.deepcopy(field),
        storage.zeros_like(field),
    ):
        assert_same(made, field)


@pytest.mark.parametrize("order", [[0, 2], [1, 1], [7, 0]])
def test_a_pickle_that_was_tampered_with_is_refused(order: list[int]) -> None:
    with pytest.raises(errors.ArgumentValueError, match="for the order of its axes"):
        _core.restore(np.zeros((2, 3)), order, {})
