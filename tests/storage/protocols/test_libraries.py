"""Round trips: a storage to another library and back, and what the other library says of it on the way."""

from __future__ import annotations

import array
import ctypes
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.storage import GPUStorage, Storage

VALUES = np.arange(24, dtype="f4").reshape(2, 3, 4)


def double(inp: Field[np.float32], out: Field[np.float32]):  # type: ignore[no-untyped-def]
    with computation(PARALLEL), interval(...):
        out = 2 * inp


def address(field: Storage) -> int:
    return field.__array_interface__["data"][0]


class TestStandardLibrary:
    def test_memoryview(self) -> None:
        field = storage.storage(VALUES, layout=(2, 0, 1))
        back = storage.as_storage(memoryview(field))
        assert (address(back), back.strides) == (address(field), field.strides)
        back[0, 0, 0] = 9
        assert field[0, 0, 0] == 9

    def test_ctypes(self) -> None:
        field = storage.storage(VALUES)
        there = (ctypes.c_float * 24).from_buffer(field)
        assert ctypes.addressof(there) == address(field)
        assert list(there) == VALUES.ravel().tolist()
        back = storage.as_storage(there)
        assert (address(back), back.shape) == (address(field), (24,))
        there[3] = 42
        assert back[3] == field[0, 0, 3] == 42

    def test_array(self) -> None:
        for code in "bBhHiIlLqQfd":
            given = array.array(code, range(6))
            field = storage.as_storage(given)
            assert field.dtype == np.dtype(code)
            field[2] = 77
            assert given[2] == 77
            assert array.array(code, field.data.tobytes() and bytes(field)) == given
            with pytest.raises(BufferError):
                given.append(1)

    def test_bytes_like_objects(self) -> None:
        block = bytearray(range(8))
        field = storage.as_storage(block)
        field[0] = 200
        assert block[0] == 200
        with pytest.raises(errors.ReadOnlyError):
            storage.as_storage(memoryview(bytes(8)))[0] = 1


class TestNumPy:
    @pytest.mark.parametrize("through", [np.asarray, np.from_dlpack, memoryview])
    def test_round_trip(self, through: Any) -> None:
        field = storage.storage(VALUES, layout=(1, 2, 0), alignment_size=64)
        back = storage.as_storage(through(field[:, ::2]))
        assert (address(back), back.strides) == (address(field), field[:, ::2].strides)
        back[...] = 5
        assert (field.to_numpy()[:, ::2] == 5).all()

    @pytest.mark.parametrize("scalar", [3, 2.5, True, 1j, np.float32(3), np.int8(2), np.bool(True)])
    def test_scalars_are_storages_without_axes(self, scalar: Any) -> None:
        field = storage.storage(scalar)
        assert (field.shape, field.dtype) == ((), np.asarray(scalar).dtype)
        assert field.to_numpy()[()] == scalar


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_platforms", "cpu")
    return jax


class TestJax:
    """Arrays of JAX on the CPU never change, so that nothing of fieldstone may write to them."""

    @pytest.mark.parametrize("layout", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
    def test_from_dlpack(self, jax: ModuleType, layout: tuple[int, ...]) -> None:
        field = storage.storage(VALUES, layout=layout)
        there = jax.dlpack.from_dlpack(field, copy=False)
        assert there.unsafe_buffer_pointer() == address(field)
        np.testing.assert_array_equal(np.asarray(there), VALUES)

    def test_padded_storages_are_copied_first(self, jax: ModuleType) -> None:
        field = storage.storage(VALUES, dims="IJK", defaults="gtmc")
        with pytest.raises(Exception, match="compact"):
            jax.dlpack.from_dlpack(field)
        np.testing.assert_array_equal(np.asarray(jax.numpy.asarray(field)), VALUES)

    @pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "u1", "u2", "u4", "f2", "f4", "c8"])
    def test_types(self, jax: ModuleType, dtype: str) -> None:
        values = np.array([0, 1, 1], dtype)
        for there in (
            jax.dlpack.from_dlpack(storage.storage(values)),
            jax.numpy.asarray(storage.storage(values)),
        ):
            assert there.dtype == np.dtype(dtype)
            for back in (storage.as_storage(there), storage.storage(there)):
                assert back.dtype == np.dtype(dtype)
                np.testing.assert_array_equal(back.to_numpy(), values)

    def test_its_arrays_are_wrapped_read_only(self, jax: ModuleType) -> None:
        given = jax.numpy.asarray(VALUES)
        field = storage.as_storage(given)
        assert address(field) == given.unsafe_buffer_pointer()
        with pytest.raises(errors.ReadOnlyError):
            field[0, 0, 0] = 1
        with pytest.raises(BufferError, match="read-only"):
            jax.dlpack.from_dlpack(field)
        field.copy()[0, 0, 0] = 1

    def test_through_dlpack_alone(self, jax: ModuleType) -> None:
        class Speaks:
            array = jax.numpy.asarray(VALUES)

            def __dlpack__(self, **keywords: Any) -> Any:
                return self.array.__dlpack__(**keywords)

            def __dlpack_device__(self) -> Any:
                return self.array.__dlpack_device__()

        field = storage.as_storage(Speaks())
        np.testing.assert_array_equal(field.to_numpy(), VALUES)
        with pytest.raises(errors.ReadOnlyError):
            field[0, 0, 0] = 1

    @pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_kfirst"])
    def test_stencils(self, jax: ModuleType, backend: str) -> None:
        stencil = gtscript.stencil(backend=backend)(double)
        given, out = jax.numpy.asarray(VALUES), storage.zeros((2, 3, 4), np.float32)
        stencil(given, out)
        np.testing.assert_array_equal(out.to_numpy(), 2 * VALUES)
        with pytest.raises(errors.ReadOnlyError, match="argument 'out' is a read-only array"):
            stencil(out, given)

    def test_assignment_and_arithmetic(self, jax: ModuleType) -> None:
        field = storage.zeros((2, 3, 4))
        field[...] = jax.numpy.asarray(VALUES)
        np.testing.assert_array_equal(field.to_numpy(), VALUES)

    def test_types_that_numpy_does_not_have(self, jax: ModuleType) -> None:
        with pytest.raises(errors.ArgumentValueError, match="elements of code 4 with 16 bits"):
            storage.as_storage(jax.numpy.ones(3, "bfloat16"))

    def test_it_is_not_imported_by_fieldstone(self) -> None:
        code = """
import sys, numpy, fieldstone
from fieldstone import storage
storage.as_storage(numpy.ones(3))
assert "jax" not in sys.modules and "torch" not in sys.modules and "cupy" not in sys.modules
"""
        subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.gpu
@pytest.mark.usefixtures("has_gpu")
class TestGpu:
    """On a machine with a GPU, where the libraries for it are installed."""

    def field(self) -> Storage:
        return storage.storage(VALUES, device="gpu", managed=False)

    def pointer(self, field: Storage) -> int:
        return field.__cuda_array_interface__["data"][0]

    def test_cupy(self, cupy: ModuleType) -> None:
        field = self.field()
        for there in (cupy.asarray(field), cupy.from_dlpack(field), field.to_cupy()):
            assert there.data.ptr == self.pointer(field)
            np.testing.assert_array_equal(there.get(), VALUES)
            back = storage.as_storage(there)
            assert (type(back), self.pointer(back)) == (GPUStorage, self.pointer(field))
        there += 1
        np.testing.assert_array_equal(storage.storage(field, device="cpu").to_numpy(), VALUES + 1)

    def test_work_on_streams_of_cupy_is_waited_for(self, cupy: ModuleType) -> None:
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            there = cupy.zeros((512, 512, 64), "f4")
            for _ in range(50):
                there += 1
            field = storage.as_storage(there)
        assert (storage.storage(field, device="cpu").to_numpy() == 50).all()

    def test_torch(self, torch: ModuleType) -> None:
        field = self.field()
        for there in (torch.as_tensor(field, device="cuda"), torch.from_dlpack(field)):
            assert there.data_ptr() == self.pointer(field)
            np.testing.assert_array_equal(there.cpu().numpy(), VALUES)
            back = storage.as_storage(there)
            assert (type(back), self.pointer(back)) == (GPUStorage, self.pointer(field))

    def test_torch_on_the_host(self, torch: ModuleType) -> None:
        there = torch.arange(6, dtype=torch.float32)
        field = storage.as_storage(there)
        assert address(field) == there.data_ptr()
        pinned = torch.arange(6, dtype=torch.float32).pin_memory()
        np.testing.assert_array_equal(storage.as_storage(pinned).to_numpy(), np.arange(6))
