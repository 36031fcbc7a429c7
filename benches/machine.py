"""What the benchmarks ran on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path


def describe() -> dict[str, str]:
    """Return processor, usable cores, load before the run and versions."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
    } | {name: _version(name) for name in ("fieldstone", "numpy", "llvmlite", "numba", "jax")}


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def last_cache() -> int:
    """Return the bytes of the last cache, 0 where the system does not tell; a virtual machine may tell its host's."""
    levels = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    return max((_bytes(level.read_text().strip()) for level in levels), default=0)


def _bytes(size: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20}
    return int(size[:-1]) * units[size[-1]]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"
