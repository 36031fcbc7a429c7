"""DLPack as its C header has it, in ctypes: a consumer that sees every field, a producer that puts anything in them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

CPU, CUDA, CUDA_HOST, ROCM, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 10, 11, 13
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
READ_ONLY, IS_COPIED = 1, 2


class Version(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32))


class Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("id", ctypes.c_int32))


class DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Legacy(ctypes.Structure):
    name = b"dltensor"
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER))


class Versioned(ctypes.Structure):
    name = b"dltensor_versioned"
    _fields_ = (
        ("version", Version),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = (ctypes.py_object,)
api.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)

USED = {kind: ctypes.c_char_p(b"used_" + kind.name) for kind in (Legacy, Versioned)}


def name(capsule: Any) -> bytes:
    return api.PyCapsule_GetName(capsule)


class Taken:
    """A tensor taken out of its capsule, as a consumer does it."""

    def __init__(self, capsule: Any) -> None:
        kind = next(kind for kind in (Legacy, Versioned) if kind.name == name(capsule))
        self.address = api.PyCapsule_GetPointer(capsule, kind.name)
        self.managed = kind.from_address(self.address)
        api.PyCapsule_SetName(capsule, USED[kind])

    @property
    def facts(self) -> dict[str, Any]:
        tensor = self.managed.tensor
        facts = {
            "data": tensor.data,
            "device": (tensor.device.kind, tensor.device.id),
            "dtype": (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
            "shape": tuple(tensor.shape[: tensor.ndim]),
            "strides": tuple(tensor.strides[: tensor.ndim]),
            "byte_offset": tensor.byte_offset,
        }
        if isinstance(self.managed, Versioned):
            version = self.managed.version
            facts |= {"version": (version.major, version.minor), "flags": self.managed.flags}
        return facts

    def delete(self) -> None:
        self.managed.deleter(self.address)


# The structures must be there when a consumer returns them, which may be later than anybody else knows of them.
KEPT: list[Producer] = []


class Producer:
    """An object that lends a tensor with exactly the given fields, and counts how often it gets it back."""

    def __init__(
        self,
        data: int | None,
        shape: Sequence[int] | None,
        strides: Sequence[int] | None = None,
        *,
        dtype: tuple[int, int, int] = (FLOAT, 64, 1),
        device: tuple[int, int] = (CPU, 0),
        ndim: int | None = None,
        byte_offset: int = 0,
        version: tuple[int, int] | None = (1, 0),
        flags: int = 0,
        keep: Any = None,
        has_deleter: bool = True,
    ) -> None:
        KEPT.append(self)
        self.deleted = 0
        self.requests: list[dict[str, Any]] = []
        self.device = device
        self._keep = keep
        integers = ctypes.c_int64
        self._lists = [None if entries is None else (integers * len(entries))(*entries) for entries in (shape, strides)]
        null = ctypes.POINTER(integers)()
        pointers = [
            null if entries is None else ctypes.cast(entries, ctypes.POINTER(integers)) for entries in self._lists
        ]
        rank = len(shape or ()) if ndim is None else ndim
        tensor = Tensor(data, Device(*device), rank, DataType(*dtype), *pointers, byte_offset)
        deleter = DELETER(self._delete) if has_deleter else DELETER()
        if version is None:
            self.managed: Legacy | Versioned = Legacy(tensor, None, deleter)
        else:
            self.managed = Versioned(Version(*version), None, deleter, flags, tensor)

    def _delete(self, address: int) -> None:
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    def capsule(self) -> Any:
        # Without a destructor: capsules that nobody takes are of no interest here.
        return api.PyCapsule_New(ctypes.addressof(self.managed), self.managed.name, None)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        return self.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device
