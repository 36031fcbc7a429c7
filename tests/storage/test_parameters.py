"""What the creation functions take, what they look up, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldstone import errors, storage
from fieldstone.storage import CPUStorage, Storage


class TestLookup:
    """A parameter is what was given, else of the preset, else of the data, else the fallback."""

    def template(self) -> Storage:
        return storage.ones(
            (5, 6, 7),
            np.float32,
            dims="IJK",
            halo=(1, (2, 1), 0),
            layout=(1, 0, 2),
            alignment_size=32,
            aligned_index=(1, 1, 1),
        )

    def test_of_fallbacks(self) -> None:
        field = storage.empty((2, 3))
        assert type(field) is CPUStorage
        assert isinstance(field, Storage)
        assert (field.dtype, field.dims, field.halo, field.layout) == (np.float64, None, ((0, 0), (0, 0)), (0, 1))
        assert (field.alignment_size, field.alignment, field.aligned_index) == (1, 1, (0, 0))
        assert (field.device, field.device_data, field.gpu) == (None, None, False)

    @pytest.mark.parametrize(
        "make", [storage.empty_like, storage.zeros_like, storage.storage, storage.as_storage, Storage]
    )
    def test_of_data(self, make: Any) -> None:
        data = self.template()
        field = make(data)
        assert (field.shape, field.dtype, field.dims, field.halo) == (data.shape, data.dtype, data.dims, data.halo)
        assert (field.layout, field.alignment_size, field.aligned_index) == ((1, 0, 2), 32, (1, 1, 1))
        assert field.strides == data.strides
        assert np.shares_memory(np.asarray(field), np.asarray(data)) is (make is storage.as_storage)

    def test_preset_goes_before_data(self) -> None:
        field = storage.empty_like(self.template(), defaults="F")
        assert (field.layout, field.alignment_size, field.aligned_index) == ((2, 1, 0), 1, (1, 1, 1))

    def test_what_is_given_goes_before_all(self) -> None:
        field = storage.zeros_like(
            self.template(), np.int16, halo=(2, 2, 2), layout=(0, 1, 2), alignment_size=128, defaults="F"
        )
        assert (field.dtype, field.halo, field.layout) == (np.int16, ((2, 2),) * 3, (0, 1, 2))
        assert (field.alignment_size, field.aligned_index) == (128, (2, 2, 2))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("aligned_index", (2, 0, 0)),
            ("alignment_size", 128),
            ("dims", ("K", "0", "I")),
            ("halo", ((0, 1), (1, 1), (2, 0))),
            ("layout", (2, 0, 1)),
            ("default_origin", (2, 2, 2)),
        ],
    )
    @pytest.mark.parametrize("make", [storage.empty_like, storage.zeros_like, storage.ones_like, storage.full_like])
    def test_of_a_template_every_parameter_can_be_overridden(self, make: Any, name: str, value: Any) -> None:
        template = self.template()
        more = {"fill_value": 3} if make is storage.full_like else {}
        field = make(template, **{name: value}, **more)
        assert getattr(field, name) == value
        follows = {"halo": {"aligned_index", "default_origin"}, "default_origin": {"halo", "aligned_index"}}
        kept = {"dims", "halo", "layout", "alignment_size", "aligned_index", "default_origin"} - {name}
        for other in kept - follows.get(name, set()):
            assert getattr(field, other) == getattr(template, other), other
        assert (field.shape, field.dtype) == (template.shape, template.dtype)
        assert make(template, dtype=np.int8, **more).dtype == np.int8

    def test_a_template_without_shape_to_override(self) -> None:
        for make in (storage.empty_like, storage.zeros_like, storage.ones_like):
            with pytest.raises(errors.ArgumentTypeError, match=r"shape: .*_like\(\) takes the shape of its data"):
                make(self.template(), shape=(1, 2, 3))

    def test_a_template_with_data_dimensions_added(self) -> None:
        template = storage.zeros((4, 5), dims=("1", "K"), halo=(0, 1), layout=(1, 0), alignment_size=32)
        field = storage.zeros_like(template, (np.float32, (3, 2)))
        assert (field.shape, field.dims) == ((4, 5, 3, 2), ("1", "K", "0", "2"))
        assert (field.layout, field.alignment_size) == ((3, 2, 0, 1), 32)
        assert (field.halo, field.aligned_index) == (((0, 0), (1, 1), (0, 0), (0, 0)), (0, 1, 0, 0))

    def test_numpy_arrays_are_templates(self) -> None:
        field = storage.full_like(np.zeros((3, 4), np.int8, order="F"), 7)
        assert (field.shape, field.dtype, field.layout) == ((3, 4), np.int8, (1, 0))
        assert (np.asarray(field) == 7).all()

    def test_lists_are_copied(self) -> None:
        field = storage.storage([[1, 2], [3, 4]], dtype=np.float32, dims="KI")
        assert (field.dtype, field.dims) == (np.float32, ("K", "I"))
        np.testing.assert_array_equal(field.to_numpy(), [[1, 2], [3, 4]])

    def test_of_the_first_draft(self) -> None:
        field = storage.zeros(
            (8, 9, 10), axes="IJK", default_origin=(2, 3, 0), alignment=8, default_parameters="F", gpu=False
        )
        assert (field.axes, field.mask, field.ndims) == ("IJK", (True, True, True), 3)
        assert (field.default_origin, field.halo, field.aligned_index) == (
            (2, 3, 0),
            ((2, 0), (3, 0), (0, 0)),
            (2, 3, 0),
        )
        assert (field.alignment, field.alignment_size, field.layout) == (8, 64, (2, 1, 0))
        field = storage.full((8, 9, 10), value=3, axes="IK", default_origin=(1, 2, 3))
        assert (field.shape, field.mask, field.default_origin) == ((8, 10), (True, False, True), (1, 3))

    @pytest.mark.parametrize(
        ("given", "shape", "origin"),
        [
            ({"shape": (8, 9, 10), "axes": "IK"}, (8, 10), (1, 3)),
            ({"shape": (8, 10), "axes": "IK"}, (8, 10), (1, 3)),
            ({"shape": (8, 10), "dims": "IK"}, (8, 10), (1, 3)),
            ({"shape": (10, 8), "dims": "KI"}, (10, 8), (3, 1)),
            ({"shape": (8, 9, 10), "axes": "KI"}, (10, 8), (3, 1)),
            ({"shape": (8, 9, 10), "axes": "J"}, (9,), (2,)),
            ({"shape": (9,), "dims": "J"}, (9,), (2,)),
            ({"shape": (8, 9, 10), "axes": ""}, (), ()),
            ({"shape": (8, 9, 10), "axes": "IK", "dtype": (float, (4,))}, (8, 10, 4), (1, 3, 0)),
            ({"shape": (8, 9, 10), "axes": "IK", "dtype": (float, (4, 5))}, (8, 10, 4, 5), (1, 3, 0, 0)),
            ({"shape": (8, 4), "dims": "I0"}, (8, 4), (1, 0)),
            ({"shape": (4, 5, 10, 8), "dims": "01KI"}, (4, 5, 10, 8), (0, 0, 3, 1)),
            ({"shape": (8, 9, 10), "axes": "IJK"}, (8, 9, 10), (1, 2, 3)),
            ({"shape": (8, 9, 10), "axes": "KJI"}, (8, 9, 10), (1, 2, 3)),
            ({"shape": (8, 9, 10)}, (8, 9, 10), (1, 2, 3)),
        ],
    )
    def test_three_entries_for_fields_of_fewer_axes(self, given: Any, shape: Any, origin: Any) -> None:
        """Shape and origin may have an entry for each of I, J and K, or one for each axis of the field."""
        field = storage.zeros(**given, default_origin=(1, 2, 3))
        assert (field.shape, field.default_origin, field.aligned_index) == (shape, origin, origin)
        if given.get("dtype") is None:
            assert storage.zeros(**given, default_origin=origin).default_origin == origin

    def test_elements_of_the_first_draft(self) -> None:
        for dtype, alignment_size in ((np.int8, 8), (np.float32, 32), (np.complex128, 128)):
            field = storage.zeros((5,), dtype, alignment=8)
            assert (field.alignment, field.alignment_size) == (8, alignment_size)
        # 1 indicates no alignment, in elements as in bytes.
        assert storage.zeros((5,), alignment=1).alignment_size == 1

    def test_an_origin_apart_from_the_halo(self) -> None:
        field = storage.zeros((8, 8), halo=(1, 1), default_origin=(3, 2))
        assert (field.halo, field.default_origin, field.aligned_index) == (((1, 1), (1, 1)), (3, 2), (3, 2))
        assert field[1:, ::-1].default_origin == (2, 5)
        field.halo = (2, (0, 1))
        assert (field.halo, field.default_origin, field.aligned_index) == (((2, 2), (0, 1)), (2, 0), (3, 2))

    def test_data_dimensions_of_the_dtype(self) -> None:
        field = storage.zeros((4, 5), (np.float32, (3, 2)), dims="IK", halo=(1, 0), defaults="cpu_ifirst")
        assert (field.shape, field.dtype, field.dims) == ((4, 5, 3, 2), np.float32, ("I", "K", "0", "1"))
        assert (field.halo, field.layout) == (((1, 1), (0, 0), (0, 0), (0, 0)), (3, 2, 0, 1))

    def test_none_is_not_given(self) -> None:
        nothing: Any = dict.fromkeys(storage.Parameters.__annotations__)
        assert storage.zeros((2, 3), **{**nothing, "layout": (1, 0)}).layout == (1, 0)

    def test_kinds_of_numbers(self) -> None:
        field = storage.zeros(
            [np.int64(4), np.uint8(5)], halo=np.array([[1, 2], [0, 1]]), alignment_size=np.int32(64), layout=[1, 0]
        )
        assert (field.shape, field.halo, field.alignment_size) == ((4, 5), ((1, 2), (0, 1)), 64)
        assert storage.zeros(np.int16(3)).shape == storage.zeros(3).shape == (3,)
        assert storage.zeros(()).shape == ()

    def test_everything_of_the_first_draft_at_once(self) -> None:
        data = np.ones((2, 3), np.float32, order="F")
        given: Any = {
            "default_parameters": "F",
            "default_origin": (1, 2, 0),
            "shape": (2, 3),
            "dtype": "float32",
            "axes": "IJ",
            "alignment": 1,
            "gpu": False,
            "layout_map": lambda ndim: reversed(range(ndim)),
            "managed": False,
        }
        for make in (storage.asstorage, storage.as_storage, storage.storage, Storage):
            field = make(data=data, device_data=None, sync_state=None, **given)
            assert (field.shape, field.axes, field.default_origin, field.layout) == ((2, 3), "IJ", (1, 2), (1, 0))
            assert np.shares_memory(field.to_numpy(), data) is (make in (storage.asstorage, storage.as_storage))
        for make in (storage.empty, storage.zeros, storage.ones):
            assert make(**given).layout == (1, 0)
        assert storage.full(value=3, **given)[0, 0] == 3

    def test_managed_has_no_effect_on_host_memory(self) -> None:
        for managed in (None, False, "gt4py", "cuda"):
            assert type(storage.zeros((2,), managed=managed)) is CPUStorage

    def test_copy_false_without_data_allocates(self) -> None:
        assert storage.storage(copy=False, shape=(2, 3), dtype=np.int32, defaults="F").strides == (4, 8)
        assert Storage(copy=False, shape=(2, 3)).shape == (2, 3)
        assert storage.as_storage(shape=(2, 3), dtype=np.int32).dtype == np.int32
        assert storage.as_storage(shape=(2, 3)).dtype == np.float64


class TestWrapping:
    """Data is not copied, and what is said of it has to be so."""

    def test_the_memory_is_that_of_the_data(self) -> None:
        array = np.arange(24.0).reshape(2, 3, 4)
        for data in (array, array.T, array[:, ::-1, ::2], array[0], array[:, 1:1], array[1, 2, 3:]):
            for field in (storage.as_storage(data), storage.storage(data, copy=False), Storage(data, copy=False)):
                assert field.__array_interface__["data"] == data.__array_interface__["data"]
                assert (field.shape, field.strides, field.dtype) == (data.shape, data.strides, data.dtype)
                assert field.data is not None

    def test_a_storage_is_wrapped_with_its_parameters(self) -> None:
        data = storage.ones((5, 6), dims="JK", halo=(1, 2), layout=(1, 0), alignment_size=64)
        field = storage.as_storage(data)
        assert (field.dims, field.halo, field.layout, field.alignment_size) == (("J", "K"), data.halo, (1, 0), 64)
        assert field.__array_interface__["data"] == data.__array_interface__["data"]
        field.halo = (0, 0)
        assert data.halo == ((1, 1), (2, 2))

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ({"shape": (2, 3)}, {"shape": (2, 3)}),
            ({"dtype": float}, {"dtype": np.float64}),
            ({"dtype": "f8"}, {"dtype": np.float64}),
            ({"dims": "KI"}, {"dims": ("K", "I")}),
            ({"axes": "KI", "shape": (3, 4, 2)}, {"dims": ("K", "I")}),
            ({"layout": (0, 1)}, {"layout": (0, 1)}),
            ({"defaults": "C"}, {"layout": (0, 1)}),
            ({"defaults": "gtx86", "dims": "JK"}, {"layout": (0, 1)}),
            ({"defaults": "gtmc", "dims": "KI"}, {"layout": (0, 1)}),
            ({"halo": (0, 1)}, {"halo": ((0, 0), (1, 1)), "aligned_index": (0, 1)}),
            ({"alignment_size": 8}, {"alignment_size": 8}),
            ({"device": "cpu"}, {"device": None}),
        ],
    )
    def test_what_agrees_is_taken(self, given: Any, told: dict[str, Any]) -> None:
        data = np.ones((2, 3))
        field = storage.as_storage(data, **given)
        assert {name: getattr(field, name) for name in told} == told
        assert np.shares_memory(field.to_numpy(), data)

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ({"shape": (3, 2)}, errors.ShapeError, r"shape: \(3, 2\) was given, but the data has shape \(2, 3\)"),
            ({"dtype": "f4"}, errors.DTypeError, "dtype: float32 was given, but the data is of type float64"),
            ({"dtype": (float, (3,))}, errors.DTypeError, "has data dimensions, but the shape is that of the data"),
            ({"dims": "I"}, errors.DimensionsError, r"dims: \('I',\) has 1 labels, but the shape has 2 axes"),
            ({"dims": "IJ"}, errors.DimensionsError, r"dims: \('I', 'J'\) was given, .* its axes are \('J', 'I'\)"),
            ({"layout": (1, 0)}, errors.LayoutError, r"layout: \(1, 0\) was asked for, but the strides .* \(24, 8\)"),
            ({"defaults": "F"}, errors.LayoutError, r"layout: \(1, 0\) was asked for"),
            ({"defaults": "gtmc", "dims": "JI"}, None, ""),
            ({"defaults": "gtx86", "dims": "JI"}, errors.LayoutError, r"layout: \(1, 0\) was asked for"),
            ({"alignment_size": 2**20}, errors.ArgumentValueError, r"alignment_size: the address of index \(0, 0\)"),
            ({"alignment": 2**17}, errors.ArgumentValueError, r"alignment: the address of index \(0, 0\)"),
            ({"halo": (2, 0)}, errors.ArgumentValueError, "halo: 2 points below and 2 above the domain do not fit"),
        ],
    )
    def test_what_contradicts_the_data_is_refused(self, given: Any, error: Any, message: str) -> None:
        class Labelled(np.ndarray):
            dims = ("J", "I")

        data = np.ones((2, 3)).view(Labelled)
        if error is None:
            assert storage.as_storage(data, **given).layout == (0, 1)
            return
        for make in (storage.as_storage, lambda data, **given: storage.storage(data, copy=False, **given)):
            with pytest.raises(error, match=message):
                make(data, **given)


class TestFilling:
    @pytest.mark.parametrize("dtype", [np.dtype(code) for code in "?bhiqBHIQefdFD"], ids=str)
    def test_every_type(self, dtype: np.dtype[Any]) -> None:
        for make, expected in [
            (storage.zeros((3, 4), dtype), np.zeros((3, 4), dtype)),
            (storage.ones((3, 4), dtype), np.ones((3, 4), dtype)),
            (storage.full((3, 4), 5.0, dtype), np.full((3, 4), 5.0, dtype)),
            (storage.storage(np.arange(12).reshape(3, 4), dtype=dtype), np.arange(12).reshape(3, 4).astype(dtype)),
        ]:
            assert make.dtype == dtype
            np.testing.assert_array_equal(make.to_numpy(), expected)

    def test_wide_memory(self) -> None:
        field = storage.full((130, 70, 90), -2.5, np.float32, halo=(3, 3, 0), defaults="cpu_ifirst")
        assert (field.to_numpy() == np.float32(-2.5)).all()
        assert np.signbit(storage.full((2,), -0.0).to_numpy()).all()

    def test_no_points(self) -> None:
        field = storage.ones((3, 0, 2), defaults="cpu_kfirst")
        assert (field.shape, field.nbytes, np.asarray(field).size) == ((3, 0, 2), 0, 0)
