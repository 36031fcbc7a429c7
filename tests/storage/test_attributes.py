"""Every attribute and method that GDP 3 and its first draft give a storage, one test each, for host memory."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import errors, storage
from fieldstone.storage import CPUStorage, Storage

from .strategies import halos, sizes, storages


def field(**parameters: Any) -> Storage:
    """Make a storage with something to tell in every attribute."""
    made = storage.empty(
        (6, 7, 5),
        np.float32,
        **{"dims": "JIK", "halo": (1, (2, 0), 0), "layout": (1, 2, 0), "alignment_size": 64, **parameters},
    )
    made.to_numpy()[...] = np.arange(210).reshape(6, 7, 5)
    return made


class TestAttributes:
    def test_array_interface(self) -> None:
        made = field()
        interface = made.__array_interface__
        assert interface["version"] == 3
        assert (interface["shape"], interface["strides"]) == (made.shape, made.strides)
        assert np.dtype(interface["typestr"]) == np.float32
        assert interface["data"] == (made.to_numpy().ctypes.data, False)

    def test_cuda_array_interface_needs_a_device_buffer(self) -> None:
        assert not hasattr(field(), "__cuda_array_interface__")

    def test_gt_data_interface(self) -> None:
        made = field()
        interface = made.__gt_data_interface__
        assert list(interface) == [None]
        host = interface[None]
        assert {key: host[key] for key in made.__array_interface__} == made.__array_interface__
        assert (host["dims"], host["halo"]) == (("J", "I", "K"), ((1, 1), (2, 0), (0, 0)))
        assert host.get("release") is None
        assert host["acquire"]() is host["touch"]() is None

    def test_data(self) -> None:
        made = field()
        assert isinstance(made.data, memoryview)
        assert np.shares_memory(np.asarray(made.data), made.to_numpy())
        assert (made.data.shape, made.data.strides) == (made.shape, made.strides)

    def test_device(self) -> None:
        assert field().device is None

    def test_device_data(self) -> None:
        assert field().device_data is None

    def test_gpu(self) -> None:
        assert field().gpu is False

    @given(storages())
    def test_domain_view(self, made: Storage) -> None:
        """Index 0 of every axis is the first point of the domain, and what is written there is written to the whole."""
        view = made.domain_view
        inside = tuple(slice(low, size - up) for (low, up), size in zip(made.halo, made.shape, strict=True))
        np.testing.assert_array_equal(view.to_numpy(), made.to_numpy()[inside])
        assert (view.halo, view.default_origin) == (((0, 0),) * made.ndim, (0,) * made.ndim)
        assert (type(view), view.dims, view.dtype, view.strides) == (type(made), made.dims, made.dtype, made.strides)
        view[...] = 1
        assert (made.to_numpy()[inside] == 1).all()
        if view.size:
            assert np.shares_memory(view.to_numpy(), made.to_numpy())

    def test_dtype(self) -> None:
        assert field().dtype == np.dtype(np.float32)
        assert isinstance(field().dtype, np.dtype)

    def test_halo(self) -> None:
        assert field().halo == ((1, 1), (2, 0), (0, 0))
        assert all(type(bound) is int for pair in field().halo for bound in pair)

    @given(st.data())
    def test_halo_can_be_set(self, data: st.DataObject) -> None:
        shape = data.draw(sizes(data.draw(st.integers(0, 4))))
        made = storage.zeros(shape, halo=data.draw(halos(shape)), alignment_size=64)
        aligned, address = made.aligned_index, made.__array_interface__["data"]
        halo = data.draw(halos(shape))
        made.halo = [
            data.draw(st.sampled_from([[low, up], (np.int8(low), up)] + [low] * (low == up))) for low, up in halo
        ]
        assert (made.halo, made.default_origin) == (halo, tuple(low for low, _ in halo))
        assert made.domain_view.shape == tuple(size - low - up for size, (low, up) in zip(shape, halo, strict=True))
        # What is aligned stays where it is: nothing is allocated anew.
        assert (made.aligned_index, made.__array_interface__["data"]) == (aligned, address)

    def test_the_halo_of_a_view_is_its_own(self) -> None:
        made = field()
        part = made[:]
        part.halo = (0, 0, 1)
        assert made.halo == ((1, 1), (2, 0), (0, 0))

    def test_nbytes(self) -> None:
        made = field()
        assert made.nbytes == 6 * 7 * 5 * 4
        assert max(np.multiply(made.shape, made.strides)) > made.nbytes, "there is padding, which does not count"
        assert made[::2, 0].nbytes == 3 * 5 * 4

    def test_ndim(self) -> None:
        assert (field().ndim, field()[0].ndim, field()[0, 0, :0].ndim) == (3, 2, 1)

    def test_ndims(self) -> None:
        assert (field().ndims, field()[:, 0].ndims) == (3, 2)

    def test_shape(self) -> None:
        assert field().shape == (6, 7, 5)
        assert field()[1:4, :, 2].shape == (3, 7)

    def test_strides(self) -> None:
        made = field()
        assert made.strides == made.to_numpy().strides
        assert np.argsort(made.strides).tolist() == [1, 0, 2]
        assert made[::-2].strides == (-2 * made.strides[0], *made.strides[1:])

    def test_sync_state_needs_two_copies(self) -> None:
        assert not hasattr(field(), "sync_state")

    def test_alignment(self) -> None:
        """In elements, as the first draft counts."""
        assert (field().alignment, field(alignment_size=1).alignment) == (16, 1)
        assert storage.zeros((3,), alignment=4).alignment == 4

    def test_alignment_size(self) -> None:
        made = field()
        assert made.alignment_size == 64
        at = sum(index * stride for index, stride in zip(made.aligned_index, made.strides, strict=True))
        assert (made.__array_interface__["data"][0] + at) % 64 == 0

    def test_aligned_index(self) -> None:
        assert field().aligned_index == (1, 2, 0)
        assert field(aligned_index=(0, 1, 2)).aligned_index == (0, 1, 2)

    def test_axes(self) -> None:
        """The spatial ones, as one string."""
        assert field().axes == "JIK"
        assert storage.zeros((2, 3, 4), dims=("I", "0", "K")).axes == "IK"
        assert storage.zeros((2,), dims=("0",)).axes == ""
        assert storage.zeros((2, 3)).axes is None

    def test_dims(self) -> None:
        assert field().dims == ("J", "I", "K")
        assert storage.zeros((2, 3)).dims is None

    def test_layout(self) -> None:
        assert field().layout == (1, 2, 0)

    def test_mask(self) -> None:
        assert field().mask == (True, True, True)
        assert field()[0].mask == (True, False, True)
        assert storage.zeros((2, 3), dims="K0").mask == (False, False, True)
        assert storage.zeros((2, 3)).mask is None

    def test_default_origin(self) -> None:
        assert field().default_origin == (1, 2, 0)
        assert field(default_origin=(3, 3, 3)).default_origin == (3, 3, 3)

    @pytest.mark.parametrize(
        "name",
        [
            "alignment_size",
            "aligned_index",
            "axes",
            "data",
            "default_origin",
            "device",
            "device_data",
            "dims",
            "domain_view",
            "dtype",
            "gpu",
            "layout",
            "mask",
            "nbytes",
            "ndim",
            "ndims",
            "shape",
            "strides",
        ],
    )
    def test_only_the_halo_can_be_set(self, name: str) -> None:
        with pytest.raises(AttributeError, match=f"attribute '{name}' of .* is not writable"):
            setattr(field(), name, getattr(field(), name))


class TestMethods:
    def test_array(self) -> None:
        made = field()
        assert type(made.__array__()) is np.ndarray
        assert np.shares_memory(made.__array__(), made.to_numpy())
        assert np.asarray(made).strides == made.strides

    def test_deepcopy(self) -> None:
        made = field()
        memo: dict[int, Any] = {}
        for other in (copy.deepcopy(made), made.__deepcopy__(), made.__deepcopy__(memo)):
            assert_equal_but_apart(other, made)
        assert memo[id(made)] is not made
        one, two = copy.deepcopy([made, made])
        assert one is two

    def test_copy(self) -> None:
        made = field(default_origin=(2, 2, 2))
        assert_equal_but_apart(made.copy(), made)
        assert_equal_but_apart(copy.copy(made), made)
        part = made[1:, 3]
        assert_equal_but_apart(part.copy(), part)

    def test_getitem(self) -> None:
        """A value, a view without the axes of integers, or an array of values at selected locations."""
        made = field()
        assert type(made[1, 2, 3]) is np.float32
        assert made[1, 2, 3] == 48
        assert type(made[1]) is CPUStorage
        assert (made[1].dims, made[:, 1:2].dims, made[..., -1].dims) == (("I", "K"), ("J", "I", "K"), ("J", "I"))
        assert type(made[[0, 1]]) is np.ndarray
        assert type(made[made.to_numpy() > 3]) is np.ndarray

    def test_setitem(self) -> None:
        made = field()
        made[0] = 1
        made[1:3, 0, :] = np.arange(5)
        made[[4, 5], 0, 0] = [8, 9]
        made[made.to_numpy() > 100] = -1
        expected = np.arange(210, dtype=np.float32).reshape(6, 7, 5)
        expected[0] = 1
        expected[1:3, 0, :] = np.arange(5)
        expected[[4, 5], 0, 0] = [8, 9]
        expected[expected > 100] = -1
        np.testing.assert_array_equal(made.to_numpy(), expected)

    def test_to_cupy_needs_a_device_buffer(self) -> None:
        with pytest.raises(errors.GTNoSuchBufferError, match=r"no buffer on a device; to_numpy\(\) gives its host"):
            field().to_cupy()

    def test_to_numpy(self) -> None:
        made = field()
        array = made.to_numpy()
        array[2, 3, 4] = -7
        assert type(array) is np.ndarray
        assert made[2, 3, 4] == -7

    def test_to_ndarray(self) -> None:
        made = field()
        assert type(made.to_ndarray()) is np.ndarray
        assert np.shares_memory(made.to_ndarray(), made.to_numpy())

    def test_transpose(self) -> None:
        made = field()
        for order in ((2, 0, 1), (-1, 0, 1), ("K", "J", "I"), "KJI", [2, 0, 1], np.array([2, 0, 1])):
            for view in (made.transpose(order), made.transpose(*order), np.transpose(made, order)):
                assert type(view) is CPUStorage
                assert (view.shape, view.dims, view.halo) == ((5, 6, 7), ("K", "J", "I"), ((0, 0), (1, 1), (2, 0)))
                assert (view.layout, view.aligned_index) == ((0, 1, 2), (0, 1, 2))
                assert view.strides == made.to_numpy().transpose(2, 0, 1).strides
                assert np.shares_memory(view.to_numpy(), made.to_numpy())
        for view in (made.transpose(), made.transpose(None), made.T, np.transpose(made)):
            assert (view.shape, view.dims, view.layout) == ((5, 7, 6), ("K", "I", "J"), (0, 2, 1))

    @pytest.mark.parametrize(
        ("method", "keywords"),
        [
            ("device_to_host", {}),
            ("device_to_host", {"force": True}),
            ("host_to_device", {}),
            ("host_to_device", {"force": True}),
            ("set_device_modified", {}),
            ("set_host_modified", {}),
            ("set_synchronized", {}),
            ("set_device_synchronized", {}),
            ("synchronize", {}),
        ],
    )
    def test_synchronisation_does_nothing_where_there_is_one_copy(self, method: str, keywords: Any) -> None:
        made = field()
        before = made.to_numpy().copy()
        assert getattr(made, method)(**keywords) is None
        np.testing.assert_array_equal(made.to_numpy(), before)

    @pytest.mark.parametrize("method", ["device_to_host", "host_to_device"])
    def test_force_is_given_by_name(self, method: str) -> None:
        with pytest.raises(TypeError, match="positional"):
            getattr(field(), method)(True)

    def test_array_priority(self) -> None:
        assert Storage.__array_priority__ == CPUStorage.__array_priority__ == field().__array_priority__ == 10


class TestKinds:
    def test_classes(self) -> None:
        assert type(field()) is CPUStorage
        assert issubclass(CPUStorage, Storage)
        assert not isinstance(field(), np.ndarray)

    def test_storage_is_called_like_the_function(self) -> None:
        data = np.arange(6.0).reshape(2, 3)
        made = Storage(data, dims="IJ", halo=(0, 1), dtype=np.float32)
        assert (type(made), made.dtype, made.dims) == (CPUStorage, np.float32, ("I", "J"))
        assert not np.shares_memory(made.to_numpy(), data)
        assert np.shares_memory(Storage(data, copy=False).to_numpy(), data)

    def test_kinds_are_not_called(self) -> None:
        with pytest.raises(TypeError, match="CPUStorage: the class cannot be called"):
            CPUStorage(np.ones(3))  # type: ignore[call-arg]

    def test_storages_are_not_hashable_as_arrays_are_not(self) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            hash(field())

    def test_weak_references(self) -> None:
        made = field()
        reference = weakref.ref(made)
        view = made[1:]
        del made
        gc.collect()
        assert reference() is None
        assert view[0, 0, 0] == 35


def assert_equal_but_apart(made: Storage, other: Storage) -> None:
    assert type(made) is type(other)
    for name in ("shape", "dtype", "dims", "halo", "layout", "alignment_size", "aligned_index", "default_origin"):
        assert getattr(made, name) == getattr(other, name), name
    np.testing.assert_array_equal(made.to_numpy(), other.to_numpy())
    assert not np.shares_memory(made.to_numpy(), other.to_numpy())
