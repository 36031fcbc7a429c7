"""Fields for structured-grid models."""

from fieldstone._core import __version__
from fieldstone.threads import num_threads, set_num_threads

__all__ = ["__version__", "num_threads", "set_num_threads"]
