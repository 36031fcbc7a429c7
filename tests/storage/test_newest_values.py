"""Storages with two copies: everybody sees what was written last, also after errors and through arrays handed out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import errors, storage
from fieldstone.storage import Storage, SyncState

Array = np.ndarray[Any, Any]

VALUES = np.arange(6.0)


@pytest.fixture(autouse=True)
def gpu() -> Iterator[fieldstone.Device]:
    with fieldstone.simulated_device() as gpu:
        yield gpu


def both(values: Any) -> Storage:
    """Make a storage whose copies are equal."""
    field = storage.storage(values, device="gpu", managed="gt4py")
    field.host_to_device()
    assert field.sync_state.state == SyncState.SYNC_CLEAN
    return field


def ahead(values: Any) -> Storage:
    """Make a storage whose device copy is newer; the host's is zero."""
    field = both(np.zeros_like(values))
    field.to_cupy().set(values)
    assert field.sync_state.state == SyncState.SYNC_DEVICE_DIRTY
    return field


def at_device_address(field: Storage) -> Storage:
    """Wrap the device's memory as somebody who knows only its address."""
    entries = field.__gt_data_interface__["gpu"]
    names = ("shape", "typestr", "data", "strides", "version")
    known = type("Known", (), {"__cuda_array_interface__": {name: entries[name] for name in names}})
    return storage.as_storage(known(), device="gpu", managed=None)


def on_host(field: Storage) -> Array:
    return np.array(field)


def on_device(field: Storage) -> Array:
    found: Array = storage.storage(field.to_cupy(), device="cpu").to_numpy()
    return found


def check(field: Storage, expected: Any) -> None:
    for found in (on_host(field), on_device(field), on_host(field)):
        np.testing.assert_array_equal(found, expected)


class TestPartsOfElements:
    """A view may have as many elements as the whole, and yet not all of its bytes."""

    @pytest.mark.parametrize("part", ["real", "imag"])
    def test_real_and_imaginary_parts(self, part: str) -> None:
        values = VALUES + 1j * VALUES[::-1]
        field = ahead(values)
        getattr(field, part)[...] = 7
        setattr(values, part, 7)
        check(field, values)

    def test_elements_of_another_type(self) -> None:
        field, values = ahead(VALUES), VALUES.copy()
        field.view("f4")[::2] = 1
        values.view("f4")[::2] = 1
        check(field, values)

    def test_a_type_that_no_storage_has(self) -> None:
        pairs = ahead(VALUES).view("f4,f4")
        np.testing.assert_array_equal(pairs.view("f8"), VALUES)
        pairs.view("f8")[...] = 1
        with pytest.raises(errors.GTNoSuchBufferError):
            storage.storage(VALUES, device="gpu", managed=None).view("f4,f4")


small = np.arange(6, dtype=np.int8)
ONES = np.ones(6, np.int8)

# A call that fails before it has written anything, and the values of its output.
FAILING: list[tuple[str, Callable[[Storage], object], Array]] = [
    ("number too large", lambda out: np.add(storage.storage(ONES), 300, out=out), small),
    ("negative number", lambda out: np.add(storage.storage(ONES.view("u1")), -1, out=out), small.view("u1")),
    ("keyword", lambda out: np.add(storage.storage(VALUES), 1.0, out=out, order="Z"), VALUES),
    ("casting", lambda out: np.add(storage.storage(VALUES), 1.0, out=out), small),
    ("reduction", lambda out: np.add.reduce(storage.storage(VALUES), axis=5, out=out), np.array(3.0)),
    ("matmul", lambda out: np.matmul(both(np.eye(3)), both(np.ones((2, 2))), out=out), np.eye(3)),
    ("shape", lambda out: out.__setitem__([0, 1], both(np.ones(5))), VALUES),
    ("index", lambda out: out.__setitem__([99], both(np.ones(1))), VALUES),
    ("at", lambda out: np.add.at(out, [99], 1), VALUES),
    ("sort", lambda out: out.sort(kind="bogus"), VALUES),
    ("copyto", lambda out: np.copyto(out, both(VALUES + 1j)), VALUES),
    ("clip", lambda out: np.clip(both(VALUES), 0, 1, out=out, order="Z"), VALUES),
    ("cumsum", lambda out: np.cumsum(both(VALUES), axis=7, out=out), VALUES),
]
failing = pytest.mark.parametrize(("call", "values"), [case[1:] for case in FAILING], ids=[case[0] for case in FAILING])


class TestErrors:
    @failing
    def test_an_operation_that_fails_leaves_what_was_there(
        self, call: Callable[[Storage], object], values: Array
    ) -> None:
        field = ahead(values)
        with pytest.raises((TypeError, ValueError, IndexError, OverflowError)):
            call(field)
        check(field, values)

    @failing
    def test_writes_after_it_through_an_array_count(self, call: Callable[[Storage], object], values: Array) -> None:
        field = ahead(values)
        held = field.to_numpy()
        with pytest.raises((TypeError, ValueError, IndexError, OverflowError)):
            call(field)
        held[...] = 9
        check(field, np.full_like(values, 9))


class TestArraysHandedOut:
    def test_a_question_for_an_address_on_the_device(self) -> None:
        field = both(VALUES)
        held = field.to_numpy()
        assert hasattr(field, "__cuda_array_interface__")
        held[...] = 9
        check(field, np.full(6, 9.0))

    def test_a_question_for_an_address_on_the_host(self) -> None:
        field = both(VALUES)
        held = field.to_cupy()
        assert hasattr(field, "__array_interface__")
        held[...] = 9.0
        np.testing.assert_array_equal(on_host(field), np.full(6, 9.0))

    def test_acquire_counts_what_was_written_through_an_array(self) -> None:
        field = both(VALUES)
        held, acquire = field.to_numpy(), field.__gt_data_interface__["gpu"]["acquire"]
        for value in (4.0, 5.0):
            held[...] = value
            acquire()
            np.testing.assert_array_equal(
                on_host(storage.storage(at_device_address(field), device="cpu")), np.full(6, value)
            )

    def test_what_is_said_to_have_been_written_on_the_device_is_seen(self) -> None:
        field = both(VALUES)
        held = field.to_numpy()
        at_device_address(field)[...] = 4.0
        field.__gt_data_interface__["gpu"]["touch"]()
        np.testing.assert_array_equal(held, np.full(6, 4.0))
        held[...] = 6.0
        check(field, np.full(6, 6.0))

    def test_what_is_said_to_have_been_written_on_the_host_is_seen(self) -> None:
        field = both(VALUES)
        host = np.asarray(type("Known", (), {"__array_interface__": field.__gt_data_interface__[None]})())
        held = field.to_cupy()
        host[...] = 4.0
        field.set_host_modified()
        np.testing.assert_array_equal(held.get(), np.full(6, 4.0))

    @pytest.mark.parametrize("read", [np.asarray, memoryview, np.from_dlpack, lambda field: field.to_numpy()])
    def test_arrays_of_read_only_views_are_kept_up_to_date(self, read: Callable[[Storage], Any]) -> None:
        field = both(VALUES)
        held = read(np.broadcast_to(field, (2, 6)))
        for value in (8.0, 9.0):
            field[...] = ahead(np.full(6, value))
            np.testing.assert_array_equal(np.asarray(held), np.full((2, 6), value))
        del held
        field[...] = ahead(VALUES)
        assert field.sync_state.state == SyncState.SYNC_DEVICE_DIRTY


IN_PLACE: list[tuple[Callable[[Storage], object], Any, Any]] = [
    (lambda field: np.nan_to_num(field, copy=False), [np.nan, 1.0], [0.0, 1.0]),
    (lambda field: np.put(field, [0], [9.0]), [0.0, 1.0], [9.0, 1.0]),
    (lambda field: np.place(field, [True, False], [9.0]), [0.0, 1.0], [9.0, 1.0]),
    (lambda field: np.putmask(field, [True, False], [9.0]), [0.0, 1.0], [9.0, 1.0]),
    (lambda field: np.fill_diagonal(field, 4.0), np.zeros((2, 2)), 4 * np.eye(2)),
    (lambda field: np.add.at(field, [0, 0], 1), [0.0, 1.0], [2.0, 1.0]),
    (lambda field: np.copyto(field, [5.0, 6.0], where=[True, False]), [0.0, 1.0], [5.0, 1.0]),
]


class TestFunctionsThatWriteToTheirArgument:
    @pytest.mark.parametrize(("function", "values", "expected"), IN_PLACE)
    def test_both_copies_have_it(self, function: Callable[[Storage], object], values: Any, expected: Any) -> None:
        for field in (both(values), ahead(np.asarray(values))):
            function(field)
            # Without an array of either side, which would bring the other up to date.
            np.testing.assert_array_equal(on_host(storage.storage(field, device="cpu")), expected)
            np.testing.assert_array_equal(on_host(storage.storage(field[...], device="cpu")), expected)
            check(field, expected)

    def test_scratch_memory(self) -> None:
        field = both([3.0, 1.0, 2.0])
        assert np.median(field, overwrite_input=True) == 2.0
        np.testing.assert_array_equal(on_host(field), on_device(field))


class TestReadOnlyMemory:
    @pytest.mark.parametrize("readonly", ["host", "device"])
    def test_of_either_buffer(self, readonly: str) -> None:
        there = storage.storage(VALUES, device="gpu", managed=None)
        entries = {**there.__cuda_array_interface__}
        entries["data"] = (entries["data"][0], readonly == "device")
        host = VALUES.copy()
        host.flags.writeable = readonly != "host"
        known = type("Known", (), {"__cuda_array_interface__": entries})()
        field = storage.as_storage(host, device_data=known, device="gpu", managed="gt4py")
        with pytest.raises(errors.ReadOnlyError):
            field[...] = 3
        np.testing.assert_array_equal(on_host(field), VALUES)
        assert there.flags.writeable

    def test_stays_as_it_is_whatever_is_said_of_the_other_copy(self) -> None:
        host = np.frombuffer(bytes(48))
        field = storage.as_storage(host, device="gpu", managed="gt4py")
        field.set_device_modified()
        there = storage.storage(VALUES, device="gpu", managed=None)
        newer = storage.as_storage(host, there, sync_state=SyncState.SYNC_DEVICE_DIRTY)
        for found in (field, newer):
            for bring in (
                found.to_numpy,
                found.synchronize,
                found.device_to_host,
                partial(found.device_to_host, force=True),
                partial(np.asarray, found),
            ):
                with pytest.raises(errors.ReadOnlyError, match="the copy on the host is read-only memory"):
                    bring()
        assert not host.any()
        np.testing.assert_array_equal(newer.to_cupy().get(), VALUES)


class TestTheHaloDuringAnOperation:
    def test_is_refused_in_words(self) -> None:
        field = storage.storage(VALUES)

        class Index:
            def __index__(self) -> int:
                field.halo = (1,)
                return 1

        with pytest.raises(RuntimeError, match=r"halo: the storage is in use"):
            field[Index() :] = 1.0

    def test_its_own_value_may_use_the_storage(self) -> None:
        field = storage.storage(VALUES)

        class Width:
            def __index__(self) -> int:
                return int(field.shape[0] // 6)

        field.halo = (Width(),)
        assert field.halo == ((1, 1),)


def test_with_arrays_out_on_both_sides_an_access_warns_until_somebody_says_what_is_newer() -> None:
    with fieldstone.simulated_device():
        field = storage.zeros((4, 3), device="gpu")
        here, there = field.to_numpy(), field.to_cupy()
        field.set_synchronized()
        with pytest.warns(errors.SyncWarning, match="arrays of the host's copy and of the device's are out"):
            field[0, 0]
        here[...] = 5.0
        field.set_host_modified()
        assert (field + 1.0).sum() == 72.0
        there[...] = 7.0
        field.set_device_modified()
        assert field[0, 0] == 7.0
        del there
        assert field[1, 1] == 7.0
