"""How many threads stencils, copies and fills use.

The number is that of the cores this process may run on, unless the environment variable ``FIELDSTONE_NUM_THREADS`` says
otherwise when the first of them runs.
"""

from __future__ import annotations

from typing import SupportsIndex

from fieldstone import _core

__all__ = ["num_threads", "set_num_threads"]


def num_threads() -> int:
    """Return the number of threads that stencils, copies and fills use at most."""
    return _core.num_threads()


def set_num_threads(threads: SupportsIndex) -> None:
    """Set the number of threads for everything that follows, in the whole process.

    Parameters
    ----------
    threads : int
        From 1 to 1024. More than there are cores makes things slower, not faster.

    Raises
    ------
    ArgumentValueError
        If it is outside that range.
    ArgumentTypeError
        If it is not an integer.
    """
    _core.set_num_threads(threads)
