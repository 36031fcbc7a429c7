"""Native code reads and writes nothing outside of its arrays: these end, or begin, at pages that nobody may touch.

A stencil that does is ended by the system, so everything runs in a process of its own.
"""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, PARALLEL, Field, K, computation, interval

PAGE = mmap.PAGESIZE
DOMAINS = [(1, 1, 3), (7, 5, 3), (8, 8, 8), (9, 3, 17), (17, 33, 16), (33, 9, 31), (64, 5, 7)]


def copy(inp: Field["real"], coefficient: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = inp


def diffusion(inp: Field["real"], coefficient: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        lap = 4.0 * inp - (inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0])
        along_i = lap[1, 0, 0] - lap
        along_j = lap[0, 1, 0] - lap
        out = inp - coefficient * (along_i - along_i[-1, 0, 0] + along_j - along_j[0, -1, 0])


@gtscript.function
def smoothed(q):
    along_i = 0.125 * (q[1, 0, 0] - 2.0 * q + q[-1, 0, 0])
    along_j = 0.25 * (q[0, 1, 0] - 2.0 * q + q[0, -1, 0])
    return q + min(along_i, along_j) - max(along_i, 0.0)


def chain(inp: Field["real"], coefficient: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        once = smoothed(inp)
        twice = smoothed(once)
        thrice = smoothed(twice)
        out = smoothed(thrice)


def solve(inp: Field["real"], coefficient: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            upper = coefficient / (2.0 + coefficient[1, 0, 0])
            right = inp / (2.0 + coefficient)
        with interval(1, None):
            upper = coefficient / (2.0 + coefficient[1, 0, 0] - coefficient * upper[0, 0, -1])
            right = (inp + coefficient * right[0, 0, -1]) / (2.0 + coefficient)
    with computation(BACKWARD):
        with interval(-1, None):
            out = right
        with interval(0, -1):
            out = right + upper * out[0, 0, 1]


def weighted(inp: Field["real"], coefficient: Field[K, "real"], out: Field["real"]):
    with computation(PARALLEL):
        with interval(0, 1):
            out = coefficient * inp
        with interval(1, -1):
            out = coefficient * inp + coefficient[1] * inp[0, 0, 1] - coefficient[-1] * inp[0, 0, -1]
        with interval(-1, None):
            out = inp / coefficient


def weighted_diffusion(inp: Field["real"], coefficient: Field[K, "real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        once = smoothed(inp) * coefficient
        out = smoothed(once) + coefficient


HALOS = {copy: 0, diffusion: 2, chain: 4, solve: 1, weighted: 0, weighted_diffusion: 2}


def between_pages(shape: tuple[int, ...], dtype: type, order: str, at_end: bool) -> Any:
    """Return an array in memory of its own, with a page behind and one before it that nobody may touch."""
    library = ctypes.CDLL(None)
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    count = int(np.prod(shape))
    used = count * np.dtype(dtype).itemsize
    size = -(-used // PAGE) * PAGE
    memory = mmap.mmap(-1, size + 2 * PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for closed in (address, address + PAGE + size):
        if library.mprotect(closed, PAGE, 0) != 0:
            raise OSError("mprotect")
    offset = PAGE + (size - used if at_end else 0)
    return np.frombuffer(memory, dtype, count, offset).reshape(shape, order=order)  # type: ignore[call-overload]


def compare(backend: str, dtype: type, stores: str) -> None:
    """Compare native code on such arrays with NumPy's on others."""
    random = np.random.default_rng(1)
    order = "F" if backend == "cpu_ifirst" else "C"
    for definition, halo in HALOS.items():
        reference = gtscript.stencil("numpy", definition, dtypes={"real": dtype})
        options: dict[str, Any] = {"dtypes": {"real": dtype}, "schedule": {"stores": stores}}
        stencils = [gtscript.stencil(backend, definition, threads=n, **options) for n in (1, 3)]
        for domain in DOMAINS:
            shape = (domain[0] + 2 * halo, domain[1] + 2 * halo, domain[2])
            origin = {name: (halo, halo, 0)[-len(info.axes) :] for name, info in reference.field_info.items()}
            where: dict[str, Any] = {"origin": origin, "domain": domain}
            for at_end in (False, True):
                fields = [len(info.axes) for info in reference.field_info.values()]
                arrays = [between_pages(shape[-axes:], dtype, order, at_end) for axes in fields]
                for array in arrays:
                    array[...] = random.random(array.shape)
                expected = [array.copy() for array in arrays]
                reference(*expected, **where)
                for stencil in stencils:
                    stencil(*arrays, **where)
                    for one, other in zip(arrays, expected, strict=True):
                        np.testing.assert_array_equal(one, other, f"{definition.__name__} {domain} {at_end}")


@pytest.mark.skipif(sys.platform != "linux", reason="pages are closed by a function of Linux")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["cpu_ifirst", "cpu_kfirst"])
@pytest.mark.parametrize("stores", ["cached", "streamed"])
def test_nothing_beyond_the_ends_is_touched(stores: str, backend: str, dtype: str) -> None:
    command = [sys.executable, __file__, backend, dtype, stores]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


if __name__ == "__main__":
    compare(sys.argv[1], getattr(np, sys.argv[2]), sys.argv[3])
