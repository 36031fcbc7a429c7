"""``gt4py.cartesian.frontend.base``: the front end, which is one."""

from __future__ import annotations

__all__ = ["REGISTRY", "Frontend", "from_name"]


class Frontend:
    """What reads definitions; fieldstone has one, which is no part of Python.

    Attributes
    ----------
    name : str
        How it is called.
    """

    name = "gtscript"


REGISTRY: dict[str, type[Frontend]] = {Frontend.name: Frontend}
"""Front ends by name."""


def from_name(name: str) -> type[Frontend]:
    """Give the front end of a name.

    Parameters
    ----------
    name : str
        ``"gtscript"``.
    """
    if name not in REGISTRY:
        raise ValueError(f"there is no front end {name!r}; there is one: 'gtscript'")
    return REGISTRY[name]
