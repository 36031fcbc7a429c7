"""What annotations say of memory, and what a call says where memory is otherwise."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import (
    IJ,
    PARALLEL,
    Alignment,
    Axes,
    DefaultParameters,
    DType,
    Field,
    LayoutMap,
    computation,
    interval,
)

BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gpu"]
Array = npt.NDArray[Any]
SHAPE = (8, 6, 4)


def stencil_of(annotation: Any, backend: str = "debug") -> Any:
    """A copy whose input is annotated so."""

    def copied(inp: annotation, out: Field[np.float32]):
        with computation(PARALLEL), interval(...):
            out = inp

    return gtscript.stencil(backend, copied)


def aligned(order: str, *, by: int = 64, offset: int = 0, shape: tuple[int, ...] = SHAPE) -> Array:
    """An array with the last axis of `order` contiguous, whose lines start at multiples of `by` bytes plus `offset`."""
    axes = ["IJK".index(axis) for axis in order]
    item, turned = 4, [shape[axis] for axis in axes]
    pitch = -(-turned[-1] * item // by) * by
    memory = np.zeros(int(np.prod(turned[:-1])) * pitch + 2 * by, dtype=np.uint8)
    start = -memory.ctypes.data % by + offset
    lines = memory[start : start + int(np.prod(turned[:-1])) * pitch].reshape(*turned[:-1], pitch)
    return lines[..., : turned[-1] * item].view(np.float32).transpose(np.argsort(axes))


WARNINGS: list[tuple[Any, Callable[[], Any], str | None]] = [
    (Field[np.float32, DefaultParameters["F"]], lambda: np.zeros(SHAPE, "f4", order="F"), None),
    (
        Field[np.float32, DefaultParameters["F"]],
        lambda: np.zeros(SHAPE, "f4"),
        r"annotated with DefaultParameters\['F'\], that is layout \[2, 1, 0\], but its strides along IJK are "
        r"\[96, 16, 4\] bytes: .*an access moves up to 16 times the bytes it needs",
    ),
    (Field[np.float32, DefaultParameters["C"]], lambda: np.zeros(SHAPE, "f4"), None),
    (Field[DType[np.float32], LayoutMap[(0, 2, 1)]], lambda: aligned("IKJ"), None),
    (Field[DType[np.float32], LayoutMap[(0, 2, 1)]], lambda: aligned("IJK"), r"that is layout \[0, 2, 1\]"),
    (Field[np.float32, LayoutMap[lambda ndim: range(ndim)]], lambda: np.zeros(SHAPE, "f4"), None),
    # What is given besides wins over the preset.
    (Field[np.float32, LayoutMap[(0, 1, 2)], DefaultParameters["F"]], lambda: np.zeros(SHAPE, "f4"), None),
    (Field[np.float32, DefaultParameters["cpu_kfirst"], Alignment[1]], lambda: aligned("IJK", offset=4), None),
    (Field[np.float32, DefaultParameters["gtx86"]], lambda: aligned("IJK"), None),
    (Field[np.float32, DefaultParameters["gtmc"]], lambda: aligned("KJI"), None),
    (Field[np.float32, DefaultParameters["gtmc"]], lambda: aligned("IJK"), r"that is layout \[2, 1, 0\]"),
    (
        Field[np.float32, DefaultParameters["gtx86"]],
        lambda: aligned("IJK", offset=4),
        r"aligned to 64 bytes, but index \(0, 0, 0\) is not, or not in every line: vectors straddle cache lines",
    ),
    (Field[np.float32, Alignment[8]], lambda: aligned("IJK", by=32), None),
    (Field[np.float32, Alignment[8]], lambda: aligned("IJK", by=32, offset=16), "aligned to 32 bytes"),
    (Field[np.float32, Alignment[3]], lambda: aligned("IJK", by=12), None),
    (Field[np.float32, Alignment[8]], lambda: aligned("IJK", by=16, shape=(8, 6, 3)), "not in every line"),
    # The index that is aligned is the object's own origin.
    (
        Field[np.float32, Alignment[16]],
        lambda: storage.zeros((11, 9, 7), np.float32, halo=(1, 1, 1), aligned_index=(1, 1, 1), alignment=16),
        None,
    ),
    # An axis of one point may have any stride.
    (Field[np.float32, DefaultParameters["F"]], lambda: np.zeros((8, 1, 1), "f4"), None),
    (Field[Axes["IJ"], np.float32, LayoutMap[(1, 0)]], lambda: np.zeros((8, 6), "f4", order="F"), None),
    (Field[IJ, np.float32, LayoutMap[(1, 0)]], lambda: np.zeros((8, 6), "f4"), r"its strides along IJ are \[24, 4\]"),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("annotation", "make", "message"), WARNINGS)
def test_memory_that_is_not_as_annotated_is_warned_of_once(
    annotation: Any, make: Callable[[], Any], message: str | None, backend: str
) -> None:
    stencil = stencil_of(annotation, backend)
    out = np.zeros((11, 9, 7), np.float32)
    for expected in (message, None):
        array = make()
        np.asarray(array)[...] = 3.0
        out[...] = 0.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", errors.TransferWarning)
            stencil(array, out, origin={"out": (0, 0, 0)})
        assert [warning.category for warning in caught] == [errors.LayoutWarning] * (expected is not None)
        if expected is not None:
            assert caught[0].filename == __file__
            assert re.search("argument 'inp' of stencil 'copied' is .*" + expected, str(caught[0].message))
        assert (out == 3.0).any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_elements_that_are_not_aligned_to_their_size(backend: str) -> None:
    packed = np.zeros(SHAPE, dtype=[("flag", "i1"), ("value", "f4")])["value"]
    packed[...] = np.arange(packed.size).reshape(SHAPE)
    out = np.zeros(SHAPE, np.float32)
    stencil = stencil_of(Field[np.float32], backend)
    if backend in ("debug", "numpy"):
        with pytest.warns(
            errors.LayoutWarning, match="elements that are not aligned to their size of 4 bytes .*a copy"
        ):
            stencil(packed, out)
        stencil(packed, out)
        np.testing.assert_array_equal(out, packed)
    else:
        with pytest.raises(errors.ArgumentValueError, match="elements are not aligned to their size of 4 bytes"):
            stencil(packed, out)
        assert not out.any()


@pytest.mark.parametrize(
    ("annotation", "error", "message"),
    [
        (Field[float, LayoutMap[(0, 1)]], errors.LayoutError, r"LayoutMap\[\(0, 1\)\]: expected a permutation of 0..2"),
        (Field[float, LayoutMap[(0, 1, 1)]], errors.LayoutError, "expected a permutation of 0..2 for IJK"),
        (Field[IJ, float, LayoutMap["F"]], errors.LayoutError, "expected a permutation of 0..1 for IJ"),
        (Field[float, Alignment[0]], errors.ArgumentValueError, r"Alignment\[0\]: expected at least one element"),
        (Field[float, Alignment["8"]], errors.ArgumentTypeError, r"Alignment\['8'\]: expected a number of elements"),
        (Field[float, DefaultParameters["G"]], errors.PresetError, "DefaultParameters: .*'G'"),
        (Field[float, DefaultParameters[3]], errors.ArgumentTypeError, "expected the name of a preset, got 3"),
    ],
)
def test_wrong_parts_of_an_annotation(annotation: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        stencil_of(annotation)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((float, Alignment[1], Alignment[2]), r"Field\[...\] takes one Alignment\[...\]"),
        ((float, DType[float]), "one element type"),
        ((Axes["IJ"], IJ, float), "one element type and one set of axes"),
        ((Alignment[8],), "needs an element type"),
    ],
)
def test_parts_that_contradict_each_other(parts: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Field[parts]


def test_the_type_may_be_named() -> None:
    def copied(inp: Field["number", Alignment[4]], out: Field["number"]):
        with computation(PARALLEL), interval(...):
            out = inp

    stencil = gtscript.stencil("numpy", copied, dtypes={"number": np.float32})
    with pytest.warns(errors.LayoutWarning, match="aligned to 16 bytes"):
        stencil(aligned("IJK", by=16, offset=4), np.zeros(SHAPE, "f4"))
