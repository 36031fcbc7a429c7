"""What there is to say about a storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fieldstone import _core
from fieldstone._core import Storage
from fieldstone._repr.extremes import extremes
from fieldstone._repr.options import shows_range

Side = Literal["host", "device"]


@dataclass(frozen=True)
class Axis:
    """One axis of a storage."""

    label: str | None
    size: int
    halo: tuple[int, int]
    stride: int
    rank: int
    """Place in the order of the strides, the largest one first."""
    contiguous: bool
    """Whether the next point along this axis is the next element in memory."""

    @property
    def domain(self) -> int:
        """Points of the compute domain."""
        return self.size - sum(self.halo)

    @property
    def parts(self) -> str:
        """Halo, domain and halo: ``"3+64+3"``; the size if there is no halo."""
        lower, upper = self.halo
        return f"{lower}+{self.domain}+{upper}" if any(self.halo) else str(self.size)


@dataclass(frozen=True)
class Facts:
    """A storage as it is at one moment."""

    name: str
    """Of its class."""
    axes: tuple[Axis, ...]
    dtype: str
    nbytes: int
    gaps: int
    """Bytes between the elements: padding, or elements of a larger storage."""
    alignment: int
    aligned_index: tuple[int, ...]
    device: str | None
    """Name of the device that has a copy."""
    copies: bool
    """Whether there are two, on the host and on the device, that fieldstone keeps equal."""
    managed: bool
    """Whether the driver moves the memory between host and device."""
    ahead: Side | None
    """The copy that is newer, in whatever part of the memory that views share."""
    ahead_here: Side | None
    """The copy that is newer in the elements of this storage."""
    at_hand: bool
    """Whether host memory holds the current values."""
    wrapped: bool
    writeable: bool
    range: str | None
    """Smallest and largest value of the compute domain, if that was asked for."""

    @property
    def labelled(self) -> bool:
        """Whether the axes have labels."""
        return any(axis.label is not None for axis in self.axes)

    @property
    def has_halo(self) -> bool:
        """Whether there is a halo along any axis."""
        return any(any(axis.halo) for axis in self.axes)

    @property
    def place(self) -> str:
        """Where the elements are."""
        if self.device is None:
            return "host"
        if self.copies or self.managed:
            return f"host and {self.device}"
        return f"on {self.device}"

    @property
    def state(self) -> str | None:
        """Which copy is current; None if there is one only."""
        if self.managed:
            return "moved by the driver"
        if not self.copies:
            return None
        if self.ahead is None:
            return "in sync"
        return f"{self.ahead} newer" if self.ahead_here else f"{self.ahead} newer elsewhere"


def facts_of(storage: Storage) -> Facts:
    """Collect the facts of a storage."""
    whereabouts = _core.whereabouts(storage)
    dims = storage.dims or (None,) * storage.ndim
    contiguous = _contiguous_axis(storage)
    axes = tuple(
        Axis(label, size, halo, stride, rank, number == contiguous)
        for number, (label, size, halo, stride, rank) in enumerate(
            zip(dims, storage.shape, storage.halo, storage.strides, storage.layout, strict=True)
        )
    )
    return Facts(
        name=type(storage).__name__,
        axes=axes,
        dtype=str(storage.dtype),
        nbytes=storage.nbytes,
        gaps=_gaps(storage),
        alignment=storage.alignment_size,
        aligned_index=storage.aligned_index,
        range=extremes(storage) if shows_range() else None,
        **whereabouts,
    )


def _contiguous_axis(storage: Storage) -> int | None:
    # The stride of an axis with one point means nothing.
    steps = zip(storage.shape, storage.strides, strict=True)
    found = [axis for axis, (size, stride) in enumerate(steps) if size > 1 and stride == storage.itemsize]
    return found[0] if len(found) == 1 else None


def _gaps(storage: Storage) -> int:
    if storage.size == 0:
        return 0
    steps = zip(storage.shape, storage.strides, strict=True)
    span = storage.itemsize + sum((size - 1) * abs(stride) for size, stride in steps)
    return max(0, span - storage.nbytes)
