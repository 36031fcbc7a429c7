"""Plain arrays, and what any array is to a stencil."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import arrays, errors, gtscript, storage, utils


class TestCreation:
    @pytest.mark.parametrize(
        ("backend", "dims", "strides"),
        [
            ("cpu_ifirst", None, (8, 64, 384)),
            ("cpu_kfirst", None, (384, 64, 8)),
            ("gt:cpu_ifirst", "KJI", (384, 64, 8)),
            ("gtx86", ("K", "J", "I"), (8, 64, 384)),
            ("numpy", None, (240, 40, 8)),
            ("F", "IJK", (8, 64, 384)),
        ],
    )
    def test_of_backends(self, backend: str, dims: Any, strides: tuple[int, ...]) -> None:
        shape = (8, 6, 5) if strides[0] == 8 else (6, 6, 8) if strides[2] == 8 and strides[1] == 64 else (5, 6, 5)
        array = arrays.zeros(shape, backend=backend, dims=dims)
        assert type(array) is np.ndarray
        assert (array.shape, array.dtype) == (shape, np.float64)
        assert np.argsort(array.strides).tolist() == np.argsort(strides).tolist()
        assert (array == 0).all()

    def test_values_and_types(self) -> None:
        assert (arrays.ones((2, 3), np.int8) == np.ones((2, 3), np.int8)).all()
        assert arrays.ones((2, 3), np.int8).dtype == np.int8
        assert (arrays.full((2, 3), 2.5) == 2.5).all()
        assert arrays.empty((2, 3)).shape == (2, 3)
        like = np.zeros((4, 5), np.float32, order="F")
        for array, value in (
            (arrays.zeros_like(like), 0),
            (arrays.ones_like(like), 1),
            (arrays.full_like(like, 7), 7),
        ):
            assert (array.shape, array.dtype, array.strides) == ((4, 5), np.float32, (4, 16))
            assert (array == value).all()
        assert arrays.empty_like(like, np.int64, layout=(0, 1)).strides == (40, 8)

    def test_data_dimensions_of_the_dtype(self) -> None:
        array = arrays.empty((4, 5, 6), (float, (3,)), dims="IJK", backend="cpu_ifirst")
        assert array.shape == (4, 5, 6, 3)
        assert np.argsort(array.strides).tolist() == [0, 1, 2, 3]

    def test_of_data(self) -> None:
        values = np.arange(24.0).reshape(2, 3, 4)
        array = arrays.from_array(values, np.float32, backend="cpu_ifirst", aligned_index=(1, 1, 0))
        np.testing.assert_array_equal(array, values)
        assert array.dtype == np.float32
        assert array[1:, 1:].ctypes.data % 64 == 0
        assert arrays.from_array([[1, 2]]).tolist() == [[1, 2]]
        assert arrays.from_array(values.T).strides == values.T.strides
        assert type(arrays.from_array(storage.ones((2,), dims="I"))) is np.ndarray

    @given(st.data())
    def test_layout_and_alignment_are_those_of_storages(self, data: st.DataObject) -> None:
        dims = data.draw(st.permutations("IJK01"))[: data.draw(st.integers(0, 4))]
        shape = tuple(data.draw(st.integers(0, 5)) for _ in dims)
        index = tuple(data.draw(st.integers(0, size)) for size in shape)
        preset = data.draw(st.sampled_from(["C", "F", "debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gtx86", "gtmc"]))
        array = arrays.empty(shape, np.float32, backend=preset, dims=dims, aligned_index=index)
        made = storage.empty(shape, np.float32, defaults=preset, dims=dims, aligned_index=index)
        assert type(array) is np.ndarray
        assert array.strides == made.to_numpy().strides
        if array.size:
            at = sum(entry * stride for entry, stride in zip(index, array.strides, strict=True))
            assert (array.ctypes.data + at) % made.alignment_size == 0

    def test_without_backend_each_parameter_can_be_given(self) -> None:
        array = arrays.zeros((6, 5), np.float32, layout=(1, 0), alignment_size=256, aligned_index=(2, 1), device="cpu")
        assert array.strides[0] == 4
        assert array[2:, 1:].ctypes.data % 256 == 0
        assert arrays.zeros((6, 5), dims="JI", layout=lambda dims: [dims.index("I"), dims.index("J")]).strides[0] == 8

    def test_of_templates(self) -> None:
        """A template gives what is not given: shape, type, layout and what is aligned."""
        template = storage.ones((5, 6), np.float32, dims="IJ", halo=(1, 2), layout=(1, 0), alignment_size=128)
        for make in (arrays.empty_like, arrays.zeros_like, arrays.ones_like, arrays.from_array):
            array = make(template)
            assert (array.shape, array.dtype, array.strides[0]) == ((5, 6), np.float32, 4)
            assert array[1:, 2:].ctypes.data % 128 == 0
            assert make(template, np.int8).dtype == np.int8
            assert make(template, layout=(0, 1)).strides[1] == 4
            assert make(template, backend="C").strides == (24, 4)
        assert (arrays.full_like(template, 7.5) == 7.5).all()

    def test_data_dimensions_have_the_largest_strides(self) -> None:
        array = arrays.zeros((3, 4, 5), (np.float32, (2, 2)), backend="cpu_kfirst", dims="KIJ")
        assert array.shape == (3, 4, 5, 2, 2)
        assert np.argsort(array.strides).tolist() == [0, 2, 1, 4, 3]


class TestUtils:
    def test_memory(self) -> None:
        array = np.arange(3.0)
        assert utils.as_numpy(array) is array
        field = storage.as_storage(array)
        assert np.shares_memory(utils.as_numpy(field), array)
        assert np.shares_memory(utils.as_numpy(memoryview(array)), array)
        for numbers in ([1, 2], ((1.5,), (2.5,)), 3, 1.5, np.float32(2), 1j):
            np.testing.assert_array_equal(utils.as_numpy(numbers), np.asarray(numbers))
            assert utils.as_numpy(numbers).dtype == np.asarray(numbers).dtype
        with pytest.raises(errors.GTNoSuchBufferError, match=r"no buffer on a device; to_numpy\(\) gives"):
            utils.as_cupy(array)

    @pytest.mark.parametrize(
        ("data", "annotation", "dims"),
        [
            (storage.zeros((2, 3), dims="KI"), None, ("K", "I")),
            (storage.zeros((2, 3), dims="KI"), "IJ", ("K", "I")),
            (storage.zeros((2, 3)), "IJ", ("I", "J")),
            (np.zeros((2, 3)), None, None),
            (np.zeros((2, 3)), "IJ", ("I", "J")),
            (np.zeros((2, 3)), ["J", "0"], ("J", "0")),
            (np.zeros((2, 3)), gtscript.Field[gtscript.IJ, float], ("I", "J")),
            (np.zeros((2, 3, 4)), gtscript.Field[float], ("I", "J", "K")),
            (np.zeros((2, 3, 4, 5)), gtscript.Field[(float, (5,))], ("I", "J", "K", "0")),
            (np.zeros((2, 3, 5)), gtscript.Field[gtscript.IJ, (float, (5,))], ("I", "J", "0")),
            (np.zeros((2,)), gtscript.K, ("K",)),
        ],
        ids=str,
    )
    def test_dims(self, data: Any, annotation: Any, dims: Any) -> None:
        """Those of the data; where it has none, those of the annotation."""
        assert utils.get_dims(data, annotation) == dims
        assert all(type(label) is str for label in dims or ())

    @pytest.mark.parametrize(("name", "value"), [("dims", "JK"), ("dims", ("J", "K")), ("axes", "JK")])
    def test_dims_of_other_annotations(self, name: str, value: Any) -> None:
        annotation = type("Annotation", (), {name: value})()
        assert utils.get_dims(np.zeros((2, 3)), annotation) == ("J", "K")

    @pytest.mark.parametrize(
        ("name", "value"),
        [("__gt_dims__", lambda self: ["J", "0"]), ("__gt_dims__", ("J", "0")), ("dims", ("J", "0"))],
    )
    def test_dims_of_objects(self, name: str, value: Any) -> None:
        array = np.zeros((2, 3)).view(type("Labelled", (np.ndarray,), {name: value}))
        assert utils.get_dims(array) == ("J", "0")
        assert utils.get_dims(array, "IK") == ("J", "0")

    def test_origin(self) -> None:
        assert utils.get_origin(np.zeros(3)) is None
        assert utils.get_origin(storage.zeros((5, 6), halo=(1, (2, 0)))) == (1, 2)
        assert utils.get_origin(storage.zeros((5, 6), halo=(1, 1), default_origin=(2, 3))) == (2, 3)


def test_importing_is_cheap() -> None:
    """Nothing heavy is imported before it is needed."""
    text = "import sys, fieldstone.storage, fieldstone.arrays, fieldstone.utils; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    assert not {"xarray", "llvmlite", "matplotlib", "pandas", "cupy", "netCDF4"} & set(modules)
