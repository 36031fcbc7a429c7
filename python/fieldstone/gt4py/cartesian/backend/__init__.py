"""``gt4py.cartesian.backend``: GT4Py's backends by name, and what runs instead of each."""

from .base import (
    REGISTRY,
    Backend,
    BaseBackend,
    DaceCPUBackend,
    DaceCPUKFirstBackend,
    DaceGPUBackend,
    DebugBackend,
    GTCpuIfirstBackend,
    GTCpuKfirstBackend,
    GTGpuBackend,
    NumpyBackend,
    from_name,
    register,
)

__all__ = [
    "REGISTRY",
    "Backend",
    "BaseBackend",
    "DaceCPUBackend",
    "DaceCPUKFirstBackend",
    "DaceGPUBackend",
    "DebugBackend",
    "GTCpuIfirstBackend",
    "GTCpuKfirstBackend",
    "GTGpuBackend",
    "NumpyBackend",
    "from_name",
    "register",
]
