"""Storages in xarray: they stay wrapped through xarray's methods, which give what they give for NumPy's arrays."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import Field
from fieldstone.storage import CPUStorage, Storage

xr = pytest.importorskip("xarray")

Method = Callable[[Any], Any]

DIMS = ("I", "J", "K")
HALO = ((1, 1), (0, 2), (0, 0))
VALUES = np.random.default_rng(0).random((4, 5, 6))
VALUES[1, 2, 3] = np.nan


def of_storage(labelled: bool = True) -> Any:
    data = storage.storage(VALUES, dims="IJK" if labelled else None, halo=HALO, layout=(2, 1, 0), alignment_size=64)
    return xr.DataArray(data, dims=DIMS, coords={"K": np.arange(6.0)}, attrs={"units": "K"}, name="t")


def of_numpy() -> Any:
    data = of_storage().data.to_numpy().copy(order="K")
    return xr.DataArray(data, dims=DIMS, coords={"K": np.arange(6.0)}, attrs={"units": "K"}, name="t")


def changed(change: Callable[[Any], Any]) -> Method:
    def method(array: Any) -> Any:
        change(array)
        return array

    return method


REDUCTIONS = ["sum", "mean", "std", "var", "min", "max", "median", "prod", "count", "any", "all", "argmin", "argmax"]
METHODS: dict[str, Method] = {
    "itself": lambda a: a,
    **{
        f"{name}, {skipna}": lambda a, name=name, skipna=skipna: getattr(a, name)("K", skipna=skipna)
        for name in REDUCTIONS
        if name not in ("count", "any", "all")
        for skipna in (True, False, None)
    },
    **{
        f"{name}, several": lambda a, name=name: getattr(a, name)(["I", "K"])
        for name in REDUCTIONS
        if not name.startswith("arg")
    },
    "quantile": lambda a: a.quantile(0.5, "K"),
    "quantiles": lambda a: a.quantile([0.2, 0.5], "K"),
    "cumsum": lambda a: a.cumsum("K"),
    "cumprod": lambda a: a.cumprod("K", skipna=False),
    "where": lambda a: a.where(a > 0.5),
    "where other": lambda a: a.where(a > 0.5, 0),
    "where row": lambda a: a.where(a.K > 2, a.isel(K=0)),
    "xr.where": lambda a: xr.where(a > 0.5, a, -1),
    "pad": lambda a: a.pad(I=(1, 2)),
    "pad edge": lambda a: a.pad(I=(1, 2), mode="edge"),
    "concat": lambda a: xr.concat([a, a], "I"),
    "concat new": lambda a: xr.concat([a, a + 1], "time"),
    "stack": lambda a: a.stack(z=("I", "J")),
    "unstack": lambda a: a.stack(z=("I", "J")).unstack(),
    "expand_dims": lambda a: a.expand_dims("time"),
    "expand_dims, several": lambda a: a.expand_dims(time=3),
    "isel": lambda a: a.isel(I=slice(1, 3), K=0),
    "sel": lambda a: a.sel(K=2.0),
    "sel slice": lambda a: a.sel(K=slice(1, 3)),
    "sel nearest": lambda a: a.sel(K=2.2, method="nearest"),
    "head": lambda a: a.head(I=2),
    "thin": lambda a: a.thin(I=2),
    "transpose": lambda a: a.transpose("K", "I", "J"),
    "squeeze": lambda a: a.isel(I=slice(1, 2)).squeeze(),
    "rename": lambda a: a.rename(I="x"),
    "rolling mean": lambda a: a.rolling(I=3, center=True).mean(),
    "rolling sum": lambda a: a.rolling(I=3, min_periods=1).sum(),
    "rolling max": lambda a: a.rolling(J=2).max(),
    "rolling construct": lambda a: a.rolling(I=3).construct("window"),
    "rolling reduce": lambda a: a.rolling(J=2).reduce(np.mean),
    "cumulative": lambda a: a.cumulative("K").sum(),
    "coarsen": lambda a: a.coarsen(I=2).mean(),
    "shift": lambda a: a.shift(I=1),
    "roll": lambda a: a.roll(I=1),
    "diff": lambda a: a.diff("I"),
    "differentiate": lambda a: a.differentiate("K"),
    "fillna": lambda a: a.fillna(0),
    "fillna row": lambda a: a.fillna(a.isel(K=0)),
    "isnull": lambda a: a.isnull(),
    "notnull": lambda a: a.notnull(),
    "isin": lambda a: a.isin([VALUES[0, 0, 0]]),
    "combine_first": lambda a: a.combine_first(a + 1),
    "clip": lambda a: a.clip(0.2, 0.8),
    "astype": lambda a: a.astype("f4"),
    "round": lambda a: a.round(1),
    "real": lambda a: a.real,
    "conj": lambda a: a.conj(),
    "copy": lambda a: a.copy(deep=True),
    "shallow copy": lambda a: a.copy(deep=False),
    "deepcopy": copy.deepcopy,
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),
    "load": lambda a: a.load(),
    "compute": lambda a: a.compute(),
    "broadcast_like": lambda a: a.isel(I=0, drop=True).broadcast_like(a),
    "zeros_like": xr.zeros_like,
    "full_like": lambda a: xr.full_like(a, 2.0, dtype="i4"),
    "dot": lambda a: xr.dot(a, a.isel(I=0), dim="K"),
    "dot, several": lambda a: xr.dot(a, a, dim=("I", "K")),
    "matmul": lambda a: a @ a.isel(I=0),
    "apply_ufunc": lambda a: xr.apply_ufunc(np.exp, a),
    "apply_ufunc along": lambda a: xr.apply_ufunc(np.mean, a, input_core_dims=[["K"]], kwargs={"axis": -1}),
    "weighted": lambda a: a.weighted(a.K).mean("K"),
    "cov": lambda a: xr.cov(a, a * 2, "K"),
    "cross": lambda a: xr.cross(a.isel(I=slice(0, 3)), a.isel(I=slice(0, 3)), dim="I"),
    "dataset": lambda a: (a.to_dataset(name="q").mean("K") * 2).q,
    "negative": operator.neg,
    "sqrt": np.sqrt,
    "plus number": lambda a: 1 + a,
    "row plus row": lambda a: a.isel(I=0, J=0, drop=True) + a.isel(K=0, drop=True),
    "less": lambda a: a < a.mean("K"),
    "in place": lambda a: operator.iadd(a, 1),
    "set": changed(lambda a: operator.setitem(a, {"I": 0}, 5.0)),
    "set some": changed(lambda a: operator.setitem(a, {"I": [0, 2]}, 7.0)),
    "set by label": changed(lambda a: operator.setitem(a.loc, {"K": 2.0}, 5.0)),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("labelled", [True, False])
def test_storages_stay_wrapped(name: str, labelled: bool) -> None:
    method = METHODS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # slices of nothing but nan, in both
        expected, result = method(of_numpy()), method(of_storage(labelled))
    assert type(result.data) is CPUStorage
    assert isinstance(result.data, Storage)
    xr.testing.assert_identical(result.copy(data=result.values), expected)
    assert result.dtype == expected.dtype
    labels = result.data.dims
    assert labels is None or labels == result.dims or "x" in result.dims


@pytest.mark.parametrize(
    "function", [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, np.maximum]
)
def test_storages_and_data_arrays_mix(function: Callable[[Any, Any], Any]) -> None:
    array = of_storage()
    expected = function(VALUES + 1, VALUES)
    for result in (function(array.data + 1, array), function(array + 1, array.data)):
        assert isinstance(result, xr.DataArray)
        assert type(result.data) is CPUStorage
        assert result.dims == DIMS
        np.testing.assert_array_equal(result, expected)


def test_the_halo_is_never_a_wrong_one() -> None:
    array = of_storage()
    halos = {
        "mean": (array.mean("J"), (HALO[0], HALO[2])),
        "pad": (array.pad(J=1), (HALO[0], (0, 0), HALO[2])),
        "concat": (xr.concat([array, array], "J"), (HALO[0], (0, 0), HALO[2])),
        "roll": (array.roll(J=1), (HALO[0], (0, 0), HALO[2])),
        "isel": (array.isel(J=slice(1, -1)), (HALO[0], (0, 1), HALO[2])),
        "transpose": (array.transpose(), HALO[::-1]),
        "expand_dims": (array.expand_dims("time"), ((0, 0), *HALO)),
        "where": (array.where(array > 0), HALO),
        "astype": (array.astype("f4"), HALO),
        "copy": (array.copy(), HALO),
        "stack": (array.stack(z=DIMS), ((0, 0),)),
    }
    assert {name: result.data.halo for name, (result, _) in halos.items()} == {
        name: halo for name, (_, halo) in halos.items()
    }


def test_selecting_by_lists_and_masks_copies_to_numpy() -> None:
    """As reading a storage by such a key does."""
    array = of_storage()
    for result in (array.isel(I=[0, 2]), array.sel(K=[1.0, 2.0]), array.where(array.K > 2, drop=True)):
        assert type(result.data) is np.ndarray
    xr.testing.assert_identical(array.isel(I=[0, 2]), of_numpy().isel(I=[0, 2]))


@gtscript.stencil(backend="numpy")
def double(source: Field[np.float64], target: Field[np.float64]):  # type: ignore[no-untyped-def]
    with computation(PARALLEL), interval(...):  # type: ignore[name-defined]
        target = 2 * source


def test_wrapped_storages_are_fields() -> None:
    source = of_storage().fillna(0)
    target = xr.DataArray(storage.zeros((6, 5, 4), dims="KJI"), dims=("K", "J", "I"))
    double(source, target, origin=(0, 0, 0), domain=(4, 5, 6))
    np.testing.assert_array_equal(target.transpose("I", "J", "K"), 2 * np.nan_to_num(VALUES))
    assert source.__gt_data_interface__[None]["halo"] == HALO
    expanded = source.expand_dims("time").isel(time=0)
    assert expanded.data.dims is None
    assert expanded.__gt_data_interface__[None]["dims"] == DIMS
    wrong = xr.DataArray(source.data, dims=("J", "I", "K"))
    with pytest.raises(
        errors.DimensionsError, match=r"its dims mean \('J', 'I', 'K'\), but the data it wraps has the dims"
    ):
        double(wrong, target)


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf", "scipy"])
def test_data_sets_in_files(engine: str, tmp_path: Any) -> None:
    pytest.importorskip({"netcdf4": "netCDF4", "h5netcdf": "h5py", "scipy": "scipy"}[engine])
    data = xr.Dataset(
        {"t": of_storage(), "p": ("K", storage.ones((6,), np.float32, dims="K"), {"units": "Pa"})},
        coords={"level": ("K", storage.storage(np.arange(6), dtype=np.int32, dims="K"))},
        attrs={"title": "storages"},
    )
    path = tmp_path / "data.nc"
    data.to_netcdf(path, engine=engine)
    with xr.open_dataset(path, engine=engine) as back:
        back.load()
        xr.testing.assert_identical(
            back, data.map(lambda variable: variable.copy(data=variable.values), keep_attrs=True)
        )
        again = back.map(lambda variable: variable.copy(data=storage.storage(variable.data)))
        assert type(again.t.data) is CPUStorage
    assert type(data.t.data) is CPUStorage


def test_reprs_and_pandas() -> None:
    array = of_storage()
    assert "CPUStorage" in repr(array)
    assert "<svg" in array._repr_html_() or "CPUStorage" in array._repr_html_()
    assert "CPUStorage" in repr(array.to_dataset())
    np.testing.assert_array_equal(array.to_series(), of_numpy().to_series())


def test_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    of_storage().isel(K=0).plot()
    of_storage().isel(K=0, I=0).plot()
    of_storage().plot.hist()
    pyplot.close("all")


def test_dims_of_unknown_meaning_are_labelled_by_the_parameter() -> None:
    array = xr.DataArray(np.ones((2, 3)), dims=("x", "y"))
    for function in (storage.storage, storage.as_storage, storage.zeros_like):
        with pytest.raises(errors.DimensionsError, match=r"J and K by name .*, by the parameter dims, by fieldstone"):
            function(array)
        assert function(array, dims="IJ").dims == ("I", "J")
