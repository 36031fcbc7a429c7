"""Stencils on a GPU: their share of the device's copy bandwidth, beside CUDA C, CuPy and Numba where they are there."""

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
from benches.contenders import cuda, numba_cuda
from benches.contenders.fieldstone import stencils
from benches.table import Table, duration
from fieldstone import storage
from fieldstone.device import Device

SIZES = ((256, 256, 80), (1024, 1024, 80))
DTYPES = ("float64", "float32")
NAMES = ("copy", "lap7", "hdiff", "vadv")

# CuPy: expressions of whole arrays.
CONTENDERS = ("fieldstone", "CUDA C", "CuPy", "Numba")
RATIOS = tuple(f"{name} / fieldstone" for name in CONTENDERS[1:])

# A call, and the fields that it works with.
Contender = tuple[Callable[[], object], dict[str, Any]]

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
        ["", *(f"{name}{what}" for name in CONTENDERS for what in ("", ": of copy")), *RATIOS],
        note=f"{where!r}, copies {copied / 1e9:.0f} GB/s; shares are of the bytes that have to be moved",
    )
    for name in NAMES:
        times = measured(where, CASES[name], size, dtype, rounds)
        moved = CASES[name].bytes_moved(size, dtype)
        cells = [name]
        for one in CONTENDERS:
            time = times.get(one)
            cells += ["-", "-"] if time is None else [duration(time), f"{moved / time / copied:.0%}"]
        ratios = (times[one] / times["fieldstone"] if one in times else None for one in CONTENDERS[1:])
        found.add(*cells, *("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios))
    return found


def measured(where: Device, case: Case, size: tuple[int, int, int], dtype: str, rounds: int) -> dict[str, float]:
    """Seconds of a call of each contender that there is, in turns, after checking that they compute the same."""
    arguments = Arguments(case, size, dtype, "I")
    runs = contenders(where, arguments)
    agree(arguments, runs)
    return medians(where, {name: call for name, (call, _) in runs.items()}, rounds)


def contenders(where: Device, arguments: Arguments) -> dict[str, Contender]:
    """Return a call of each contender that there is, and its fields."""
    case, size, dtype = arguments.case, arguments.size, arguments.dtype
    fields = on_device(arguments)
    found: dict[str, Contender] = {"fieldstone": (run_of(case, fields, size, dtype), fields)}
    if where.kind == "cuda" and importlib.util.find_spec("cupy") is not None:
        import cupy

        found["CUDA C"] = cuda.with_cupy(case, fields, size, dtype), fields
        arrays = [cupy.asarray(array) for array in arguments.kji()]
        by_name = {argument.name: array.transpose() for argument, array in zip(case.arguments, arrays, strict=True)}
        found["CuPy"] = functools.partial(case.numpy, *arrays, *case.scalars.values()), by_name
    if where.kind == "cuda" and numba_cuda.is_present():
        found["Numba"] = numba_cuda.with_numba(case, fields, size, dtype), fields
    return found


def agree(arguments: Arguments, runs: dict[str, Contender]) -> None:
    """Raise if a contender does not compute what the first one does, within what the case allows."""
    case, inside = arguments.case, (slice(HALO, -HALO), slice(HALO, -HALO))
    expected: dict[str, np.ndarray] = {}
    for contender, (call, fields) in runs.items():
        for name in case.outputs:
            fields[name][...] = _like(fields[name], np.asarray(arguments.fields[name]))
        call()
        for name in case.outputs:
            values = _on_host(fields[name])[inside]
            wanted = expected.setdefault(name, values)
            error = np.max(np.abs(values - wanted)) / np.max(np.abs(wanted))
            if not error <= case.tolerance[arguments.dtype]:
                raise RuntimeError(f"{contender}: {name} of {case.name}, {arguments.dtype}, is off by {error:.1e}")


def _like(field: Any, values: np.ndarray) -> Any:
    """Values as what can be assigned to a field: CuPy's arrays take none of the host."""
    if isinstance(field, storage.Storage):
        return values
    import cupy

    return cupy.asarray(values)


def _on_host(field: Any) -> np.ndarray:
    if isinstance(field, storage.Storage):
        return np.array(storage.storage(field, device="cpu").to_numpy())
    copied: np.ndarray = field.get()
    return copied


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


def copy_bandwidth(where: Device, size: tuple[int, int, int], dtype: str, rounds: int) -> float:
    """Bytes per second, read and written, of a copy of a field within the device."""
    source, target = (storage.ones(size, dtype, device="gpu", managed=False, defaults="gpu", dims="IJK") for _ in "ab")

    def copy() -> None:
        target[...] = source

    return 2 * source.nbytes / medians(where, {"copy": copy}, rounds)["copy"]


def medians(where: Device, calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each call, of many that are put into the stream one behind the other; the calls take turns."""

    def several(call: Callable[[], object], count: int) -> float:
        where.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        where.synchronize()
        return (time.perf_counter() - begin) / count

    counts = {}
    for name, call in calls.items():
        call()
        counts[name] = max(1, round(ROUND / several(call, 3)))
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            taken[name].append(several(call, counts[name]))
    return {name: statistics.median(times) for name, times in taken.items()}
