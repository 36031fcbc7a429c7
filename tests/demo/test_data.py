"""Which variables of which files the demo reads, and what it says about the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from fieldstone.demo import data
from fieldstone.demo.errors import DemoError

AXES = {
    "x": {"axis": "X", "units": "m"},
    "y": {"axis": "Y", "units": "m"},
    "z": {"axis": "Z", "units": "m", "positive": "up"},
    "time": {"axis": "T"},
    "member": {},
}


def dataset(
    dims: str = "z y x", sizes: dict[str, int] | None = None, dtype: str = "float32", **z: object
) -> xr.Dataset:
    """One variable `q` on a regular grid; further arguments are attributes of its vertical coordinate."""
    sizes = {"x": 7, "y": 6, "z": 3, "time": 2, "member": 2, **(sizes or {})}
    names = dims.split()
    shape = [sizes[name] for name in names]
    values = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    coords = {name: (name, 10.0 * np.arange(1, sizes[name] + 1), dict(AXES[name])) for name in names}
    if "z" in names:
        coords["z"][2].update(z)
    return xr.Dataset({"q": (names, values, {"units": "K"})}, coords=coords)


def written(folder: Path, contents: xr.Dataset) -> Path:
    path = folder / "file.nc"
    contents.to_netcdf(path, engine="netcdf4")
    return path


def test_the_default_file_holds_potential_temperature_over_hills() -> None:
    case = data.read()
    assert case.phi.name == "air_potential_temperature"
    assert case.phi.dtype == np.float32
    assert case.dims == {"I": "grid_longitude", "J": "grid_latitude", "K": "model_level_number"}
    assert case.phi.dims == ("model_level_number", "grid_latitude", "grid_longitude")
    assert case.shape == {"I": 100, "J": 100, "K": 15}
    assert not case.missing.any()


def test_heights_follow_the_terrain() -> None:
    case = data.read()
    expected = case.level_height.values[:, None, None] + np.float64(case.sigma.values)[:, None, None] * (
        case.surface_altitude.values
    )
    z = case.heights().transpose("model_level_number", "grid_latitude", "grid_longitude")
    np.testing.assert_allclose(z.values, expected, rtol=1e-6)
    assert float(z.min()) > 180
    assert (z.diff("model_level_number") > 0).all()


@pytest.mark.parametrize("dims", ["z y x", "x y z", "y x z", "time z y x", "z time y x"])
def test_axes_keep_the_order_of_the_file(tmp_path: Path, dims: str) -> None:
    source = dataset(dims)
    case = data.read(written(tmp_path, source))
    assert case.phi.dims == tuple(name for name in dims.split() if name != "time")
    expected = source.q.isel(time=0) if "time" in dims else source.q
    np.testing.assert_array_equal(case.phi.values, expected.values)


@pytest.mark.parametrize(
    ("units", "levels", "heights"),
    [
        ("m", [10, 30, 90], [10, 30, 90]),
        ("km", [3, 2, 1], [3000, 2000, 1000]),
        ("hPa", [1013.25, 500, 250], [0, 5297.326, 10495.930]),
        ("1", [1, 2, 3], [0, 100, 200]),
    ],
)
def test_level_heights_come_from_the_vertical_coordinate(
    tmp_path: Path, units: str, levels: list[float], heights: list[float]
) -> None:
    source = dataset(dtype="float64", units=units).assign_coords(
        z=("z", np.float64(levels), AXES["z"] | {"units": units})
    )
    case = data.read(written(tmp_path, source))
    np.testing.assert_allclose(case.level_height.values, heights, rtol=1e-6)
    assert not case.sigma.any()
    assert not case.surface_altitude.any()


@pytest.mark.parametrize(
    ("in_file", "asked", "expected"),
    [
        ("float32", None, "float32"),
        ("float64", None, "float64"),
        ("int16", None, "float64"),
        ("float32", "float64", "float64"),
        ("float64", "float32", "float32"),
    ],
)
def test_element_type(tmp_path: Path, in_file: str, asked: str | None, expected: str) -> None:
    case = data.read(written(tmp_path, dataset(dtype=in_file)), dtype=asked)
    for array in (case.phi, case.level_height, case.sigma, case.surface_altitude):
        assert array.dtype == expected
        assert array.dtype.isnative
        assert array.values.flags.writeable


def test_missing_values_are_filled_and_remembered(tmp_path: Path) -> None:
    source = dataset()
    source.q[1, 2, 3] = np.nan
    case = data.read(written(tmp_path, source))
    assert int(case.missing.sum()) == 1
    assert bool(case.missing[1, 2, 3])
    assert float(case.phi[1, 2, 3]) == pytest.approx(float(source.q[1].mean()))


def text_file(folder: Path) -> Path:
    path = folder / "notes.nc"
    path.write_text("not data")
    return path


@pytest.mark.parametrize(
    ("make", "variable", "message"),
    [
        (lambda folder: folder / "absent.nc", None, "there is no file"),
        (text_file, None, "cannot read .*notes.nc' as a NetCDF file"),
        (lambda folder: written(folder, dataset()), "t", "there is no variable 't' in 'file.nc'; it has 'q'"),
        (
            lambda folder: written(folder, dataset("y x")),
            None,
            "no variable of 'file.nc' has a vertical and two horizontal",
        ),
        (
            lambda folder: written(folder, dataset("y x")),
            "q",
            r"'q' with the dimensions 'y', 'x' has none .* K \(axis = 'Z'\)",
        ),
        (lambda folder: written(folder, dataset("member z y x")), "q", "a dimension 'member' of 2 points"),
        (
            lambda folder: written(folder, dataset(sizes={"x": 4})),
            "q",
            r"'q' has 4 points along I \('x'\), .* at least 5",
        ),
        (lambda folder: written(folder, dataset(sizes={"z": 1})), "q", "1 points along K"),
        (lambda folder: written(folder, dataset(sizes={"z": 0})), None, "0 points along K"),
        (lambda folder: written(folder, dataset() * np.inf), "q", "infinite or too large for float32"),
        (
            lambda folder: written(folder, dataset().assign(r=dataset().q)),
            None,
            "several variables .* --variable: 'q', 'r'",
        ),
        (
            lambda folder: written(folder, dataset().isel(z=[0, 2, 1])),
            None,
            "'z' must rise or fall from level to level",
        ),
        (lambda folder: written(folder, dataset().where(dataset().z > 10)), None, "'q' has a level without any value"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path: Path, make, variable: str | None, message: str) -> None:
    with pytest.raises(DemoError, match=message) as raised:
        data.read(make(tmp_path), variable)
    assert "\n" not in str(raised.value)
