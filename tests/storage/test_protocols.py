"""How other libraries see a storage, and how storages see other libraries' arrays."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import errors, storage
from fieldstone.storage import CPUStorage, Storage

from .strategies import storages


class TestOut:
    @given(storages())
    def test_data_interface(self, field: Storage) -> None:
        interface = field.__gt_data_interface__
        assert list(interface) == [None]
        host = interface[None]
        for key in ("shape", "typestr", "data", "strides"):
            assert host[key] == field.to_numpy().__array_interface__[key] or key == "strides"
        assert host["strides"] == field.strides
        assert host.get("dims") == field.dims == field.__gt_dims__()
        assert host["halo"] == field.halo
        assert field.__gt_origin__ == field.default_origin == tuple(lower for lower, _ in field.halo)
        host["acquire"]()
        host["touch"]()
        assert field.__gt_interface__[None]["data"] == host["data"]

    def test_numpy_functions(self) -> None:
        field = storage.storage(np.arange(6.0).reshape(2, 3), dims="IJ")
        transposed = np.transpose(field)
        assert (type(transposed), transposed.dims) == (CPUStorage, ("J", "I"))
        np.testing.assert_array_equal(np.concatenate([field, field]), np.concatenate([field.to_numpy()] * 2))
        np.testing.assert_array_equal(
            np.where(field > 2, field, 0), np.where(field.to_numpy() > 2, field.to_numpy(), 0)
        )
        assert np.mean(field) == 2.5


def read_only(*shape: int) -> Storage:
    array = np.zeros(shape)
    array.flags.writeable = False
    return storage.as_storage(array)


class Speaks:
    """An object with nothing but the given attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


VALUES = np.arange(6.0).reshape(2, 3)


class TestIn:
    def test_numpy_arrays_are_wrapped(self) -> None:
        for array in (VALUES.copy(), VALUES.copy().T, VALUES.copy()[::-1, ::2], np.array(3.0)):
            field = storage.as_storage(array)
            assert np.shares_memory(field.to_numpy(), array)
            assert field.strides == array.strides
            field[...] = 7
            assert (array == 7).all()

    def test_what_is_wrapped_is_kept_alive(self) -> None:
        array = np.full((1000, 1000), 5.0)
        field = storage.as_storage(array)[1:]
        gone = weakref.ref(array)
        del array
        gc.collect()
        assert gone() is not None
        assert (np.asarray(field) == 5).all()
        del field
        gc.collect()
        assert gone() is None

    def test_read_only_memory_stays_so(self) -> None:
        field = read_only(2, 3)
        assert field.__array_interface__["data"][1] is True
        assert not np.asarray(field).flags.writeable
        assert memoryview(field).readonly
        assert not np.asarray(field[1:]).flags.writeable
        assert "read-only" in repr(field)
        with pytest.raises(errors.ReadOnlyError, match=r"copy it with storage\.copy"):
            field[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            field += 1
        duplicate = field.copy()
        duplicate[0] = 1

    @pytest.mark.parametrize(
        "make",
        [
            lambda array: Speaks(__array_interface__=array.__array_interface__, owner=array),
            lambda array: Speaks(__array_struct__=array.__array_struct__, owner=array),
            lambda array: Speaks(__array__=lambda dtype=None, copy=None: array),
            memoryview,
            lambda array: Speaks(__gt_data_interface__={None: array.__array_interface__}, owner=array),
            lambda array: Speaks(__gt_interface__=lambda: {"cpu": lambda: array.__array_interface__}, owner=array),
        ],
        ids=["array_interface", "array_struct", "array", "buffer", "gt_data_interface", "gt_interface"],
    )
    def test_protocols_are_wrapped(self, make: Any) -> None:
        array = VALUES.copy()
        field = storage.as_storage(make(array))
        gc.collect()
        assert np.shares_memory(field.to_numpy(), array)
        np.testing.assert_array_equal(field.to_numpy(), array)

    def test_data_interfaces_say_what_axes_mean(self) -> None:
        calls: list[str] = []
        array = VALUES.astype(np.float32)
        interface = {
            **array.__array_interface__,
            "strides": list(array.strides),
            "dims": ["K", "I"],
            "halo": [(0, 1), (1, 0)],
            "acquire": lambda: calls.append("acquire"),
            "release": None,
        }
        field = storage.as_storage(Speaks(__gt_data_interface__={"gpu": {}, None: interface}, array=array))
        assert (field.dims, field.halo, field.dtype) == (("K", "I"), ((0, 1), (1, 0)), np.float32)
        assert np.shares_memory(field.to_numpy(), array)
        assert calls == ["acquire"]

    def test_origins_of_objects(self) -> None:
        class WithOrigin(np.ndarray):
            default_origin = (1, 2)

        field = storage.as_storage(VALUES.view(WithOrigin))
        assert (field.default_origin, field.halo) == ((1, 2), ((0, 0), (0, 0)))
        assert storage.as_storage(VALUES.view(WithOrigin), halo=(0, 1)).default_origin == (0, 1)
        WithOrigin.default_origin = (1, 9)
        with pytest.raises(
            errors.OriginError, match=r"its default_origin is \(1, 9\), which is no index into its shape"
        ):
            storage.as_storage(VALUES.view(WithOrigin))

    def test_swapped_bytes_are_put_right_in_a_copy(self) -> None:
        swapped = VALUES.astype(">f4")
        assert storage.storage(swapped).dtype == np.dtype("f4")
        np.testing.assert_array_equal(storage.storage(swapped).to_numpy(), VALUES)
        field = storage.zeros_like(swapped)
        field[...] = swapped
        np.testing.assert_array_equal(field.to_numpy(), VALUES)
        with pytest.raises(errors.DTypeError, match="its bytes are swapped; convert it"):
            storage.as_storage(swapped)

    def test_labels_of_objects(self) -> None:
        class Labelled(np.ndarray):
            dims = ("J", "I")

        class Method(np.ndarray):
            def __gt_dims__(self) -> tuple[str, ...]:
                return ("K", "0")

        for kind, dims in ((Labelled, ("J", "I")), (Method, ("K", "0"))):
            assert storage.storage(VALUES.view(kind)).dims == dims
            assert storage.as_storage(VALUES.view(kind)).dims == dims

    def test_xarray(self) -> None:
        xarray = pytest.importorskip("xarray")
        array = xarray.DataArray(VALUES.copy(), dims=("K", "I"))
        field = storage.as_storage(array)
        assert field.dims == ("K", "I")
        assert np.shares_memory(field.to_numpy(), array.values)
        named = xarray.DataArray(VALUES.copy(), dims=("lev", "lon"))
        assert storage.as_storage(named, dims="KI").dims == ("K", "I")
        with pytest.raises(errors.DimensionsError, match="lev: unknown"):
            storage.as_storage(named)
        target = storage.zeros((3, 4, 2), dims="IJK")
        target[...] = array
        np.testing.assert_array_equal(target[:, 1].to_numpy(), VALUES.T)

    @pytest.mark.parametrize(
        ("data", "error", "message"),
        [
            (Speaks(__gt_data_interface__=3), errors.ArgumentTypeError, "__gt_data_interface__: expected a dictionary"),
            (Speaks(__gt_data_interface__={"gpu": {}}), errors.ArgumentTypeError, "data: .* has no 'shape'"),
            (
                Speaks(__gt_data_interface__={"tpu": {}}),
                errors.ArgumentValueError,
                r"has buffers for \['tpu'\]",
            ),
            (Speaks(__gt_data_interface__={None: 1}), errors.ArgumentTypeError, "no dictionary for its memory"),
            (Speaks(__gt_data_interface__={None: {}}), errors.ArgumentTypeError, "has no 'shape'"),
            (
                Speaks(__gt_data_interface__={None: {**VALUES.__array_interface__, "strides": (8,)}}),
                errors.ArgumentValueError,
                "does not describe an array",
            ),
            (
                Speaks(__gt_data_interface__={None: {**VALUES.__array_interface__, "shape": (-1, 2)}}),
                errors.ArgumentValueError,
                "does not describe an array",
            ),
            (
                Speaks(__gt_data_interface__={None: {**VALUES.__array_interface__, "typestr": ">f8"}}),
                errors.DTypeError,
                "its bytes are swapped",
            ),
            (
                Speaks(__gt_data_interface__={None: {**VALUES.__array_interface__, "halo": (1,)}}),
                errors.ArgumentValueError,
                "the halo of its data interface has 1 entries for 2 axes",
            ),
            (
                Speaks(__gt_data_interface__={None: {**VALUES.__array_interface__, "dims": "I"}}),
                errors.DimensionsError,
                r"the data says that its axes are \('I',\), but it has 2 axes",
            ),
            (
                Speaks(__gt_data_interface__={None: {**VALUES.__array_interface__, "data": (0, False)}}),
                errors.ArgumentValueError,
                "does not describe an array: data is NULL",
            ),
            (Speaks(__cuda_array_interface__={}), errors.ArgumentTypeError, "has no 'shape'"),
            (
                Speaks(__cuda_array_interface__={**VALUES.__array_interface__, "data": (4096, False)}),
                errors.DeviceError,
                r"it is in device memory \(address 0x1000\) that belongs to none of fieldstone.devices",
            ),
            (
                Speaks(),
                errors.ArgumentTypeError,
                "data: an object of type Speaks has no memory that can be used as it is",
            ),
            (3.0, errors.ArgumentTypeError, "data: an object of type float has no memory"),
        ],
    )
    def test_what_is_no_array_is_refused(self, data: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            storage.as_storage(data)


class TestViews:
    @given(storages(), st.data())
    def test_transposition(self, field: Storage, data: st.DataObject) -> None:
        order = data.draw(st.permutations(range(field.ndim)))
        given: Any = [field.dims[axis] for axis in order] if field.dims and data.draw(st.booleans()) else order
        made = [field.transpose(given), field.transpose(*given)] if order else [field.transpose()]
        for view in made:
            np.testing.assert_array_equal(view.to_numpy(), field.to_numpy().transpose(order))
            assert view.dims == (None if field.dims is None else tuple(field.dims[axis] for axis in order))
            assert view.halo == tuple(field.halo[axis] for axis in order)
            assert view.aligned_index == tuple(field.aligned_index[axis] for axis in order)
            if min(field.shape, default=0) > 1:
                assert view.layout == tuple(field.layout[axis] for axis in order)
        assert field.T.halo == field.transpose().halo == field.transpose(None).halo == field.halo[::-1]

    @pytest.mark.parametrize("order", [(0,), (0, 0), (0, 2), (0, -3), ("I", "K"), (0.0, 1), "x", (True, False)])
    def test_orders_that_are_none(self, order: Any) -> None:
        with pytest.raises(
            errors.ArgumentValueError, match=r"axes: expected a permutation of 0\.\.1, or of the labels"
        ):
            storage.zeros((2, 3), dims="IJ").transpose(order)

    def test_domain(self) -> None:
        field = storage.zeros((6, 7, 3), dims="JIK", halo=((1, 2), (2, 0), 0))
        field.domain_view[...] = 1
        expected = np.zeros(field.shape)
        expected[1:4, 2:] = 1
        np.testing.assert_array_equal(field.to_numpy(), expected)
        assert field.domain_view.halo == ((0, 0),) * 3
        field.halo = (0, (np.int64(3), 0), [1, 1])
        assert (field.halo, field.domain_view.shape) == (((0, 0), (3, 0), (1, 1)), (6, 4, 1))


class TestOneCopy:
    """Storages in host memory have nothing to keep in step, and say so."""

    def test_nothing_happens(self) -> None:
        field = storage.ones(3)
        for call in (
            field.synchronize,
            field.host_to_device,
            field.device_to_host,
            field.set_host_modified,
            field.set_device_modified,
            field.set_synchronized,
            field.set_device_synchronized,
            lambda: field.host_to_device(force=True),
            lambda: field.device_to_host(force=True),
        ):
            assert call() is None
        assert (field.to_numpy() == 1).all()

    def test_no_device_buffer(self) -> None:
        field = storage.ones((2, 3))
        assert (field.device, field.device_data, field.gpu) == (None, None, False)
        assert not hasattr(field, "sync_state")
        assert not hasattr(field, "__cuda_array_interface__")
        with pytest.raises(errors.GTNoSuchBufferError, match=r"no buffer on a device; to_numpy\(\) gives"):
            field.to_cupy()

    def test_data_is_a_memoryview(self) -> None:
        field = storage.storage(VALUES, layout=(1, 0))
        assert isinstance(field.data, memoryview)
        np.testing.assert_array_equal(np.asarray(field.data), VALUES)
