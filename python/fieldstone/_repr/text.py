"""A storage in characters: one line of facts, then some of the values."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from fieldstone import _core
from fieldstone._core import Storage
from fieldstone._repr.facts import Facts, facts_of
from fieldstone.errors import DeviceError

# Values beyond which only those at the edges are shown.
_ALL_SHOWN = 64
# Axes beyond which one part is shown for all.
_AXES_SHOWN = 4


def full(storage: Storage) -> str:
    """Give the text for ``repr``."""
    facts = facts_of(storage)
    return f"<{line(facts)}>\n{body(storage, facts)}"


def values(storage: Storage) -> str:
    """Give the text for ``str``."""
    return body(storage, facts_of(storage))


def line(facts: Facts) -> str:
    """Say class, axes, type, halo, order in memory and place in one line."""
    sizes = (f"{axis.label}: {axis.size}" if axis.label else str(axis.size) for axis in facts.axes)
    said = [f"{facts.name} ({', '.join(sizes)}) {facts.dtype}"]
    if facts.has_halo:
        said.append("halo " + ", ".join(f"{lower}+{upper}" for lower, upper in (axis.halo for axis in facts.axes)))
    if len(facts.axes) > 1:
        said.append("layout " + " ".join(str(axis.rank) for axis in facts.axes))
    if facts.alignment > 1:
        said.append(f"aligned to {facts.alignment} bytes")
    said.append(f"{facts.place}, {facts.state}" if facts.state else facts.place)
    if facts.wrapped:
        said.append("wrapped")
    if not facts.writeable:
        said.append("read-only")
    if facts.range:
        said.append(f"range {facts.range}")
    return "; ".join(said)


def inline(storage: Storage, max_width: int) -> str:
    """Give the text for one line of an ``xarray.Dataset``: the class, and the outermost values or where they are."""
    facts = facts_of(storage)
    try:
        array = _core.values_at_hand(storage)
    except DeviceError:
        array = None
    forms = ["on device"] if array is None else [_outermost(array, ends) for ends in (3, 2, 1)]
    texts = [f"{facts.name}: {form}" for form in forms]
    text = next((text for text in texts if len(text) <= max_width), texts[-1])
    return text if len(text) <= max_width else text[: max(0, max_width - 1)] + "…"


def _outermost(array: npt.NDArray[np.generic], ends: int) -> str:
    if array.size <= 2 * ends:
        return _words(array, range(array.size))
    return f"{_words(array, range(ends))} ... {_words(array, range(array.size - ends, array.size))}"


def _words(array: npt.NDArray[np.generic], places: Iterable[int]) -> str:
    return " ".join(np.array2string(_element(array, place), precision=4) for place in places)


def _element(array: npt.NDArray[np.generic], place: int) -> npt.NDArray[np.generic]:
    index = []
    for size in reversed(array.shape):
        place, position = divmod(place, size)
        index.append(position)
    return np.asarray(array[tuple(reversed(index))])


def body(storage: Storage, facts: Facts) -> str:
    """Show some of the values, or say where they are."""
    try:
        array = _core.values_at_hand(storage)
    except DeviceError as error:
        return f"values unknown: {error}"
    if array is not None:
        return _shortened(array)
    if facts.copies:
        return f"values newer on {facts.device}; to_numpy() copies them to the host"
    return f"values on {facts.device}; storage(field, device='cpu') copies them to the host"


def _shortened(array: npt.NDArray[np.generic]) -> str:
    if array.ndim == 0:
        return str(array[()])
    if array.size <= _ALL_SHOWN or array.ndim <= _AXES_SHOWN:
        # A block of them in each direction: with many axes they are many.
        edge = 1 if array.ndim > 2 else 2
        return np.array2string(array, threshold=_ALL_SHOWN, edgeitems=edge)
    leading = array.ndim - 2
    first = np.array2string(array[(0,) * leading], threshold=_ALL_SHOWN, edgeitems=2)
    return f"{first}\nat [{'0, ' * leading}:, :], one of {_product(array.shape[:leading])}"


def _product(sizes: tuple[int, ...]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product
