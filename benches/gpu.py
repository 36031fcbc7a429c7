"""Stencils on a GPU: their share of the device's copy bandwidth, beside CuPy where that is installed."""

from __future__ import annotations

import functools
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fieldstone
from benches.arguments import Arguments
from benches.case import HALO, Case
from benches.cases import CASES
from benches.contenders.fieldstone import stencils
from benches.table import Table, duration
from fieldstone import storage
from fieldstone.device import Device

SIZES = ((256, 256, 80), (1024, 1024, 80))
DTYPES = ("float64", "float32")
NAMES = ("copy", "lap7", "hdiff", "vadv")

# A round is as many calls as take at least this long (seconds).
ROUND = 0.02


def device() -> Device:
    """Return the first accelerator.

    Raises
    ------
    SystemExit
        If there is none.
    """
    accelerators = fieldstone.devices()[1:]
    if not accelerators:
        raise SystemExit("bench-gpu needs a GPU, and there is none; FIELDSTONE_DEVICE=sim tries it on a simulated one")
    return accelerators[0]


def tables(
    rounds: int, sizes: tuple[tuple[int, int, int], ...] = SIZES, dtypes: tuple[str, ...] = DTYPES
) -> Iterator[Table]:
    """Measure all cases, a table for each size and type of elements."""
    where = device()
    for size in sizes:
        for dtype in dtypes:
            yield table(where, size, dtype, rounds)


def table(where: Device, size: tuple[int, int, int], dtype: str, rounds: int) -> Table:
    """Measure the cases on one grid."""
    copied = copy_bandwidth(where, size, dtype, rounds)
    found = Table(
        f"{' x '.join(map(str, size))}, {dtype}",
        ["", "fieldstone", "GB/s", "of copy", "CuPy", "CuPy / fieldstone"],
        note=f"{where!r}, copies {copied / 1e9:.0f} GB/s",
    )
    for name in NAMES:
        case = CASES[name]
        arguments = Arguments(case, size, dtype, "I")
        fields = on_device(arguments)
        own = median(where, run_of(case, fields, size, dtype), rounds)
        bandwidth = case.bytes_moved(size, dtype) / own
        other = with_cupy(where, case, arguments, rounds)
        found.add(
            name,
            duration(own),
            f"{bandwidth / 1e9:.0f}",
            f"{bandwidth / copied:.0%}",
            duration(other) if other else "-",
            f"{other / own:.2f}" if other else "-",
        )
    return found


def on_device(arguments: Arguments) -> dict[str, Any]:
    """Copy the fields of a case to the device."""
    return {
        name: storage.storage(np.asarray(field), device="gpu", managed=False, defaults="gpu", dims=field.dims)
        for name, field in arguments.fields.items()
    }


def run_of(case: Case, fields: dict[str, Any], size: tuple[int, int, int], dtype: str) -> Callable[[], None]:
    """Return a call of all steps of a case."""
    steps = []
    for stencil, (_, names) in zip(stencils(case, dtype, "gpu"), case.steps, strict=True):
        scalars = {name: value for name, value in case.scalars.items() if name in stencil.parameter_info}
        given = [fields[name] for name in names]
        steps.append(functools.partial(stencil, *given, **scalars, origin=(HALO, HALO, 0), domain=size))

    def run() -> None:
        for step in steps:
            step()

    return run


def with_cupy(where: Device, case: Case, arguments: Arguments, rounds: int) -> float | None:
    """Time whole-array expressions of CuPy, where that is installed and there is a GPU."""
    if where.kind != "cuda" or importlib.util.find_spec("cupy") is None:
        return None
    import cupy

    arrays = [cupy.asarray(array) for array in arguments.kji()]
    return median(where, lambda: case.numpy(*arrays, *case.scalars.values()), rounds)


def copy_bandwidth(where: Device, size: tuple[int, int, int], dtype: str, rounds: int) -> float:
    """Bytes per second, read and written, of a copy of a field within the device."""
    source, target = (storage.ones(size, dtype, device="gpu", managed=False, defaults="gpu", dims="IJK") for _ in "ab")

    def copy() -> None:
        target[...] = source

    return 2 * source.nbytes / median(where, copy, rounds)


def median(where: Device, call: Callable[[], object], rounds: int) -> float:
    """Seconds of a call, of many that are put into the stream one behind the other."""

    def several(count: int) -> float:
        where.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        where.synchronize()
        return (time.perf_counter() - begin) / count

    call()
    count = max(1, round(ROUND / several(3)))
    return statistics.median(several(count) for _ in range(rounds))
