"""A construct of the language on every backend, with both precisions, in several layouts, on random domains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript

BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"]
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
