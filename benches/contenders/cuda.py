"""CUDA C, as one writes it by hand for each case (`cases/*.cu`), compiled by CuPy where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benches.case import HALO, Case

FOLDER = Path(__file__).parents[1] / "cases"
REAL = {"float64": "double", "float32": "float"}


@dataclass(frozen=True)
class Kernel:
    """How a kernel is launched.

    Attributes
    ----------
    block : tuple of int
        Threads along each axis.
    levels : int or None
        Levels that a thread computes; all of them.
    scratch : int
        Arrays without halo that it takes behind the fields.
    """

    block: tuple[int, int, int]
    levels: int | None
    scratch: int = 0

    def grid(self, size: tuple[int, int, int]) -> tuple[int, ...]:
        """Blocks along each axis for a domain."""
        points = (*self.block[:2], self.levels or size[2])
        return tuple(-(-size[axis] // points[axis]) for axis in range(3))


KERNELS = {
    "copy": Kernel((32, 8, 1), 4),
    "lap7": Kernel((32, 8, 1), 8),
    "hdiff": Kernel((32, 8, 1), 1),
    "vadv": Kernel((32, 4, 1), None, scratch=2),
}


def source(name: str, dtype: str) -> str:
    """Return the text of the kernel of a case."""
    return f"typedef {REAL[dtype]} real;\n" + (FOLDER / f"{name}.cu").read_text()


def numbers(case: Case, size: tuple[int, int, int], strides: tuple[int, ...], dtype: str) -> list[Any]:
    """Return what comes behind the arrays: the domain, elements from row to row and from level to level, scalars."""
    item = np.dtype(dtype).itemsize
    lengths = [np.int32(number) for number in (*size, strides[1] // item, strides[2] // item)]
    return [*lengths, *(np.dtype(dtype).type(value) for value in case.scalars.values())]


def with_cupy(case: Case, fields: dict[str, Any], size: tuple[int, int, int], dtype: str) -> Callable[[], None]:
    """Return a call of the kernel of a case on storages of the device."""
    import cupy

    how = KERNELS[case.name]
    kernel = cupy.RawKernel(source(case.name, dtype), case.name, options=("-std=c++14",))
    arrays = [fields[argument.name].to_cupy()[HALO:, HALO:] for argument in case.arguments]
    strides = {array.strides for array in arrays}
    if len(strides) != 1 or arrays[0].strides[0] != np.dtype(dtype).itemsize:
        raise RuntimeError(f"the fields of {case.name} have strides {strides}, expected the same with I contiguous")
    arrays += [cupy.empty(int(np.prod(size)), dtype) for _ in range(how.scratch)]
    given = (*arrays, *numbers(case, size, arrays[0].strides, dtype))
    return lambda: kernel(how.grid(size), how.block, given)
