"""``gt4py.cartesian.backend.base``: one class for each backend of GT4Py.

The table at the end is the only place that says which backend of fieldstone runs for which of GT4Py's.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from fieldstone.gt4py.storage.cartesian import layout_registry
from fieldstone.gt4py.storage.cartesian.layout import LayoutInfo

__all__ = ["REGISTRY", "Backend", "BaseBackend", "from_name", "register"]

_PYTHON = {"computation": "python", "bindings": ["python"]}
_CPP = {"computation": "c++", "bindings": ["python"]}
_CUDA = {"computation": "cuda", "bindings": ["python"]}


def _options(**types: type) -> dict[str, dict[str, Any]]:
    return {name: {"versioning": False, "type": kind} for name, kind in types.items()}


_PYTHON_OPTIONS = _options(oir_pipeline=object, ignore_np_errstate=bool)
_GT_OPTIONS = _options(
    add_profile_info=bool,
    clean=bool,
    debug_mode=bool,
    opt_level=str,
    extra_opt_flags=str,
    verbose=bool,
    oir_pipeline=object,
)
_GPU_OPTIONS = {**_GT_OPTIONS, **_options(device_sync=bool)}


class Backend:
    """A backend of GT4Py, as programs ask what it is; it is used by its name.

    Attributes
    ----------
    name : str
        GT4Py's name.
    fieldstone_name : str
        What runs instead.
    options : dict
        Options it takes, by name. They are about compilers and have no effect here.
    storage_info : LayoutInfo
        How arrays for it lie in memory.
    languages : dict
        What GT4Py writes for it.
    """

    name: ClassVar[str]
    fieldstone_name: ClassVar[str]
    options: ClassVar[dict[str, dict[str, Any]]]
    storage_info: ClassVar[LayoutInfo]
    languages: ClassVar[dict[str, Any]]


class BaseBackend(Backend):
    """Base class of all."""


class Registry(dict[str, type[Backend]]):
    """Backends by name."""

    @property
    def names(self) -> list[str]:
        """The names."""
        return list(self)


REGISTRY = Registry()
"""Backends by name."""


def from_name(name: str) -> type[Backend]:
    """Give the backend of a name.

    Parameters
    ----------
    name : str
        GT4Py's, or fieldstone's.

    Raises
    ------
    ValueError
        If there is none.
    """
    try:
        return REGISTRY[name]
    except (KeyError, TypeError):
        known = ", ".join(map(repr, REGISTRY))
        raise ValueError(f"there is no backend {name!r}; the backends are: {known}") from None


def register(backend_cls: type[Backend]) -> NoReturn:
    """Raise: fieldstone's backends are its own.

    Parameters
    ----------
    backend_cls : type
        A backend of another package.
    """
    raise NotImplementedError(
        f"backend {getattr(backend_cls, 'name', backend_cls)!r} cannot be added: it would be a part of GT4Py's "
        f"compiler, and fieldstone has one of its own; the backends are: {', '.join(REGISTRY)}"
    )


def _backend(
    class_name: str, name: str, fieldstone_name: str, options: dict[str, Any], languages: dict[str, Any]
) -> type[Backend]:
    members = {
        "__doc__": f"GT4Py's backend {name!r}: {fieldstone_name!r} of fieldstone.",
        "__module__": __name__,
        "name": name,
        "fieldstone_name": fieldstone_name,
        "options": options,
        "storage_info": layout_registry.from_name(name),
        "languages": languages,
    }
    made = type(class_name, (BaseBackend,), members)
    REGISTRY[name] = made
    return made


# GT4Py's name on the left, fieldstone's on the right.
DebugBackend = _backend("DebugBackend", "debug", "debug", _PYTHON_OPTIONS, _PYTHON)
NumpyBackend = _backend("NumpyBackend", "numpy", "numpy", _PYTHON_OPTIONS, _PYTHON)
GTCpuIfirstBackend = _backend("GTCpuIfirstBackend", "gt:cpu_ifirst", "cpu_ifirst", _GT_OPTIONS, _CPP)
GTCpuKfirstBackend = _backend("GTCpuKfirstBackend", "gt:cpu_kfirst", "cpu_kfirst", _GT_OPTIONS, _CPP)
GTGpuBackend = _backend("GTGpuBackend", "gt:gpu", "gpu", _GPU_OPTIONS, _CUDA)
CudaBackend = _backend("CudaBackend", "cuda", "gpu", _GPU_OPTIONS, _CUDA)
DaceCPUBackend = _backend("DaceCPUBackend", "dace:cpu", "cpu_ifirst", _GT_OPTIONS, _CPP)
DaceCPUKFirstBackend = _backend("DaceCPUKFirstBackend", "dace:cpu_kfirst", "cpu_kfirst", _GT_OPTIONS, _CPP)
DaceCPUKJIBackend = _backend("DaceCPUKJIBackend", "dace:cpu_KJI", "cpu_ifirst", _GT_OPTIONS, _CPP)
DaceGPUBackend = _backend("DaceGPUBackend", "dace:gpu", "gpu", _GPU_OPTIONS, _CUDA)
DaceGPUIJKBackend = _backend("DaceGPUIJKBackend", "dace:gpu_IJK", "gpu", _GPU_OPTIONS, _CUDA)
# Their names before GT4Py 1.0.
GTX86Backend = _backend("GTX86Backend", "gtx86", "cpu_kfirst", _GT_OPTIONS, _CPP)
GTMCBackend = _backend("GTMCBackend", "gtmc", "cpu_ifirst", _GT_OPTIONS, _CPP)
GTCUDABackend = _backend("GTCUDABackend", "gtcuda", "gpu", _GPU_OPTIONS, _CUDA)
GTCPythonBackend = _backend("GTCPythonBackend", "gtc:py", "debug", _PYTHON_OPTIONS, _PYTHON)
GTCNumpyBackend = _backend("GTCNumpyBackend", "gtc:numpy", "numpy", _PYTHON_OPTIONS, _PYTHON)
GTCGTBackend = _backend("GTCGTBackend", "gtc:gt", "cpu_kfirst", _GT_OPTIONS, _CPP)
GTCGTCpuIfirstBackend = _backend("GTCGTCpuIfirstBackend", "gtc:gt:cpu_ifirst", "cpu_ifirst", _GT_OPTIONS, _CPP)
GTCGTCpuKfirstBackend = _backend("GTCGTCpuKfirstBackend", "gtc:gt:cpu_kfirst", "cpu_kfirst", _GT_OPTIONS, _CPP)
GTCGTGpuBackend = _backend("GTCGTGpuBackend", "gtc:gt:gpu", "gpu", _GPU_OPTIONS, _CUDA)
GTCCudaBackend = _backend("GTCCudaBackend", "gtc:cuda", "gpu", _GPU_OPTIONS, _CUDA)
GTCDaceBackend = _backend("GTCDaceBackend", "gtc:dace", "cpu_ifirst", _GT_OPTIONS, _CPP)
# fieldstone's own.
CpuIFirstBackend = _backend("CpuIFirstBackend", "cpu_ifirst", "cpu_ifirst", _GT_OPTIONS, _CPP)
CpuKFirstBackend = _backend("CpuKFirstBackend", "cpu_kfirst", "cpu_kfirst", _GT_OPTIONS, _CPP)
GpuBackend = _backend("GpuBackend", "gpu", "gpu", _GPU_OPTIONS, _CUDA)
