"""Fields for structured-grid models."""

from importlib import import_module

from fieldstone import arrays, errors, storage, utils
from fieldstone._core import __version__
from fieldstone._import_hook import when_imported
from fieldstone.device import Device, devices, simulated_device
from fieldstone.threads import num_threads, set_num_threads

# It gives DataArrays their data interface.
when_imported("xarray", lambda: import_module("fieldstone.xarray"))

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
