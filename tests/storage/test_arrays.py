"""Plain arrays, and what any array is to a stencil."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from fieldstone import arrays, errors, storage, utils


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

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (
                lambda: arrays.zeros((2, 3), backend="numpy", layout=(0, 1)),
                errors.ArgumentValueError,
                "layout: 'backend' already says which; give one of 'layout' and 'backend'",
            ),
            (lambda: arrays.ones((2,), backend="C", alignment_size=8), errors.ArgumentValueError, "alignment_size: "),
            (lambda: arrays.ones((2,), device="cpu", backend="C"), errors.ArgumentValueError, "device: "),
            (lambda: arrays.ones((2,), backend="gpu"), errors.DeviceError, "there is no GPU 0"),
            (lambda: arrays.ones((2,), device="gpu"), errors.DeviceError, "there is no GPU 0"),
            (lambda: arrays.ones((2,), backend="x"), errors.PresetError, "backend: 'x' is no preset"),
            (lambda: arrays.ones((2,), halo=(1,)), errors.ArgumentTypeError, r"ones\(\) has no parameter 'halo'"),
            (lambda: arrays.ones((-2,)), errors.ShapeError, "shape: the size of axis 0 is -2"),
            (
                lambda: arrays.from_array(object()),
                errors.ArgumentTypeError,
                "data: an object of type object is no array",
            ),
            (lambda: arrays.from_array([1.0], (float, (2,))), errors.DTypeError, "has data dimensions"),
        ],
    )
    def test_wrong_calls_are_refused(self, call: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call()


class TestUtils:
    def test_memory(self) -> None:
        array = np.arange(3.0)
        assert utils.as_numpy(array) is array
        field = storage.as_storage(array)
        assert np.shares_memory(utils.as_numpy(field), array)
        assert np.shares_memory(utils.as_numpy(memoryview(array)), array)
        with pytest.raises(errors.ArgumentTypeError, match="an object of type list has no memory"):
            utils.as_numpy([1, 2])
        with pytest.raises(errors.GTNoSuchBufferError, match="supports no device"):
            utils.as_cupy(array)

    def test_dims(self) -> None:
        class Annotation:
            axes = "JK"

        assert utils.get_dims(storage.zeros((2, 3), dims="KI"), "IJ") == ("K", "I")
        assert utils.get_dims(np.zeros((2, 3))) is None
        assert utils.get_dims(np.zeros((2, 3)), "IJ") == ("I", "J")
        assert utils.get_dims(np.zeros((2, 3)), Annotation()) == ("J", "K")
        with pytest.raises(errors.ArgumentTypeError, match="annotation: expected labels"):
            utils.get_dims(np.zeros(2), 3)

    def test_origin(self) -> None:
        assert utils.get_origin(np.zeros(3)) is None
        assert utils.get_origin(storage.zeros((5, 6), halo=(1, (2, 0)))) == (1, 2)
        assert utils.get_origin(storage.zeros((5, 6), halo=(1, 1), default_origin=(2, 3))) == (2, 3)


def test_importing_is_cheap() -> None:
    """Nothing heavy is imported before it is needed."""
    text = "import sys, fieldstone.storage, fieldstone.arrays, fieldstone.utils; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    assert not {"xarray", "llvmlite", "matplotlib", "pandas", "cupy", "netCDF4"} & set(modules)
