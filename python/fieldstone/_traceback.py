"""How errors with diagnostics look: plain as text, in colours in a terminal, with the user's frames in a notebook."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TextIO

OWN = os.path.dirname(__file__)


class Diagnosed:
    """An exception whose message is rendered diagnostics.

    ``str(error)`` is plain text, whoever asks; only the interpreter gets colours, when it prints an error that nobody
    caught to a terminal. The environment variables ``NO_COLOR`` and ``FORCE_COLOR`` decide otherwise.
    """

    _colored: str | None = None

    def __str__(self) -> str:
        if self._colored is not None and _printed_by_the_interpreter() and wants_color(sys.stderr):
            return self._colored
        return super().__str__()

    def _render_traceback_(self) -> list[str]:
        """Give IPython the lines to show: the frames of the user, and the message."""
        message = self._colored if self._colored is not None and wants_color(sys.stdout, default=True) else str(self)
        assert isinstance(self, BaseException)
        frames = [frame for frame in traceback.extract_tb(self.__traceback__) if _is_of_the_user(frame.filename)]
        lines = [line.rstrip("\n") for line in traceback.format_list(frames)]
        return [*lines, f"{type(self).__name__}: {message}"]


def wants_color(stream: TextIO | None, *, default: bool | None = None) -> bool:
    """Whether what goes to a stream should have colours.

    Parameters
    ----------
    stream : text stream, optional
        Where it goes; a terminal has colours.
    default : bool, optional
        What holds instead of what the stream is, where no environment variable says otherwise.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    if default is not None:
        return default
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def _printed_by_the_interpreter() -> bool:
    """Whether an error that nobody caught is being printed: by C code, or by a helper of it."""
    frame = sys._getframe(1).f_back
    while frame is not None:
        # In `traceback`, and in `python -m fieldstone.gt4py`.
        if frame.f_code.co_name in ("_print_exception_bltin", "print_uncaught"):
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return True


def _is_of_the_user(file: str) -> bool:
    return not file.startswith(OWN + os.sep) and f"{os.sep}IPython{os.sep}" not in file
