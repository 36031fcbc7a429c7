"""What a benchmark stencil consists of: arguments, gtscript, C, and the same scheme for other packages."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Points around the domain in I and in J of all arrays of all cases, as a model has one halo for its fields.
HALO = 3

# Gives the values of an argument for a shape, whose axes are those of the argument in the order I, J, K.
Values = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def uniform(low: float, high: float) -> Values:
    """Values anywhere between two numbers."""
    return lambda random, shape: random.uniform(low, high, shape)


def zeros(_: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return zeros."""
    return np.zeros(shape)


def by_level(function: Callable[[np.ndarray], np.ndarray]) -> Values:
    """Values that depend on the level only, from 0 for the first to 1 for the last."""
    return lambda _, shape: np.broadcast_to(function(np.linspace(0, 1, shape[-1])), shape)


@dataclass(frozen=True)
class Argument:
    """A field of a case.

    Attributes
    ----------
    name : str
        As in the definition.
    access : str
        ``"in"``, ``"out"`` or ``"inout"``.
    values : callable
        What is in it before a call; zeros in an argument that is written only.
    axes : str
        Those it extends along.
    """

    name: str
    access: str
    values: Values = zeros
    axes: str = "IJK"


@dataclass(frozen=True)
class Case:
    """A scheme that models are made of, written for each contender.

    Attributes
    ----------
    name : str
        A short word for it.
    title : str
        What it is.
    arguments : tuple of Argument
        The fields, in the order in which C, NumPy and Numba take them.
    steps : tuple of (function, tuple of str)
        Definitions of stencils that are called one after another, with the names of their fields.
    numpy : callable
        The same on NumPy arrays indexed [k, j, i] with their halo; takes fields and then scalars, and writes in place.
    numba : callable
        The same in loops that Numba compiles, on contiguous arrays.
    jax : callable
        The same as a function of JAX: takes `jax.numpy` before the fields, and returns those that are written.
    scalars : dict of str to float
        Parameters that are numbers; each step takes those that it names.
    traffic : float
        Arrays of the domain's size that have to be read or written.
    halo : int
        Points around the domain that are read.
    tunings : dict of str to tuple of int
        Choices that the C has, in the order in which it takes them; all combinations are tried.
    tolerance : dict of str to float
        By element type, how far results may be apart, relative to the largest: C may contract operations, and
        functions of libraries differ in the last places.
    """

    name: str
    title: str
    arguments: tuple[Argument, ...]
    steps: tuple[tuple[Callable[..., Any], tuple[str, ...]], ...]
    numpy: Callable[..., None]
    numba: Callable[..., None]
    jax: Callable[..., tuple[Any, ...]]
    traffic: float
    halo: int
    scalars: Mapping[str, float] = field(default_factory=dict)
    tunings: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=lambda: {"float64": 1e-12, "float32": 2e-5})

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the fields that are written."""
        return tuple(argument.name for argument in self.arguments if argument.access != "in")

    def tuned(self) -> Iterator[dict[str, int]]:
        """Return all combinations of the choices that the C has."""
        for values in itertools.product(*self.tunings.values()):
            yield dict(zip(self.tunings, values, strict=True))

    def bytes_moved(self, size: tuple[int, int, int], dtype: str) -> float:
        """Bytes that have to be moved, each array once."""
        return self.traffic * float(np.prod(size)) * np.dtype(dtype).itemsize
