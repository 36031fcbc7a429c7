"""GT4Py's notebook on the storage interface: its three examples of objects that are fields, and its stencil."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr

import fieldstone.xarray
from fieldstone import errors, gtscript, storage, utils
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.storage import Storage

BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"]

VALUES = np.arange(1.0, 9.0).reshape(2, 2, 2)


def copy_definition(in_field: Field[np.float64], out_field: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        out_field = in_field


@pytest.fixture(scope="module", params=BACKENDS)
def copy_stencil(request: pytest.FixtureRequest) -> Any:
    return gtscript.stencil(backend=request.param)(copy_definition)


class TestStencil:
    def test_numpy(self, copy_stencil: Any) -> None:
        in_field, out_field = VALUES.copy(), np.zeros((2, 2, 2))
        copy_stencil(in_field, out_field, origin=(0, 0, 0))
        np.testing.assert_array_equal(out_field, VALUES)

    def test_xarray_with_its_axes_in_another_order(self, copy_stencil: Any) -> None:
        out_field = xr.DataArray(np.zeros((2, 2, 2)), dims=("J", "I", "K"))
        copy_stencil(VALUES.copy(), out_field, origin=(0, 0, 0))
        np.testing.assert_array_equal(out_field.transpose("I", "J", "K"), VALUES)
        np.testing.assert_array_equal(out_field.values, VALUES.transpose(1, 0, 2))

    def test_storages(self, copy_stencil: Any) -> None:
        in_field = storage.storage(VALUES, dims="IJK", defaults="cpu_ifirst")
        out_field = storage.zeros((2, 2, 2), dims="KIJ")
        copy_stencil(in_field, out_field)
        np.testing.assert_array_equal(out_field.to_numpy().transpose(1, 2, 0), VALUES)


class TwoBuffers:
    """The first example: memory in two places, and a note of which is newer.

    The notebook's second place is a GPU. Here it is another array in host memory, which no stencil sees: what is looked
    at is whether the container is asked before and told after each use of the first.
    """

    NONE_MODIFIED, FIRST_MODIFIED, SECOND_MODIFIED = range(3)

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.first = np.zeros(shape, dtype)
        self.second = np.zeros(shape, dtype)
        self.sync_state = self.NONE_MODIFIED
        self.copies = 0

    def set_second(self, values: Any) -> None:
        self.second[...] = values
        self.sync_state = self.SECOND_MODIFIED

    def _touch_first(self) -> None:
        self.sync_state = self.FIRST_MODIFIED

    def _second_to_first(self) -> None:
        if self.sync_state == self.SECOND_MODIFIED:
            self.first[...] = self.second
            self.copies += 1
            self.sync_state = self.NONE_MODIFIED

    @property
    def __gt_interface__(self) -> dict[Any, Any]:
        interface = self.first.__array_interface__
        interface["acquire"] = self._second_to_first
        interface["touch"] = self._touch_first
        return {None: interface}


class TestTwoBuffers:
    def test_the_newer_buffer_is_acquired_and_the_written_one_touched(self, copy_stencil: Any) -> None:
        in_field, out_field = TwoBuffers((2, 2, 2), np.float64), TwoBuffers((2, 2, 2), np.float64)
        in_field.set_second(VALUES)
        copy_stencil(in_field, out_field, origin=(0, 0, 0))
        np.testing.assert_array_equal(out_field.first, VALUES)
        assert (in_field.copies, in_field.sync_state) == (1, TwoBuffers.NONE_MODIFIED)
        assert (out_field.copies, out_field.sync_state) == (0, TwoBuffers.FIRST_MODIFIED)

    def test_it_is_acquired_before_a_storage_reads_it(self) -> None:
        for read in (storage.storage, storage.as_storage, lambda data: assigned((2, 2, 2), data)):
            data = TwoBuffers((2, 2, 2), np.float64)
            data.set_second(VALUES)
            np.testing.assert_array_equal(read(data).to_numpy(), VALUES)
            assert data.copies == 1


def assigned(shape: tuple[int, ...], value: Any) -> Storage:
    target = storage.zeros(shape)
    target[...] = value
    return target


class StorageWrapper:
    """The second example: a storage and, beside it, what its axes mean."""

    def __init__(self, *args: Any, dims: str = "IJK", **parameters: Any) -> None:
        self.wrapped = storage.storage(*args, **parameters)
        self._dims = tuple(dims)

    @property
    def __gt_interface__(self) -> dict[Any, Any]:
        interface = self.wrapped.__gt_interface__
        for device in interface:
            interface[device]["dims"] = self._dims
        return interface


class TestStorageWrapper:
    def test_its_dims_count(self, copy_stencil: Any) -> None:
        in_field, out_field = StorageWrapper(VALUES), StorageWrapper(np.zeros((2, 2, 2)), dims="KJI")
        copy_stencil(in_field, out_field, origin=(0, 0, 0))
        np.testing.assert_array_equal(out_field.wrapped.to_numpy(), VALUES.T)

    def test_a_storage_around_it_knows_them(self) -> None:
        wrapper = StorageWrapper(VALUES, dims="JKI", halo=(0, 1, 0))
        made = storage.as_storage(wrapper)
        assert (made.dims, made.halo) == (("J", "K", "I"), ((0, 0), (1, 1), (0, 0)))
        assert np.shares_memory(made.to_numpy(), wrapper.wrapped.to_numpy())
        assert utils.get_dims(wrapper) == ("J", "K", "I")


@pytest.fixture
def accessor() -> Iterator[type]:
    """Register the third example, an accessor of the user's own; xarray warns that it hides another."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xr.core.extensions.AccessorRegistrationWarning)

        @xr.register_dataarray_accessor("__gt_interface__")
        def interface_from_xarray(array: xr.DataArray) -> dict[Any, Any]:
            if hasattr(array.data, "__gt_interface__"):
                interface = array.data.__gt_interface__
            else:
                interface = {"cpu": array.data.__array_interface__}
            for buffer in interface.values():
                buffer["dims"] = array.dims
            return interface

    yield interface_from_xarray
    del xr.DataArray.__gt_interface__


class Speaks(np.ndarray):
    """An array with a data interface of its own."""

    __gt_data_interface__: Any


def around(interface: Any) -> xr.DataArray:
    array = xr.DataArray(VALUES, dims=("J", "I", "K"))
    array.variable._data = VALUES.view(Speaks)
    array.variable._data.__gt_data_interface__ = interface
    return array


class TestAccessor:
    def test_of_the_user(self, copy_stencil: Any, accessor: type) -> None:
        out_field = xr.DataArray(np.zeros((2, 2, 2)), dims=("J", "I", "K"))
        copy_stencil(VALUES.copy(), out_field, origin=(0, 0, 0))
        np.testing.assert_array_equal(out_field.transpose("I", "J", "K"), VALUES)

    def test_the_users_goes_before_ours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What it says is taken, though the dims of the array mean nothing."""

        def interface(array: xr.DataArray) -> dict[Any, Any]:
            return {None: {**array.data.__array_interface__, "dims": ("K", "J", "I"), "halo": ((0, 0), (1, 0), (0, 0))}}

        monkeypatch.setattr(xr.DataArray, "__gt_data_interface__", property(interface))
        made = storage.as_storage(xr.DataArray(VALUES, dims=("x", "y", "z")))
        assert (made.dims, made.halo) == (("K", "J", "I"), ((0, 0), (1, 0), (0, 0)))

    def test_xarray_warns_who_hides_ours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(xr.DataArray, "__gt_data_interface__", xr.DataArray.__gt_data_interface__)
        with pytest.warns(xr.core.extensions.AccessorRegistrationWarning, match="__gt_data_interface__"):
            xr.register_dataarray_accessor("__gt_data_interface__")(lambda array: {})

    def test_of_arrays_without_the_interface(self) -> None:
        """The array interface of the data, and the dims of the array."""
        array = xr.DataArray(VALUES.copy(), dims=("J", "I", "K"))
        interface = array.__gt_data_interface__
        assert list(interface) == [None]
        expected = array.data.__array_interface__
        assert {key: interface[None][key] for key in expected} == expected
        assert interface[None]["dims"] == ("J", "I", "K")

    def test_of_arrays_on_a_device(self) -> None:
        """The CUDA array interface of the data is that of the device."""

        class OnDevice(np.ndarray):
            @property
            def __cuda_array_interface__(self) -> dict[str, Any]:
                return {**self.__array_interface__, "version": 3}

        array = xr.DataArray(VALUES, dims=("J", "I", "K"))
        array.variable._data = VALUES.view(OnDevice)
        interface = array.__gt_data_interface__
        assert set(interface) == {None, "gpu"}
        assert interface["gpu"]["version"] == 3
        assert interface[None]["dims"] == interface["gpu"]["dims"] == ("J", "I", "K")

    def test_of_data_that_has_the_interface(self) -> None:
        """It is kept as it is, with the dims of the array."""
        buffer = {**VALUES.__array_interface__, "halo": ((1, 1), (0, 0), (0, 0)), "acquire": print}
        for interface in ({None: buffer}, {"cpu": lambda: buffer}, {None: {**buffer, "dims": ["J", "I", "K"]}}):
            told = around(interface).__gt_data_interface__
            assert list(told) == list(interface)
            for entries in told.values():
                assert {key: entries[key] for key in buffer} == buffer
                assert entries["dims"] == ("J", "I", "K")

    def test_of_data_whose_dims_are_others(self) -> None:
        array = around({None: {**VALUES.__array_interface__, "dims": ("I", "J", "K")}})
        with pytest.raises(errors.DimensionsError, match=r"mean \('J', 'I', 'K'\), but the data .* \('I', 'J', 'K'\)"):
            array.__gt_data_interface__  # noqa: B018

    def test_names_are_translated(self) -> None:
        array = xr.DataArray(VALUES, dims=("lat", "lon", "lev"))
        with fieldstone.xarray.set_dims({"lat": "J", "lon": "I", "lev": "K"}):
            assert array.__gt_data_interface__[None]["dims"] == ("J", "I", "K")
