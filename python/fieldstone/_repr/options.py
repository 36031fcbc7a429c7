"""What users want to see of a storage beside what is shown anyway."""

from __future__ import annotations

from types import TracebackType

from fieldstone.errors import ArgumentTypeError

_range = False


class set_repr:  # noqa: N801 - used like a function, as xarray.set_options
    """Choose what is shown of storages, for good or within a ``with`` block.

    Parameters
    ----------
    range : bool, optional
        Whether to show the smallest and the largest value of the compute domain. They are computed whenever a storage
        is shown, which takes as long as reading the whole domain. Values that are current on a device only are copied
        to the host for that each time; which copy is current stays as it is. Default at first: False.

    Raises
    ------
    ArgumentTypeError
        If `range` is no bool.

    Examples
    --------
    >>> from fieldstone import storage
    >>> with storage.set_repr(range=True):
    ...     storage.full((2, 2), 273.15)
    <CPUStorage (2, 2) float64; layout 0 1; host; range 273.15 to 273.15>
    [[273.15 273.15]
     [273.15 273.15]]
    """

    def __init__(self, *, range: bool | None = None) -> None:
        global _range
        if range is not None and not isinstance(range, bool):
            raise ArgumentTypeError(f"range: expected True or False, got {range!r}")
        self._before = _range
        if range is not None:
            _range = range

    def __enter__(self) -> set_repr:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _range
        _range = self._before


def shows_range() -> bool:
    """Tell whether the range of values was asked for."""
    return _range
