"""Fields for structured-grid models."""

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

from fieldstone import arrays, errors, storage, utils
from fieldstone._core import __version__
from fieldstone._import_hook import when_imported as _when_imported
from fieldstone.device import Device, Graph, devices, simulated_device
from fieldstone.threads import num_threads, set_num_threads

# It gives DataArrays their data interface.
_when_imported("xarray", lambda: _import_module("fieldstone.xarray"))

# Modules that are imported when somebody asks for them: what they need takes time.
_LATER = ("cache", "gtscript", "xarray")


def __getattr__(name: str) -> _ModuleType:
    if name in _LATER:
        return _import_module(f"fieldstone.{name}")
    raise AttributeError(f"module 'fieldstone' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*__all__, *_LATER))


__all__ = [
    "Device",
    "Graph",
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
