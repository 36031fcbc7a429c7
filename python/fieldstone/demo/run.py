"""Steps both stencils on every backend, compares the results and times them."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fieldstone
import fieldstone.storage
from fieldstone import gtscript
from fieldstone.demo import stencils
from fieldstone.demo.data import Case
from fieldstone.device import Device

# Diffusion number of the horizontal stencil: removes the shortest wave in one step.
DIFFUSION_NUMBER = 1 / 64
# Eddy diffusivity (m2 s-1) and time step (s) of the vertical stencil.
DIFFUSIVITY = 5.0
TIME_STEP = 30.0

# Points at each side that keep their values: what the horizontal stencil reads beyond its domain.
HALO = 2

# The backends whose results every other one must reproduce, the first of them bit for bit.
INTERPRETER, NUMPY = "debug", "numpy"


# What the stencils are called with.
XARRAY, STORAGES = "xarray", "storages"

# Arrays that a step must read or write: three of the horizontal stencil, two of the vertical one.
ARRAYS_PER_STEP = 5


@dataclass(frozen=True)
class Run:
    """What all steps on one backend with one kind of arguments gave.

    Attributes
    ----------
    backend : str
        Name of the backend.
    arguments : str
        What the stencils were called with.
    result : numpy.ndarray
        The variable after the last step, indexed I, J, K.
    horizontal_time, vertical_time : float
        Median times of the two stencils in a step (s).
    """

    backend: str
    arguments: str
    result: np.ndarray
    horizontal_time: float
    vertical_time: float

    @property
    def step_time(self) -> float:
        """Time of a step (s)."""
        return self.horizontal_time + self.vertical_time


@dataclass(frozen=True)
class CompileTime:
    """From the definition of a stencil to the end of its first call, without the computation itself (s)."""

    stencil: str
    cold: float
    cached: float


def is_on_device(backend: str) -> bool:
    """Whether the stencils of a backend run on a device."""
    return backend in ("gpu", "gt:gpu", "gtcuda", "cuda")


def device(backend: str) -> Device:
    """Where the stencils of a backend run.

    Raises
    ------
    DeviceError
        If there is no such device.
    """
    if not is_on_device(backend):
        return fieldstone.devices()[0]
    accelerators = fieldstone.devices()[1:]
    if not accelerators:
        # The error of whoever wants one says why there is none, and what to do.
        fieldstone.storage.empty((1,), device="gpu")
    return accelerators[0]


class Diffusion:
    """One step of horizontal, then of vertical diffusion on one backend."""

    def __init__(self, case: Case, backend: str) -> None:
        dtypes = {"real": case.phi.dtype.type}
        self.case = case
        self.backend = backend
        self.horizontal = gtscript.stencil(backend=backend, definition=stencils.horizontal_diffusion, dtypes=dtypes)
        self.vertical = gtscript.stencil(backend=backend, definition=stencils.vertical_diffusion, dtypes=dtypes)
        shape = case.shape
        self.frame: dict[str, Any] = {
            "origin": (HALO, HALO, 0),
            "domain": (shape["I"] - 2 * HALO, shape["J"] - 2 * HALO, shape["K"]),
        }
        self.coefficient = self._storage(DIFFUSION_NUMBER)
        self.between = self._storage(0.0)
        self.heights: tuple[Any, ...] = (case.level_height, case.sigma, case.surface_altitude)
        if is_on_device(backend):
            # Else they would be copied there for every step.
            self.heights = tuple(fieldstone.storage.storage(one, defaults=backend) for one in self.heights)

    def synchronize(self) -> None:
        """Wait until what was computed is there."""
        if is_on_device(self.backend):
            device(self.backend).synchronize()

    def _storage(self, value: float) -> Any:
        return fieldstone.storage.full(
            tuple(self.case.shape.values()),
            value,
            self.case.phi.dtype,
            dims=("I", "J", "K"),
            halo=(HALO, HALO, 0),
            defaults=self.backend,
        )

    def argument(self, kind: str) -> Any:
        """Copy of the variable, as an xarray object like that of the file or as a storage of the backend's layout."""
        if kind == XARRAY:
            return self.case.phi.copy(deep=True)
        storage = self._storage(0.0)
        storage[...] = self.case.phi
        return storage

    def diffuse_horizontally(self, phi: Any) -> None:
        """Write the inner points of `between`."""
        self.horizontal(phi, self.coefficient, self.between, **self.frame)

    def diffuse_vertically(self, phi: Any) -> None:
        """Write the inner points of `phi` back; those at the sides keep their values."""
        self.vertical(
            self.between,
            *self.heights,
            phi,
            dt=TIME_STEP,
            diffusivity=DIFFUSIVITY,
            **self.frame,
        )


def diffuse(case: Case, backend: str, kind: str, steps: int, advance: Callable[[], None]) -> Run:
    """Step a copy of the variable, calling `advance` after every step."""
    diffusion = Diffusion(case, backend)
    phi = diffusion.argument(kind)
    # The first calls compile, which is measured apart; they work on a copy.
    untimed = diffusion.argument(kind)
    diffusion.diffuse_horizontally(untimed)
    diffusion.diffuse_vertically(untimed)
    horizontal, vertical = [], []
    diffusion.synchronize()
    for _ in range(steps):
        begin = time.perf_counter()
        diffusion.diffuse_horizontally(phi)
        diffusion.synchronize()
        middle = time.perf_counter()
        diffusion.diffuse_vertically(phi)
        diffusion.synchronize()
        end = time.perf_counter()
        horizontal.append(middle - begin)
        vertical.append(end - middle)
        advance()
    order = [case.dims[axis] for axis in "IJK"]
    result = phi.transpose(*order).values if kind == XARRAY else np.array(phi)
    return Run(backend, kind, result, statistics.median(horizontal), statistics.median(vertical))


def compile_times(case: Case, backend: str) -> list[CompileTime]:
    """Compile both stencils with an empty cache, then again with what the first time left there.

    Empty for a backend that compiles nothing.
    """
    measured: dict[str, list[float]] = {}
    with _empty_cache() as directory:
        for _ in ("cold", "cached"):
            begin = time.perf_counter()
            diffusion = Diffusion(case, backend)
            phi = diffusion.argument(STORAGES if is_on_device(backend) else XARRAY)
            defined = time.perf_counter() - begin
            for name, call in (
                ("horizontal", diffusion.diffuse_horizontally),
                ("vertical", diffusion.diffuse_vertically),
            ):
                first = _duration(call, phi)
                later = min(_duration(call, phi) for _ in range(3))
                measured.setdefault(name, []).append(defined / 2 + first - later)
            if not any(directory.iterdir()):
                return []
    return [CompileTime(name, cold, cached) for name, (cold, cached) in measured.items()]


def copy_bandwidth(case: Case, backend: str, repetitions: int = 30) -> float:
    """Bytes per second, read and written, of the fastest copy of an array like the variable, on a backend's device."""
    dtype = case.phi.dtype
    shape = tuple(case.shape.values())
    there: dict[str, Any] = {"dims": ("I", "J", "K"), "defaults": "cpu_ifirst"}
    if is_on_device(backend):
        there |= {"defaults": "gpu", "managed": False}
    source = fieldstone.storage.full(shape, 1.0, dtype, **there)
    target = fieldstone.storage.zeros(shape, dtype, **there)
    plain_source, plain_target = np.ones(shape, dtype), np.zeros(shape, dtype)

    def with_storages() -> None:
        target[...] = source
        device(backend).synchronize()

    copies: list[Callable[[], None]] = [with_storages]
    if not is_on_device(backend):
        copies.append(lambda: np.copyto(plain_target, plain_source))
    fastest = min(statistics.median(_duration(copy) for _ in range(repetitions)) for copy in copies)
    return 2 * plain_source.nbytes / fastest


def traffic(case: Case) -> int:
    """Bytes that a step must at least move."""
    shape = case.shape
    points = (shape["I"] - 2 * HALO) * (shape["J"] - 2 * HALO) * shape["K"]
    return ARRAYS_PER_STEP * points * case.phi.dtype.itemsize


def _duration(call: Callable[..., object], *arguments: object) -> float:
    begin = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - begin


@contextmanager
def _empty_cache() -> Iterator[Path]:
    """Let stencils be cached in a new directory that is removed afterwards."""
    name = "FIELDSTONE_CACHE_DIR"
    before = os.environ.get(name)
    with tempfile.TemporaryDirectory(prefix="fieldstone-cache-") as directory:
        os.environ[name] = directory
        try:
            yield Path(directory)
        finally:
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before
