"""``gt4py.cartesian.gtc.definitions``: tuples with one entry for each axis."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Self, SupportsIndex

from fieldstone.gtscript.info import Boundary

__all__ = ["Boundary", "CartesianSpace", "Index", "Shape"]


class CartesianSpace:
    """The axes of the grid."""

    @enum.unique
    class Axis(enum.Enum):
        """An axis."""

        I = 0  # noqa: E741 - the axis' name
        J = 1
        K = 2

        def __str__(self) -> str:
            return self.name

    names: Final = ["I", "J", "K"]
    ndim: Final = 3


class Index(tuple[int, ...]):
    """One integer for each axis; operators work axis by axis, also with one integer for all."""

    __slots__ = ()
    _missing = 0

    def __new__(cls, sizes: Iterable[int] | int, *more: int) -> Self:
        """Take the integers, in a sequence or one by one."""
        values = (sizes, *more) if isinstance(sizes, int) else tuple(sizes)
        return super().__new__(cls, values)

    @classmethod
    def zeros(cls, ndims: int = 3) -> Self:
        """Give zeros."""
        return cls([0] * ndims)

    @classmethod
    def ones(cls, ndims: int = 3) -> Self:
        """Give ones."""
        return cls([1] * ndims)

    @classmethod
    def from_k(cls, value: int, ndims: int = 3) -> Self:
        """Give one integer for all axes."""
        return cls([value] * ndims)

    @classmethod
    def from_value(cls, value: Iterable[int] | int) -> Self:
        """Take integers, or one for all axes."""
        return cls.from_k(value) if isinstance(value, int) else cls(value)

    @classmethod
    def from_mask(cls, seq: Iterable[int], mask: Sequence[bool], default: int | None = None) -> Self:
        """Spread integers over the axes that a mask has, and take a default for the others."""
        values = iter(seq)
        return cls([next(values) if there else cls._missing if default is None else default for there in mask])

    def filter_mask(self, mask: Sequence[bool]) -> Self:
        """Leave out the axes that a mask does not have."""
        return type(self)([value for value, there in zip(self, mask, strict=False) if there])

    def _with(self, other: Any, operation: Callable[[int, int], int]) -> Self:
        others = [other] * len(self) if isinstance(other, int) else other
        return type(self)([operation(mine, its) for mine, its in zip(self, others, strict=True)])

    def __add__(self, other: Any) -> Self:
        """Add, axis by axis."""
        return self._with(other, lambda mine, its: mine + its)

    def __sub__(self, other: Any) -> Self:
        """Subtract, axis by axis."""
        return self._with(other, lambda mine, its: mine - its)

    def __mul__(self, other: SupportsIndex | Iterable[int]) -> Self:
        """Multiply, axis by axis."""
        return self._with(other, lambda mine, its: mine * its)

    def __floordiv__(self, other: Any) -> Self:
        """Divide, axis by axis."""
        return self._with(other, lambda mine, its: mine // its)

    def __and__(self, other: Any) -> Self:
        """Give the smaller one, axis by axis."""
        return self._with(other, min)

    def __or__(self, other: Any) -> Self:
        """Give the larger one, axis by axis."""
        return self._with(other, max)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()})"


class Shape(Index):
    """Number of points along each axis."""

    __slots__ = ()
    _missing = 1
