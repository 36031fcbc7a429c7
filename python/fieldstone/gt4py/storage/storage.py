"""``gt4py.storage.storage``, where the classes of storages were before GT4Py 1.0."""

from fieldstone.storage import CPUStorage, GPUStorage, Storage

from .cartesian.interface import empty, from_array, full, ones, zeros

__all__ = ["CPUStorage", "GPUStorage", "Storage", "empty", "from_array", "full", "ones", "zeros"]
