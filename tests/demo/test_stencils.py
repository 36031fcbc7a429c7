"""The demo's stencils against NumPy, on every backend and for every order of the axes in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import fieldstone.storage
from fieldstone import gtscript
from fieldstone.demo import data, stencils
from tests.demo import reference

BACKENDS = ("debug", "numpy", "cpu_ifirst", "cpu_kfirst")
SHAPE = {"I": 13, "J": 11, "K": 6}
HALO = 2
FRAME = {"origin": (HALO, HALO, 0), "domain": (SHAPE["I"] - 2 * HALO, SHAPE["J"] - 2 * HALO, SHAPE["K"])}
INNER = np.s_[:, HALO:-HALO, HALO:-HALO]
PHYSICS = {"dt": 30.0, "diffusivity": 5.0}
# Of the largest value, against a solution in double precision.
ROUNDING = {"float32": 2e-6, "float64": 1e-14}


class Problem:
    """Arguments of both stencils as NumPy arrays indexed [k, j, i]."""

    def __init__(self, dtype: str) -> None:
        random = np.random.default_rng(1)
        shape = (SHAPE["K"], SHAPE["J"], SHAPE["I"])
        self.phi = (288 + random.random(shape)).astype(dtype)
        self.coefficient = np.full(shape, 1 / 64, dtype)
        self.level_height = np.array([5, 20, 45, 75, 155, 300], dtype)
        self.sigma = np.linspace(1, 0.9, SHAPE["K"]).astype(dtype)
        self.surface_altitude = (500 * random.random(shape[1:])).astype(dtype)

    def horizontal(self) -> np.ndarray:
        expected = np.zeros_like(self.phi)
        reference.horizontal_diffusion(self.phi, self.coefficient, expected)
        return expected[INNER]

    def vertical(self) -> np.ndarray:
        z = reference.heights(self.level_height, self.sigma, self.surface_altitude)
        return reference.vertical_diffusion(self.phi, z, **PHYSICS)[INNER]


def as_data_array(values: np.ndarray, dims: str, order: str) -> xr.DataArray:
    """An array whose dims stand in the order of the letters, and so in memory."""
    array = xr.DataArray(values, dims=tuple(dims))
    kept = [dim for dim in order if dim in dims]
    return xr.DataArray(np.ascontiguousarray(array.transpose(*kept).values), dims=kept)


def as_fortran(values: np.ndarray, dims: str, order: str) -> np.ndarray:
    """A NumPy array indexed I, J, K, the first index fastest."""
    return np.asfortranarray(xr.DataArray(values, dims=tuple(dims)).transpose(*sorted(dims)).values)


def as_storage(values: np.ndarray, dims: str, order: str) -> Any:
    """A storage in the layout of a preset."""
    labels = tuple(sorted(dims))
    ordered = xr.DataArray(values, dims=tuple(dims)).transpose(*labels).values
    storage = fieldstone.storage.empty(ordered.shape, values.dtype, dims=labels, defaults=order)
    storage[...] = ordered
    return storage


ARGUMENTS = {
    "xarray KJI": (as_data_array, "KJI"),
    "xarray JIK": (as_data_array, "JIK"),
    "xarray IJK": (as_data_array, "IJK"),
    "Fortran": (as_fortran, ""),
    "storage cpu_ifirst": (as_storage, "cpu_ifirst"),
    "storage cpu_kfirst": (as_storage, "cpu_kfirst"),
}


def in_kji(array: Any) -> np.ndarray:
    if isinstance(array, xr.DataArray):
        return array.transpose("K", "J", "I").values
    return np.asarray(array).transpose(2, 1, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ARGUMENTS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_horizontal_diffusion(backend: str, kind: str, dtype: str) -> None:
    problem, (convert, order) = Problem(dtype), ARGUMENTS[kind]
    stencil = gtscript.stencil(
        backend=backend, definition=stencils.horizontal_diffusion, dtypes={"real": np.dtype(dtype).type}
    )
    phi, coefficient = (convert(values, "KJI", order) for values in (problem.phi, problem.coefficient))
    phi_new = convert(np.full_like(problem.phi, -1), "KJI", order)
    stencil(phi, coefficient, phi_new, **FRAME)
    result = in_kji(phi_new)
    np.testing.assert_allclose(result[INNER], problem.horizontal(), rtol=ROUNDING[dtype])
    outside = np.ones(result.shape, bool)
    outside[INNER] = False
    assert (result[outside] == -1).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ARGUMENTS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_vertical_diffusion(backend: str, kind: str, dtype: str) -> None:
    problem, (convert, order) = Problem(dtype), ARGUMENTS[kind]
    stencil = gtscript.stencil(
        backend=backend, definition=stencils.vertical_diffusion, dtypes={"real": np.dtype(dtype).type}
    )
    phi_new = convert(np.zeros_like(problem.phi), "KJI", order)
    stencil(
        convert(problem.phi, "KJI", order),
        convert(problem.level_height, "K", order),
        convert(problem.sigma, "K", order),
        convert(problem.surface_altitude, "JI", order),
        phi_new,
        **PHYSICS,
        **FRAME,
    )
    np.testing.assert_allclose(in_kji(phi_new)[INNER], problem.vertical(), rtol=ROUNDING[dtype])


@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_agree_bit_for_bit_on_real_data(backend: str) -> None:
    case = data.read()
    results = []
    for name in ("debug", backend):
        horizontal, vertical = (
            gtscript.stencil(backend=name, definition=definition, dtypes={"real": np.float32})
            for definition in (stencils.horizontal_diffusion, stencils.vertical_diffusion)
        )
        between, phi_new = case.phi.copy(deep=True), case.phi.copy(deep=True)
        horizontal(case.phi, xr.full_like(case.phi, 1 / 64), between)
        vertical(between, case.level_height, case.sigma, case.surface_altitude, phi_new, **PHYSICS)
        results.append(phi_new.values)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("backend", ["cpu_ifirst", "numpy"])
class TestPhysics:
    """What the schemes promise, beyond agreeing with somebody."""

    def horizontal(self, backend: str, phi: np.ndarray, coefficient: float) -> np.ndarray:
        stencil = gtscript.stencil(
            backend=backend, definition=stencils.horizontal_diffusion, dtypes={"real": np.float64}
        )
        phi_new = phi.copy()
        stencil(phi, np.full_like(phi, coefficient), phi_new)
        return phi_new

    def vertical(self, backend: str, phi: np.ndarray, level_height: np.ndarray, dt: float) -> np.ndarray:
        stencil = gtscript.stencil(backend=backend, definition=stencils.vertical_diffusion, dtypes={"real": np.float64})
        phi_new = np.zeros_like(phi)
        flat = np.zeros(phi.shape[:2])
        stencil(phi, level_height, np.zeros_like(level_height), flat, phi_new, dt=dt, diffusivity=5.0)
        return phi_new

    def test_the_shortest_wave_vanishes_in_one_step(self, backend: str) -> None:
        i, j = np.indices((12, 12))
        wave = np.where((i + j) % 2, 1.0, -1.0)[:, :, None]
        inner = self.horizontal(backend, wave, 1 / 64)[2:-2, 2:-2]
        np.testing.assert_allclose(inner, 0, atol=1e-15)

    def test_a_plane_stays(self, backend: str) -> None:
        i, j = np.indices((12, 12))
        plane = (3.0 * i - 2.0 * j)[:, :, None]
        np.testing.assert_array_equal(self.horizontal(backend, plane, 1 / 64), plane)

    def test_a_front_on_a_slope_gets_no_ripples(self, backend: str) -> None:
        i = np.arange(24.0)[:, None, None]
        front = (np.where(i < 12, 0, 1) + 0.01 * i) * np.ones((24, 24, 2))
        smoothed = self.horizontal(backend, front, 1 / 64)
        assert (np.diff(smoothed, axis=0) > 0).all()
        assert np.diff(smoothed[2:-2, 2:-2], axis=0).max() < np.diff(front, axis=0).max()

    @pytest.mark.parametrize("dt", [1.0, 1e3, 1e9])
    def test_the_column_keeps_its_content_and_its_range(self, backend: str, dt: float) -> None:
        phi = np.random.default_rng(2).random((3, 4, 9))
        level_height = np.cumsum(np.linspace(10, 90, 9))
        layers = reference.layers(level_height[:, None, None])[:, 0, 0]
        phi_new = self.vertical(backend, phi, level_height, dt)
        np.testing.assert_allclose(phi_new @ layers, phi @ layers, rtol=1e-9)
        rounding = 1e-12
        assert phi_new.min() >= phi.min() - rounding
        assert phi_new.max() <= phi.max() + rounding

    def test_levels_may_be_counted_downwards(self, backend: str) -> None:
        phi = np.random.default_rng(3).random((3, 4, 7))
        level_height = np.cumsum(np.linspace(10, 90, 7))
        upwards = self.vertical(backend, phi, level_height, 60.0)
        downwards = self.vertical(backend, phi[:, :, ::-1], level_height[::-1], 60.0)[:, :, ::-1]
        np.testing.assert_allclose(upwards, downwards, rtol=1e-13)
