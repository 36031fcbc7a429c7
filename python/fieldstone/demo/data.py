"""Reads what the demo diffuses: one variable of a CF NetCDF file, with the heights of its levels.

Everything is an xarray object and stays in the file's axis order. What an axis means is read from the CF metadata.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path

import cf_xarray  # noqa: F401  (registers the accessor `.cf`)
import numpy as np
import xarray as xr

from fieldstone.demo.errors import DemoError
from fieldstone.errors import DimensionsError
from fieldstone.xarray import get_dims

# The axes of a stencil, and what CF calls them.
AXES = {"I": "X", "J": "Y", "K": "Z"}

# Pressure levels are given the heights they have in an isothermal atmosphere of this scale height.
SCALE_HEIGHT = 7500.0
SURFACE_PRESSURE = 101325.0

LENGTH = {"m": 1.0, "metre": 1.0, "metres": 1.0, "meter": 1.0, "meters": 1.0, "km": 1000.0, "cm": 0.01}
PRESSURE = {"Pa": 1.0, "hPa": 100.0, "mbar": 100.0, "millibar": 100.0, "millibars": 100.0, "kPa": 1000.0}

# Distance between levels of which nothing is known but their number (m).
NOMINAL_SPACING = 100.0

# Fewest points along I, J and K that the two stencils run on.
SMALLEST = {"I": 5, "J": 5, "K": 2}


@dataclass(frozen=True)
class Case:
    """A variable ready to be diffused.

    Attributes
    ----------
    phi : xarray.DataArray
        The variable, three-dimensional, without missing values, writeable, in the file's axis order.
    level_height, sigma : xarray.DataArray
        Along the vertical axis: the levels lie at ``level_height + sigma * surface_altitude`` (m).
    surface_altitude : xarray.DataArray
        Along both horizontal axes (m).
    dims : dict
        Name of the dimension along ``"I"``, ``"J"`` and ``"K"``.
    missing : xarray.DataArray
        Where the file has no value.
    vertical : str
        Where the heights come from.
    path : Path
        The file.
    """

    phi: xr.DataArray
    level_height: xr.DataArray
    sigma: xr.DataArray
    surface_altitude: xr.DataArray
    dims: dict[str, Hashable]
    missing: xr.DataArray
    vertical: str
    path: Path

    @property
    def shape(self) -> dict[str, int]:
        """Number of points along I, J and K."""
        return {axis: self.phi.sizes[dim] for axis, dim in self.dims.items()}

    def heights(self) -> xr.DataArray:
        """Return the height of every point in double precision (m)."""
        flat, share = self.level_height.astype(np.float64), self.sigma.astype(np.float64)
        return flat + share * self.surface_altitude.astype(np.float64)


def default_path() -> Path:
    """Path of the file that is read when none is named: air potential temperature over hills."""
    try:
        import iris_sample_data
    except ModuleNotFoundError:
        raise DemoError(
            "the default data is in the package iris-sample-data, which is not installed; "
            "install it with \"pip install 'fieldstone[demo]'\" or name a file with --input"
        ) from None
    return Path(iris_sample_data.path) / "hybrid_height.nc"


def read(path: Path | None = None, variable: str | None = None, dtype: str | None = None) -> Case:
    """Read one variable and the heights of its levels.

    Parameters
    ----------
    path : Path, optional
        A CF NetCDF file; the default is `default_path`.
    variable : str, optional
        Its name; the default is the only one that has a vertical and two horizontal axes.
    dtype : str, optional
        ``"float32"`` or ``"float64"``; the default is the file's own.

    Raises
    ------
    DemoError
        If there is no such file or variable, or if it is not one that can be diffused.
    """
    path = default_path() if path is None else path
    if not path.exists():
        raise DemoError(f"there is no file {os.fspath(path)!r}")
    try:
        with xr.open_dataset(path, engine="netcdf4") as dataset:
            return _prepare(dataset, variable, dtype, path)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DemoError(f"cannot read {os.fspath(path)!r} as a NetCDF file: {reason}") from None


def _prepare(dataset: xr.Dataset, variable: str | None, dtype: str | None, path: Path) -> Case:
    """Read from an open file what is needed and no more."""
    phi = _choose(dataset, variable, path)
    dims = _require_axes(phi)
    phi = _first_of_other_axes(phi, dims)
    for axis, least in SMALLEST.items():
        if phi.sizes[dims[axis]] < least:
            raise DemoError(
                f"variable {phi.name!r} has {phi.sizes[dims[axis]]} points along {axis} ({dims[axis]!r}), "
                f"the stencils need at least {least}"
            )
    real = _real_type(phi, dtype)
    level_height, sigma, surface_altitude, vertical = _levels(dataset, phi, dims)
    phi = phi.load()
    missing = phi.isnull()
    with np.errstate(over="ignore"):
        values = _in_memory(_without_gaps(phi, missing, dims), real)
    if bool(np.isinf(values).any()):
        raise DemoError(f"variable {phi.name!r} has values that are infinite or too large for {real}")
    return Case(
        phi=values,
        level_height=_in_memory(level_height, real),
        sigma=_in_memory(sigma, real),
        surface_altitude=_in_memory(surface_altitude, real),
        dims=dims,
        missing=missing,
        vertical=vertical,
        path=path,
    )


def axes(array: xr.DataArray) -> dict[str, Hashable]:
    """Return the dimensions that run along I, J and K, as far as stencils would know them."""
    found: dict[str, Hashable] = {}
    for dim in array.dims:
        along = {name: coordinate for name, coordinate in array.coords.items() if coordinate.dims == (dim,)}
        line = xr.DataArray(np.empty(array.sizes[dim]), coords=along, dims=(dim,))
        try:
            (label,) = get_dims(line)
        except DimensionsError:
            continue
        if label in found:
            return {}
        found[label] = dim
    return {label: found[label] for label in AXES if label in found}


def _choose(dataset: xr.Dataset, variable: str | None, path: Path) -> xr.DataArray:
    candidates = [str(name) for name, array in dataset.data_vars.items() if len(axes(array)) == len(AXES)]
    offer = f"; it has {_listed(candidates)}" if candidates else ""
    if variable is not None:
        if variable not in dataset.variables:
            raise DemoError(f"there is no variable {variable!r} in {path.name!r}{offer}")
        return dataset[variable]
    if not candidates:
        raise DemoError(
            f"no variable of {path.name!r} has a vertical and two horizontal axes in its CF metadata "
            "(coordinates with the attribute axis, standard_name, units or positive)"
        )
    if len(candidates) > 1:
        raise DemoError(f"{path.name!r} has several variables to choose from with --variable: {_listed(candidates)}")
    return dataset[candidates[0]]


def _require_axes(phi: xr.DataArray) -> dict[str, Hashable]:
    found = axes(phi)
    unknown = [axis for axis in AXES if axis not in found]
    if unknown:
        needed = " and ".join(f"{axis} (axis = {AXES[axis]!r})" for axis in unknown)
        raise DemoError(
            f"variable {phi.name!r} with the dimensions {_listed(map(str, phi.dims))} has none that its CF metadata "
            f"says to run along {needed}"
        )
    return found


def _first_of_other_axes(phi: xr.DataArray, dims: dict[str, Hashable]) -> xr.DataArray:
    """Take the first time; anything else that is left over cannot be chosen for the user."""
    others = [dim for dim in phi.dims if dim not in dims.values()]
    times = {dim for name in phi.cf.axes.get("T", []) for dim in phi[name].dims}
    for dim in others:
        if dim not in times and phi.sizes[dim] > 1:
            raise DemoError(
                f"variable {phi.name!r} has a dimension {dim!r} of {phi.sizes[dim]} points "
                "that is neither space nor time"
            )
    return phi.isel(dict.fromkeys(others, 0))


def _real_type(phi: xr.DataArray, dtype: str | None) -> np.dtype[np.floating]:
    if phi.dtype.kind not in "fiu":
        raise DemoError(f"variable {phi.name!r} holds {phi.dtype}, not numbers that can be diffused")
    if dtype is not None:
        return np.dtype(dtype)
    return np.dtype(np.float32 if phi.dtype == np.float32 else np.float64)


def _levels(
    dataset: xr.Dataset, phi: xr.DataArray, dims: dict[str, Hashable]
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray, str]:
    """Return a, b and h of the heights a + b * h, and a word on where they come from."""
    flat = xr.zeros_like(phi.isel({dims["K"]: 0}, drop=True), dtype=np.float64)
    column = xr.zeros_like(phi.isel({dims["I"]: 0, dims["J"]: 0}, drop=True), dtype=np.float64)
    hybrid = _hybrid_height(dataset, phi, dims)
    if hybrid is not None:
        return hybrid
    for name in (dims["K"], *phi.cf.axes.get("Z", [])):
        if name in phi.coords and phi[name].dims == (dims["K"],):
            height = _as_height(phi[name])
            if height is not None:
                return column.copy(data=height.values), column, flat, f"{name} ({phi[name].attrs['units']})"
    nominal = column.copy(data=np.arange(column.size) * NOMINAL_SPACING)
    return nominal, column, flat, f"levels without heights, {NOMINAL_SPACING:g} m apart"


def _hybrid_height(
    dataset: xr.Dataset, phi: xr.DataArray, dims: dict[str, Hashable]
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray, str] | None:
    """Follow the formula of a CF hybrid height coordinate, if the variable has one."""
    for name, coordinate in phi.coords.items():
        if coordinate.attrs.get("standard_name") != "atmosphere_hybrid_height_coordinate":
            continue
        words = coordinate.attrs.get("formula_terms", "").replace(":", " ").split()
        terms = dict(zip(words[::2], words[1::2], strict=False))
        arrays = [dataset[terms[key]] for key in ("a", "b", "orog") if terms.get(key) in dataset.variables]
        if len(arrays) != 3:
            raise DemoError(
                f"the formula_terms of {name!r} must name a, b and orog among the variables of the file, "
                f"they are {coordinate.attrs.get('formula_terms', '')!r}"
            )
        a, b, orog = arrays
        if a.dims == b.dims == (dims["K"],) and set(orog.dims) == {dims["I"], dims["J"]}:
            return a, b, orog, f"{name} (hybrid height over terrain)"
    return None


def _as_height(coordinate: xr.DataArray) -> xr.DataArray | None:
    units = str(coordinate.attrs.get("units", ""))
    values = coordinate.astype(np.float64)
    if units in LENGTH:
        height = values * LENGTH[units]
    elif units in PRESSURE and bool((values > 0).all()):
        height = values.copy(data=-SCALE_HEIGHT * np.log(values.values * PRESSURE[units] / SURFACE_PRESSURE))
    else:
        return None
    steps = np.diff(height.values)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        raise DemoError(f"the vertical coordinate {coordinate.name!r} must rise or fall from level to level")
    return height


def _without_gaps(phi: xr.DataArray, missing: xr.DataArray, dims: dict[str, Hashable]) -> xr.DataArray:
    """Fill missing values with their level's mean, since the stencils know no mask."""
    if not bool(missing.any()):
        return phi
    if bool(missing.all(dim=[dims["I"], dims["J"]]).any()):
        raise DemoError(f"variable {phi.name!r} has a level without any value")
    return phi.fillna(phi.mean(dim=[dims["I"], dims["J"]]))


def _in_memory(array: xr.DataArray, dtype: np.dtype[np.floating]) -> xr.DataArray:
    """Return an array of native byte order in writeable memory, copied only if it is not so already."""
    array = array.load()
    return array if array.dtype == dtype and array.values.flags.writeable else array.astype(dtype)


def _listed(names: Iterable[str]) -> str:
    quoted = [repr(name) for name in names]
    return ", ".join(quoted) if quoted else "none"
