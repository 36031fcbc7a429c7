"""Functions of numbers, each in a stencil of its own, beside vectors of glibc's libmvec: ``ARGS=functions``."""

from __future__ import annotations

import ctypes
import functools
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fieldstone
from benches import compiled, paired
from benches.dialect import Field
from benches.table import Table
from fieldstone import gtscript, storage

# Arrays of so many points stay in the second-level cache.
SHAPE = (128, 16, 8)

DTYPES = ("float64", "float32")

# The function, or none, and the numbers it is called with.
ARGUMENTS: dict[str, tuple[float, float]] = {
    "copy": (-1.0, 1.0),
    "exp": (-10.0, 10.0),
    "log": (0.1, 100.0),
    "log10": (0.1, 100.0),
    "pow": (0.1, 10.0),
    "cbrt": (-100.0, 100.0),
    "sin": (-10.0, 10.0),
    "cos": (-10.0, 10.0),
    "tan": (-10.0, 10.0),
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
    "atan": (-5.0, 5.0),
    "sinh": (-10.0, 10.0),
    "cosh": (-10.0, 10.0),
    "tanh": (-5.0, 5.0),
    "asinh": (-10.0, 10.0),
    "acosh": (1.0, 20.0),
    "atanh": (-0.999, 0.999),
    "erf": (-4.0, 4.0),
    "erfc": (-4.0, 8.0),
    "gamma": (0.1, 20.0),
}


def copied(a: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = a


def applied(a: Field["real"], out: Field["real"]):
    from __externals__ import FUNCTION

    with computation(PARALLEL), interval(...):
        out = FUNCTION(a)


def raised(a: Field["real"], b: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = a**b


def run(rounds: int) -> Iterator[Table]:
    """Measure one function after the other, the stencil and C in turns."""
    before = fieldstone.num_threads()
    fieldstone.set_num_threads(1)
    columns = [word for dtype in DTYPES for word in (f"{dtype} (ns)", "libmvec (ns)", "/ libmvec")]
    table = Table("Time for a number, on one core, in the second-level cache", ["", *columns])
    for name in ARGUMENTS:
        table.add(name, *(cell for dtype in DTYPES for cell in _cells(name, dtype, rounds)))
    fieldstone.set_num_threads(before)
    yield table


def _cells(name: str, dtype: str, rounds: int) -> tuple[str, str, str]:
    contenders = {"fieldstone": _stencil(name, dtype)}
    library = _library()
    if library is not None:
        contenders["C"] = _c(library[f"{name}_{dtype}"], name, dtype)
    timed = {label: paired.of_statement("call()", {"call": call}) for label, call in contenders.items()}
    measured = paired.measure(timed, rounds)
    count = np.prod(SHAPE)
    own = f"{measured.time('fieldstone') / count * 1e9:.2f}"
    if library is None:
        return own, "", ""
    return own, f"{measured.time('C') / count * 1e9:.2f}", str(measured.ratio("fieldstone", "C"))


def _arguments(name: str, dtype: str) -> list[np.ndarray]:
    """Return the numbers, exponents for pow, and where results go."""
    rng = np.random.default_rng(1)
    low, high = ARGUMENTS[name]
    return [
        values.astype(dtype)
        for values in (rng.uniform(low, high, SHAPE), rng.uniform(0.0, 3.0, SHAPE), np.zeros(SHAPE))
    ]


def _stencil(name: str, dtype: str) -> Callable[[], object]:
    definition = {"copy": copied, "pow": raised}.get(name, applied)
    externals = {"FUNCTION": getattr(gtscript, name)} if definition is applied else {}
    stencil: Any = gtscript.stencil(
        "cpu_ifirst", definition=definition, dtypes={"real": np.dtype(dtype)}, externals=externals
    )
    a, b, out = map(_stored, _arguments(name, dtype))
    return functools.partial(stencil, *((a, b, out) if definition is raised else (a, out)), domain=SHAPE)


def _stored(values: np.ndarray) -> Any:
    field = storage.empty(SHAPE, values.dtype, defaults="cpu_ifirst")
    field[...] = values
    return field


def _c(kernel: Any, name: str, dtype: str) -> Callable[[], object]:
    kernel.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_size_t]
    kernel.restype = None
    arrays = _arguments(name, dtype)
    call = functools.partial(kernel, *(array.ctypes.data for array in arrays), arrays[0].size)
    call.memory = arrays  # type: ignore[attr-defined]
    return call


@functools.cache
def _library() -> ctypes.CDLL | None:
    """Return the loops; None where there is no C compiler, or a libmvec that lacks some of the functions."""
    try:
        return compiled.library("functions.c")
    except subprocess.CalledProcessError:
        return None
