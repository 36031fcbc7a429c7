"""Storages and keys of all kinds, for property tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from fieldstone import storage
from fieldstone.storage import Storage

LABELS = ("I", "J", "K", "0", "1")
DTYPES = [np.dtype(code) for code in "?bhilBHILefdFD"]


def sizes(ndim: int, largest: int = 6) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[st.integers(0 if axis else 1, largest) for axis in range(ndim)])


@st.composite
def halos(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    lower = [draw(st.integers(0, size)) for size in shape]
    return tuple((low, draw(st.integers(0, size - low))) for low, size in zip(lower, shape, strict=True))


@st.composite
def storages(draw: st.DrawFn, *, labelled: bool | None = None, max_ndim: int = 4, dtype: Any = None) -> Storage:
    """Draw a storage of any layout, alignment and halo, each element with a value of its own."""
    ndim = draw(st.integers(0, max_ndim))
    shape = draw(sizes(ndim))
    labelled = draw(st.booleans()) if labelled is None else labelled
    field = storage.empty(
        shape,
        draw(st.sampled_from(DTYPES)) if dtype is None else dtype,
        dims=draw(st.permutations(LABELS))[:ndim] if labelled else None,
        halo=draw(halos(shape)),
        layout=draw(st.permutations(range(ndim))),
        alignment_size=draw(st.sampled_from([1, 4, 24, 64])),
    )
    np.asarray(field)[...] = np.arange(field.size).reshape(shape).astype(field.dtype)
    return field


@st.composite
def slices(draw: st.DrawFn, size: int) -> slice:
    bound = st.none() | st.integers(-size - 2, size + 2)
    return slice(draw(bound), draw(bound), draw(st.none() | st.integers(-3, 3).filter(bool)))


@st.composite
def basic_keys(draw: st.DrawFn, shape: tuple[int, ...], *, new_axes: bool) -> Any:
    """Draw integers, slices, an ellipsis and, for storages without labels, new axes."""
    entries: list[Any] = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        entries.append(draw(slices(size) | st.integers(-size, size - 1) if size else slices(size)))
    if draw(st.booleans()):
        entries.append(...)
    if new_axes:
        for _ in range(draw(st.integers(0, 2))):
            entries.insert(draw(st.integers(0, len(entries))), None)
    return tuple(entries) if len(entries) != 1 or draw(st.booleans()) else entries[0]


@st.composite
def advanced_keys(draw: st.DrawFn, shape: tuple[int, ...]) -> list[Any]:
    """Draw masks of one or more axes, arrays of indices that go together, slices, an ellipsis, and new axes."""
    together = draw(st.sampled_from([(), (1,), (3,), (2, 3), (2, 1)]))
    entries: list[Any] = []
    axis = 0
    while axis < len(shape) and draw(st.integers(0, 4)):
        size = shape[axis]
        kind = draw(st.sampled_from(["mask", "wide mask", "indices", "slice", "integer"]))
        if kind == "wide mask" and axis + 1 < len(shape):
            entries.append(np.array(draw(st.lists(st.booleans(), min_size=2, max_size=9))))
            entries[-1] = np.resize(entries[-1], shape[axis : axis + 2])
            axis += 1
        elif kind in ("mask", "wide mask"):
            entries.append(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool))
        elif kind == "indices" and size:
            flat = draw(st.lists(st.integers(-size, size - 1), min_size=6, max_size=6))
            dtype = draw(st.sampled_from([np.int8, np.int32, np.int64]))
            entries.append(np.resize(np.array(flat, dtype), together))
        elif kind == "integer" and size:
            entries.append(draw(st.integers(-size, size - 1)))
        else:
            entries.append(draw(slices(size)))
        axis += 1
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), ...)
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), None)
    return entries


def is_array(entry: Any) -> bool:
    return isinstance(entry, np.ndarray)
