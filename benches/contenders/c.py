"""C: `benches/kernels.c`, each kernel with the choices that are fastest for the grid.

Strict C is the same where gcc contracts nothing, `min` and `max` keep NaN, and what is divided by three is not
multiplied by a third.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator

from benches import compiled
from benches.arguments import Arguments
from benches.case import HALO
from benches.contenders import Contender, sweeping

SOURCES = ("kernels.c", "kernels.h", "cases/*.h")


@functools.cache
def library(strict: bool = False) -> ctypes.CDLL | None:
    """Return the compiled kernels, or None where there is no C compiler."""
    return compiled.library(*SOURCES, strict=strict)


def variants(arguments: Arguments, strict: bool = False) -> Iterator[Contender]:
    """Return one for each combination of choices."""
    if library() is None:
        return
    package = "strict-C" if strict else "C"
    for tuning in arguments.case.tuned():
        chosen = " ".join(f"{name}={value}" for name, value in tuning.items())
        yield Contender(f"{package} {chosen}".strip(), "C", _call(arguments, tuning, strict), _sweep, arguments)


def _call(arguments: Arguments, tuning: dict[str, int], strict: bool) -> Callable[[], object]:
    case = arguments.case
    if arguments.layout != "I":
        raise ValueError("the C kernels take arrays that are contiguous along I")
    kernel = _library(strict)[f"{case.name}_{arguments.dtype}"]
    real = ctypes.c_double if arguments.dtype == "float64" else ctypes.c_float
    pointers, strides = [], (0, 0)
    row = 0
    for argument, array in zip(case.arguments, arguments.kji(), strict=True):
        inside = array if argument.axes == "K" else array[..., HALO:, HALO:]
        pointers.append(inside.ctypes.data)
        if argument.axes == "IJK":
            found = (array.strides[1] // array.itemsize, array.strides[0] // array.itemsize)
            if strides not in ((0, 0), found) or array.strides[2] != array.itemsize:
                raise ValueError(f"{argument.name} does not lie in memory as the other fields do")
            strides = found
        elif argument.axes == "IJ":
            row = array.strides[0] // array.itemsize
    ni, nj, nk = arguments.size
    fields = (ctypes.c_void_p * len(pointers))(*pointers)
    scalars = (real * max(1, len(case.scalars)))(*case.scalars.values())
    choices = (ctypes.c_int * max(1, len(tuning)))(*tuning.values())
    kernel.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int] * 3 + [ctypes.c_ssize_t] * 3
    kernel.restype = None
    call = functools.partial(kernel, fields, scalars, choices, ni, nj, nk, *strides, row)
    call.memory = arguments.fields  # type: ignore[attr-defined]
    return call


def _library(strict: bool = False) -> ctypes.CDLL:
    found = library(strict)
    if found is None:
        raise RuntimeError("gcc is needed to build the kernels; install it, or name another compiler in CC")
    return found


def _sweep() -> None:
    source, target = sweeping.arrays()
    kernel = _library().sweep
    kernel.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    kernel.restype = None
    kernel(source.ctypes.data, target.ctypes.data, source.nbytes)
