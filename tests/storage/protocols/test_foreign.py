"""Objects that lie about their memory, or describe it in odd ways: the same answer wherever one may be given."""

from __future__ import annotations

import array
import ctypes
import gc
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval

from .ctypes_dlpack import Producer

COMPILED = ["cpu_kfirst", "cpu_ifirst"]
BACKENDS = ["debug", "numpy", *COMPILED]


def double(inp: Field[np.float64], out: Field[np.float64]):  # type: ignore[no-untyped-def]
    with computation(PARALLEL), interval(...):
        out = 2 * inp


STENCILS = {backend: gtscript.stencil(backend=backend)(double) for backend in BACKENDS}
NATIVE = STENCILS["cpu_kfirst"]

VALUES = np.arange(24.0).reshape(2, 3, 4)
ADDRESS = VALUES.ctypes.data
INTERFACE = VALUES.__array_interface__


class Speaks:
    """An object with nothing but the given attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def described(**entries: Any) -> Speaks:
    """Return an object whose `__array_interface__` is right but for the given entries."""
    return Speaks(__array_interface__={**INTERFACE, **entries}, keep=VALUES)


def without(key: str) -> Speaks:
    return Speaks(__array_interface__={name: entry for name, entry in INTERFACE.items() if name != key})


class Torn:
    @property
    def __array_interface__(self) -> Any:
        raise RuntimeError("the tape is torn")


class Raising:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("the tape is torn")


class NoArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return [1.0]


class Record(ctypes.Structure):
    _fields_ = (("real", ctypes.c_double), ("imaginary", ctypes.c_double))


# What it does to be used: (object, exception, message); each use has a message of its own around it.
LIES: dict[str, tuple[Any, Any, str]] = {
    "too few strides": (
        described(strides=(8,)),
        errors.ArgumentValueError,
        r"the strides \(8,\) .*expected 3 integers",
    ),
    "too many strides": (described(strides=(1, 2, 3, 4)), errors.ArgumentValueError, "expected 3 integers"),
    "strides that are no integers": (described(strides="xyz"), errors.ArgumentValueError, "the strides 'xyz'"),
    "elements at no address": (described(data=(0, False)), errors.ArgumentValueError, "data is NULL|the address 0"),
    "a negative address": (described(data=(-8, False)), errors.ArgumentValueError, r"the data \(-8, False\)"),
    "an address beyond memory": (described(data=(2**64 - 8, False)), errors.ArgumentValueError, "describes no memory"),
    "an address alone": (described(data=ADDRESS), errors.ArgumentValueError, "expected a tuple"),
    "data that is text": (described(data="text"), errors.ArgumentValueError, "the data 'text'"),
    "data that is no buffer": (without("data"), errors.ArgumentValueError, "no 'data', and the object is no buffer"),
    "data too short": (described(data=bytearray(191)), errors.ArgumentValueError, "outside the 191 bytes"),
    "an offset behind the data": (
        described(data=bytearray(192), offset=8),
        errors.ArgumentValueError,
        "outside the 192 bytes",
    ),
    "an offset before the data": (described(data=bytearray(192), offset=-8), errors.ArgumentValueError, "offset -8"),
    "strides out of the data": (
        described(data=bytearray(192), strides=(96, 32, -8)),
        errors.ArgumentValueError,
        "outside the 192 bytes",
    ),
    "data with gaps": (
        described(data=memoryview(bytearray(384))[::2]),
        errors.ArgumentValueError,
        "do not follow each other",
    ),
    "no shape": (without("shape"), (errors.ArgumentTypeError, errors.ArgumentValueError), "no 'shape'"),
    "no type": (without("typestr"), (errors.ArgumentTypeError, errors.ArgumentValueError), "no 'typestr'"),
    "a shape that is a number": (described(shape=4), errors.ArgumentValueError, "the shape 4"),
    "a shape of floats": (described(shape=(2.0, 3, 4)), errors.ArgumentValueError, r"the shape \(2\.0, 3, 4\)"),
    "a negative size": (described(shape=(2, -3, 4)), errors.ArgumentValueError, r"the shape \(2, -3, 4\)"),
    "sizes that overflow": (described(shape=(2**40,) * 3), errors.ArgumentValueError, "describes no memory"),
    "a size beyond integers": (described(shape=(2**70, 1, 1)), errors.ArgumentValueError, "the shape"),
    "strides that overflow": (described(strides=(2**62, 2**62, 8)), errors.ArgumentValueError, "describes no memory"),
    "elements that overflow": (
        described(shape=(2**62, 2, 2), strides=(0, 0, 0)),
        errors.ArgumentValueError,
        "describes no memory",
    ),
    "a mask": (described(mask=np.zeros((2, 3, 4), bool)), errors.ArgumentValueError, "has a mask"),
    "objects": (described(typestr="|O8"), errors.ArgumentValueError, "addresses of objects are no numbers"),
    "records of objects": (described(typestr="O,O"), errors.ArgumentValueError, "addresses of objects"),
    "an unknown type": (described(typestr="<x9"), errors.ArgumentValueError, "which is no type of NumPy's"),
    "a type that is no text": (described(typestr=8), errors.ArgumentValueError, "'typestr' that is no string"),
    "elements without bytes": (described(typestr="|S0"), errors.ArgumentValueError, "itemsize is 0"),
    "records": (described(typestr="f4,f4"), errors.DTypeError, "elements of type"),
    "text": (described(typestr="<U2"), errors.DTypeError, "elements of type"),
    "dates": (described(typestr="<M8[s]"), errors.DTypeError, "elements of type"),
    "long doubles": (np.zeros((2, 3, 4), np.longdouble), errors.DTypeError, "elements of type"),
    "no dictionary": (Speaks(__array_interface__=3), errors.ArgumentTypeError, "__array_interface__.* dictionary"),
    "an attribute that raises": (Torn(), RuntimeError, "the tape is torn"),
    "a structure that is none": (Speaks(__array_struct__=3), errors.ArgumentTypeError, "invalid __array_struct__"),
    "a capsule of something else": (
        Speaks(__array_struct__=VALUES.__dlpack__()),
        errors.ArgumentTypeError,
        "invalid __array_struct__",
    ),
    "a buffer at no address": (
        (ctypes.c_double * 4 * 3 * 2).from_address(0),
        errors.ArgumentValueError,
        "memory .*data is NULL|memory has the address 0",
    ),
    "a buffer of records": ((Record * 4 * 3 * 2)(), errors.DTypeError, "elements of type"),
    "a buffer of pointers": (
        memoryview(bytearray(192)).cast("P", (2, 3, 4)),
        (errors.ArgumentTypeError, errors.ArgumentValueError),
        "'P' is not a valid PEP 3118 buffer format",
    ),
    "a buffer of characters": (
        memoryview(bytearray(24)).cast("c", (2, 3, 4)),
        (errors.DTypeError, errors.ArgumentValueError),
        "elements of type|could not convert",
    ),
    "an array of objects": (np.full((2, 3, 4), None), errors.DTypeError, "elements of type"),
    "a conversion that raises": (Raising(), errors.ArgumentTypeError, "the tape is torn"),
    "a conversion to something else": (NoArray(), errors.ArgumentTypeError, "not producing an array"),
}

USES: dict[str, Callable[[Any], Any]] = {
    "as_storage": storage.as_storage,
    "storage": storage.storage,
    "__setitem__": lambda value: storage.zeros((2, 3, 4)).__setitem__(..., value),
    "input": lambda value: NATIVE(value, np.zeros((2, 3, 4))),
    "output": lambda value: NATIVE(np.zeros((2, 3, 4)), value),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused(lie: str, use: str) -> None:
    value, error, message = LIES[lie]
    with pytest.raises(error, match=message):
        USES[use](value)


def negative() -> Speaks:
    last = ADDRESS + VALUES.nbytes - 8
    return described(data=(last, False), strides=(-96, -32, -8))


def unaligned() -> Speaks:
    block = np.zeros(24 * 8 + 1, np.uint8)
    values = block[1:].view("<f8").reshape(2, 3, 4)
    values[...] = VALUES
    return Speaks(__array_interface__=values.__array_interface__, keep=block)


def from_array(values: np.ndarray) -> array.array[float]:
    return array.array("d", values.ravel().tolist())


# Odd, but a description of memory: (object, values)
ODD: dict[str, tuple[Callable[[], Any], np.ndarray]] = {
    "a shape that is a list": (lambda: described(shape=[2, 3, 4], strides=[96, 32, 8]), VALUES),
    "negative strides": (negative, VALUES[::-1, ::-1, ::-1]),
    "strides of zero": (lambda: described(strides=(0, 32, 0)), np.broadcast_to(VALUES[:1, :, :1], (2, 3, 4))),
    "elements that overlap": (
        lambda: described(strides=(8, 8, 8)),
        np.lib.stride_tricks.as_strided(VALUES, (2, 3, 4), (8, 8, 8)),
    ),
    "data that is a buffer": (lambda: described(data=VALUES.tobytes()), VALUES),
    "data behind an offset": (lambda: described(data=bytes(16) + VALUES.tobytes(), offset=16), VALUES),
    "elements that are not aligned": (unaligned, VALUES),
    "a buffer of ctypes": (lambda: (ctypes.c_double * 4 * 3 * 2).from_buffer_copy(VALUES), VALUES),
    "a buffer in Fortran's order": (lambda: memoryview(np.asfortranarray(VALUES)), VALUES),
    "a buffer of the array module": (lambda: memoryview(from_array(VALUES)).cast("B").cast("d", (2, 3, 4)), VALUES),
    "DLPack": (lambda: Producer(ADDRESS, (2, 3, 4)), VALUES),
    "DLPack, backwards": (lambda: Producer(ADDRESS + 184, (2, 3, 4), (-12, -4, -1)), VALUES[::-1, ::-1, ::-1]),
    "an array that has an offset in a record": (
        lambda: np.rec.fromarrays([VALUES.astype("f4"), VALUES], names="a,b")["b"],
        VALUES,
    ),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_descriptions_are_read_by_storages(odd: str) -> None:
    make, values = ODD[odd]
    around = storage.as_storage(make())
    copied = storage.storage(make())
    target = storage.zeros((2, 3, 4), layout=(2, 0, 1))
    target[...] = make()
    gc.collect()
    for field in (around, copied, target, around + 0, copied + 0):
        np.testing.assert_array_equal(field.to_numpy(), values)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("odd", ODD)
def test_odd_descriptions_are_read_by_stencils(odd: str, backend: str) -> None:
    make, values = ODD[odd]
    for value in (make(), storage.as_storage(make())):
        out = np.zeros((2, 3, 4))
        stencil = gtscript.stencil(backend=backend)(double)  # a new one, which has not warned yet
        if "not aligned" in odd or "record" in odd:
            if backend in COMPILED:
                with pytest.raises(errors.ArgumentValueError, match="argument 'inp': its elements are not aligned"):
                    stencil(value, out)
                continue
            with pytest.warns(errors.LayoutWarning, match="argument 'inp' of stencil 'double' .* not aligned"):
                stencil(value, out)
        else:
            stencil(value, out)
        np.testing.assert_array_equal(out, 2 * values)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.filterwarnings("ignore::fieldstone.errors.LayoutWarning")  # they may be unaligned, too
def test_what_shares_elements_is_not_written(backend: str) -> None:
    for strides in ((0, 32, 8), (8, 8, 8), (96, 32, 4)):
        lying = described(data=bytearray(300), strides=strides)
        with pytest.raises((errors.AliasError, errors.ArgumentValueError), match=r"share memory|not aligned"):
            STENCILS[backend](VALUES, lying)
        with pytest.raises(errors.ArgumentValueError, match="share memory"):
            storage.as_storage(lying)[...] = 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_read_only_memory_is_not_written(backend: str) -> None:
    for value in (described(data=VALUES.tobytes()), memoryview(VALUES).toreadonly()):
        with pytest.raises(errors.ReadOnlyError, match="argument 'out' is a read-only array"):
            STENCILS[backend](VALUES, value)


def test_swapped_bytes() -> None:
    swapped = VALUES.astype(">f8")
    lying = Speaks(__array_interface__=swapped.__array_interface__, keep=swapped)
    np.testing.assert_array_equal(storage.storage(lying).to_numpy(), VALUES)
    target = storage.zeros((2, 3, 4))
    target[...] = lying
    np.testing.assert_array_equal(target.to_numpy(), VALUES)
    with pytest.raises(errors.DTypeError, match="its bytes are swapped"):
        storage.as_storage(lying)
    with pytest.raises(errors.DTypeError, match="elements of type >f8"):
        NATIVE(lying, target)


def fits(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, size: int, itemsize: int) -> bool:
    """Return whether all elements lie within a block of this size, by looking at each corner."""
    if 0 in shape:
        return True
    corners = itertools.product(*[(0, length - 1) for length in shape])
    starts = [offset + sum(i * stride for i, stride in zip(corner, strides, strict=True)) for corner in corners]
    return min(starts) >= 0 and max(starts) + itemsize <= size


@given(
    shape_and_strides=st.lists(st.tuples(st.integers(0, 4), st.integers(-20, 20)), max_size=4),
    offset=st.integers(0, 70),
    size=st.integers(0, 80),
    typestr=st.sampled_from(["|b1", "|i1", "<u2", "<f4", "<f8", "<c8"]),
)
def test_elements_are_found_where_they_are_or_refused(
    shape_and_strides: list[tuple[int, int]], offset: int, size: int, typestr: str
) -> None:
    shape = tuple(length for length, _ in shape_and_strides)
    strides = tuple(stride for _, stride in shape_and_strides)
    dtype = np.dtype(typestr)
    block = bytearray((7 * byte + 1) % 2 for byte in range(size))
    entries = {"shape": shape, "strides": strides, "typestr": typestr, "data": block, "offset": offset, "version": 3}
    value = Speaks(__array_interface__=entries)
    if not fits(shape, strides, offset, size, dtype.itemsize):
        with pytest.raises(errors.ArgumentValueError, match=r"outside the .* bytes of its data"):
            storage.storage(value)
        return
    field = storage.storage(value)
    assert field.shape == shape
    if field.size:
        expected = np.ndarray(shape, dtype, block, offset, strides)
        np.testing.assert_array_equal(field.to_numpy(), expected)
        np.testing.assert_array_equal(storage.as_storage(value).to_numpy(), expected)


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3)
ENTRIES = ANYTHING | st.lists(ANYTHING, max_size=4) | st.lists(ANYTHING, max_size=4).map(tuple) | st.just(np.zeros(3))


@given(
    st.dictionaries(st.sampled_from(["shape", "strides", "typestr", "mask", "offset", "stream", "descr"]), ENTRIES),
    st.sampled_from(["__array_interface__", "__gt_data_interface__", "__gt_interface__", "__cuda_array_interface__"]),
    st.booleans(),
)
def test_rubbish_is_refused(rubbish: dict[str, Any], attribute: str, right: bool) -> None:
    """Whatever the entries are, there is an error or an array within the data."""
    entries = {**(INTERFACE if right else {}), **rubbish, "data": bytearray(200)}
    value = Speaks(**{attribute: {None: entries} if "_gt_" in attribute else entries})
    for use in (storage.as_storage, storage.storage):
        try:
            field = use(value)
        except (ValueError, TypeError, IndexError):
            continue
        field.to_numpy().sum()


MEANINGLESS = [12345, -12345, 0, 1, 2**62, -(2**63)]


class TestOnePoint:
    """The stride along an axis of one point means nothing."""

    def field(self, axis: int, stride: int) -> tuple[Speaks, np.ndarray]:
        values = VALUES.copy().take([1], axis).copy()
        strides = [*values.strides[:axis], stride, *values.strides[axis + 1 :]]
        interface = {**values.__array_interface__, "strides": tuple(strides)}
        return Speaks(__array_interface__=interface, values=values), values

    @pytest.mark.parametrize("stride", MEANINGLESS)
    @pytest.mark.parametrize("axis", [0, 1, 2])
    def test_storages(self, axis: int, stride: int) -> None:
        value, values = self.field(axis, stride)
        field = storage.as_storage(value)
        copied = storage.storage(field, defaults="cpu_ifirst", dims="IJK")
        np.testing.assert_array_equal(field.to_numpy(), values)
        np.testing.assert_array_equal(copied.to_numpy(), values)
        np.testing.assert_array_equal(np.from_dlpack(field), values)
        np.testing.assert_array_equal(np.asarray(memoryview(field)), values)
        np.testing.assert_array_equal(field.T.to_numpy(), values.T)
        np.testing.assert_array_equal(field[:, ::-1, 1:].to_numpy(), values[:, ::-1, 1:])
        field += 1
        field[...] = field * 2
        np.testing.assert_array_equal(field.to_numpy(), 2 * copied.to_numpy() + 2)

    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize("stride", MEANINGLESS)
    @pytest.mark.parametrize("axis", [0, 1, 2])
    def test_stencils(self, axis: int, stride: int, backend: str) -> None:
        value, values = self.field(axis, stride)
        out, results = self.field(axis, stride)
        expected = 2 * values
        STENCILS[backend](value, out)
        np.testing.assert_array_equal(results, expected)
        STENCILS[backend](storage.as_storage(out), storage.as_storage(value))
        np.testing.assert_array_equal(values, 2 * expected)
