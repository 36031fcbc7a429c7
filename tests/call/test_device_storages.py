"""Storages with elements on a device as arguments of stencils that run on the host."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import IJ, PARALLEL, Field, computation, interval

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


def exchange(v: Field[(float, (3,))], out: Field[(float, (3,))], m: Field[IJ, (float, (2, 2))], n: Field[np.int64]):
    with computation(PARALLEL), interval(...):
        out = 2.0 * v + m[0, 0][0, 1]
        out[0, 0, 0][n] = v[0, 0, 0][2 - n]


EXCHANGE = ("IJK0", "IJK0", "IJ01", "IJK")
"""The dims of the arguments of `exchange`."""


def exchanged() -> tuple[list[np.ndarray], np.ndarray]:
    """Arguments of `exchange`, and what it makes of them."""
    rng = np.random.default_rng(3)
    v, m, n = rng.random((*SHAPE, 3)), rng.random((6, 5, 2, 2)), rng.integers(0, 3, SHAPE)
    expected = 2.0 * v + m[:, :, None, None, 0, 1]
    np.put_along_axis(expected, n[..., None], np.take_along_axis(v, 2 - n[..., None], -1), -1)
    return [v, np.zeros((*SHAPE, 3)), m, n], expected


@pytest.mark.parametrize("managed", ["gt4py", "cuda", None])
@pytest.mark.parametrize("backend", BACKENDS)
def test_fields_on_the_device_have_data_dimensions(device: Any, backend: str, managed: str | None) -> None:
    stencil = gtscript.stencil(backend=backend, definition=exchange)
    arrays, expected = exchanged()
    fields = [storage.storage(array, device="gpu", managed=managed) for array in arrays]
    before = moved(device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.TransferWarning)
        stencil(*fields)
    # What is on the device only is copied to the host, and back where it was written.
    assert (moved(device)[0] - before[0], moved(device)[1] - before[1]) == ((1, 4) if managed is None else (0, 0))
    np.testing.assert_array_equal(storage.storage(fields[1], device="cpu").to_numpy(), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_data_dimensions_on_the_device_may_be_anywhere_and_parts_of_larger_ones(device: Any, backend: str) -> None:
    stencil = gtscript.stencil(backend=backend, definition=exchange)
    arrays, expected = exchanged()
    fields, wholes = [], []
    for array, dims in zip(arrays, EXCHANGE, strict=True):
        turned = np.full([size + 2 for size in array.shape[::-1]], 7, array.dtype)
        inner = (slice(1, -1),) * array.ndim
        turned[inner] = array.transpose()
        whole = storage.storage(turned, dims=tuple(dims[::-1]), device="gpu", managed=None)
        wholes.append(whole)
        fields.append(whole[inner])
    with pytest.warns(errors.TransferWarning):
        stencil(*fields)
    result = wholes[1].to_cupy().get().transpose()
    np.testing.assert_array_equal(result[1:-1, 1:-1, 1:-1, 1:-1], expected)
    result[1:-1, 1:-1, 1:-1, 1:-1] = 7.0
    assert (result == 7.0).all()


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
