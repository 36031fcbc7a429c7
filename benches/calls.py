"""What a call costs before and after the work itself, on so few points that there is hardly any: ``ARGS=calls``.

Three fields of 3 x 3 x 3 points, by all ways to call a stencil; beside them what Python itself takes for a call with as
many arguments, and a function compiled by Numba, where it is installed.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benches import paired
from benches.dialect import Field
from benches.table import Table, duration
from fieldstone import gtscript, storage

SHAPE = (3, 3, 3)

# Shapes that no call has seen before, for one turn.
NEW_SHAPES = 400


def added(a: Field[float], b: Field[float], c: Field[float]):
    with computation(PARALLEL), interval(...):  # noqa: F821
        c = a + b  # noqa: F841


def run(rounds: int) -> Iterator[Table]:
    """Measure all ways to call, and how much each part of a call adds."""
    stencil: Any = gtscript.stencil("cpu_ifirst", definition=added)
    names = _names(stencil)
    # The code for each layout is made once.
    contenders = {label: paired.of_statement(statement, names) for label, statement in _statements().items()}
    contenders["NumPy, a shape that is new"] = _new_shapes(stencil)
    measured = paired.measure(contenders, rounds)
    table = Table(f"One call, three fields of {' x '.join(map(str, SHAPE))}", ["", "called as", "time", "/ frozen"])
    for label in contenders:
        statement = _statements().get(label, "stencil(a, b, c)")
        table.add(label, f"`{statement}`", duration(measured.time(label)), measured.ratio(label, "frozen"))
    yield table
    yield _parts(measured)


def _statements() -> dict[str, str]:
    statements = {
        "NumPy": "stencil(a, b, c)",
        "NumPy, origin and domain given": "stencil(a, b, c, origin=origin, domain=domain)",
        "NumPy, unchecked": "stencil(a, b, c, origin=origin, domain=domain, validate_args=False)",
        "storages": "stencil(r, s, t)",
        "storages, origin and domain given": "stencil(r, s, t, origin=origin, domain=domain)",
        "frozen": "frozen(a, b, c)",
        "frozen, storages": "frozen(r, s, t)",
        "Python's own function": "nothing(a, b, c, origin=origin, domain=domain)",
        "`numpy.add`": "np.add(a, b, out=c)",
    }
    if importlib.util.find_spec("xarray") is not None:
        statements["xarray"] = "stencil(x, y, z)"
        statements["xarray, dims by their metadata"] = "stencil(lon, lat, lev)"
        statements["xarray, of storages"] = "stencil(xr, xs, xt)"
    if importlib.util.find_spec("numba") is not None:
        statements["Numba"] = "loops(a, b, c)"
    return statements


def _names(stencil: Any) -> dict[str, Any]:
    arrays = {name: np.ones(SHAPE, order="F") for name in "abc"}
    names: dict[str, Any] = {
        **arrays,
        **{name: storage.ones(SHAPE, dims="IJK", defaults="cpu_ifirst") for name in "rst"},
        "np": np,
        "stencil": stencil,
        "frozen": stencil.freeze(origin=(0, 0, 0), domain=SHAPE),
        "origin": (0, 0, 0),
        "domain": SHAPE,
        "nothing": lambda a, b, c, *, origin, domain: None,  # noqa: ARG005
    }
    if importlib.util.find_spec("xarray") is not None:
        names |= _of_xarray(names)
    if importlib.util.find_spec("numba") is not None:
        import numba

        names["loops"] = numba.njit(_loops)
    return names


def _of_xarray(names: dict[str, Any]) -> dict[str, Any]:
    from xarray import DataArray

    axes = {"lon": "X", "lat": "Y", "lev": "Z"}
    coordinates = {name: (name, np.arange(3.0), {"axis": axis}) for name, axis in axes.items()}
    return {
        **{name: DataArray(np.ones(SHAPE, order="F"), dims=("I", "J", "K")) for name in "xyz"},
        **{name: DataArray(np.ones(SHAPE, order="F"), dims=tuple(axes), coords=coordinates) for name in axes},
        **{f"x{name}": DataArray(names[name].copy(), dims=("I", "J", "K")) for name in "rst"},
    }


def _loops(a: Any, b: Any, c: Any) -> None:
    for k in range(c.shape[2]):
        for j in range(c.shape[1]):
            for i in range(c.shape[0]):
                c[i, j, k] = a[i, j, k] + b[i, j, k]


def _new_shapes(stencil: Any) -> Callable[[int], float]:
    """Return a contender whose calls are each on a shape that the stencil does not know."""
    import time

    sizes = itertools.product(range(3, 20), repeat=3)
    shapes = list(itertools.islice(sizes, NEW_SHAPES))
    fields = [[np.ones(shape, order="F") for _ in range(3)] for shape in shapes]

    def run(calls: int) -> float:
        elapsed = 0.0
        for first in range(0, calls, NEW_SHAPES):
            stencil.clean_call_args_cache()
            some = fields[: min(NEW_SHAPES, calls - first)]
            begin = time.perf_counter()
            for three in some:
                stencil(*three)
            elapsed += time.perf_counter() - begin
        return elapsed

    return run


def _parts(measured: paired.Rounds) -> Table:
    """Say what each part of a call adds, as differences of ways to call that have it and have it not."""
    table = Table("Where the time of a call with NumPy's arrays goes", ["", "time"])
    python, frozen = measured.time("Python's own function"), measured.time("frozen")
    inferred, given = measured.time("NumPy"), measured.time("NumPy, origin and domain given")
    parts = {
        "Python's part of a call": python,
        "the run itself, and comparing three arrays with those of a call that was checked": frozen - python,
        "finding that call, as no origin and domain are frozen": inferred - frozen,
        "origin and domain given": given - inferred,
        "all": given,
    }
    for part, seconds in parts.items():
        table.add(part, duration(seconds) if seconds >= 0 else f"-{duration(-seconds)}")
    return table
