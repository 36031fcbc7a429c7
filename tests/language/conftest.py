"""A construct of the language on every backend, with both precisions, in several layouts, on random domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript

BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gpu"]
LAYOUTS = {
    "C": lambda rank, data: (*range(rank + data),),
    "F": lambda rank, data: (*range(rank + data)[::-1],),
    "data first": lambda rank, data: (*range(rank, rank + data), *range(rank)),
    "levels first": lambda rank, data: (*range(rank)[::-1], *range(rank, rank + data)),
}
"""The axes from the largest to the smallest stride, for an array with so many axes of the grid and data dimensions."""


@dataclass
class Way:
    """One way to run a construct.

    Attributes
    ----------
    backend : str
        The backend.
    real : type
        What ``"real"`` stands for in the annotations.
    layout : str
        One of `LAYOUTS`.
    """

    backend: str
    real: Any
    layout: str
    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))
    halo: tuple[int, int, int] = (2, 1, 0)

    def __post_init__(self) -> None:
        self.domain = tuple(int(points) for points in self.chance.integers(3, 12, 3))

    def stencil(self, definition: Callable[..., Any], **keywords: Any) -> gtscript.StencilObject:
        """The stencil of a definition."""
        return gtscript.stencil(self.backend, definition, dtypes={"real": self.real}, **keywords)

    def array(self, axes: str = "IJK", data: tuple[int, ...] = (), integers: int | None = None) -> np.ndarray:
        """Random numbers from -1 to 1, or integers below a number, on the domain and its halo."""
        points = [self.domain["IJK".index(axis)] + 2 * self.halo["IJK".index(axis)] for axis in axes]
        shape = (*points, *data)
        values = self.chance.uniform(-1, 1, shape).astype(self.real)
        if integers is not None:
            values = self.chance.integers(0, integers, shape)
        order = LAYOUTS[self.layout](len(axes), len(data))
        return np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))

    def inner(self, array: np.ndarray, i: int = 0, j: int = 0) -> np.ndarray:
        """The domain in an array over IJK or IJ, moved."""
        (hi, hj, _), (ni, nj, _) = self.halo, self.domain
        return array[hi + i : hi + i + ni, hj + j : hj + j + nj]

    def run(self, definition: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
        """Run a definition on the domain."""
        self.stencil(definition, **keywords)(*arguments, origin=self.halo, domain=self.domain)

    def close(self, given: np.ndarray, expected: Any) -> None:
        """Check for equality up to a few roundings."""
        np.testing.assert_allclose(given, expected, rtol=0, atol=8 * float(np.finfo(self.real).eps))


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def real(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=BACKENDS)
def way(request: pytest.FixtureRequest, real: Any, layout: str) -> Way:
    return Way(request.param, real, layout)


REALS = ("float32", "float64")
ORDERS = ((0, 1, 2), (2, 1, 0), (1, 2, 0))


class Points:
    """Arrays as a reference sees them: the points of the domain, and shifted ones, under the names of the fields."""

    def __init__(self, arrays: dict[str, Any], origins: dict[str, Any], axes: dict[str, str], domain: tuple[int, ...]):
        self.arrays, self.origins, self.axes, self.domain = arrays, origins, axes, domain

    def __getattr__(self, name: str) -> Any:
        return self.at(name)

    def at(self, name: str, *offset: int) -> Any:
        """A view of the domain's points, moved by offsets along the axes of the field."""
        axes = self.axes[name]
        steps = offset or (0,) * len(axes)
        begin = [self.origins[name][n] + steps[n] for n in range(len(axes))]
        points = [self.domain["IJK".index(axis)] for axis in axes]
        box = tuple(slice(b, b + n) for b, n in zip(begin, points, strict=True))
        return self.arrays[name][box]


@pytest.fixture
def check() -> Callable[..., None]:
    """Compare a stencil with a reference in NumPy.

    The definition names the real type ``"real"``. ``reference(points, **scalars)`` assigns to ``points.name[...]``.
    Fields hold what the function of their name in ``fields`` makes of a generator, shape, type and domain, by
    default numbers between -4 and 4, or integers from 0 to below the number of levels.
    """

    def run(
        definition: Callable[..., Any],
        reference: Callable[..., None],
        *,
        scalars: Callable[[np.random.Generator, tuple[int, ...]], dict[str, Any]] | None = None,
        fields: dict[str, Callable[..., Any]] | None = None,
        externals: dict[str, Any] | None = None,
        levels: int | None = None,
        rtol: float = 0.0,
        backends: Sequence[str] = BACKENDS,
    ) -> None:
        for real in REALS:
            for backend in backends:
                rng = np.random.default_rng(sum(map(ord, f"{definition.__name__} {real}")))
                stencil = gtscript.stencil(
                    backend, definition, dtypes={"real": np.dtype(real)}, externals=externals or {}
                )
                for order in ORDERS:
                    domain = tuple(int(n) for n in rng.integers((1, 1, 4), (40, 12, 12)))
                    domain = (*domain[:2], levels or domain[2])
                    arrays, origins, axes = make(stencil, rng, domain, order, fields or {})
                    numbers = scalars(rng, domain) if scalars else {}
                    expected = {name: array.copy() for name, array in arrays.items()}
                    with np.errstate(all="ignore"):
                        reference(Points(expected, origins, axes, domain), **numbers)
                    stencil(**arrays, **numbers, origin=origins, domain=domain)
                    for name, array in arrays.items():
                        message = f"{backend}, {real}, axes in order {order}, domain {domain}: {name}"
                        compare(array, expected[name], rtol, message)

    return run


def make(
    stencil: Any, rng: np.random.Generator, domain: tuple[int, ...], order: tuple[int, ...], given: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """Arrays larger than the domain, where it begins in each, and their axes."""
    arrays, origins, axes = {}, {}, {}
    for name, info in stencil.field_info.items():
        axes[name] = "".join(str(axis) for axis in info.axes)
        origin = [int(rng.integers(2, 5)) for _ in axes[name]]
        after = [int(rng.integers(2, 5)) for _ in axes[name]]
        points = [domain["IJK".index(axis)] for axis in axes[name]]
        shape = [b + n + a for b, n, a in zip(origin, points, after, strict=True)] + list(info.data_dims)
        values = (
            given[name](rng, shape, info.dtype, domain) if name in given else numbers(rng, shape, info.dtype, domain)
        )
        own = [axes[name].index("IJK"[axis]) for axis in order if "IJK"[axis] in axes[name]]
        own += range(len(own), len(shape))
        arrays[name] = np.ascontiguousarray(values.transpose(own)).transpose(np.argsort(own))
        origins[name] = tuple(origin)
    return arrays, origins, axes


def numbers(rng: np.random.Generator, shape: Any, dtype: Any, domain: tuple[int, ...]) -> Any:
    if np.dtype(dtype).kind == "f":
        return rng.uniform(-4, 4, shape).astype(dtype)
    return rng.integers(0, 2 if np.dtype(dtype).kind == "b" else domain[2], shape).astype(dtype)


def compare(found: Any, expected: Any, rtol: float, message: str) -> None:
    if rtol:
        np.testing.assert_allclose(found, expected, rtol=rtol, err_msg=message)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=message)
