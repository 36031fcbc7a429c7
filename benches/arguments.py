"""The fields of a case in memory, in each of the ways that models have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benches.case import HALO, Argument, Case

# Axes from the one with the largest stride to the contiguous one, named by the latter.
LAYOUTS = {"I": "KJI", "J": "KIJ", "K": "IJK"}

# Whether rows begin at cache lines, follow each other without a gap, or begin one element behind a cache line's begin.
MEMORIES = ("padded", "packed", "shifted")

CACHE_LINE = 64


class Arguments:
    """All fields of a case with their values, and the domain that is computed.

    Parameters
    ----------
    case : Case
        Whose fields.
    size : tuple of int
        Points of the domain along I, J and K.
    dtype : str
        Of all fields.
    layout : str
        The axis along which elements are adjacent.
    memory : str
        One of `MEMORIES`; ``"padded"`` are storages, the others NumPy arrays.
    """

    def __init__(self, case: Case, size: tuple[int, int, int], dtype: str, layout: str, memory: str = "padded") -> None:
        self.case, self.size, self.dtype, self.layout, self.memory = case, size, dtype, layout, memory
        random = np.random.default_rng(0)
        shape = {"I": size[0] + 2 * HALO, "J": size[1] + 2 * HALO, "K": size[2]}
        self._values: dict[str, np.ndarray] = {}
        self.fields: dict[str, Any] = {}
        for argument in case.arguments:
            lengths = tuple(shape[axis] for axis in argument.axes)
            values = np.asarray(argument.values(random, lengths), dtype)
            if argument.access != "in":
                self._values[argument.name] = values
            array = _allocate(argument, lengths, dtype, layout, memory)
            array[...] = values
            self.fields[argument.name] = array

    @property
    def origin(self) -> tuple[int, int, int]:
        """Index of the first point of the domain."""
        return (HALO, HALO, 0)

    def refresh(self) -> None:
        """Restore what calls both read and change, so that values stay what they are in a model."""
        for argument in self.case.arguments:
            if argument.access == "inout":
                self.fields[argument.name][...] = self._values[argument.name]

    def reset(self) -> None:
        """Restore what calls have changed."""
        for name, values in self._values.items():
            self.fields[name][...] = values

    def kji(self) -> list[np.ndarray]:
        """Return the fields as NumPy arrays indexed [k, j, i], without copying."""
        return [np.asarray(array).transpose() for array in self.fields.values()]

    def outputs(self) -> dict[str, np.ndarray]:
        """Copy the points of the domain of all fields that are written, and reset the fields."""
        found = self.inner()
        self.reset()
        return found

    def inner(self) -> dict[str, np.ndarray]:
        """Copy the points of the domain of all fields that are written."""
        inner = {"I": slice(HALO, -HALO), "J": slice(HALO, -HALO), "K": slice(None)}
        found = {}
        for argument in self.case.arguments:
            if argument.access != "in":
                part = tuple(inner[axis] for axis in argument.axes)
                found[argument.name] = np.array(np.asarray(self.fields[argument.name])[part])
        return found


def _allocate(argument: Argument, lengths: tuple[int, ...], dtype: str, layout: str, memory: str) -> Any:
    order = [axis for axis in LAYOUTS[layout] if axis in argument.axes]
    if memory == "padded":
        import fieldstone.storage

        permutation = tuple(order.index(axis) for axis in argument.axes)
        halo = tuple(0 if axis == "K" else HALO for axis in argument.axes)
        return fieldstone.storage.empty(
            lengths, dtype, dims=tuple(argument.axes), layout=permutation, halo=halo, alignment_size=CACHE_LINE
        )
    itemsize = np.dtype(dtype).itemsize
    block = np.zeros(int(np.prod(lengths)) * itemsize + 2 * CACHE_LINE, np.uint8)
    begin = -block.ctypes.data % CACHE_LINE + (itemsize if memory == "shifted" else 0)
    flat = block[begin : begin + int(np.prod(lengths)) * itemsize].view(dtype)
    array = flat.reshape([lengths[argument.axes.index(axis)] for axis in order])
    return array.transpose([order.index(axis) for axis in argument.axes])
