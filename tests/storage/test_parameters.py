"""What the creation functions take, what they look up, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldstone import errors, storage
from fieldstone.storage import CPUStorage, Storage


class TestLayout:
    @pytest.mark.parametrize(
        ("defaults", "dims", "layout"),
        [
            ("F", "IJK", (2, 1, 0)),
            ("F", "KJI", (2, 1, 0)),
            ("C", "IJK", (0, 1, 2)),
            ("C", "KJI", (0, 1, 2)),
            ("gtx86", "IJK", (0, 1, 2)),
            ("gtx86", "KJI", (2, 1, 0)),
            ("cpu_ifirst", "IJK", (2, 1, 0)),
            ("gt:cpu_ifirst", "KJI", (0, 1, 2)),
            ("gtmc", "JK", (1, 0)),
            ("cpu_kfirst", ("I", "J", "K", "0"), (1, 2, 3, 0)),
            ("gtx86", None, (0, 1, 2)),
        ],
    )
    def test_of_presets(self, defaults: str, dims: Any, layout: tuple[int, ...]) -> None:
        field = storage.empty(range(3, 3 + len(layout)), defaults=defaults, dims=dims)
        assert field.layout == layout
        assert field.dims == (None if dims is None else tuple(dims))

    @pytest.mark.parametrize(
        ("given", "layout"),
        [
            ({"layout": (1, 2, 0)}, (1, 2, 0)),
            ({"layout": np.array([1, 2, 0])}, (1, 2, 0)),
            ({"layout": [1, 2, 0], "defaults": "F"}, (1, 2, 0)),
            ({"layout_map": (1, 2, 0)}, (1, 2, 0)),
            ({"layout": lambda dims: [{"I": 2, "J": 1, "K": 0}[dim] for dim in dims], "dims": "JKI"}, (1, 0, 2)),
            ({"layout": lambda dims: range(len(dims))}, (0, 1, 2)),
            ({"layout_map": lambda ndim: reversed(range(ndim)), "dims": "JKI"}, (2, 1, 0)),
            ({}, (0, 1, 2)),
        ],
    )
    def test_as_given(self, given: Any, layout: tuple[int, ...]) -> None:
        field = storage.zeros((3, 4, 5), **given)
        assert field.layout == layout
        order = np.argsort(layout)
        assert sorted(field.strides, reverse=True) == [field.strides[axis] for axis in order]

    def test_of_presets_of_ones_own(self) -> None:
        storage.register_preset("test: J first", "KIJ", alignment_size=32)
        field = storage.zeros((4, 5, 6), dims="JKI", defaults="test: J first")
        assert (field.layout, field.alignment_size) == ((2, 0, 1), 32)
        storage.register_preset("test: Fortran", "F")
        assert storage.zeros((4, 5, 6), dims="JKI", defaults="test: Fortran").layout == (2, 1, 0)
        for name, order, more, error, message in (
            ("gtmc", "IJK", {}, errors.PresetError, "'gtmc' is a preset already"),
            ("test: Fortran", "F", {}, errors.PresetError, "is a preset already"),
            ("test: x", "IJ", {}, errors.ArgumentValueError, "order: expected 'C', 'F', or I, J and K"),
            ("test: x", "IJ0", {}, errors.ArgumentValueError, "must list 'I', 'J' and 'K' once each"),
            (
                "test: x",
                "C",
                {"alignment_size": 0},
                errors.ArgumentValueError,
                "alignment_size: the number of bytes is 0",
            ),
            ("test: x", "C", {"device": "tpu"}, errors.ArgumentValueError, "device: expected None, 'cpu' or 'gpu'"),
        ):
            with pytest.raises(error, match=message):
                storage.register_preset(name, order, **more)

    def test_of_axes_with_one_point(self) -> None:
        """Their strides mean nothing, but what was asked for is kept."""
        field = storage.zeros((1, 5, 1), layout=(2, 0, 1))
        assert field.layout == field.copy().layout == (2, 0, 1)
        assert (field[:, 1:].layout, field[0].layout, field.T.layout) == ((2, 0, 1), (0, 1), (1, 0, 2))
        assert storage.as_storage(np.zeros((1, 5, 1)), layout=(2, 0, 1)).layout == (2, 0, 1)


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

    def test_copy_false_without_data_allocates(self) -> None:
        assert storage.storage(copy=False, shape=(2, 3), dtype=np.int32, defaults="F").strides == (4, 8)
        assert Storage(copy=False, shape=(2, 3)).shape == (2, 3)


class TestAlignment:
    @pytest.mark.parametrize("layout", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int8])
    @pytest.mark.parametrize("alignment_size", [16, 64, 4096])
    def test_of_every_line(self, layout: Any, dtype: Any, alignment_size: int) -> None:
        index = (3, 2, 1)
        field = storage.zeros((7, 6, 5), dtype, layout=layout, alignment_size=alignment_size, aligned_index=index)
        inner = layout.index(2)
        for line in np.ndindex(*np.delete(field.shape, inner)):
            at: list[Any] = [slice(i, i + 1) for i in np.insert(line, inner, index[inner])]
            assert field.to_numpy()[tuple(at)].ctypes.data % alignment_size == 0

    def test_of_presets(self) -> None:
        field = storage.ones((7, 6, 5), defaults="cpu_ifirst", halo=(2, 2, 0))
        assert field.alignment_size == 64
        assert field.to_numpy()[2:, 2:, :].ctypes.data % 64 == 0


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


BOTH = "are two names of one parameter"
SHAPE = (4, 5, 6)

REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    # shape
    ((-3, 2), {}, errors.ShapeError, "shape: the size of axis 0 is -3; it must be 0 or more"),
    ((4, 5.0), {}, errors.ArgumentTypeError, r"shape: expected an integer for the size of axis 1, got 5.0 \(float\)"),
    ((True, 2), {}, errors.ArgumentTypeError, "shape: expected an integer"),
    ("45", {}, errors.ArgumentTypeError, "shape: expected a sequence of integers, one size per axis, got '45'"),
    (2.5, {}, errors.ArgumentTypeError, "shape: expected a sequence of integers"),
    (None, {}, errors.ArgumentTypeError, "shape: expected a sequence of integers"),
    ((2**40, 2**40), {}, errors.ShapeError, "shape is .* more than can be addressed"),
    ((2**70,), {}, errors.ShapeError, "shape: the size of axis 0 is 1180591620717411303424; it is too large"),
    # dtype
    (SHAPE, {"dtype": "nonsense"}, errors.DTypeError, "dtype: 'nonsense' is no element type"),
    (SHAPE, {"dtype": object}, errors.DTypeError, "dtype: elements of type .* are not supported"),
    (SHAPE, {"dtype": "M8[s]"}, errors.DTypeError, "dtype: elements of type .* are not supported"),
    (SHAPE, {"dtype": np.longdouble}, errors.DTypeError, "up to 64 bits"),
    (SHAPE, {"dtype": ">f8"}, errors.DTypeError, "its bytes are swapped"),
    # dims
    (SHAPE, {"dims": "IJL"}, errors.DimensionsError, "dims: 'L' is no label of an axis; expected 'I', 'J', 'K'"),
    (SHAPE, {"dims": "IJI"}, errors.DimensionsError, "dims: 'I' is given twice in 'IJI'"),
    (SHAPE, {"dims": "IJ"}, errors.DimensionsError, r"dims: \('I', 'J'\) has 2 labels, but the shape has 3 axes"),
    (SHAPE, {"dims": 3}, errors.ArgumentTypeError, "dims: expected labels such as"),
    # halo
    (SHAPE, {"halo": (1, 1)}, errors.ArgumentValueError, "halo: 2 entries were given for 3 axes"),
    (SHAPE, {"halo": 1}, errors.ArgumentTypeError, "halo: expected a sequence with an integer or a pair"),
    (SHAPE, {"halo": (1, -1, 0)}, errors.ArgumentValueError, "halo: the number of points along axis 1 is -1"),
    (SHAPE, {"halo": (0, 0, (1, 2, 3))}, errors.ArgumentValueError, "halo: axis 2 has 3 entries"),
    (SHAPE, {"halo": (0, 0.5, 0)}, errors.ArgumentTypeError, "halo: expected"),
    (SHAPE, {"halo": (0, 3, 0)}, errors.ArgumentValueError, "halo: 3 points below and 3 above the domain do not fit"),
    # layout
    (SHAPE, {"layout": (0, 1)}, errors.LayoutError, r"layout: \(0, 1\) has 2 entries, but the shape has 3 axes"),
    (SHAPE, {"layout": (0, 1, 1)}, errors.LayoutError, "layout.*permutation"),
    (SHAPE, {"layout": (0, 1, -1)}, errors.LayoutError, "layout: entry 2 is -1; it must be 0 or more"),
    (
        SHAPE,
        {"layout": lambda dims: dims},
        errors.ArgumentTypeError,
        "layout: expected an integer for entry 0, got 'I'",
    ),
    (SHAPE, {"layout": "C"}, errors.ArgumentTypeError, "layout: expected a permutation"),
    # alignment
    (SHAPE, {"alignment_size": 0}, errors.ArgumentValueError, "alignment_size: the number of bytes is 0"),
    (SHAPE, {"alignment_size": 8.0}, errors.ArgumentTypeError, "alignment_size: expected an integer"),
    (SHAPE, {"alignment": -1}, errors.ArgumentValueError, "alignment: the number of elements is -1"),
    (SHAPE, {"aligned_index": (0, 0)}, errors.ArgumentValueError, "aligned_index: 2 entries were given for 3 axes"),
    (SHAPE, {"aligned_index": (0, 9, 0)}, errors.ArgumentValueError, "aligned_index: index 9 is outside axis 1"),
    (SHAPE, {"default_origin": (0, 9, 0)}, errors.ArgumentValueError, "default_origin: 9 points below"),
    # presets and devices
    (SHAPE, {"defaults": "gtx68"}, errors.PresetError, "defaults: 'gtx68' is no preset; known are .*cpu_kfirst"),
    (SHAPE, {"defaults": 3}, errors.ArgumentTypeError, "defaults: expected the name of a preset, got 3"),
    (SHAPE, {"defaults": "gpu"}, errors.DeviceError, "supports no device"),
    (SHAPE, {"device": "gpu"}, errors.DeviceError, "device='gpu': this version of fieldstone supports no device"),
    (SHAPE, {"gpu": True}, errors.DeviceError, "supports no device"),
    (SHAPE, {"gpu": "yes"}, errors.ArgumentTypeError, "gpu: expected True or False"),
    (SHAPE, {"device": "tpu"}, errors.ArgumentValueError, "device: expected None, 'cpu' or 'gpu', got 'tpu'"),
    (SHAPE, {"managed": "yes"}, errors.ArgumentValueError, "managed: expected None, False, 'gt4py' or 'cuda'"),
    # both names of one parameter, unknown ones
    (SHAPE, {"dims": "IJK", "axes": "IJK"}, errors.ArgumentTypeError, f"'dims' and 'axes' {BOTH}"),
    (SHAPE, {"layout": (0, 1, 2), "layout_map": (0, 1, 2)}, errors.ArgumentTypeError, BOTH),
    (SHAPE, {"defaults": "C", "default_parameters": "C"}, errors.ArgumentTypeError, BOTH),
    (SHAPE, {"device": "cpu", "gpu": False}, errors.ArgumentTypeError, BOTH),
    (SHAPE, {"alignment": 8, "alignment_size": 64}, errors.ArgumentTypeError, BOTH),
    (SHAPE, {"backend": "numpy"}, errors.ArgumentTypeError, "the preset of a backend is given as defaults"),
    (SHAPE, {"haloo": 3}, errors.ArgumentTypeError, r"zeros\(\) has no parameter 'haloo'; .* halo,"),
]


@pytest.mark.parametrize(("shape", "given", "error", "message"), REFUSED)
def test_wrong_arguments_are_refused(shape: Any, given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        storage.zeros(shape, **given)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: storage.full((2,)), errors.ArgumentTypeError, r"full\(\): fill_value is missing"),
        (lambda: storage.full((2,), 1, value=1), errors.ArgumentTypeError, BOTH),
        (lambda: storage.full((2,), [1, 2]), errors.ArgumentValueError, "fill_value: .* which has several elements"),
        (lambda: storage.full((2,), "x"), errors.ArgumentValueError, "fill_value: expected a number of type float64"),
        (lambda: storage.full((2,), "3"), errors.ArgumentValueError, "fill_value: expected a number .* got '3'"),
        (lambda: storage.full((2,), 300, np.uint8), errors.ArgumentValueError, "fill_value: .*300"),
        (lambda: storage.storage(), errors.ArgumentValueError, r"data: storage\(\) has nothing to copy"),
        (lambda: storage.as_storage(), errors.ShapeError, "shape: neither a shape nor data was given"),
        (
            lambda: storage.as_storage([1, 2]),
            errors.ArgumentTypeError,
            "data: an object of type list has no memory that can be used",
        ),
        (
            lambda: storage.storage(object()),
            errors.ArgumentTypeError,
            "data: an object of type object is no array of numbers",
        ),
        (lambda: storage.storage("text"), errors.DTypeError, "data: elements of type"),
        (lambda: storage.storage(np.ones(3), shape=(4,)), errors.ShapeError, r"shape: \(4,\) was given, but the data"),
        (lambda: storage.zeros_like(np.ones(3), shape=(4,)), errors.ArgumentTypeError, "takes the shape of its data"),
        (lambda: storage.storage(None, np.ones(3)), errors.DeviceError, "device_data: .* supports no device"),
        (lambda: storage.storage(np.ones(3), sync_state=1), errors.DeviceError, "sync_state: .* supports no device"),
        (lambda: storage.as_storage(np.ones((2, 3)), layout=(1, 0)), errors.LayoutError, "keeps its layout"),
        (lambda: storage.as_storage(np.ones((2, 3)), defaults="F"), errors.LayoutError, "keeps its layout"),
        (
            lambda: storage.as_storage(np.ones(9)[1:], alignment_size=4096, aligned_index=(1,)),
            errors.ArgumentValueError,
            "alignment_size: the address of index",
        ),
        (
            lambda: storage.storage(np.ones(3), dtype=np.float32, copy=False),
            errors.DTypeError,
            "dtype: float32 was given, but the data is of type float64",
        ),
        (
            lambda: storage.as_storage(storage.ones((2, 3), dims="IJ"), dims="JI"),
            errors.DimensionsError,
            "the data says that its axes are",
        ),
        (
            lambda: setattr(storage.ones((2, 3)), "halo", (1, 2)),
            errors.ArgumentValueError,
            "halo: 2 points below and 2 above the domain do not fit along axis 1",
        ),
        (lambda: setattr(storage.ones((2, 3)), "halo", (1,)), errors.ArgumentValueError, "halo: 1 entries were given"),
    ],
)
def test_wrong_calls_are_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
