"""Stencils among the work of CuPy and PyTorch, on a machine with a GPU where these are installed."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from fieldstone import gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval

# So large that whoever does not wait finds old values.
SHAPE = (256, 256, 64)


@gtscript.stencil(backend="gpu")
def scale(inp: Field[np.float32], out: Field[np.float32], factor: np.float32):
    with computation(PARALLEL), interval(...):
        out = factor * inp


@pytest.mark.gpu
@pytest.mark.usefixtures("has_gpu")
class TestStencils:
    @pytest.mark.parametrize("non_blocking", [False, True])
    def test_in_a_stream_of_cupy(self, cupy: ModuleType, non_blocking: bool) -> None:
        with cupy.cuda.Stream(non_blocking=non_blocking):
            a, b = cupy.zeros(SHAPE, "f4"), cupy.zeros(SHAPE, "f4")
            for _ in range(30):
                a += 1
            scale(a, b, 2.0)
            b += 1
            assert (b.get() == 61.0).all()

    @pytest.mark.parametrize("non_blocking", [False, True])
    def test_storages_in_a_stream_of_cupy(self, cupy: ModuleType, non_blocking: bool) -> None:
        a, b = (storage.full(SHAPE, 3.0, "f4", device="gpu", dims="IJK") for _ in "ab")
        with cupy.cuda.Stream(non_blocking=non_blocking):
            for number in range(5):
                a[...] = float(number)
                scale(a, b, 2.0)
                scale(b, a, 2.0)
                assert (a.to_numpy() == 4.0 * number).all()
                assert (b.to_numpy() == 2.0 * number).all()

    def test_in_a_stream_of_torch(self, torch: ModuleType) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            a, b = torch.zeros(SHAPE, device="cuda"), torch.zeros(SHAPE, device="cuda")
            for _ in range(30):
                a += 1
            scale(a, b, 2.0)
            b += 1
            assert bool((b.cpu() == 61.0).all())

    def test_storages_among_work_of_torch(self, torch: ModuleType) -> None:
        a, b = (storage.full(SHAPE, 3.0, "f4", device="gpu", dims="IJK") for _ in "ab")
        scale(a, b, 2.0)
        there = torch.as_tensor(b, device="cuda")
        there += 1
        scale(b, a, 2.0)
        assert (a.to_numpy() == 14.0).all()
