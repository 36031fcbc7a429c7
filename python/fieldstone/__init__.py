"""Fields for structured-grid models."""

import sys

from fieldstone import arrays, errors, storage, utils
from fieldstone._core import __version__
from fieldstone.device import Device, devices, simulated_device
from fieldstone.threads import num_threads, set_num_threads

if "xarray" in sys.modules:
    from fieldstone import xarray  # noqa: F401 - registers the accessor of DataArrays

__all__ = [
    "Device",
    "__version__",
    "arrays",
    "devices",
    "errors",
    "num_threads",
    "set_num_threads",
    "simulated_device",
    "storage",
    "utils",
]
