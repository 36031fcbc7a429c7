"""The cache of compiled code: what is in it, whether that is whole, and how to make room.

Nothing has to be done for the cache to work. See the page on the cache of the documentation for where it is and what it
does by itself.
"""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from pathlib import Path

from . import _core
from .errors import ArgumentTypeError, ArgumentValueError

__all__ = ["Cleared", "Entry", "clear", "directory", "entries", "verify"]


@dataclass(frozen=True)
class Entry:
    """Code of one stencil for one memory layout of its arguments.

    Attributes
    ----------
    path : Path
        The file.
    size : int
        Its bytes.
    used : datetime
        When it was used last, to the day.
    broken : str or None
        What is wrong with it. Such an entry is not used, and is replaced as soon as its code is needed. What follows is
        ``None`` for it, and for an entry whose format is that of another version of fieldstone.
    stencil : str or None
        Name of the stencil.
    backend : str or None
        The backend it was compiled for.
    cpu : str or None
        LLVM's name of the processor it runs on.
    layout : dict of str to str, or None
        The axis that each field is contiguous along, ``"none"`` where it is along none.
    fieldstone, llvm : str or None
        Versions it was made by.
    written : datetime or None
        When it was made.
    """

    path: Path
    size: int
    used: datetime.datetime
    broken: str | None = None
    stencil: str | None = None
    backend: str | None = None
    cpu: str | None = None
    layout: dict[str, str] | None = None
    fieldstone: str | None = None
    llvm: str | None = None
    written: datetime.datetime | None = None


@dataclass(frozen=True)
class Cleared:
    """What was removed.

    Attributes
    ----------
    entries : int
        How many.
    bytes : int
        What they took.
    """

    entries: int
    bytes: int


def directory() -> Path | None:
    """Return where compiled code is kept, or None if it is kept nowhere.

    Returns
    -------
    Path or None
        ``$FIELDSTONE_CACHE_DIR``, else ``fieldstone`` in the user's cache directory. It is made when something is first
        kept there.
    """
    return _core.cache_directory()


def entries(directory: str | os.PathLike[str] | None = None) -> list[Entry]:
    """List what a cache has.

    Parameters
    ----------
    directory : path, optional
        Of the cache; :func:`directory` by default.

    Returns
    -------
    list of Entry
        By stencil, the latest first. Their checksums are not verified.
    """
    return _entries(directory, whole=False)


def verify(directory: str | os.PathLike[str] | None = None) -> list[Entry]:
    """List what a cache has, with every checksum verified.

    Parameters
    ----------
    directory : path, optional
        Of the cache; :func:`directory` by default.

    Returns
    -------
    list of Entry
        As :func:`entries`; what is wrong with one says ``broken``.
    """
    return _entries(directory, whole=True)


def clear(
    directory: str | os.PathLike[str] | None = None,
    *,
    older_than: float | datetime.timedelta | None = None,
    stencil: str | None = None,
    broken: bool = False,
) -> Cleared:
    """Remove entries: all, or those to which everything applies that is given.

    Files that are no entries are left alone.

    Parameters
    ----------
    directory : path, optional
        Of the cache; :func:`directory` by default.
    older_than : float or timedelta, optional
        Days for which they have not been used.
    stencil : str, optional
        Name of their stencil.
    broken : bool, optional
        Whether to remove broken ones only.

    Returns
    -------
    Cleared
        How many, and their bytes.

    Raises
    ------
    OSError
        The system refuses.
    """
    days = older_than / datetime.timedelta(days=1) if isinstance(older_than, datetime.timedelta) else older_than
    if days is not None and not isinstance(days, int | float):
        raise ArgumentTypeError(f"older_than is a number of days or a timedelta, not {older_than!r}")
    if days is not None and not days >= 0:
        raise ArgumentValueError(f"older_than is {older_than!r}, expected no negative number of days")
    if stencil is not None and not isinstance(stencil, str):
        raise ArgumentTypeError(f"stencil is the name of one, not {stencil!r}")
    place = _place(directory)
    if place is None:
        return Cleared(0, 0)
    removed, freed = _core.cache_clear(str(place), None if days is None else days * 86400.0, stencil, broken)
    return Cleared(removed, freed)


def _place(given: str | os.PathLike[str] | None) -> Path | None:
    """Return the directory of a cache if there is one."""
    place = directory() if given is None else Path(given)
    return place if place is not None and place.is_dir() else None


def _entries(given: str | os.PathLike[str] | None, *, whole: bool) -> list[Entry]:
    place = _place(given)
    found = [] if place is None else [_entry(facts) for facts in _core.cache_entries(str(place), whole)]
    return sorted(found, key=lambda entry: (entry.stencil or "", -entry.used.timestamp(), entry.path))


def _entry(facts: _core.CacheEntry) -> Entry:
    layout = facts.get("layout")
    written = facts.get("written")
    return Entry(
        facts["path"],
        facts["size"],
        _time(facts["used"]),
        broken=facts.get("broken"),
        stencil=facts.get("stencil"),
        backend=facts.get("backend"),
        cpu=facts.get("cpu"),
        layout=None if layout is None else dict(field.rpartition("=")[::2] for field in layout.split()),
        fieldstone=facts.get("fieldstone"),
        llvm=facts.get("llvm"),
        written=None if written is None else _time(written),
    )


def _time(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds).astimezone()
