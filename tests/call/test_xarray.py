"""What the dims of xarray objects mean."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import fieldstone.xarray
from fieldstone import errors
from fieldstone._core import describe_field


def coordinate(dim: str, size: int, **attributes: Any) -> xr.DataArray:
    return xr.DataArray(np.arange(size, dtype=float), dims=(dim,), attrs=attributes)


def array(*coordinates: xr.DataArray, **more: Any) -> xr.DataArray:
    named = {str(coordinate.dims[0]): coordinate for coordinate in coordinates}
    shape = tuple(coordinate.size for coordinate in named.values())
    return xr.DataArray(np.zeros(shape), dims=tuple(named), coords={**named, **more})


LEVEL = coordinate("level", 4, axis="Z")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (xr.DataArray(np.zeros((2, 3, 4)), dims=("J", "I", "K")), ("J", "I", "K")),
        (xr.DataArray(np.zeros((2, 3)), dims=("K", "0")), ("K", "0")),
        (array(coordinate("a", 2, axis="X"), coordinate("b", 3, axis="Y")), ("I", "J")),
        (array(coordinate("a", 2, standard_name="latitude"), coordinate("b", 3, units="degrees_east")), ("J", "I")),
        (
            array(
                coordinate("model_level_number", 2, standard_name="model_level_number"),
                coordinate("y", 3, standard_name="grid_latitude"),
                coordinate("x", 4, standard_name="projection_x_coordinate"),
            ),
            ("K", "J", "I"),
        ),
        (array(coordinate("plev", 2, standard_name="air_pressure"), coordinate("J", 3)), ("K", "J")),
        (array(LEVEL, height=("level", np.arange(4.0), {"positive": "up"})), ("K",)),
        (array(coordinate("n", 3), height=("n", np.arange(3.0), {"standard_name": "height"})), ("K",)),
    ],
)
def test_dims_by_name_and_by_metadata(value: xr.DataArray, expected: tuple[str, ...]) -> None:
    assert fieldstone.xarray.get_dims(value) == expected
    field = describe_field(value)
    assert field["dims"] == expected
    assert field["address"] == value.data.__array_interface__["data"][0]
    assert value.__gt_data_interface__[None]["dims"] == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (xr.DataArray(np.zeros((2, 3))), "dim_0: unknown"),
        (array(LEVEL, coordinate("t", 2, axis="T")), "t: unknown {'axis': 'T'}"),
        (array(LEVEL, coordinate("ilev", 2, axis="Z")), "ilev: K"),
        (xr.DataArray(np.zeros((2, 3)), dims=("J", "x")), "\n  J: J\n  x: unknown (no coordinate with metadata)"),
        (array(coordinate("a", 2, axis="X"), b=("a", [0.0, 1.0], {"standard_name": "latitude"})), "a: I or J"),
    ],
)
def test_unknown_and_ambiguous_dims_are_listed(value: xr.DataArray, message: str) -> None:
    with pytest.raises(errors.DimensionsError, match="argument 'theta' has the dims") as error:
        describe_field(value, name="theta")
    assert message in str(error.value)


def test_a_mapping_comes_first() -> None:
    value = xr.DataArray(np.zeros((2, 3)), dims=("lon", "J"))
    with fieldstone.xarray.set_dims({"lon": "K"}):
        assert fieldstone.xarray.get_dims(value) == ("K", "J")
        with fieldstone.xarray.set_dims({"J": "I"}):
            assert fieldstone.xarray.get_dims(value) == ("K", "I")
        assert describe_field(value, {"lon": "I"})["dims"] == ("I", "J")
    with pytest.raises(errors.DimensionsError):
        fieldstone.xarray.get_dims(value)
    fieldstone.xarray.set_dims({"lon": "I"})
    try:
        assert fieldstone.xarray.get_dims(value) == ("I", "J")
    finally:
        fieldstone.xarray._mapping = {}


def test_a_wrong_mapping() -> None:
    with pytest.raises(errors.DimensionsError, match="'lon' is mapped to 'X', expected 'I', 'J', 'K'"):
        fieldstone.xarray.set_dims({"lon": "X"})
    with pytest.raises(errors.ArgumentTypeError, match=r"set_dims: expected a mapping .*, not 'lon'"):
        fieldstone.xarray.set_dims("lon")


def test_the_wrapped_object_speaks_for_its_memory() -> None:
    class Wrapped(np.ndarray):
        halo = ((1, 1), (0, 0))
        dims: tuple[str, ...] | None = None

        @property
        def __gt_data_interface__(self) -> Any:
            buffer = {**self.__array_interface__, "halo": self.halo}
            return {None: buffer if self.dims is None else {**buffer, "dims": self.dims}}

    wrapped = np.zeros((3, 4)).view(Wrapped)
    value = xr.DataArray(wrapped, dims=("J", "I"))
    value.variable._data = wrapped
    assert describe_field(value)["halo"] == ((1, 1), (0, 0))
    assert describe_field(value)["dims"] == ("J", "I")
    wrapped.dims = ("I", "J")
    with pytest.raises(errors.DimensionsError, match=r"mean \('J', 'I'\), but the data it wraps has the dims"):
        describe_field(value)


def test_new_data_has_a_new_address() -> None:
    value = xr.DataArray(np.zeros((3, 4)), dims=("J", "I"))
    before = value.__gt_data_interface__
    value.data = np.ones((3, 4))
    assert value.__gt_data_interface__[None]["data"] != before[None]["data"]
    assert describe_field(value)["address"] == value.data.__array_interface__["data"][0]


def test_a_file_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "field.nc"
    xr.Dataset({"field": (("J", "I"), np.arange(6.0).reshape(2, 3))}).to_netcdf(path)
    with xr.open_dataset(path) as dataset:
        value = dataset["field"]
        first, second = describe_field(value), describe_field(value)
        assert first["address"] == second["address"] == value.data.__array_interface__["data"][0]


@pytest.mark.parametrize(
    "imports",
    [
        "import xarray, fieldstone",
        "import fieldstone, xarray",
        "import fieldstone; from xarray import DataArray",
        "import fieldstone, xarray.core.dataarray",
        "import fieldstone, importlib.util; importlib.util.find_spec('xarray'); import xarray",
        "import fieldstone.xarray",
    ],
)
def test_the_accessor_is_registered_by_an_import(imports: str) -> None:
    code = f"{imports}; from xarray import DataArray; DataArray([1.0], dims='I').__gt_data_interface__[None]['shape']"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_is_left_behind_by_waiting_for_xarray() -> None:
    code = """
import sys
finders = list(sys.meta_path)
import fieldstone
assert "xarray" not in sys.modules
import xarray
assert sys.meta_path == finders
assert "fieldstone.xarray" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_xarray() -> None:
    code = """
import sys
sys.modules["xarray"] = None
import fieldstone
try:
    import xarray
except ImportError:
    fieldstone.storage.zeros((2,), dims="I")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


USERS_OWN = """
import numpy as np, xarray as xr
import fieldstone
from fieldstone._core import describe_field

@xr.register_dataarray_accessor("{name}")
def interface(array):
    return {{"cpu": {{**array.data.__array_interface__, "dims": ("K", "J", "I")}}}}

value = xr.DataArray(np.zeros((2, 3, 4)), dims=("a", "b", "c"))
assert describe_field(value)["dims"] == ("K", "J", "I")
"""


@pytest.mark.parametrize("name", ["__gt_data_interface__", "__gt_interface__"])
def test_an_accessor_of_the_user_wins(name: str) -> None:
    subprocess.run([sys.executable, "-c", USERS_OWN.format(name=name)], check=True)
