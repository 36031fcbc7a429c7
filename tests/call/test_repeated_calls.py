"""A call like one before is checked as if it were the first."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval

SHAPE = (6, 5, 4)


def scaled(inp: Field[float], out: Field[float], factor: float):
    with computation(PARALLEL), interval(...):
        out = factor * inp[1, 0, 0]


def numbers(seed: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return np.asfortranarray(np.random.default_rng(seed).normal(size=shape))


def expected(inp: Any, factor: float) -> np.ndarray:
    return factor * np.asarray(inp)[1:]


def call(stencil: Callable[..., None], inp: Any, out: Any, factor: float = 2.0) -> None:
    stencil(inp, out, factor)
    np.testing.assert_array_equal(np.asarray(out)[:-1], expected(inp, factor))


@pytest.fixture(params=["cpu_kfirst", "cpu_ifirst", "numpy", "gpu"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stencil(backend: str) -> gtscript.StencilObject:
    return gtscript.stencil(backend, scaled)


@pytest.fixture
def frozen(stencil: gtscript.StencilObject) -> Callable[..., None]:
    return stencil.freeze(origin=(0, 0, 0), domain=(5, 5, 4))


@pytest.fixture(params=[False, True], ids=["stencil", "frozen"])
def called(
    request: pytest.FixtureRequest, stencil: Callable[..., None], frozen: Callable[..., None]
) -> Callable[..., None]:
    """A stencil or what is frozen of it, after a few calls with arrays and storages of one shape."""
    if request.param:
        stencil = frozen
    for seed in range(3):
        call(stencil, numbers(seed), np.zeros(SHAPE, order="F"))
        call(stencil, storage.storage(numbers(seed), dims="IJK"), storage.zeros(SHAPE, dims="IJK"))
    return stencil


def test_other_arrays_and_scalars(called: Callable[..., None]) -> None:
    for seed in range(20):
        call(called, numbers(seed), np.zeros(SHAPE, order="F"), factor=float(seed))
        call(called, storage.storage(numbers(seed)), storage.zeros(SHAPE), factor=float(seed))


def test_memory_that_an_array_has_got_anew(called: Callable[..., None]) -> None:
    inp, out = numbers(1), np.zeros(SHAPE, order="F")
    call(called, inp, out)
    for _ in range(5):
        # Larger and back: NumPy gives the array other memory.
        out.resize((600, 50, 40), refcheck=False)
        out.resize(SHAPE, refcheck=False)
        out[...] = 0
        call(called, inp, out)


def test_shapes_strides_and_orders_that_change(stencil: gtscript.StencilObject) -> None:
    whole = numbers(3, (14, 12, 10))
    for _ in range(3):
        for view in (whole, whole[::2], whole[:, ::-1], whole.transpose(2, 0, 1), whole[2:9, 1:7, 3:5]):
            inp = view.copy(order="K")
            call(stencil, inp, np.zeros_like(inp))
            call(stencil, view, np.zeros(view.shape))


def test_scalars_are_checked(called: Callable[..., None]) -> None:
    with pytest.raises(errors.ArgumentTypeError, match=r"'factor' is 'two'.* expected a number"):
        called(numbers(1), np.zeros(SHAPE, order="F"), "two")


def wrong_dtype(inp: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
    return inp.astype(np.float32), out


def wrong_byte_order(inp: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
    return inp.astype(">f8"), out


def read_only(inp: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
    out.flags.writeable = False
    return inp, out


def too_small(inp: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
    return inp, out[:3]


def none_at_all(inp: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
    return inp, None


def of_rank_two(inp: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
    return inp, out[0]


def overlapping(inp: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
    return inp, inp


def overlapping_in_part(inp: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
    memory = np.zeros(2 * inp.size)
    return (memory[start : start + inp.size].reshape(SHAPE, order="F") for start in (0, 30))


def unaligned(inp: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
    memory = np.zeros(8 * inp.size + 8, dtype=np.uint8)
    return memory[4:-4].view(np.float64).reshape(SHAPE, order="F"), out


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (wrong_dtype, errors.DTypeError),
        (wrong_byte_order, errors.DTypeError),
        (read_only, errors.ReadOnlyError),
        (none_at_all, errors.ArgumentTypeError),
        (of_rank_two, errors.ShapeError),
        (overlapping, errors.AliasError),
        (overlapping_in_part, errors.AliasError),
    ],
)
def test_every_check_is_still_done(
    called: Callable[..., None], change: Callable[..., tuple[Any, Any]], error: type[Exception]
) -> None:
    inp, out = change(numbers(1), np.zeros(SHAPE, order="F"))
    for _ in range(2):
        with pytest.raises(error):
            called(inp, out, 2.0)


def test_a_domain_that_does_not_fit_any_longer(frozen: Callable[..., None]) -> None:
    call(frozen, numbers(1), np.zeros(SHAPE, order="F"))
    with pytest.raises(errors.DomainError):
        frozen(*too_small(numbers(1), np.zeros(SHAPE, order="F")), 2.0)


@pytest.mark.parametrize("backend", ["cpu_kfirst", "cpu_ifirst"])
def test_elements_that_are_not_aligned_any_longer(backend: str) -> None:
    stencil = gtscript.stencil(backend, scaled)
    call(stencil, numbers(1), np.zeros(SHAPE, order="F"))
    with pytest.raises(errors.ArgumentValueError, match="not aligned"):
        stencil(*unaligned(numbers(1), np.zeros(SHAPE, order="F")), 2.0)


def test_what_a_storage_says_of_its_axes(stencil: gtscript.StencilObject) -> None:
    values = numbers(5)
    for _ in range(3):
        out = storage.zeros(SHAPE, dims="IJK")
        call(stencil, storage.storage(values, dims="IJK"), out)
        # The same memory, but another axis is I.
        turned = storage.zeros((6, 5, 6), dims="KJI")
        with pytest.raises(errors.DomainError):
            stencil(storage.storage(values, dims="IJK"), turned, 2.0, domain=(6, 5, 4))
        with_halo = storage.zeros(SHAPE, dims="IJK", halo=(1, 0, 0))
        stencil(storage.storage(values, dims="IJK", halo=(1, 0, 0)), with_halo, 2.0)
        np.testing.assert_array_equal(np.asarray(with_halo)[1:-1], 2.0 * values[2:])
        assert (np.asarray(with_halo)[[0, -1]] == 0).all()


def test_origins_and_domains_that_change(stencil: gtscript.StencilObject) -> None:
    inp = numbers(7)
    for _ in range(3):
        for origin in ((0, 0, 0), (1, 2, 1), {"_all_": (1, 2, 1)}, {"inp": (0, 1, 1), "out": (1, 2, 1)}):
            for domain in ((2, 2, 2), (3, 1, 2)):
                out = np.zeros(SHAPE, order="F")
                stencil(inp, out, 1.0, origin=origin, domain=domain)
                starts = origin if isinstance(origin, dict) else {"_all_": origin}
                place, read = (
                    tuple(slice(a, a + n) for a, n in zip(starts.get(name, starts.get("_all_")), domain, strict=True))
                    for name in ("out", "inp")
                )
                wanted = np.zeros(SHAPE)
                wanted[place] = np.roll(inp, -1, axis=0)[read]
                np.testing.assert_array_equal(out, wanted)


STEADY = """
import ctypes
import sys
import tracemalloc

import numpy as np

import fieldstone
from fieldstone import gtscript, storage
from fieldstone.gtscript import FORWARD, PARALLEL, Field, computation, interval


def smoothed(inp: Field[float], out: Field[float], factor: float):
    with computation(PARALLEL), interval(...):
        mean = 0.5 * (inp[-1, 0, 0] + inp[1, 0, 0])
        out = mean[0, -1, 0] + mean[0, 1, 0]
    with computation(FORWARD), interval(1, None):
        out = factor * out[0, 0, -1] + mean


class Heap(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]


c = ctypes.CDLL(None)
c.mallinfo2.restype = Heap
fieldstone.set_num_threads(1)
shape = (20, 20, 12)
for backend in ("cpu_kfirst", "cpu_ifirst"):
    stencil = gtscript.stencil(backend, smoothed)
    frozen = stencil.freeze(origin=(1, 1, 0), domain=(18, 18, 12))
    sets = [[np.ones(shape), np.zeros(shape)], [storage.ones(shape), storage.zeros(shape)]]
    for arguments in sets:
        for call in (stencil, frozen):
            for _ in range(10):
                call(*arguments, 0.5)
            before = c.mallinfo2()
            for _ in range(1000):
                call(*arguments, 0.5)
            after = c.mallinfo2()
            print(after.uordblks - before.uordblks + after.hblkhd - before.hblkhd)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the C library of Linux")
def test_a_repeated_call_keeps_no_memory(tmp_path: Path) -> None:
    script = tmp_path / "steady.py"
    script.write_text(STEADY)
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    kept = [int(line) for line in run.stdout.split()]
    # Python's own free lists may grow by an object or two.
    assert len(kept) == 8
    assert max(kept) < 4096
