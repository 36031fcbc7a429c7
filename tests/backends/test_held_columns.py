"""Sweeps over a few vectors of columns, whose levels find in registers what the one before has left."""

from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import (
    BACKWARD,
    FORWARD,
    IJ,
    PARALLEL,
    Field,
    I,
    J,
    K,
    computation,
    horizontal,
    interval,
    region,
)

HALO = (2, 2, 0)
# Along I, and J: a part of a vector, of two, of four, whole blocks, and what is left behind one.
DOMAINS = [(1, 3, 5), (15, 2, 2), (17, 2, 9), (33, 3, 4), (64, 2, 20), (70, 3, 7), (130, 2, 3)]


def solve(
    lower: Field["real"], height: Field[K, "real"], ground: Field[IJ, "real"], x: Field["real"], out: Field["real"]
):
    # Reads `x` at neighbours and writes it.
    with computation(FORWARD):
        with interval(0, 1):
            upper = height / (2.0 + lower[1, 0, 0])
            right = x / (2.0 + ground)
        with interval(1, -1):
            pivot = 3.0 - lower[0, 1, 0] * upper[0, 0, -1]
            upper = height / pivot
            right = (x + lower[-1, 0, 1] * right[0, 0, -1]) / pivot
        with interval(-1, None):
            right = (x + ground * right[0, 0, -1]) / (3.0 - upper[0, 0, -1])
    with computation(BACKWARD):
        with interval(-1, None):
            out = right
        with interval(0, -1):
            out = right - upper * out[0, 0, 1]
            x = 0.5 * (x + out)


def summed(phi: Field["real"], weight: Field["real"], total: Field["real"]):
    with computation(BACKWARD):
        with interval(-1, None):
            total = phi * weight
        with interval(0, -1):
            total = total[0, 0, 1] + phi[1, -1, 0] * weight[0, 0, 1]


def bordered(phi: Field["real"], mask: Field[IJ, "flag"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            mass = phi
            out = mass
        with interval(1, None):
            mass = 0.5 * mass[0, 0, -1] + phi
            with horizontal(region[I[0], :], region[I[-1] - 1 :, J[-1]]):
                mass = phi[1, 0, 0] - mass
            if mask > 1:
                mass = mass * 0.25
            out = mass - phi[-1, 0, 0]


def around(phi: Field["real"], out: Field["real"]):
    # Columns outside of the domain are swept too.
    with computation(FORWARD):
        with interval(0, 1):
            mean = phi
            run = phi
        with interval(1, None):
            mean = 0.75 * mean[0, 0, -1] + phi
            run = mean * phi
    with computation(PARALLEL), interval(...):
        out = run[1, 0, 0] - run[-1, 0, 0] + run[0, 1, 0] - run[0, -1, 0]


STENCILS = [solve, summed, bordered, around]
AXES = {"height": "K", "ground": "IJ", "mask": "IJ"}


def stencil(definition: Any, backend: str, dtype: str, **options: Any) -> Any:
    dtypes = {"real": np.dtype(dtype), "flag": np.dtype("i8" if dtype == "f4" else "i4")}
    return gtscript.stencil(backend, definition=definition, dtypes=dtypes, **options)


def arrays(definition: Any, domain: tuple[int, int, int], dtype: str, order: str) -> dict[str, np.ndarray]:
    """Random ones with a halo, whose axes lie in memory in an order, the last one contiguous."""
    random = np.random.default_rng(domain)
    shape = {"I": domain[0] + 4, "J": domain[1] + 4, "K": domain[2]}
    found = {}
    for name in definition.__annotations__:
        dims = AXES.get(name, "IJK")
        own = [axis for axis in order if axis in dims]
        values = random.uniform(1, 3, [shape[axis] for axis in own])
        values = values.astype(("i8" if dtype == "f4" else "i4") if name == "mask" else dtype)
        found[name] = values.transpose([own.index(axis) for axis in dims])
    return found


def origins(fields: dict[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    return {name: (0,) if array.ndim == 1 else HALO[: array.ndim] for name, array in fields.items()}


@pytest.mark.parametrize("order", ["KJI", "KIJ", "JKI"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: "x".join(map(str, domain)))
@pytest.mark.parametrize("definition", STENCILS, ids=lambda one: one.__name__)
def test_any_width_is_as_the_interpreter_computes_it(
    definition: Any, domain: tuple[int, int, int], dtype: str, order: str
) -> None:
    if order[-1] == "J":
        domain = (domain[1], domain[0], domain[2])
    expected = arrays(definition, domain, dtype, order)
    found = {name: array.copy(order="K") for name, array in expected.items()}
    for backend, fields in [("debug", expected), ("cpu_ifirst", found)]:
        stencil(definition, backend, dtype)(**fields, origin=origins(fields), domain=domain)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)


@pytest.mark.parametrize("stores", ["cached", "streamed"])
@pytest.mark.parametrize("fetch", [0, 3])
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("definition", [solve, summed], ids=lambda one: one.__name__)
def test_results_are_the_same_whatever_is_fetched_and_wherever_they_are_stored(
    definition: Any, fetch: int, stores: str
) -> None:
    domain = (129, 6, 11)
    expected = arrays(definition, domain, "f8", "KJI")
    found = {name: array.copy(order="K") for name, array in expected.items()}
    stencil(definition, "numpy", "f8")(**expected, origin=origins(expected), domain=domain)
    schedule = f"fetch={fetch} stores={stores}"
    stencil(definition, "cpu_ifirst", "f8", schedule=schedule)(**found, origin=origins(found), domain=domain)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)
