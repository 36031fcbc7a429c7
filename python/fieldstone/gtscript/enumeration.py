"""Enumerations whose members stencils name."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeVar

from ..errors import ArgumentTypeError, ArgumentValueError

__all__ = ["enum"]

E = TypeVar("E", bound=type[IntEnum])


def enum(members: E) -> E:
    """Say that stencils may name the members of an enumeration: as a decorator of a subclass of ``IntEnum``.

    In a stencil a member is the integer that it stands for, and a parameter that is annotated with the class is an
    integer. Members of enumerations that are not decorated can be named, too; this finds out early what cannot.

    Parameters
    ----------
    members : subclass of IntEnum
        The enumeration.

    Returns
    -------
    subclass of IntEnum
        The same.

    Raises
    ------
    ArgumentTypeError
        If it is no subclass of ``IntEnum``.
    ArgumentValueError
        If the value of a member does not fit into 64 bits.
    """
    if not (isinstance(members, type) and issubclass(members, IntEnum)):
        kind: Any = members.__name__ if isinstance(members, type) else members
        raise ArgumentTypeError(f"gtscript.enum decorates a subclass of enum.IntEnum, not {kind!r}")
    for member in members:
        if not -(2**63) <= member.value < 2**63:
            raise ArgumentValueError(
                f"{members.__name__}.{member.name} is {member.value}, which does not fit into 64 bits"
            )
    return members
