"""What annotations say of the memory of an array: its layout and its alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import ArgumentTypeError, ArgumentValueError, LayoutError
from .annotations import Alignment, Argument, DefaultParameters, FieldType, LayoutMap

__all__ = ["Memory", "declared"]


class Memory(NamedTuple):
    """What an annotation says of memory.

    Attributes
    ----------
    layout : tuple of int, optional
        Layout of the field's axes in the order of the annotation.
    alignment : int
        Bytes to which the index that is aligned is aligned; 1 if nothing is said.
    text : str
        The parts of the annotation that say it.
    """

    layout: tuple[int, ...] | None
    alignment: int
    text: str


def declared(annotation: FieldType, dtype: str, data_dims: int = 0) -> Memory | None:
    """Read what the parts in brackets of an annotation say of memory.

    Parameters
    ----------
    annotation : FieldType
        What a parameter is annotated with.
    dtype : str
        Its element type.
    data_dims : int
        How many data dimensions it has.

    Returns
    -------
    Memory or None
        None if it says nothing of memory.

    Raises
    ------
    PresetError, LayoutError, ArgumentTypeError, ArgumentValueError
        A part has a wrong value.
    """
    parts: dict[type[Argument], Any] = {type(part): part.value for part in annotation.arguments}
    if not parts:
        return None
    labels = (*annotation.axes, *(str(n) for n in range(data_dims)))
    layout: tuple[int, ...] | None = None
    alignment = 1
    if DefaultParameters in parts:
        layout, alignment = _core.preset_memory(parts[DefaultParameters], labels)
    if LayoutMap in parts:
        layout = _layout(parts[LayoutMap], labels)
    if Alignment in parts:
        alignment = _elements(parts[Alignment]) * np.dtype(dtype).itemsize
    text = ", ".join(f"{kind.__name__}[{value!r}]" for kind, value in parts.items())
    return Memory(layout, alignment, text)


def _layout(value: Any, labels: Sequence[str]) -> tuple[int, ...]:
    given = value(len(labels)) if callable(value) else value
    wrong = LayoutError(f"LayoutMap[{value!r}]: expected a permutation of 0..{len(labels) - 1} for {''.join(labels)}")
    try:
        layout = tuple(int(entry) for entry in given)
    except (TypeError, ValueError):
        raise wrong from None
    if sorted(layout) != list(range(len(labels))):
        raise wrong
    return layout


def _elements(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"Alignment[{value!r}]: expected a number of elements")
    if value < 1:
        raise ArgumentValueError(f"Alignment[{value!r}]: expected at least one element")
    return int(value)
