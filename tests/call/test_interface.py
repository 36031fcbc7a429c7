"""How any object becomes a field: memory, type, meaning of the axes."""

from __future__ import annotations

import array
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, storage
from fieldstone._core import describe_field


class WithInterface:
    """An object with nothing but the given attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def described(array: np.ndarray) -> dict[str, Any]:
    return {
        "address": array.__array_interface__["data"][0],
        "shape": array.shape,
        "strides": array.strides,
        "dtype": array.dtype.name,
        "readonly": not array.flags.writeable,
        "dims": None,
        "halo": None,
        "origin": None,
    }


BASE = np.arange(2 * 6 * 5 * 4, dtype=np.float64).reshape(2, 6, 5, 4)
READONLY = np.zeros((2, 3))
READONLY.flags.writeable = False


@pytest.mark.parametrize(
    "array",
    [
        BASE[0],
        BASE[0].T,
        BASE[0, ::2, ::-1, 1:3],
        BASE[:, 0, 0, 0],
        np.asfortranarray(BASE[0]),
        np.zeros(()),
        READONLY,
        np.broadcast_to(np.float32(1), (3, 4)),
        np.zeros(3, dtype=np.longlong),
        np.zeros(3, dtype=np.ulonglong),
        *(np.zeros(3, dtype=code) for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")),
    ],
    ids=lambda array: f"{array.dtype.char}{array.shape}{array.strides}",
)
def test_numpy_arrays_are_taken_as_they_lie(array: np.ndarray) -> None:
    assert describe_field(array) == described(array)
    assert describe_field(WithInterface(__array_interface__=array.__array_interface__, base=array)) == described(array)
    assert describe_field(array.view(type("Sub", (np.ndarray,), {}))) == described(array)
    interface = {**array.__array_interface__, "strides": array.strides}
    assert describe_field(WithInterface(__gt_data_interface__={None: interface})) == described(array)


def test_an_empty_array_has_its_shape() -> None:
    assert describe_field(np.zeros((3, 0, 2)))["shape"] == (3, 0, 2)


@pytest.mark.parametrize("dtype", ["f2", "c16", ">f8", ">i4", "U3", "O", "M8[s]", "V4"])
def test_other_types_keep_their_name(dtype: str) -> None:
    array = np.zeros(3, dtype=dtype)
    assert describe_field(array)["dtype"] == str(array.dtype)


def test_protocols_without_a_copy() -> None:
    buffer = bytearray(8)
    assert describe_field(buffer)["shape"] == (8,)
    assert describe_field(memoryview(b"abc"))["readonly"]

    class DLPack:
        def __dlpack__(self, **keywords: Any) -> Any:
            return BASE.__dlpack__(**keywords)

        def __dlpack_device__(self) -> Any:
            return BASE.__dlpack_device__()

    assert describe_field(DLPack()) == described(BASE)


INTERFACE = {"shape": (4, 5), "typestr": "<f8", "data": (4096, False), "strides": (40, 8)}


@pytest.mark.parametrize("key", [None, "cpu"])
@pytest.mark.parametrize("attribute", ["__gt_data_interface__", "__gt_interface__"])
@pytest.mark.parametrize("lazy", [False, True])
def test_the_data_interface(attribute: str, key: str | None, lazy: bool) -> None:
    buffer = {**INTERFACE, "dims": ("J", "I"), "halo": ((1, 2), (3, 4))}
    value = {"gpu": {}, key: (lambda: buffer) if lazy else buffer}
    field = describe_field(WithInterface(**{attribute: (lambda: value) if lazy else value}))
    assert field == {
        "address": 4096,
        "shape": (4, 5),
        "strides": (40, 8),
        "dtype": "float64",
        "readonly": False,
        "dims": ("J", "I"),
        "halo": ((1, 2), (3, 4)),
        "origin": None,
    }


def test_strides_that_are_not_given_are_those_of_c() -> None:
    for strides in ({}, {"strides": None}):
        interface = {"shape": (2, 3, 4), "typestr": "<f4", "data": (4096, True), **strides}
        assert describe_field(WithInterface(__gt_data_interface__={None: interface}))["strides"] == (48, 16, 4)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"__gt_dims__": lambda: ("K", "J")}, {"dims": ("K", "J")}),
        ({"__gt_dims__": ["K", "0"]}, {"dims": ("K", "0")}),
        ({"__gt_dims__": ("I", "K"), "dims": ("J", "K")}, {"dims": ("I", "K")}),
        ({"dims": ("J", "K")}, {"dims": ("J", "K")}),
        ({"dims": "JK"}, {"dims": ("J", "K")}),
        ({"dims": 2}, {"dims": None}),
        ({"dims": lambda: 2}, {"dims": None}),
        ({"default_origin": (1, 2)}, {"origin": (1, 2)}),
        ({"__gt_origin__": np.array([1, 2])}, {"origin": (1, 2)}),
        ({"default_origin": (3, 4), "__gt_origin__": (1, 2)}, {"origin": (3, 4)}),
    ],
)
@pytest.mark.parametrize("protocol", ["__array_interface__", "__gt_data_interface__"])
def test_attributes(protocol: str, attributes: dict[str, Any], expected: dict[str, Any]) -> None:
    array = np.zeros((4, 5))
    interface: Any = array.__array_interface__
    if protocol == "__gt_data_interface__":
        interface = {None: interface}
    field = describe_field(WithInterface(**{protocol: interface}, **attributes))
    assert field == {**described(array), **expected}


class Labelled(np.ndarray):
    dims = ("K", "0")
    default_origin = (1, 2)


class ByMethod(np.ndarray):
    dims = 2

    def __gt_dims__(self) -> tuple[str, ...]:
        return ("J", "I")

    def __gt_origin__(self) -> list[int]:
        return [2, 1]


ARRAY = np.arange(20.0).reshape(4, 5)[::-1, 1:]


@pytest.mark.parametrize(
    "value",
    [
        ARRAY,
        ARRAY.T,
        ARRAY.view(Labelled),
        ARRAY.view(ByMethod),
        ARRAY.data,
        storage.storage(ARRAY, dims="JK", halo=((1, 0), (0, 2)), default_origin=(2, 0)),
        WithInterface(__array_interface__=ARRAY.__array_interface__, base=ARRAY, dims=2),
        WithInterface(__array__=lambda dtype=None, copy=None: ARRAY, dims="IK"),
        WithInterface(__gt_data_interface__={None: {**ARRAY.__array_interface__, "halo": [1, (0, 2)]}}, base=ARRAY),
        WithInterface(__gt_interface__=lambda: {"cpu": lambda: ARRAY.__array_interface__}, dims=["0", "J"], base=ARRAY),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_storage_around_an_object_is_what_a_stencil_sees_of_the_object(value: Any) -> None:
    field = describe_field(value)
    around = describe_field(storage.as_storage(value))
    # A storage always has a halo, be it of no points.
    assert around == {**field, "halo": field["halo"] or ((0, 0), (0, 0))}


GPU = WithInterface(__cuda_array_interface__={**INTERFACE, "version": 3})


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (None, errors.ArgumentTypeError, "'field' is None, expected an array"),
        (3.5, errors.ArgumentTypeError, r"'field' is 3.5 \(of type float\), expected an array"),
        ([1.0, 2.0], errors.ArgumentTypeError, r"'field' is \[1.0, 2.0\] \(of type list\), expected an array"),
        ("text", errors.ArgumentTypeError, "'field' is 'text'"),
        (np.zeros((1,) * 9), errors.ShapeError, "'field' has 9 dimensions, expected at most 8"),
        (GPU, errors.DeviceError, r"'field' is in device memory \(address 0x1000\) that belongs to none"),
        ({"gpu": INTERFACE}, errors.DeviceError, r"'field' is in device memory \(address 0x1000\)"),
        ({("gpu", 1): INTERFACE}, errors.DeviceError, r"'field' is in device memory \(address 0x1000\)"),
        ({"tpu": INTERFACE}, errors.ArgumentValueError, r"buffers for \['tpu'\], expected one for None or 'cpu'"),
        (7, errors.ArgumentTypeError, "__gt_data_interface__ is 7"),
        ({None: 7}, errors.ArgumentValueError, "maps to 7"),
        ({None: {}}, errors.ArgumentValueError, "has no 'shape'"),
        ({None: {"shape": (1,)}}, errors.ArgumentValueError, "has no 'typestr'"),
        ({None: {"shape": (1,), "typestr": "<f8"}}, errors.ArgumentValueError, "has no 'data'"),
        ({None: {**INTERFACE, "shape": (-1, 2)}}, errors.ArgumentValueError, r"the shape \(-1, 2\)"),
        ({None: {**INTERFACE, "typestr": 8}}, errors.ArgumentValueError, "'typestr' that is no string"),
        ({None: {**INTERFACE, "data": 8}}, errors.ArgumentValueError, "the data 8"),
        ({None: {**INTERFACE, "data": (0, False)}}, errors.ArgumentValueError, "address 0"),
        ({None: {**INTERFACE, "strides": (8,)}}, errors.ArgumentValueError, r"the strides \(8,\)"),
        ({None: {**INTERFACE, "halo": ((1, 1),)}}, errors.ArgumentValueError, r"the halo \(\(1, 1\),\)"),
        ({None: {**INTERFACE, "halo": ((1, -1), (0, 0))}}, errors.ArgumentValueError, "the halo"),
        ({None: {**INTERFACE, "acquire": 1}}, errors.ArgumentValueError, "'acquire' that cannot be called"),
        ({None: {**INTERFACE, "dims": ("I",)}}, errors.DimensionsError, "has 1 labels for the 2 axes"),
        ({None: {**INTERFACE, "dims": ("I", "J", "K")}}, errors.DimensionsError, "more labels than the 2 axes"),
        ({None: {**INTERFACE, "dims": ("I", "I")}}, errors.DimensionsError, "repeats 'I'"),
        ({None: {**INTERFACE, "dims": ("I", "x")}}, errors.DimensionsError, "unknown label"),
        ({None: {**INTERFACE, "dims": 3}}, errors.DimensionsError, "is no sequence"),
    ],
)
def test_what_is_no_field(value: Any, error: type[Exception], message: str) -> None:
    if isinstance(value, dict) or value == 7:
        value = WithInterface(__gt_data_interface__=value)
    with pytest.raises(error, match=message):
        describe_field(value, name="field")


def test_a_wrong_origin_attribute() -> None:
    value = WithInterface(__array_interface__=BASE.__array_interface__, default_origin=(1.5, 2))
    with pytest.raises(errors.OriginError, match=r"default_origin is \(1.5, 2\)"):
        describe_field(value)


def test_an_error_in_the_object_is_not_hidden() -> None:
    class Broken:
        @property
        def __gt_data_interface__(self) -> Any:
            raise RuntimeError("the tape is torn")

    with pytest.raises(RuntimeError, match="the tape is torn"):
        describe_field(Broken())


def test_importing_fieldstone_does_not_import_xarray() -> None:
    code = "import sys, fieldstone, fieldstone._core; assert 'xarray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class TestMaskedArrays:
    """Values under a mask mean nothing, so they are not computed with."""

    def test_masked_elements_are_refused(self) -> None:
        masked = np.ma.masked_array(np.ones((3, 3, 3)), mask=np.arange(27).reshape(3, 3, 3) == 3)
        for use in (
            lambda: describe_field(masked),
            lambda: storage.storage(masked),
            lambda: storage.as_storage(masked),
        ):
            with pytest.raises(errors.ArgumentValueError, match=r"has masked elements.*filled"):
                use()

    def test_a_masked_array_without_masked_elements_is_an_array(self) -> None:
        array = np.ma.masked_array(np.ones((3, 3, 3)))
        assert storage.as_storage(array).shape == (3, 3, 3)


class TestCopies:
    """What is written into a copy would be lost, and a storage around one would be of something else."""

    @pytest.mark.parametrize(
        "to_array",
        [
            pytest.param(lambda values: values.copy(), id="array"),
            pytest.param(lambda values: values.copy()[::-1, :, :], id="view"),
            pytest.param(lambda values: values.copy().view(np.recarray), id="other type"),
        ],
    )
    def test_an_array_that_is_a_copy_is_refused(self, to_array: Callable[[np.ndarray], np.ndarray]) -> None:
        values = np.arange(24.0).reshape(2, 3, 4)
        # Some libraries take no notice of `copy=False`.
        other = WithInterface(__array__=lambda dtype=None, copy=None: to_array(values))
        with pytest.raises(errors.ArgumentTypeError, match="cannot be used as an array without a copy: its __array__"):
            describe_field(other)
        with pytest.raises(errors.ArgumentTypeError, match=r"no memory that can be used as it is.*returns a copy"):
            storage.as_storage(other)
        assert (storage.storage(other) == to_array(values)).all()

    @pytest.mark.parametrize("part", [np.s_[:], np.s_[1:], np.s_[::-1, ..., 1:]])
    def test_an_array_of_its_own_memory_is_taken(self, part: Any) -> None:
        values = np.arange(24.0).reshape(2, 3, 4)
        other = WithInterface(__array__=lambda dtype=None, copy=None: values[part])
        assert np.shares_memory(np.asarray(storage.as_storage(other)), values)

    def test_an_array_of_memory_that_numpy_has_not_allocated_is_taken(self) -> None:
        values = array.array("d", range(24))
        other = WithInterface(__array__=lambda dtype=None, copy=None: np.frombuffer(values))
        assert np.shares_memory(np.asarray(storage.as_storage(other)), np.frombuffer(values))
