"""What can be known of a stencil's parameters and domains before a call."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

__all__ = ["AccessKind", "Boundary", "DomainInfo", "FieldInfo", "ParameterInfo"]


class AccessKind(enum.IntFlag):
    """How a stencil uses a field or a scalar."""

    NONE = 0
    READ = 1
    WRITE = 2
    READ_WRITE = READ | WRITE

    def __str__(self) -> str:
        return str(self.name)


class Boundary(tuple[tuple[int, int], ...]):
    """Along I, J, K how many points before and after the domain are accessed.

    A number is negative where not even all points of the domain are: before it for a field that is read behind the
    computed point only, at either end for one that is accessed on some levels only.

    Parameters
    ----------
    pairs : iterable of (int, int)
        Points before and after, for each axis.
    """

    __slots__ = ()

    def __new__(cls, pairs: Iterable[tuple[int, int]]) -> Self:
        """Keep the pairs."""
        return super().__new__(cls, pairs)

    @property
    def lower_indices(self) -> tuple[int, ...]:
        """Points before the domain, for each axis."""
        return tuple(lower for lower, _ in self)

    @property
    def upper_indices(self) -> tuple[int, ...]:
        """Points after the domain, for each axis."""
        return tuple(upper for _, upper in self)

    def __repr__(self) -> str:
        return f"Boundary({tuple(self)!r})"


@dataclass(frozen=True)
class DomainInfo:
    """Which compute domains a stencil takes.

    Attributes
    ----------
    parallel_axes : tuple of str
        The horizontal axes.
    sequential_axis : str
        The vertical axis.
    min_sequential_axis_size : int
        Levels a domain must have at least.
    ndim : int
        How many axes a domain has.
    """

    parallel_axes: tuple[str, ...]
    sequential_axis: str
    min_sequential_axis_size: int
    ndim: int


@dataclass(frozen=True)
class FieldInfo:
    """What a stencil does with an array parameter.

    Attributes
    ----------
    access : AccessKind
        How it is used.
    boundary : Boundary
        Along I, J, K how many points before and after the domain are accessed.
    axes : tuple of str
        The axes of the grid it extends along.
    data_dims : tuple of int
        Sizes of its data dimensions.
    dtype : numpy.dtype
        Type of its elements.
    """

    access: AccessKind
    boundary: Boundary
    axes: tuple[str, ...]
    data_dims: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def domain_mask(self) -> tuple[bool, ...]:
        """Which of I, J, K it extends along."""
        return tuple(axis in self.axes for axis in "IJK")

    @property
    def domain_ndim(self) -> int:
        """How many axes of the grid it has."""
        return len(self.axes)

    @property
    def mask(self) -> tuple[bool, ...]:
        """Which of I, J, K it extends along, and ``True`` for each data dimension."""
        return (*self.domain_mask, *(True for _ in self.data_dims))

    @property
    def ndim(self) -> int:
        """How many dimensions its arrays have."""
        return len(self.axes) + len(self.data_dims)


@dataclass(frozen=True)
class ParameterInfo:
    """What a stencil does with a scalar parameter.

    Attributes
    ----------
    access : AccessKind
        How it is used.
    dtype : numpy.dtype
        Its type.
    """

    access: AccessKind
    dtype: np.dtype[Any]
