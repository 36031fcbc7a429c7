"""Computing with storages on the devices of a CUDA driver: with CuPy, or an error that says to install it.

There is neither a GPU nor CuPy in these tests: a double of the driver works over host memory, and a double of CuPy is
NumPy over that memory, which it can reach where the driver manages it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from .test_driver import double, run

__all__ = ["double"]

pytestmark = pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy itself is installed")

CUPY = '''
"""The part of CuPy that storages use, over host memory. Its functions take no NumPy arrays, as CuPy's do not."""

import ctypes, types
import numpy

called = []

class ndarray:
    def __init__(self, shape, dtype=float, memptr=None, strides=None):
        buffer = (ctypes.c_char * memptr.memory.size).from_address(memptr.memory.ptr)
        self._array = numpy.ndarray(shape, dtype, buffer, memptr.offset, strides)
    @classmethod
    def of(cls, array):
        self = object.__new__(cls)
        self._array = array
        return self
    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    __cuda_array_interface__ = property(lambda self: self._array.__array_interface__)
    def __setitem__(self, key, value):
        self._array[key] = plain(value)
    def __array__(self, *arguments, **keywords):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

def plain(value):
    if isinstance(value, numpy.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value))
    return value._array if isinstance(value, ndarray) else value

def wrapped(value):
    if isinstance(value, tuple):
        return tuple(map(wrapped, value))
    return ndarray.of(value) if isinstance(value, numpy.ndarray) else value

class Function:
    def __init__(self, function):
        self.function = function
    def __call__(self, *arguments, **keywords):
        called.append(self.function.__name__)
        keywords = {name: plain(value) for name, value in keywords.items()}
        return wrapped(self.function(*map(plain, arguments), **keywords))
    @property
    def reduce(self):
        return Function(self.function.reduce)

class UnownedMemory:
    def __init__(self, ptr, size, owner, device_id):
        self.ptr, self.size, self.owner = ptr, size, owner

class MemoryPointer:
    def __init__(self, memory, offset):
        self.memory, self.offset = memory, offset

cuda = types.SimpleNamespace(UnownedMemory=UnownedMemory, MemoryPointer=MemoryPointer)

def __getattr__(name):
    return Function(getattr(numpy, name))
'''


@pytest.mark.parametrize(
    "expression", ["field + field", "np.sqrt(field)", "field.sum(0)", "np.where(field > 0, field, 0)"]
)
def test_without_cupy_an_error_says_how_to_install_it(double: Path, expression: str) -> None:
    code = f"""
field = storage.ones((3, 4), dims="IJ", device="gpu", managed=None)
try:
    {expression}
except errors.DeviceError as error:
    print(error)
"""
    assert "CuPy is not installed; install it (pip install cupy" in run(double, code)


def test_cupy_computes(double: Path, tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text(CUPY)
    code = """
import cupy
values = np.arange(12.0).reshape(3, 4)
field = storage.storage(values, dims="IJ", device="gpu", managed='cuda', halo=(1, 0))
field.synchronize()
row = storage.storage(values[0], dims="J", device="gpu", managed='cuda')
row.synchronize()
gpu = fieldstone.devices()[1]
gpu.transfers.reset()
results = {
    "add": (field + row, values + values[0]),
    "multiply": (2 * field, 2 * values),
    "add.reduce": (field.sum(axis="J"), values.sum(1)),
    "mean": (np.mean(field, axis=0), values.mean(0)),
    "where": (np.where(field > 3, field, row), np.where(values > 3, values, values[0])),
    "modf": (np.modf(field)[1], values),
    "divmod": (divmod(field, 2)[1], values % 2),
}
field[1:] += field[:-1]
expected = values.copy()
expected[1:] += values[:-1]
results["in place"] = (field, expected)
results["a view"] = (np.transpose(field), expected.T)
assert (gpu.transfers.uploads, gpu.transfers.downloads) == (0, 0), gpu.transfers
for name, (result, expected) in results.items():
    assert type(result) is type(field), name
    assert (storage.storage(result, device="cpu").to_numpy() == expected).all(), name
assert results["where"][0].halo == ((1, 1), (0, 0))
assert {"add", "multiply", "mean", "where", "modf", "divmod"} <= set(cupy.called), cupy.called
print("done")
"""
    assert run(double, code, PYTHONPATH=str(tmp_path)).splitlines()[0] == "done"
