"""`__array__`, `__array_interface__` and `__array_struct__`, beside those of a NumPy array of the same memory."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import fieldstone
from fieldstone import errors, storage
from fieldstone.storage import Storage

from ..strategies import storages


class TestArray:
    @given(storages())
    def test_without_arguments_it_is_the_memory(self, field: Storage) -> None:
        description = field.__array_interface__
        for array in (
            field.__array__(),
            np.asarray(field),
            np.array(field, copy=False),
            np.asanyarray(field),
            field.to_numpy(),
            field.to_ndarray(),
        ):
            assert type(array) is np.ndarray
            assert array.__array_interface__["data"] == description["data"]
            assert (array.shape, array.dtype) == (field.shape, field.dtype)
            if array.size:
                assert array.strides == field.strides
            assert array.flags.writeable

    @pytest.mark.parametrize("copy", [None, True, False])
    @pytest.mark.parametrize("dtype", [None, "f8", float, "f4", "i8", ">f8", np.longlong])
    @pytest.mark.parametrize("code", ["f8", "i8"])
    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_it_does_what_numpy_does(self, order: Any, code: str, dtype: Any, copy: bool | None) -> None:
        field = storage.storage(np.arange(6).reshape(2, 3), dtype=code, layout=order)
        memory = field.to_numpy()
        for convert in (
            lambda given: given.__array__(dtype, copy=copy),
            lambda given: np.array(given, dtype, copy=copy),
        ):
            try:
                expected = convert(memory)
            except ValueError:
                with pytest.raises(ValueError, match="copy"):
                    convert(field)
                continue
            array = convert(field)
            assert (array.dtype, array.strides) == (expected.dtype, expected.strides)
            assert np.shares_memory(array, memory) is np.shares_memory(expected, memory)
            np.testing.assert_array_equal(array, expected)

    def test_what_needs_a_copy_says_so(self) -> None:
        with pytest.raises(ValueError, match="copy=False: elements of type float64 cannot be seen as float32"):
            storage.zeros(3).__array__(np.float32, copy=False)

    def test_no_type(self) -> None:
        with pytest.raises(TypeError, match="not understood"):
            storage.zeros(3).__array__("tape")

    def test_arrays_keep_the_storage_alive(self) -> None:
        field = storage.full((100, 100), 3.0)
        gone = weakref.ref(field)
        arrays = [np.asarray(field), field.to_numpy(), np.asarray(memoryview(field))[1:], field.__array__()[::2]]
        del field
        gc.collect()
        assert gone() is not None
        assert all((array == 3).all() for array in arrays)
        del arrays
        gc.collect()
        assert gone() is None


class TestArrayInterface:
    @given(storages())
    def test_it_is_numpys(self, field: Storage) -> None:
        own, numpys = field.__array_interface__, field.to_numpy().__array_interface__
        for key in ("shape", "typestr", "data", "version"):
            assert own[key] == numpys[key]
        assert own["strides"] == field.strides
        assert own["version"] == 3

    def test_read_only(self) -> None:
        array = np.zeros(3)
        array.flags.writeable = False
        assert storage.as_storage(array).__array_interface__["data"] == (array.ctypes.data, True)


class ArrayInterface(ctypes.Structure):
    """`PyArrayInterface` of NumPy's C header."""

    _fields_ = (
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
    )


CONTIGUOUS, FORTRAN, ALIGNED, NOTSWAPPED, WRITEABLE = 0x1, 0x2, 0x100, 0x200, 0x400

api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def interface(capsule: Any) -> ArrayInterface:
    return ArrayInterface.from_address(api.PyCapsule_GetPointer(capsule, None))


class TestArrayStruct:
    @given(storages())
    def test_every_field(self, field: Storage) -> None:
        capsule = field.__array_struct__
        found = interface(capsule)
        array = field.to_numpy()
        assert (found.two, found.nd) == (2, field.ndim)
        assert (found.typekind.decode(), found.itemsize) == (field.dtype.kind, field.itemsize)
        assert tuple(found.shape[: found.nd]) == field.shape
        assert tuple(found.strides[: found.nd]) == array.strides
        assert found.data == field.__array_interface__["data"][0]
        assert bool(found.flags & CONTIGUOUS) is array.flags.c_contiguous
        assert bool(found.flags & FORTRAN) is array.flags.f_contiguous
        assert found.flags & ALIGNED
        assert found.flags & NOTSWAPPED
        assert found.flags & WRITEABLE

    def test_of_read_only_and_of_unaligned_memory(self) -> None:
        record = np.zeros(4, [("flag", "?"), ("value", "<f8")])["value"]
        record.flags.writeable = False
        flags = interface(storage.as_storage(record).__array_struct__).flags
        assert flags & (WRITEABLE | ALIGNED) == 0

    def test_it_keeps_the_memory_alive(self) -> None:
        field = storage.full(1000, 5.0)
        gone = weakref.ref(field)
        capsule = field.__array_struct__
        del field
        gc.collect()
        found = interface(capsule)
        assert set((ctypes.c_double * 1000).from_address(found.data)) == {5.0}
        del capsule
        gc.collect()
        assert gone() is None


def test_on_a_device_only_there_is_an_array_of_the_device_and_none_of_numpy() -> None:
    with fieldstone.simulated_device():
        field = storage.ones((2, 3), device="gpu", managed=None)
        assert type(field.__array__()) is storage.SimulatedArray
        for convert in (np.asarray, np.array, lambda field: np.asarray(field, "f4")):
            with pytest.raises(errors.GTNoSuchBufferError, match=r"on the device only.*to_cupy"):
                convert(field)
