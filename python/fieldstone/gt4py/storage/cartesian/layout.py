"""``gt4py.storage.cartesian.layout``: which axis lies how in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypedDict

__all__ = ["LayoutInfo", "LayoutMap", "StorageDevice", "layout_checker_factory", "layout_maker_factory"]

StorageDevice: TypeAlias = Literal["cpu", "gpu"]
"""Where memory is."""

LayoutMap: TypeAlias = Callable[[tuple[str, ...]], tuple[int, ...]]
"""From labels of axes to their places: the axis with entry 0 has the largest stride."""

_GRID = "IJK"


class LayoutInfo(TypedDict):
    """How arrays for a backend lie in memory.

    Attributes
    ----------
    alignment : int
        The address of the aligned index is a multiple of this many elements.
    device : {"cpu", "gpu"}
        Where the memory is.
    layout_map : callable
        From labels of axes to their places.
    is_optimal_layout : callable
        Whether an array with axes of these labels lies as it is best.
    """

    alignment: int
    device: StorageDevice
    layout_map: LayoutMap
    is_optimal_layout: Callable[[Any, tuple[str, ...]], bool]


def layout_maker_factory(base_layout: tuple[int, ...]) -> LayoutMap:
    """Make the layout map of an order of I, J and K.

    Parameters
    ----------
    base_layout : tuple of int
        Places of I, J and K: ``(2, 1, 0)`` if I is contiguous.

    Returns
    -------
    callable
        Places for the labels it is given, in their order; data dimensions are before I, J and K.
    """
    place = dict(zip(_GRID, base_layout, strict=True))

    def layout_map(dimensions: tuple[str, ...]) -> tuple[int, ...]:
        # Labels of data dimensions may be equal: some programs label them by their sizes.
        order = sorted(range(len(dimensions)), key=lambda axis: place.get(dimensions[axis], -1))
        return tuple(order.index(axis) for axis in range(len(dimensions)))

    return layout_map


def layout_checker_factory(layout_maker: LayoutMap) -> Callable[[Any, tuple[str, ...]], bool]:
    """Make what tells whether the strides of an array are in the order of a layout map.

    Parameters
    ----------
    layout_maker : callable
        The layout map.
    """

    def is_optimal_layout(field: Any, dimensions: tuple[str, ...]) -> bool:
        layout = layout_maker(dimensions)
        if len(field.strides) != len(layout):
            return False
        by_place = sorted(range(len(layout)), key=lambda axis: layout[axis])
        strides = [field.strides[axis] for axis in by_place]
        return strides == sorted(strides, reverse=True)

    return is_optimal_layout


def __getattr__(name: str) -> Any:
    # The table was a part of this module once.
    if name in ("register", "from_name", "REGISTRY"):
        from . import layout_registry

        return getattr(layout_registry, name)
    from fieldstone.gt4py import _names

    raise AttributeError(_names.missing_attribute(__name__, name))
