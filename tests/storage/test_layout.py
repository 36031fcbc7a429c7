"""How fields lie in memory: GDP 3's table of layouts, and what follows from it for every other field."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import arrays, errors, storage
from fieldstone.storage import Storage

TABLE = [
    ("F", "IJK", (2, 1, 0)),
    ("F", "KJI", (2, 1, 0)),
    ("C", "IJK", (0, 1, 2)),
    ("C", "KJI", (0, 1, 2)),
    ("gtx86", "IJK", (0, 1, 2)),
    ("gtx86", "KJI", (2, 1, 0)),
    ("gtcuda", "IJK", (2, 1, 0)),
    ("gtcuda", "KJI", (0, 1, 2)),
]

# From the largest stride to the smallest.
ORDERS = {
    **dict.fromkeys(["debug", "numpy", "cpu_kfirst", "gtx86", "gt:cpu_kfirst"], "IJK"),
    **dict.fromkeys(["cpu_ifirst", "gtmc", "gt:cpu_ifirst", "gpu", "gtcuda", "gt:gpu", "cuda"], "KJI"),
}

# In host memory, what a preset says of the layout holds as well.
HOST = {"device": "cpu"}


def order_of(strides: tuple[int, ...]) -> list[int]:
    """Axes from the largest stride to the smallest."""
    return sorted(range(len(strides)), key=lambda axis: -strides[axis])


@pytest.mark.parametrize(("defaults", "dims", "layout"), TABLE)
def test_the_table(defaults: str, dims: str, layout: tuple[int, ...]) -> None:
    made = storage.empty((3, 4, 5), dims=dims, defaults=defaults, **HOST)
    assert made.layout == layout
    assert [layout[axis] for axis in order_of(made.strides)] == [0, 1, 2]
    assert made.to_numpy().strides == made.strides


@pytest.mark.parametrize("defaults", ORDERS)
@pytest.mark.parametrize(
    "dims", [dims for count in range(4) for dims in itertools.permutations("IJK", count)], ids="".join
)
def test_every_choice_and_order_of_axes(defaults: str, dims: tuple[str, ...]) -> None:
    made = storage.empty(range(2, 2 + len(dims)), dims=dims, defaults=defaults, **HOST)
    assert [dims[axis] for axis in np.argsort(made.layout)] == [label for label in ORDERS[defaults] if label in dims]
    assert order_of(made.strides) == np.argsort(made.layout).tolist()


@given(st.data())
def test_data_dimensions_have_the_largest_strides(data: st.DataObject) -> None:
    """Wherever they stand, the first one the largest."""
    defaults = data.draw(st.sampled_from(sorted(ORDERS)))
    dims = data.draw(st.permutations(["I", "J", "K", "0", "1", "2"]))[: data.draw(st.integers(0, 6))]
    made = storage.empty(range(2, 2 + len(dims)), dims=dims, defaults=defaults, **HOST)
    expected = [label for label in ("0", "1", "2", *ORDERS[defaults]) if label in dims]
    assert [dims[axis] for axis in order_of(made.strides)] == expected
    assert [dims[axis] for axis in np.argsort(made.layout)] == expected


@given(st.sampled_from("CF"), st.lists(st.sampled_from("IJK012"), unique=True, max_size=6))
def test_orders_of_numpy_go_by_position(order: Any, dims: list[str]) -> None:
    shape = tuple(range(2, 2 + len(dims)))
    array = np.empty(shape, order=order)
    for made in (
        storage.empty(shape, dims=dims, defaults=order),
        storage.empty(shape, defaults=order),
        storage.as_storage(array, dims=dims, defaults=order),
        arrays.empty(shape, dims=dims, backend=order),
    ):
        assert made.strides == array.strides


@given(st.data())
def test_any_layout_can_be_asked_for(data: st.DataObject) -> None:
    ndim = data.draw(st.integers(0, 6))
    layout = tuple(data.draw(st.permutations(range(ndim))))
    kind = data.draw(st.sampled_from([tuple, list, np.array, lambda layout: (np.int8(entry) for entry in layout)]))
    made = storage.empty((2,) * ndim, layout=kind(layout))
    assert made.layout == layout
    assert [layout[axis] for axis in order_of(made.strides)] == list(range(ndim))


@given(st.data())
def test_without_padding_there_are_no_gaps(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), max_size=5).map(tuple))
    layout = data.draw(st.permutations(range(len(shape))))
    made = storage.empty(shape, layout=layout)
    order = np.argsort(layout, kind="stable")
    assert made.to_numpy().transpose(order).flags.c_contiguous
    assert memoryview(made.transpose(order)).c_contiguous


def test_axes_without_labels_are_taken_for_i_j_k_and_data_dimensions() -> None:
    for ndim in range(6):
        shape = tuple(range(2, 2 + ndim))
        labels = ("I", "J", "K", "0", "1")[:ndim]
        for defaults in ORDERS:
            positional = storage.empty(shape, defaults=defaults, **HOST)
            assert positional.layout == storage.empty(shape, defaults=defaults, dims=labels, **HOST).layout
            assert positional.dims is None


@pytest.mark.parametrize("make", [storage.empty, lambda *args, defaults, **more: arrays.empty(*args, backend=defaults)])
def test_data_dimensions_of_the_element_type_have_the_largest_strides(make: Any) -> None:
    """Also where axes have no labels, so that the first of them could be taken for J or K."""
    made = make((4, 5), (np.float32, (2, 3)), defaults="cpu_kfirst")
    assert made.shape == (4, 5, 2, 3)
    assert order_of(made.strides) == [2, 3, 0, 1]


class TestCallables:
    def test_layout_is_called_with_the_dims(self) -> None:
        asked: list[Any] = []

        def layout(dims: tuple[str, ...]) -> list[int]:
            asked.append(dims)
            return [np.int64(2), 0, 1]  # type: ignore[list-item]

        assert storage.empty((3, 4, 5), dims="KIJ", layout=layout).layout == (2, 0, 1)
        assert storage.empty((3, 4, 5), layout=layout).layout == (2, 0, 1)
        assert storage.empty((3, 4), (float, (2,)), dims="IK", layout=layout).layout == (2, 0, 1)
        assert asked == [("K", "I", "J"), ("I", "J", "K"), ("I", "K", "0")]

    def test_layout_map_is_called_with_the_number_of_dims(self) -> None:
        asked: list[int] = []

        def layout_map(ndim: int) -> Any:
            asked.append(ndim)
            return range(ndim - 1, -1, -1)

        assert storage.empty((3, 4, 5), axes="KIJ", layout_map=layout_map).layout == (2, 1, 0)
        assert storage.empty((3, 4, 5), axes="K", layout_map=layout_map).layout == (0,)
        assert asked == [3, 1]

    def test_what_it_raises_is_not_hidden(self) -> None:
        with pytest.raises(ZeroDivisionError):
            storage.empty((3,), layout=lambda dims: 1 // 0)


class TestOnePointOrNone:
    """The stride of an axis with one point means nothing, and so does that of any axis of an array without points."""

    @given(st.data())
    def test_memory_is_wrapped_whatever_those_strides_are(self, data: st.DataObject) -> None:
        shape = data.draw(st.lists(st.sampled_from([0, 1, 1, 3, 4]), max_size=4).map(tuple))
        array = np.empty(shape)
        layout = list(data.draw(st.permutations(range(len(shape)))))
        wide = [axis for axis, size in enumerate(shape) if size > 1]
        follows = sorted(wide, key=lambda axis: layout[axis]) == wide or 0 in shape
        if follows:
            made = storage.as_storage(array, layout=layout)
            assert made.layout == tuple(layout)
            assert (made.shape, made.copy().layout) == (shape, tuple(layout))
        else:
            with pytest.raises(errors.LayoutError, match="memory that is wrapped keeps its layout"):
                storage.as_storage(array, layout=layout)

    @given(st.data())
    def test_contiguity_is_what_numpy_says(self, data: st.DataObject) -> None:
        shape = data.draw(st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=4).map(tuple))
        layout = data.draw(st.permutations(range(len(shape))))
        made = storage.empty(shape, np.int16, layout=layout)
        view = memoryview(made)
        assert view.c_contiguous == made.to_numpy().flags.c_contiguous
        assert view.f_contiguous == made.to_numpy().flags.f_contiguous

    def test_no_points(self) -> None:
        for make in (storage.empty, storage.zeros, storage.ones, lambda *args, **more: storage.full(*args, 3, **more)):
            made = make((3, 0, 2), dims="IJK", halo=(1, 0, 1), defaults="cpu_ifirst")
            assert (made.shape, made.nbytes, made.size, made.layout) == ((3, 0, 2), 0, 0, (2, 1, 0))
            assert made.domain_view.shape == (1, 0, 0)
            assert made.to_numpy().shape == (3, 0, 2)
            made[...] = 5
            made[0] = np.ones((0, 2))
            assert made[:, 0:].shape == (3, 0, 2)
            assert made.copy().layout == (2, 1, 0)
        assert storage.storage(np.zeros((0, 3)), dims="IJ").shape == (0, 3)


class TestAlignment:
    @given(st.data())
    def test_of_every_line(self, data: st.DataObject) -> None:
        """The aligned index is aligned in each line along the first axis in memory with more than one point."""
        shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple))
        layout = data.draw(st.permutations(range(len(shape))))
        index = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
        dtype = np.dtype(data.draw(st.sampled_from(["i1", "f4", "f8", "c16"])))
        alignment_size = data.draw(st.sampled_from([1, 2, 24, 32, 64, 128, 4096]))
        made = storage.empty(shape, dtype, layout=layout, aligned_index=index, alignment_size=alignment_size)
        inner = max((axis for axis, size in enumerate(shape) if size > 1), key=layout.__getitem__, default=0)
        lines = made.to_numpy().take([index[inner]], axis=inner)
        start = made.__array_interface__["data"][0]
        for line in np.ndindex(lines.shape):
            at = np.array(line)
            at[inner] = index[inner]
            assert (start + int(at @ made.strides)) % alignment_size == 0
        assert (made.alignment_size, made.aligned_index) == (alignment_size, index)

    def test_lines_of_one_element_are_not_padded(self) -> None:
        made = storage.empty((5, 60, 1), dims="IJK", defaults="cpu_kfirst")
        assert (made.strides, made.layout) == ((512, 8, 8), (0, 1, 2))
        assert storage.empty((1, 5, 60), dims="IJK", defaults="cpu_ifirst").strides == (8, 8, 64)

    @pytest.mark.parametrize(
        ("defaults", "alignment_size"), [("C", 1), ("F", 1), ("numpy", 1), ("debug", 1), ("gtx86", 64), ("gtmc", 64)]
    )
    def test_of_presets(self, defaults: str, alignment_size: int) -> None:
        made = storage.ones((7, 6, 5), defaults=defaults, halo=(2, 2, 0))
        assert made.alignment_size == alignment_size
        assert made.to_numpy()[2:, 2:, :].ctypes.data % alignment_size == 0
        assert storage.ones((7, 6, 5), defaults=defaults, alignment_size=32).alignment_size == 32


class TestPresetsOfOnesOwn:
    def test_they_are_named_like_the_others(self) -> None:
        storage.register_preset("test: J first", "KIJ", alignment_size=32)
        made = storage.zeros((4, 5, 6), dims="JKI", defaults="test: J first")
        assert (made.layout, made.alignment_size) == ((2, 0, 1), 32)
        assert storage.zeros((4, 5, 6), (float, (2,)), dims="JKI", defaults="test: J first").layout == (3, 1, 2, 0)
        assert arrays.zeros((4, 5, 6), dims="JKI", backend="test: J first").strides[0] == 8
        storage.register_preset("test: Fortran", "F")
        assert storage.zeros((4, 5, 6), dims="JKI", defaults="test: Fortran").layout == (2, 1, 0)

    @pytest.mark.parametrize(
        ("name", "order", "more", "error", "message"),
        [
            ("gtmc", "IJK", {}, errors.PresetError, "'gtmc' is a preset already"),
            ("C", "C", {}, errors.PresetError, "'C' is a preset already"),
            ("test: x", "IJ", {}, errors.ArgumentValueError, "order: expected 'C', 'F', or I, J and K"),
            ("test: x", "IJ0", {}, errors.ArgumentValueError, "must list 'I', 'J' and 'K' once each"),
            ("test: x", "IIJ", {}, errors.DimensionsError, "order: 'I' is given twice"),
            ("test: x", 3, {}, errors.ArgumentTypeError, "order: expected labels such as"),
            ("test: x", "C", {"alignment_size": 0}, errors.ArgumentValueError, "alignment_size: the number of bytes"),
            ("test: x", "C", {"alignment_size": 8.0}, errors.ArgumentTypeError, "alignment_size: expected an integer"),
            ("test: x", "C", {"device": "tpu"}, errors.ArgumentValueError, "device: expected None, 'cpu', 'gpu'"),
        ],
    )
    def test_wrong_ones_are_refused(
        self, name: str, order: Any, more: Any, error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            storage.register_preset(name, order, **more)


def test_a_view_tells_its_own_layout() -> None:
    made: Storage = storage.empty((3, 4, 5, 2), dims="IJK0", defaults="cpu_ifirst")
    assert made.layout == (3, 2, 1, 0)
    assert (made[0].layout, made[..., 0].layout, made[:, :, 2, :].layout) == ((2, 1, 0), (2, 1, 0), (2, 1, 0))
    assert made.transpose("0KJI").layout == (0, 1, 2, 3)
