"""An xarray object like one before is taken for what it is now."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr

import fieldstone.xarray
from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval

SIZE = 4
NAMED = ("I", "J", "K")
METADATA = {"lon": {"axis": "X"}, "lat": {"axis": "Y"}, "lev": {"axis": "Z"}}


def shifted(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[1, 0, 0]


def labelled(dims: tuple[str, ...] = NAMED, seed: int = 0) -> xr.DataArray:
    return xr.DataArray(np.random.default_rng(seed).normal(size=(SIZE,) * 3), dims=dims)


def described(seed: int = 0, dims: tuple[str, ...] = tuple(METADATA)) -> xr.DataArray:
    """An array whose dims mean what the metadata of its coordinates says."""
    coordinates = {name: (name, np.arange(SIZE), dict(METADATA[name])) for name in dims}
    return xr.DataArray(np.random.default_rng(seed).normal(size=(SIZE,) * 3), dims=dims, coords=coordinates)


def of_storages(seed: int = 0) -> xr.DataArray:
    data = np.random.default_rng(seed).normal(size=(SIZE,) * 3)
    return xr.DataArray(storage.storage(data, dims=NAMED), dims=NAMED)


@pytest.fixture(params=["cpu_kfirst", "cpu_ifirst", "numpy", "gpu"])
def stencil(request: pytest.FixtureRequest) -> gtscript.StencilObject:
    return gtscript.stencil(str(request.param), shifted)


def blank(like: xr.DataArray) -> xr.DataArray:
    return xr.zeros_like(like, dtype=float)


def check(stencil: Callable[..., None], inp: xr.DataArray, axis: int, out: xr.DataArray | None = None) -> None:
    """Call the stencil, whose I is expected to be this axis of both arrays."""
    out = blank(inp) if out is None else out
    domain = tuple(SIZE - (n == 0) for n in range(3))
    stencil(inp, out, domain=domain)
    expected = np.zeros((SIZE,) * 3)
    np.moveaxis(expected, axis, 0)[:-1] = np.moveaxis(np.asarray(inp.values), axis, 0)[1:]
    np.testing.assert_array_equal(out.values, expected)


@pytest.fixture(params=[labelled, described, of_storages])
def make(request: pytest.FixtureRequest) -> Callable[..., xr.DataArray]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def repeated(stencil: gtscript.StencilObject, make: Callable[..., xr.DataArray]) -> gtscript.StencilObject:
    for seed in range(3):
        check(stencil, make(seed=seed), 0)
    return stencil


def test_other_arrays(repeated: gtscript.StencilObject, make: Callable[..., xr.DataArray]) -> None:
    for seed in range(10):
        check(repeated, make(seed=seed), 0)


def test_other_data_in_the_same_object(repeated: gtscript.StencilObject, make: Callable[..., xr.DataArray]) -> None:
    inp, out = make(), blank(make())
    for seed in range(5):
        inp.data = make(seed=seed).data
        out.data = blank(out).data
        check(repeated, inp, 0, out)


@pytest.mark.parametrize("backend", ["cpu_kfirst", "cpu_ifirst"])
def test_nothing_is_asked_again(
    backend: str, make: Callable[..., xr.DataArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    repeated = gtscript.stencil(backend, shifted)
    for seed in range(2):
        check(repeated, make(seed=seed), 0)
    inp, out = make(seed=7), blank(make())
    expected = np.asarray(inp.values)[1:].copy()
    for name in ("plain", "data_interface", "get_dims"):
        monkeypatch.setattr(fieldstone.xarray, name, None)
    repeated(inp, out, domain=(SIZE - 1, SIZE, SIZE))
    monkeypatch.undo()
    np.testing.assert_array_equal(out.values[:-1], expected)


def test_dims_in_another_order(stencil: gtscript.StencilObject) -> None:
    for _ in range(3):
        check(stencil, labelled(("I", "J", "K")), 0)
        check(stencil, labelled(("J", "I", "K")), 1)
        check(stencil, labelled(("K", "J", "I")), 2)
        check(stencil, described(dims=("lat", "lev", "lon")), 2)
        check(stencil, described(), 0)


def test_a_mapping_that_changes(stencil: gtscript.StencilObject) -> None:
    dims = ("x", "y", "z")
    for _ in range(3):
        with fieldstone.xarray.set_dims({"x": "I", "y": "J", "z": "K"}):
            check(stencil, labelled(dims), 0)
            with fieldstone.xarray.set_dims({"x": "J", "y": "I"}):
                check(stencil, labelled(dims), 1)
            check(stencil, labelled(dims), 0)
        with pytest.raises(errors.DimensionsError, match="expected dims that are I, J and K by name"):
            check(stencil, labelled(dims), 0)


def test_a_mapping_of_the_stencil() -> None:
    mapping = {"x": "J", "y": "I", "z": "K"}
    stencil = gtscript.stencil("cpu_ifirst", shifted, dims=mapping)
    mapping |= {"x": "I", "y": "J"}
    for seed in range(4):
        check(stencil, labelled(("x", "y", "z"), seed), 1)
    with fieldstone.xarray.set_dims({"x": "I", "y": "J"}):
        check(stencil, labelled(("x", "y", "z")), 1)


def test_metadata_that_changes(stencil: gtscript.StencilObject) -> None:
    inp = described()
    for _ in range(3):
        check(stencil, inp, 0)
    for coordinate, axis in (("lon", "Y"), ("lat", "X")):
        inp.coords[coordinate].attrs["axis"] = axis
    check(stencil, inp, 1)
    del inp.coords["lat"].attrs["axis"]
    with pytest.raises(errors.DimensionsError, match="lat: unknown"):
        check(stencil, inp, 1)


def test_coordinates_that_come_and_go(stencil: gtscript.StencilObject) -> None:
    inp = described()
    for _ in range(3):
        check(stencil, inp, 0)
    more = inp.assign_coords(time=3.0, height=("lev", np.arange(SIZE), {"positive": "up"}))
    check(stencil, more, 0)
    with pytest.raises(errors.DimensionsError, match="lev: unknown"):
        check(stencil, inp.drop_vars("lev"), 0)
    ambiguous = inp.assign_coords(other=("lon", np.arange(SIZE), {"axis": "Y"}))
    with pytest.raises(errors.DimensionsError, match="lon: I or J"):
        check(stencil, ambiguous, 0)


def test_attributes_that_cannot_be_compared(stencil: gtscript.StencilObject) -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("never")

        __hash__ = None  # type: ignore[assignment]

    for attribute in (np.arange(3), Odd, "text"):
        for seed in range(3):
            inp = described(seed)
            inp.coords["lon"].attrs["what"] = attribute() if isinstance(attribute, type) else attribute
            check(stencil, inp, 0)


@pytest.fixture
def class_attribute() -> Iterator[Callable[[str, Any], None]]:
    given: list[str] = []

    def give(name: str, value: Any) -> None:
        setattr(xr.DataArray, name, value)
        given.append(name)

    yield give
    for name in given:
        delattr(xr.DataArray, name)


def test_an_origin_given_to_the_class(
    repeated: gtscript.StencilObject, class_attribute: Callable[[str, Any], None]
) -> None:
    inp, out = labelled(), blank(labelled())
    for _ in range(2):
        repeated(inp, out, domain=(1, 1, 1))
    class_attribute("default_origin", (1, 1, 1))
    out[...] = 0.0
    repeated(inp, out, domain=(1, 1, 1))
    assert out.values[1, 1, 1] == inp.values[2, 1, 1]
    assert np.count_nonzero(out.values) == 1


def test_an_interface_of_the_users(
    repeated: gtscript.StencilObject, class_attribute: Callable[[str, Any], None]
) -> None:
    elsewhere = np.zeros((SIZE,) * 3)
    inp, out = labelled(), blank(labelled())
    repeated(inp, out, domain=(2, 2, 2))
    where = {id(inp): inp.values, id(out): elsewhere}
    class_attribute(
        "__gt_interface__",
        property(lambda array: {None: {**where[id(array)].__array_interface__, "dims": NAMED}}),
    )
    before = out.values.copy()
    repeated(inp, out, domain=(2, 2, 2))
    np.testing.assert_array_equal(elsewhere[:2, :2, :2], inp.values[1:3, :2, :2])
    np.testing.assert_array_equal(out.values, before)


def test_an_array_that_has_become_another(stencil: gtscript.StencilObject) -> None:
    inp, out = labelled(), blank(labelled())
    for _ in range(3):
        check(stencil, inp, 0, out)
    out.values.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError, match="'out' is a read-only array"):
        stencil(inp, out, domain=(1, 1, 1))
    with pytest.raises(errors.DTypeError, match="'inp' has elements of type float32"):
        stencil(inp.astype(np.float32), blank(inp), domain=(1, 1, 1))
    with pytest.raises(errors.AliasError, match="'out'"):
        stencil(inp, xr.DataArray(inp.values[::-1], dims=NAMED), domain=(3, 1, 1))


def test_a_storage_that_has_other_dims(stencil: gtscript.StencilObject) -> None:
    for seed in range(3):
        check(stencil, of_storages(seed), 0)
    wrong = xr.DataArray(of_storages().data, dims=("J", "I", "K"))
    with pytest.raises(errors.DimensionsError, match="but the data it wraps has the dims"):
        stencil(wrong, of_storages(), domain=(1, 1, 1))


def test_threads_that_call_at_once() -> None:
    stencil = gtscript.stencil("cpu_ifirst", shifted)
    problems: list[BaseException] = []

    def call(make: Callable[..., xr.DataArray], seed: int) -> None:
        try:
            for _ in range(50):
                check(stencil, make(seed=seed), 0)
        except BaseException as problem:
            problems.append(problem)

    threads = [
        threading.Thread(target=call, args=(make, seed))
        for seed, make in enumerate((labelled, described, of_storages, labelled))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
