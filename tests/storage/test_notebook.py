"""GT4Py's notebook on the storage interface: its three examples of objects that are fields, and its stencil."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr

import fieldstone.xarray
from fieldstone import arrays, errors, gtscript, storage, utils
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.storage import Storage, SyncState

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
    """The first example: memory on the host and on a device, here a simulated one, and a note of which is newer."""

    NONE_MODIFIED, NP_MODIFIED, CP_MODIFIED = range(3)

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.np_buffer = np.zeros(shape, dtype)
        self.cp_buffer = arrays.zeros(shape, dtype, device="gpu")
        self.sync_state = self.NONE_MODIFIED
        self.calls: list[str] = []

    def _touch_np(self) -> None:
        self.calls.append("touch host")
        self.sync_state = self.NP_MODIFIED

    def _touch_cp(self) -> None:
        self.calls.append("touch device")
        self.sync_state = self.CP_MODIFIED

    def _np_to_cp(self) -> None:
        self.calls.append("acquire device")
        if self.sync_state == self.NP_MODIFIED:
            self.cp_buffer.set(self.np_buffer)
            self.sync_state = self.NONE_MODIFIED

    def _cp_to_np(self) -> None:
        self.calls.append("acquire host")
        if self.sync_state == self.CP_MODIFIED:
            self.np_buffer[...] = self.cp_buffer.get()
            self.sync_state = self.NONE_MODIFIED

    @property
    def __gt_interface__(self) -> dict[Any, Any]:
        np_interface = self.np_buffer.__array_interface__
        np_interface["acquire"] = self._cp_to_np
        np_interface["touch"] = self._touch_np
        cp_interface = self.cp_buffer.__cuda_array_interface__
        cp_interface["acquire"] = self._np_to_cp
        cp_interface["touch"] = self._touch_cp
        return {None: np_interface, "gpu": cp_interface}


class TestTwoBuffers:
    @pytest.fixture(autouse=True)
    def gpu(self) -> Iterator[fieldstone.Device]:
        with fieldstone.simulated_device() as gpu:
            yield gpu

    def modified(self, side: str) -> TwoBuffers:
        """Make a container of which one buffer has been written to."""
        data = TwoBuffers((2, 2, 2), np.float64)
        if side == "host":
            data.np_buffer[...] = VALUES
            data.sync_state = TwoBuffers.NP_MODIFIED
        else:
            data.cp_buffer.set(VALUES)
            data.sync_state = TwoBuffers.CP_MODIFIED
        return data

    @pytest.mark.parametrize("side", ["host", "device"])
    def test_a_stencil_acquires_and_touches_the_buffer_it_computes_in(self, copy_stencil: Any, side: str) -> None:
        in_field, out_field = self.modified(side), TwoBuffers((2, 2, 2), np.float64)
        copy_stencil(in_field, out_field, origin=(0, 0, 0))
        np.testing.assert_array_equal(out_field.np_buffer, VALUES)
        assert in_field.calls == ["acquire host"]
        assert out_field.calls == ["acquire host", "touch host"]
        assert out_field.sync_state == TwoBuffers.NP_MODIFIED

    @pytest.mark.parametrize("side", ["host", "device"])
    @pytest.mark.parametrize(
        ("make", "acquired"),
        [
            (storage.storage, "host"),
            (storage.as_storage, "host"),
            (utils.as_numpy, "host"),
            (utils.as_cupy, "device"),
            (lambda data: storage.as_storage(device_data=data), "device"),
            (lambda data: storage.as_storage(data, device="gpu", managed=None), "device"),
            (lambda data: assigned(data), "host"),
            (lambda data: assigned(data, device="gpu"), "device"),
            (lambda data: assigned(data, device="gpu", managed=None), "device"),
            (lambda data: assigned(data, device="gpu", managed="cuda"), "device"),
        ],
    )
    def test_what_reads_a_buffer_acquires_it(self, side: str, make: Any, acquired: str) -> None:
        """On the device, if what it is read for has memory there."""
        data = self.modified(side)
        np.testing.assert_array_equal(storage.storage(make(data), device="cpu").to_numpy(), VALUES)
        assert data.calls == [f"acquire {acquired}"]

    def test_what_is_assigned_is_on_the_device(self) -> None:
        """For the choice of the copy that is written, whatever the container says of its own."""
        field = storage.zeros((2, 2, 2), device="gpu")
        field.synchronize()
        field[1:] = WithFirst(self.modified("host"))
        assert field.sync_state.state == SyncState.SYNC_DEVICE_DIRTY


class WithFirst:
    """The half of a container along its first axis."""

    def __init__(self, data: TwoBuffers) -> None:
        self.data = data

    @property
    def __gt_interface__(self) -> dict[Any, Any]:
        interface = self.data.__gt_interface__
        for buffer in interface.values():
            buffer["shape"] = (1, *buffer["shape"][1:])
        return interface


def assigned(value: Any, **parameters: Any) -> Storage:
    target = storage.zeros((2, 2, 2), **parameters)
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

    def test_of_a_storage_with_two_copies(self) -> None:
        """Both buffers, with the dims of the array; as a value it is one on the device, whichever copy is newer."""
        with fieldstone.simulated_device():
            data = storage.storage(VALUES, device="gpu")
            array = xr.DataArray(data, dims=("J", "I", "K"))
            interface = array.__gt_data_interface__
            assert set(interface) == {None, "gpu"}
            assert interface[None]["dims"] == interface["gpu"]["dims"] == ("J", "I", "K")
            data.set_host_modified()
            field = storage.zeros((2, 2, 2), dims="IJK", device="gpu")
            field.synchronize()
            field[...] = array
            assert field.sync_state.state == SyncState.SYNC_DEVICE_DIRTY
            np.testing.assert_array_equal(field.to_numpy(), VALUES.transpose(1, 0, 2))

    def test_names_are_translated(self) -> None:
        array = xr.DataArray(VALUES, dims=("lat", "lon", "lev"))
        with fieldstone.xarray.set_dims({"lat": "J", "lon": "I", "lev": "K"}):
            assert array.__gt_data_interface__[None]["dims"] == ("J", "I", "K")
