"""Storages with elements on a device as arguments of stencils that run on the host."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval

SHAPE = (6, 5, 4)
BACKENDS = ["debug", "numpy", "cpu_ifirst", "cpu_kfirst"]


def scale(field_in: Field[np.float64], field_out: Field[np.float64], factor: float):
    with computation(PARALLEL), interval(...):
        field_out = factor * field_in


def accumulate(total: Field[np.float64], more: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        total = total + more


@pytest.fixture
def device() -> Iterator[Any]:
    with fieldstone.simulated_device() as device:
        yield device


def moved(device: Any) -> tuple[int, int]:
    return device.transfers.uploads, device.transfers.downloads


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_copies_move_only_when_one_is_behind(device: Any, backend: str) -> None:
    stencil = gtscript.stencil(backend=backend, definition=scale)
    a = storage.storage(np.full(SHAPE, 3.0), device="gpu")
    b = storage.zeros(SHAPE, device="gpu")
    stencil(a, b, 2.0)
    assert moved(device) == (0, 0)
    assert b.sync_state.state == storage.SyncState.SYNC_HOST_DIRTY
    a.host_to_device()
    a.set_device_modified()
    before = moved(device)
    stencil(a, b, 2.0)
    stencil(a, b, 3.0)
    assert (device.transfers.uploads, device.transfers.downloads - before[1]) == (before[0], 1)
    assert a.sync_state.state == storage.SyncState.SYNC_CLEAN
    assert (b.to_numpy() == 9.0).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_field_on_the_device_only_is_copied_with_a_warning(device: Any, backend: str) -> None:
    stencil = gtscript.stencil(backend=backend, definition=scale)
    a = storage.storage(np.full(SHAPE, 3.0), device="gpu", managed=None)
    b = storage.zeros(SHAPE)
    before = moved(device)
    with pytest.warns(errors.TransferWarning, match="argument 'field_in' is on the device only.*: 960 bytes"):
        stencil(a, b, 2.0)
    assert moved(device) == (before[0], before[1] + 1)
    assert (b.to_numpy() == 6.0).all()
    with pytest.warns(errors.TransferWarning, match="argument 'field_out'"):
        stencil(b, a, 0.5)
    assert (storage.storage(a, device="cpu").to_numpy() == 3.0).all()


def test_a_part_of_a_field_on_the_device_leaves_the_rest(device: Any) -> None:
    stencil = gtscript.stencil(backend="cpu_ifirst", definition=scale)
    whole = storage.storage(np.ones((8, 7, 6)), device="gpu", managed=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.TransferWarning)
        stencil(storage.ones(SHAPE), whole[1:-1, 1:-1, 1:-1], 5.0)
    expected = np.ones((8, 7, 6))
    expected[1:-1, 1:-1, 1:-1] = 5.0
    np.testing.assert_array_equal(whole.to_cupy().get(), expected)


def test_one_field_for_two_arguments_is_one_copy(device: Any) -> None:
    stencil = gtscript.stencil(backend="numpy", definition=accumulate)
    a = storage.storage(np.full(SHAPE, 3.0), device="gpu", managed=None)
    with pytest.warns(errors.TransferWarning):
        stencil(a, a)
    assert (a.to_cupy().get() == 6.0).all()
    wide = storage.zeros((7, 5, 4), device="gpu", managed=None)
    with pytest.raises(errors.AliasError, match="'total' and 'more' overlap in a device's memory"):
        stencil(wide[:-1], wide[1:])


def test_the_device_is_left_alone_when_a_call_fails(device: Any) -> None:
    stencil = gtscript.stencil(backend="numpy", definition=scale)
    a = storage.ones(SHAPE, device="gpu")
    a.host_to_device()
    a.set_device_modified()
    before = moved(device)
    with pytest.raises(errors.DTypeError):
        stencil(a, np.zeros(SHAPE, "f4"), 1.0)
    assert moved(device) == before
    assert a.sync_state.state == storage.SyncState.SYNC_DEVICE_DIRTY


def test_a_run_that_fails_copies_nothing_back(device: Any) -> None:
    def first_guess(field_in: Field[np.float64], field_out: Field[np.float64]):
        with computation(PARALLEL), interval(...):
            if field_in > 0.0:
                value = field_in
            field_out = value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stencil = gtscript.stencil(backend="debug", definition=first_guess)
        out = storage.full(SHAPE, 5.0, device="gpu", managed=None)
        before = moved(device)
        with pytest.raises(errors.ExecutionError, match="`value` is read"):
            stencil(storage.zeros(SHAPE), out)
    assert moved(device) == (before[0], before[1] + 1)
    assert (out.to_cupy().get() == 5.0).all()


def test_memory_that_the_driver_manages_is_computed_in(device: Any) -> None:
    stencil = gtscript.stencil(backend="cpu_kfirst", definition=scale)
    a = storage.full(SHAPE, 2.0, device="gpu", managed="cuda")
    b = storage.zeros(SHAPE, device="gpu", managed="cuda")
    stencil(a, b, 4.0)
    assert moved(device) == (0, 0)
    assert (b.to_numpy() == 8.0).all()


def test_a_data_array_of_two_copies_is_tracked(device: Any) -> None:
    xarray = pytest.importorskip("xarray")
    stencil = gtscript.stencil(backend="numpy", definition=scale)
    a = storage.ones(SHAPE, dims="IJK", device="gpu")
    b = storage.zeros(SHAPE, dims="IJK", device="gpu")
    a.host_to_device()
    a.set_device_modified()
    out = xarray.DataArray(b, dims=("I", "J", "K"))
    stencil(a, out, 7.0)
    assert (out == 7.0).all()


def test_the_warning_points_at_the_call(device: Any) -> None:
    stencil = gtscript.stencil(backend="numpy", definition=scale)
    a = storage.ones(SHAPE, device="gpu", managed=None)
    with pytest.warns(errors.TransferWarning) as warned:
        stencil(a, storage.zeros(SHAPE), 1.0)
    assert warned[0].filename == __file__


def test_after_a_run_that_fails_arrays_handed_out_still_count(device: Any) -> None:
    """The field was to be written, and its copies are in step again when the call is over."""

    class Absent:
        @property
        def __gt_data_interface__(self) -> Any:
            def acquire() -> None:
                raise RuntimeError("gone")

            return {None: {**np.zeros(SHAPE).__array_interface__, "acquire": acquire}}

    field = storage.zeros(SHAPE, device="gpu")
    held = field.to_cupy()
    with pytest.raises(RuntimeError, match="gone"):
        gtscript.stencil(backend="debug", definition=accumulate)(field, Absent())
    held[...] = 7.0
    assert (field.to_numpy() == 7.0).all()


def test_a_stencil_warns_where_arrays_are_out_on_both_sides(device: Any) -> None:
    stencil = gtscript.stencil(backend="numpy", definition=scale)
    a = storage.ones(SHAPE, device="gpu")
    arrays = a.to_numpy(), a.to_cupy()
    a.set_synchronized()
    with pytest.warns(errors.SyncWarning, match="arrays of the host's copy and of the device's are out"):
        stencil(a, np.zeros(SHAPE), 1.0)
    del arrays
