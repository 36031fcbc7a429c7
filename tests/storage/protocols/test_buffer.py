"""The buffer protocol: every combination of flags, beside NumPy's buffers of the same memory."""

from __future__ import annotations

import ctypes
import gc
import io
import itertools
import weakref
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from fieldstone import storage
from fieldstone.storage import Storage

from ..strategies import storages

SIMPLE, WRITABLE, FORMAT, ND, STRIDES = 0, 0x1, 0x4, 0x8, 0x10 | 0x8
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, INDIRECT = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES, 0x100 | STRIDES
FLAGS = [
    shape | form | access
    for shape, form, access in itertools.product(
        (SIMPLE, ND, STRIDES, C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, INDIRECT), (0, FORMAT), (0, WRITABLE)
    )
]


class Buffer(ctypes.Structure):
    """`Py_buffer`"""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    )


api = ctypes.pythonapi
api.PyObject_GetBuffer.argtypes = (ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int)
api.PyBuffer_Release.argtypes = (ctypes.POINTER(Buffer),)


def asked(exporter: Any, flags: int) -> dict[str, Any] | None:
    """Return what the exporter fills in, `None` if it refuses."""
    buffer = Buffer()
    try:
        api.PyObject_GetBuffer(exporter, buffer, flags)
    except (BufferError, ValueError):
        return None
    try:
        return {
            "buf": buffer.buf,
            "obj": buffer.obj == id(exporter),
            "len": buffer.len,
            "itemsize": buffer.itemsize,
            "readonly": bool(buffer.readonly),
            "ndim": buffer.ndim,
            "format": buffer.format,
            "shape": buffer.shape[: buffer.ndim] if buffer.shape else None,
            "strides": buffer.strides[: buffer.ndim] if buffer.strides else None,
            "suboffsets": bool(buffer.suboffsets),
        }
    finally:
        api.PyBuffer_Release(buffer)


BASE = np.arange(120.0).reshape(4, 5, 6)
READ_ONLY = BASE.copy()
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "array",
    [
        BASE,
        BASE.T,
        BASE[:, ::2],
        BASE[::-1],
        BASE[:, 1:1],
        BASE[0, 0, 0:1],
        BASE[1:2, :, 2:3],
        np.array(3.0),
        READ_ONLY,
        READ_ONLY.T,
        READ_ONLY[::2, ::-1],
        np.broadcast_to(np.float32(1), (2, 3)),
        *(np.arange(4).astype(code) for code in "?bhilqBHILQefdFD"),
    ],
    ids=lambda array: f"{array.dtype.char}{array.shape}{array.strides}{'' if array.flags.writeable else 'r'}",
)
def test_every_flag_does_what_it_does_for_numpy(array: np.ndarray) -> None:
    field = storage.as_storage(array)
    memory = field.to_numpy()
    for flags in FLAGS:
        found, expected = asked(field, flags), asked(memory, flags)
        if found and expected and found["strides"] and min(field.shape, default=2) < 2:
            # NumPy makes strides up where they mean nothing.
            del found["strides"], expected["strides"]
        assert found == expected, hex(flags)


@given(storages())
def test_memoryviews(field: Storage) -> None:
    view = memoryview(field)
    array = field.to_numpy()
    assert (view.ndim, view.shape, view.itemsize, view.readonly) == (array.ndim, array.shape, array.itemsize, False)
    assert view.strides == field.strides
    assert view.nbytes == field.nbytes
    np.testing.assert_array_equal(np.asarray(view), array)
    assert view.tobytes() == array.tobytes()
    assert view.c_contiguous is memoryview(array).c_contiguous
    assert view.f_contiguous is memoryview(array).f_contiguous


def test_consumers_that_want_what_is_not_there() -> None:
    field = storage.zeros((3, 4), layout=(1, 0))
    with pytest.raises(BufferError, match="strides of the storage are not those"):
        zlib.crc32(field)
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(bytes(24)).readinto(storage.as_storage(READ_ONLY))
    assert zlib.crc32(field.T) == zlib.crc32(np.zeros((4, 3)))
    assert bytes(storage.zeros((2,), np.int8)) == b"\0\0"


def test_writing_through_a_buffer() -> None:
    field = storage.zeros(3, dtype="u1")
    assert io.BytesIO(b"abc").readinto(field) == 3
    assert bytes(field) == b"abc"
    memoryview(field)[1] = 7
    assert field[1] == 7


def test_a_buffer_keeps_the_storage_alive() -> None:
    field = storage.full(1000, 5.0)
    gone = weakref.ref(field)
    view = memoryview(field)[10:]
    del field
    gc.collect()
    assert view[0] == 5
    view.release()
    del view
    gc.collect()
    assert gone() is None
