"""``gt4py.storage.cartesian.layout_registry``: the layouts by name."""

from __future__ import annotations

from typing import Literal

from .layout import LayoutInfo, layout_checker_factory, layout_maker_factory

__all__ = ["REGISTRY", "from_name", "register"]

REGISTRY: dict[str, LayoutInfo] = {}
"""Layouts by the name that ``backend=`` gives."""


def from_name(name: str) -> LayoutInfo:
    """Give the layout of a name.

    Parameters
    ----------
    name : str
        Name of a backend, or one given to `register`.

    Raises
    ------
    ValueError
        If there is none.
    """
    try:
        return REGISTRY[name]
    except KeyError:
        known = ", ".join(map(repr, REGISTRY))
        raise ValueError(f"there is no layout {name!r}; the layouts are: {known}") from None


def register(name: str, info: LayoutInfo | None) -> None:
    """Add a layout, or replace or remove one.

    Parameters
    ----------
    name : str
        What ``backend=`` will give.
    info : LayoutInfo or None
        The layout; None removes it.
    """
    if info is None:
        REGISTRY.pop(name, None)
    else:
        REGISTRY[name] = info


def _register(places: tuple[int, int, int], device: Literal["cpu", "gpu"], *names: str, alignment: int = 1) -> None:
    layout_map = layout_maker_factory(places)
    for name in names:
        register(
            name,
            LayoutInfo(
                alignment=alignment,
                device=device,
                layout_map=layout_map,
                is_optimal_layout=layout_checker_factory(layout_map),
            ),
        )


_register((0, 1, 2), "cpu", "debug", "numpy", "gt:cpu_kfirst", "dace:cpu_kfirst", "cpu_kfirst")
_register((0, 1, 2), "cpu", "gtx86", "gtc:py", "gtc:numpy", "gtc:gt", "gtc:gt:cpu_kfirst")
_register((2, 1, 0), "cpu", "gt:cpu_ifirst", "gtmc", "gtc:gt:cpu_ifirst", "dace:cpu_KJI", "cpu_ifirst")
_register((1, 2, 0), "cpu", "dace:cpu", "gtc:dace")
_register((2, 1, 0), "gpu", "gt:gpu", "gtcuda", "gtc:gt:gpu", "gtc:cuda", "cuda", "gpu", alignment=32)
_register((2, 1, 0), "gpu", "dace:gpu")
_register((0, 1, 2), "gpu", "dace:gpu_IJK")
