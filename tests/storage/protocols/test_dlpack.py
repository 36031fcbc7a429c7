"""DLPack in both directions, each field of its structures, and lifetimes."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from fieldstone import errors, storage
from fieldstone.storage import Storage

from ..strategies import storages
from . import ctypes_dlpack as dlpack
from .ctypes_dlpack import Producer, Taken

CODES = {"i": dlpack.INT, "u": dlpack.UINT, "f": dlpack.FLOAT, "c": dlpack.COMPLEX, "b": dlpack.BOOL}


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


class TestOut:
    @given(storages())
    def test_every_field_of_the_structure(self, field: Storage) -> None:
        for version in (None, (0, 9), (1, 0), (1, 7), (2, 0)):
            taken = Taken(field.__dlpack__(max_version=version))
            facts = taken.facts
            strides = tuple(stride // field.itemsize for stride in field.strides)
            assert facts.pop("data") == (field.__array_interface__["data"][0] if field.size else None)
            long = [axis for axis, size in enumerate(field.shape) if size > 1 and field.size]
            assert [facts["strides"][axis] for axis in long] == [strides[axis] for axis in long]
            assert len(facts.pop("strides")) == field.ndim
            expected: dict[str, Any] = {
                "device": (dlpack.CPU, 0),
                "dtype": (CODES[field.dtype.kind], 8 * field.itemsize, 1),
                "shape": field.shape,
                "byte_offset": 0,
            }
            if version is not None and version >= (1, 0):
                expected |= {"version": (1, 0), "flags": 0}
            assert facts == expected
            taken.delete()

    @given(storages())
    def test_numpy_shares_the_memory(self, field: Storage) -> None:
        array = np.from_dlpack(field)
        np.testing.assert_array_equal(array, field.to_numpy())
        assert array.dtype == field.dtype
        if array.size:
            assert np.shares_memory(array, field.to_numpy())
        assert array.flags.writeable
        assert field.__dlpack_device__() == (dlpack.CPU, 0)

    @pytest.mark.parametrize("code", ["?", "e", "F", "D"])
    def test_special_types(self, code: str) -> None:
        field = storage.storage(np.array([[0, 1, 1], [1, 0, 1]], code))
        array = np.from_dlpack(field)
        assert array.dtype == np.dtype(code)
        np.testing.assert_array_equal(array, field.to_numpy())

    def test_views_of_all_kinds(self) -> None:
        field = storage.storage(np.arange(120.0).reshape(4, 5, 6))
        for view in (field[::-1], field[:, ::-2, 1], field.T, field[1:1], field[0, 0, 0:1]):
            np.testing.assert_array_equal(np.from_dlpack(view), view.to_numpy())

    def test_read_only_memory(self) -> None:
        field = storage.as_storage(read_only(np.zeros(3)))
        assert Taken(field.__dlpack__(max_version=(1, 0))).facts["flags"] == dlpack.READ_ONLY
        assert not np.from_dlpack(field).flags.writeable
        for version in (None, (0, 8)):
            with pytest.raises(BufferError, match=r"read-only memory.*max_version=\(1, 0\)"):
                field.__dlpack__(max_version=version)
        assert Taken(field.__dlpack__(copy=True)).facts["shape"] == (3,)

    def test_copies(self) -> None:
        field = storage.storage(np.arange(6.0).reshape(2, 3), layout=(1, 0))
        address = field.__array_interface__["data"][0]
        facts = Taken(field.__dlpack__(max_version=(1, 0), copy=True)).facts
        assert facts["flags"] == dlpack.IS_COPIED
        assert facts["data"] != address
        assert facts["strides"] == (1, 2)
        for copy in (None, False):
            facts = Taken(field.__dlpack__(max_version=(1, 0), copy=copy)).facts
            assert (facts["data"], facts["flags"]) == (address, 0)
        array = np.from_dlpack(field, copy=True)
        assert not np.shares_memory(array, field.to_numpy())
        np.testing.assert_array_equal(array, field.to_numpy())

    @pytest.mark.parametrize(
        ("keywords", "error", "message"),
        [
            ({"dl_device": (dlpack.CUDA, 0)}, BufferError, r"dl_device: .* cannot be exported to device \(2, 0\)"),
            ({"dl_device": (dlpack.CPU, 1)}, BufferError, r"cannot be exported to device \(1, 1\)"),
            ({"dl_device": "cpu"}, errors.ArgumentTypeError, "dl_device: expected a pair of integers, got 'cpu'"),
            ({"stream": 1}, errors.ArgumentValueError, "stream: 1 .*host memory, which has no streams"),
            ({"max_version": 1}, errors.ArgumentTypeError, "max_version: expected a pair of integers, got 1"),
        ],
    )
    def test_requests_that_cannot_be_met(self, keywords: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            storage.zeros(3).__dlpack__(**keywords)
        assert Taken(storage.zeros(3).__dlpack__(dl_device=(dlpack.CPU, 0))).facts["shape"] == (3,)

    def test_strides_that_are_no_multiple_of_the_elements(self) -> None:
        record = np.zeros(4, [("flag", "?"), ("value", "<f8")])["value"]
        with pytest.raises(
            BufferError, match="counts strides in elements, but along axis 0 the elements of 8 bytes are 9"
        ):
            storage.as_storage(record).__dlpack__()


class TestLifetimesOut:
    def field(self) -> tuple[Storage, weakref.ref[np.ndarray]]:
        """Return a storage around memory whose end can be seen."""
        array = np.ones(5)
        return storage.as_storage(array), weakref.ref(array)

    def test_a_capsule_that_nobody_takes(self) -> None:
        for version in (None, (1, 0)):
            field, gone = self.field()
            capsule = field.__dlpack__(max_version=version)
            del field
            gc.collect()
            assert gone() is not None
            del capsule
            assert gone() is None

    def test_a_tensor_that_outlives_capsule_and_storage(self) -> None:
        for version in (None, (1, 0)):
            field, gone = self.field()
            taken = Taken(field.__dlpack__(max_version=version))
            del field
            gc.collect()
            assert gone() is not None
            assert ctypes.c_double.from_address(taken.facts["data"]).value == 1
            taken.delete()
            assert gone() is None

    def test_memory_of_its_own(self) -> None:
        taken = Taken(storage.full(1000, 7.0).__dlpack__())
        gc.collect()
        values = (ctypes.c_double * 1000).from_address(taken.facts["data"])
        assert set(values) == {7.0}
        taken.delete()

    def test_the_deleter_may_be_called_by_any_thread(self) -> None:
        field, gone = self.field()
        taken = Taken(field.__dlpack__())
        del field
        # `ctypes.CDLL` functions run without the interpreter's lock.
        deleter = ctypes.cast(taken.managed.deleter, ctypes.c_void_p).value
        unlocked = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)
        thread = threading.Thread(target=unlocked, args=(taken.address,))
        thread.start()
        thread.join()
        assert gone() is None

    @pytest.mark.parametrize("wrapped", [False, True])
    def test_tensors_that_outlive_the_interpreter(self, wrapped: bool) -> None:
        """Consumers in C free their tensors in destructors that run when Python is gone."""
        code = f"""
import ctypes, numpy as np
from fieldstone import storage
from tests.storage.protocols.ctypes_dlpack import Taken
field = storage.as_storage(np.ones(9)) if {wrapped} else storage.ones(9)
taken = Taken(field.__dlpack__())
deleter = ctypes.cast(taken.managed.deleter, ctypes.c_void_p).value
ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(taken.address), None)
del field
"""
        subprocess.run([sys.executable, "-c", code], check=True)


# Capsules refer to their names.
TAPE = b"tape"
VALUES = np.arange(24.0).reshape(2, 3, 4)
ADDRESS = VALUES.__array_interface__["data"][0]


class TestIn:
    @pytest.mark.parametrize(
        "array",
        [
            VALUES,
            VALUES.T,
            VALUES[::-1, ::2, ::-3],
            VALUES[:, 1:1],
            VALUES[0, 0, 0],
            np.broadcast_to(VALUES[0], (5, 3, 4)),
        ],
        ids=lambda array: f"{array.shape}{array.strides}",
    )
    @pytest.mark.parametrize("version", [(1, 0), (1, 9)])
    def test_memory_is_wrapped_as_it_lies(self, array: np.ndarray, version: tuple[int, int]) -> None:
        address = array.__array_interface__["data"][0] if array.size else None
        producer = Producer(address, array.shape, [stride // 8 for stride in array.strides], version=version)
        field = storage.as_storage(producer)
        assert (field.shape, field.strides) == (array.shape, array.strides)
        np.testing.assert_array_equal(field.to_numpy(), array)
        assert field.to_numpy().flags.writeable
        assert producer.requests == [{"max_version": (1, 0), "copy": False}]

    @pytest.mark.parametrize("code", list("?bhilBHILefdFD"))
    def test_types(self, code: str) -> None:
        array = np.arange(5).astype(code)
        dtype = (CODES[array.dtype.kind], 8 * array.itemsize, 1)
        field = storage.as_storage(Producer(array.__array_interface__["data"][0], (5,), dtype=dtype))
        assert field.dtype == array.dtype
        np.testing.assert_array_equal(field.to_numpy(), array)

    def test_offset_in_bytes_and_strides_of_c(self) -> None:
        field = storage.as_storage(Producer(ADDRESS, (3, 4), byte_offset=96))
        np.testing.assert_array_equal(field.to_numpy(), VALUES[1])

    def test_the_read_only_flag(self) -> None:
        field = storage.as_storage(Producer(ADDRESS, (3,), flags=dlpack.READ_ONLY))
        with pytest.raises(errors.ReadOnlyError):
            field[0] = 1

    def test_older_capsules_may_be_of_read_only_memory(self) -> None:
        field = storage.as_storage(Producer(ADDRESS, (3,), version=None))
        np.testing.assert_array_equal(field.to_numpy(), VALUES[0, 0, :3])
        with pytest.raises(errors.ReadOnlyError):
            field[0] = 1

    def test_older_producers_know_no_keywords(self) -> None:
        class Older(Producer):
            def __dlpack__(self) -> Any:  # type: ignore[override]
                return self.capsule()

        np.testing.assert_array_equal(storage.as_storage(Older(ADDRESS, (4,), version=None)).to_numpy(), VALUES[0, 0])

    @pytest.mark.parametrize("kind", [dlpack.CPU, dlpack.CUDA_HOST, dlpack.ROCM_HOST, dlpack.CUDA_MANAGED])
    def test_memory_that_the_host_can_access(self, kind: int) -> None:
        field = storage.as_storage(Producer(ADDRESS, (4,), device=(kind, 0)))
        np.testing.assert_array_equal(field.to_numpy(), VALUES[0, 0])

    @pytest.mark.parametrize("size", [12345, -7, 0, 2**62, -(2**63)])
    def test_the_stride_of_one_point_means_nothing(self, size: int) -> None:
        field = storage.as_storage(Producer(ADDRESS, (1, 4), (size, 1)))
        np.testing.assert_array_equal(field.to_numpy(), VALUES[0, :1])
        field[...] = field + 0

    def test_copies_take_copies(self) -> None:
        producer = Producer(ADDRESS, (4,), flags=dlpack.IS_COPIED)
        np.testing.assert_array_equal(storage.storage(producer).to_numpy(), VALUES[0, 0])
        assert producer.requests == [{"max_version": (1, 0)}]
        assert producer.deleted == 1
        with pytest.raises(errors.ArgumentValueError, match="holds a copy of the memory"):
            storage.as_storage(producer)

    def test_values_are_assigned(self) -> None:
        field = storage.zeros((3, 4), dtype="f4")
        field[...] = Producer(ADDRESS, (3, 4))
        np.testing.assert_array_equal(field.to_numpy(), VALUES[0])

    def test_lifetimes(self) -> None:
        producer = Producer(ADDRESS, (4,))
        field = storage.as_storage(producer)
        view = field[1:]
        array = view.to_numpy()
        del field
        gc.collect()
        assert producer.deleted == 0
        del view
        gc.collect()
        assert producer.deleted == 0
        del array
        gc.collect()
        assert producer.deleted == 1

    def test_without_a_deleter(self) -> None:
        field = storage.as_storage(Producer(ADDRESS, (4,), has_deleter=False))
        assert field.to_numpy()[3] == 3

    def test_there_and_back(self) -> None:
        field = storage.storage(VALUES)
        for _ in range(3):
            field = storage.as_storage(Speaks(field))
        np.testing.assert_array_equal(field.to_numpy(), VALUES)


class Speaks:
    """An object that speaks DLPack only."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def use_once(capsule: Any) -> Any:
    np.from_dlpack(
        type("Once", (), {"__dlpack__": lambda self, **_: capsule, "__dlpack_device__": lambda self: (1, 0)})()
    )
    return capsule


class Answers:
    """An object whose DLPack methods answer the given."""

    def __init__(self, capsule: Any, device: Any = (dlpack.CPU, 0)) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **keywords: Any) -> Any:
        if isinstance(self.capsule, Exception):
            raise self.capsule
        return self.capsule

    def __dlpack_device__(self) -> Any:
        if isinstance(self.device, Exception):
            raise self.device
        return self.device


class TestRefused:
    """Producers that lie or are odd: an error that says what is wrong, and the tensor stays the producer's."""

    CASES: Any = (
        (Producer(None, (3,)), errors.ArgumentValueError, r"has \[3\] elements at the address 0"),
        (
            Producer(ADDRESS, (-1, 2)),
            errors.ArgumentValueError,
            r"the shape \[-1, 2\], expected sizes that are not neg",
        ),
        (Producer(ADDRESS, (2**40, 2**40)), errors.ArgumentValueError, "reach further than memory"),
        (Producer(ADDRESS, (2**62,), (1,)), errors.ArgumentValueError, "describes no memory"),
        (Producer(ADDRESS, (3,), (2**62,)), errors.ArgumentValueError, "reach further than memory"),
        (Producer(ADDRESS, (3,), (-(2**59),)), errors.ArgumentValueError, "describes no memory"),
        (Producer(ADDRESS, (3,), byte_offset=2**64 - 8), errors.ArgumentValueError, "offset that reaches further"),
        (Producer(ADDRESS, None, ndim=2), errors.ArgumentValueError, "has 2 axes but no shape"),
        (Producer(ADDRESS, (3,), ndim=-1), errors.ArgumentValueError, "has -1 axes"),
        (Producer(ADDRESS, (3,), ndim=65), errors.ArgumentValueError, "has 65 axes, expected at most 64"),
        (Producer(ADDRESS, (3,), dtype=(2, 64, 2)), errors.ArgumentValueError, "code 2 with 64 bits and 2 lanes"),
        (Producer(ADDRESS, (3,), dtype=(2, 64, 0)), errors.ArgumentValueError, "64 bits and 0 lanes"),
        (Producer(ADDRESS, (3,), dtype=(4, 16, 1)), errors.ArgumentValueError, "code 4 with 16 bits"),
        (Producer(ADDRESS, (3,), dtype=(0, 4, 1)), errors.ArgumentValueError, "code 0 with 4 bits"),
        (Producer(ADDRESS, (3,), dtype=(99, 8, 1)), errors.ArgumentValueError, "code 99"),
        (Producer(ADDRESS, (3,), version=(2, 0)), errors.ArgumentValueError, r"is of version 2\.0, expected 1\.x"),
        (Producer(ADDRESS, (3,), version=(0, 9)), errors.ArgumentValueError, r"is of version 0\.9"),
        (
            Producer(ADDRESS, (3,), device=(dlpack.CUDA, 0)),
            errors.DeviceError,
            r"\(device .* of DLPack\) that belongs to none",
        ),
        (
            Producer(ADDRESS, (3,), device=(dlpack.ROCM, 1)),
            errors.DeviceError,
            r"\(device .* of DLPack\) that belongs to none",
        ),
        (
            Answers(Producer(ADDRESS, (3,), device=(2, 0)).capsule()),
            errors.ArgumentValueError,
            r"holds memory of device \(2, 0\) of DLPack, not of device \(1, 0\)",
        ),
        (Answers(None), errors.ArgumentValueError, "is an object of type NoneType, expected a capsule"),
        (Answers(3), errors.ArgumentValueError, "is an object of type int"),
        (Answers(dlpack.api.PyCapsule_New(1, None, None)), errors.ArgumentValueError, "is called '', expected"),
        (Answers(dlpack.api.PyCapsule_New(1, TAPE, None)), errors.ArgumentValueError, "is called 'tape'"),
        (Answers(use_once(VALUES.__dlpack__())), errors.ArgumentValueError, "used already"),
        (Answers(use_once(VALUES.__dlpack__(max_version=(1, 0)))), errors.ArgumentValueError, "used already"),
        (Answers(RuntimeError("torn")), errors.ArgumentValueError, "DLPack exchange failed: torn"),
        (Answers(None, RuntimeError("torn")), errors.ArgumentValueError, "DLPack exchange failed: torn"),
        (Answers(None, 3), errors.ArgumentValueError, r"its __dlpack_device__ gave 3"),
        (Answers(None, ("cpu", 0)), errors.ArgumentValueError, r"its __dlpack_device__ gave \('cpu', 0\)"),
    )

    @pytest.mark.parametrize(("data", "error", "message"), CASES)
    def test_by_storages(self, data: Any, error: type[Exception], message: str) -> None:
        for use in (storage.as_storage, storage.storage, storage.zeros(3).__setitem__):
            with pytest.raises(error, match=message):
                use(..., data) if use not in (storage.as_storage, storage.storage) else use(data)
        assert getattr(data, "deleted", 0) == 0
