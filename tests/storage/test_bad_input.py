"""Each documented precondition violated once: what is raised says what was given, what was expected, and what to do.

Objects whose interface tells lies are a table of their own, in `test_protocols.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldstone import arrays, errors, storage, utils
from fieldstone.storage import Storage

BOTH = "are two names of one parameter; give one of them"
SHAPE = (4, 5, 6)

READ_ONLY = np.arange(6.0).reshape(2, 3)
READ_ONLY.flags.writeable = False

Case = tuple[Callable[[], Any], type[Exception], str]


def zeros(shape: Any = SHAPE, dtype: Any = None, **parameters: Any) -> Case:
    return lambda: storage.zeros(shape, dtype, **parameters)


def field(**parameters: Any) -> Storage:
    return storage.zeros((2, 3), **parameters)


def put(field: Storage, key: Any, value: Any) -> None:
    field[key] = value


SHAPES: list[Case] = [
    (zeros((-3, 2)), errors.ShapeError, "shape: the size of axis 0 is -3; it must be 0 or more"),
    (
        zeros((4, 5.0)),
        errors.ArgumentTypeError,
        r"shape: expected an integer for the size of axis 1, got 5.0 \(float\)",
    ),
    (zeros((True, 2)), errors.ArgumentTypeError, r"shape: expected an integer for .* axis 0, got True \(bool\)"),
    (zeros((None, 2)), errors.ArgumentTypeError, "shape: expected an integer for the size of axis 0, got None"),
    (zeros("45"), errors.ArgumentTypeError, r"shape: expected a sequence of integers, one size per axis, got '45'"),
    (zeros(2.5), errors.ArgumentTypeError, r"shape: expected a sequence of integers, one size per axis, got 2.5"),
    (zeros(None), errors.ArgumentTypeError, "shape: expected a sequence of integers, one size per axis, got None"),
    (zeros({4: 5}), errors.ArgumentTypeError, r"shape: expected a sequence of integers.*, got \{4: 5\} \(dict\)"),
    (zeros({4, 5}), errors.ArgumentTypeError, r"shape: expected a sequence of integers.*, got \{4, 5\} \(set\)"),
    (zeros(np.ones((2, 2), int)), errors.ArgumentTypeError, "shape: expected an integer for the size of axis 0, got a"),
    (zeros((2**40, 2**40)), errors.ShapeError, "shape is .* more than can be addressed"),
    (zeros((2**70,)), errors.ShapeError, "shape: the size of axis 0 is 1180591620717411303424; it is too large"),
    (zeros((1,) * 65), errors.ShapeError, "shape: it has 65 axes; NumPy's arrays have 64 at most"),
    (zeros((2**45,)), MemoryError, "cannot allocate 281474976710656 bytes"),
    (lambda: storage.empty(), TypeError, "missing 1 required positional argument: 'shape'"),  # type: ignore[call-arg]
    (lambda: storage.as_storage(), errors.ShapeError, "shape: neither a shape nor data was given; one of them is nee"),
    (lambda: storage.storage(copy=False), errors.ShapeError, "shape: neither a shape nor data was given; one of them"),
    (
        lambda: Storage(copy=False),
        errors.ShapeError,
        "shape: neither a shape nor data was given; one of them is needed",
    ),
]


class Subclass(Storage):
    """What cannot have instances."""


CLASSES: list[Case] = [
    (
        lambda: Subclass([1.0, 2.0]),
        errors.ArgumentTypeError,
        "Subclass: a subclass of Storage has no instances, .*; let your class hold a storage",
    ),
]

TYPES: list[Case] = [
    (
        zeros(dtype="nonsense"),
        errors.DTypeError,
        "dtype: 'nonsense' is no element type; data type 'nonsense' not under",
    ),
    (zeros(dtype=object), errors.DTypeError, r"dtype: elements of type dtype\('O'\) are not supported: storages hold"),
    (
        zeros(dtype=(float, (-1,))),
        errors.DTypeError,
        r"dtype: \(<class 'float'>, \(-1,\)\) is no element type; invalid",
    ),
    (zeros(dtype=(">f4", (2,))), errors.DTypeError, r"its bytes are swapped; convert it with .astype\(dtype.newbyteo"),
    (
        lambda: storage.storage([1.0], dtype=(float, (2,))),
        errors.DTypeError,
        "dtype: .* has data dimensions, but the s",
    ),
    (
        lambda: arrays.from_array([1.0], (float, (2,))),
        errors.DTypeError,
        "dtype: .* has data dimensions, but the shape",
    ),
]

LABELS: list[Case] = [
    (
        zeros(dims="IJL"),
        errors.DimensionsError,
        "dims: 'L' is no label of an axis; expected 'I', 'J', 'K', or '0', '1'",
    ),
    (
        zeros(dims="ijk"),
        errors.DimensionsError,
        "dims: 'i' is no label of an axis; expected 'I', 'J', 'K', or '0', '1'",
    ),
    (zeros(dims=("I", "J", "01")), errors.DimensionsError, "dims: '01' is no label of an axis; expected 'I', 'J', 'K'"),
    (zeros(dims=("I", "J", "-1")), errors.DimensionsError, "dims: '-1' is no label of an axis; expected 'I', 'J', 'K'"),
    (zeros(dims="IJI"), errors.DimensionsError, "dims: 'I' is given twice in 'IJI'"),
    (
        zeros(dims="IJ"),
        errors.DimensionsError,
        r"dims: \('I', 'J'\) has 2 labels, but the shape has 3 axes; give one lab",
    ),
    (
        zeros((2, 3, 4, 5), axes="IJ"),
        errors.DimensionsError,
        r"axes: \('I', 'J'\) has 2 labels, but the shape has 4 axes",
    ),
    (
        zeros(dims=3),
        errors.ArgumentTypeError,
        r"dims: expected labels such as \('I', 'J', 'K'\) or \"IJK\", got 3 \(int\)",
    ),
    (zeros(dims={"I": 1}), errors.ArgumentTypeError, "dims: expected labels such as"),
    (zeros((2,), dims=b"I"), errors.ArgumentTypeError, r"dims: expected labels such as .*, got b'I' \(bytes\)"),
    (
        zeros((2, 3), dims={"I", "J"}),
        errors.ArgumentTypeError,
        r"dims: expected labels such as .*, got \{'.', '.'\} \(set\)",
    ),
    (
        lambda: storage.as_storage(storage.ones((2, 3), dims="IJ"), dims="JI"),
        errors.DimensionsError,
        r"dims: \('J', 'I'\) was given, but the data says .* \('I', 'J'\); leave dims out, or transpose the data",
    ),
    (
        lambda: storage.storage(storage.ones((2, 3), dims="IJ"), axes="JI"),
        errors.DimensionsError,
        r"axes: \('J', 'I'\) was given, but the data says .* \('I', 'J'\); leave axes out, or transpose the data",
    ),
]

HALOS: list[Case] = [
    (zeros(halo=(1, 1)), errors.ArgumentValueError, "halo: 2 entries were given for 3 axes; give one per axis"),
    (zeros(halo=1), errors.ArgumentTypeError, r"halo: expected a sequence with an integer or a pair .*, got 1 \(int\)"),
    (
        zeros(halo="111"),
        errors.ArgumentTypeError,
        "halo: expected a sequence with an integer or a pair of integers per ax",
    ),
    (zeros(halo={0: 1}), errors.ArgumentTypeError, "halo: expected a sequence with an integer or a pair of integers"),
    (
        zeros(halo=(1, -1, 0)),
        errors.ArgumentValueError,
        "halo: the number of points along axis 1 is -1; it must be 0 or mo",
    ),
    (
        zeros(halo=(0, 0, (1, 2, 3))),
        errors.ArgumentValueError,
        r"halo: axis 2 has 3 entries, \(1, 2, 3\); expected an int",
    ),
    (
        zeros(halo=(0, 0, (1,))),
        errors.ArgumentValueError,
        r"halo: axis 2 has 1 entries, \(1,\); expected an integer or a p",
    ),
    (zeros(halo=(0, 0.5, 0)), errors.ArgumentTypeError, "halo: expected .* a pair of integers per axis, got 0.5"),
    (zeros(halo=(0, True, 0)), errors.ArgumentTypeError, r"halo: expected an integer .* axis 1, got True \(bool\)"),
    (zeros(halo=(0, (1, "1"), 0)), errors.ArgumentTypeError, "halo: expected an integer .* axis 1, got '1'"),
    (
        zeros(halo=(0, 3, 0)),
        errors.ArgumentValueError,
        "halo: 3 points below and 3 above the domain do not fit along axis 1",
    ),
    (
        zeros(halo=(0, 0, 2**70)),
        errors.ArgumentValueError,
        "halo: the number of points along axis 2 is .*; it is too large",
    ),
    (
        zeros(halo=(0, 0, (2**63, 2**63))),
        errors.ArgumentValueError,
        "halo: .* do not fit along axis 2, which has 6 points",
    ),
    (lambda: setattr(field(), "halo", (1, 2)), errors.ArgumentValueError, "halo: 2 points below and 2 above .* axis 1"),
    (
        lambda: setattr(field(), "halo", (1,)),
        errors.ArgumentValueError,
        "halo: 1 entries were given for 2 axes; give one",
    ),
    (lambda: setattr(field(), "halo", 1), errors.ArgumentTypeError, "halo: expected a sequence"),
    (lambda: setattr(field(), "halo", None), errors.ArgumentTypeError, "halo: expected a sequence .* got None"),
    (lambda: delattr(field(), "halo"), AttributeError, "has no deleter"),
]

ORIGINS: list[Case] = [
    (
        zeros(default_origin=(0, 9, 0)),
        errors.ArgumentValueError,
        "default_origin: 9 points below and 0 above .* axis 1",
    ),
    (
        zeros(default_origin=(0, -1, 0)),
        errors.ArgumentValueError,
        "default_origin: the index along axis 1 is -1; it must be",
    ),
    (
        zeros(default_origin=(0, 0)),
        errors.ArgumentValueError,
        "default_origin: 2 entries were given for 3 axes; give one",
    ),
    (zeros((4, 5), default_origin=SHAPE), errors.ArgumentValueError, "default_origin: 3 entries were given for 2 axes"),
    (
        zeros(default_origin=3),
        errors.ArgumentTypeError,
        r"default_origin: expected a sequence of integers, .*got 3 \(int\)",
    ),
    (
        zeros(halo=(1, 1, 1), default_origin=(0, 9, 0)),
        errors.ArgumentValueError,
        "default_origin: index 9 is outside axis 1",
    ),
]

LAYOUTS: list[Case] = [
    (
        zeros(layout=(0, 1)),
        errors.LayoutError,
        r"layout: \(0, 1\) has 2 entries, but the shape has 3 axes; give a permuta",
    ),
    (
        zeros(layout=(0, 1, 1)),
        errors.LayoutError,
        r"layout: \(0, 1, 1\) is no order of 3 axes; give a permutation of 0..2",
    ),
    (zeros(layout=(1, 2, 3)), errors.LayoutError, "layout.*permutation"),
    (zeros(layout=(0, 1, -1)), errors.LayoutError, "layout: entry 2 is -1; it must be 0 or more"),
    (
        zeros(layout="C"),
        errors.ArgumentTypeError,
        r"layout: 'C' is the name of a preset; give it as defaults='C', or a permutation of the axes such as ",
    ),
    (
        zeros(layout="KJI"),
        errors.ArgumentTypeError,
        r"layout: expected a permutation .* such as \(2, 1, 0\), or a callable",
    ),
    (
        zeros(layout=(0, 1.0, 2)),
        errors.ArgumentTypeError,
        r"layout: expected an integer for entry 1, got 1.0 \(float\)",
    ),
    (zeros(layout=lambda dims: dims), errors.ArgumentTypeError, "layout: expected an integer for entry 0, got 'I'"),
    (zeros(layout=lambda dims: None), errors.ArgumentTypeError, "layout: expected a permutation .*, got None"),
    (zeros(layout=lambda dims: (0,)), errors.LayoutError, r"layout: \(0,\) has 1 entries, but the shape has 3 axes"),
    (zeros(layout_map=lambda ndim: (0,)), errors.LayoutError, r"layout_map: \(0,\) has 1 entries, but the shape has 3"),
    (zeros(layout_map=(2, 2, 0)), errors.LayoutError, "layout_map: .*permutation"),
    (
        lambda: storage.as_storage(np.ones((2, 3)), layout=(1, 0)),
        errors.LayoutError,
        r"layout: \(1, 0\) was asked for, but the strides .* \(24, 8\) bytes; .* storage\(data, layout=...\) copies it",
    ),
    (
        lambda: storage.as_storage(np.ones((2, 3)), defaults="F"),
        errors.LayoutError,
        r"layout: \(1, 0\) was asked for, but the strides .* \(24, 8\) bytes; .* storage\(data, layout=...\) copies it",
    ),
]

ALIGNMENTS: list[Case] = [
    (
        zeros(alignment_size=0),
        errors.ArgumentValueError,
        "alignment_size: the number of bytes is 0; it must be 1 .no alignm",
    ),
    (
        zeros(alignment_size=-8),
        errors.ArgumentValueError,
        "alignment_size: the number of bytes is -8; it must be 0 or more",
    ),
    (
        zeros(alignment_size=8.0),
        errors.ArgumentTypeError,
        "alignment_size: expected an integer for the number of bytes",
    ),
    (zeros(alignment_size="64"), errors.ArgumentTypeError, r"alignment_size: expected an integer .*, got '64' \(str\)"),
    (
        zeros(alignment_size=2**40),
        errors.ArgumentValueError,
        "alignment_size is 1099511627776, but it must be .* not absurd",
    ),
    (zeros(alignment=-1), errors.ArgumentValueError, "alignment: the number of elements is -1; it must be 0 or more"),
    (
        zeros(alignment=0),
        errors.ArgumentValueError,
        "alignment: the number of elements is 0; it must be 1 .no alignment",
    ),
    (zeros(alignment=2**62), errors.ArgumentValueError, "alignment: 4611686018427387904 elements are too many"),
    (
        zeros(aligned_index=(0, 0)),
        errors.ArgumentValueError,
        "aligned_index: 2 entries were given for 3 axes; give one",
    ),
    (
        zeros(aligned_index=(0, 9, 0)),
        errors.ArgumentValueError,
        "aligned_index: index 9 is outside axis 1, which has 5",
    ),
    (
        zeros(aligned_index=(0, -1, 0)),
        errors.ArgumentValueError,
        "aligned_index: the index along axis 1 is -1; it must be 0",
    ),
    (
        zeros(aligned_index=1),
        errors.ArgumentTypeError,
        r"aligned_index: expected a sequence of integers, .* got 1 \(int\)",
    ),
    (
        lambda: storage.as_storage(np.ones(9)[1:], alignment_size=4096, aligned_index=(1,)),
        errors.ArgumentValueError,
        r"alignment_size: the address of index \(1,\) of the data is no multiple of 4096 bytes; memory .* stays",
    ),
]

PRESETS: list[Case] = [
    (zeros(defaults="gtx68"), errors.PresetError, "defaults: 'gtx68' is no preset; known are .*cpu_kfirst"),
    (zeros(defaults="f"), errors.PresetError, "defaults: 'f' is no preset; known are C, F"),
    (zeros(default_parameters="x"), errors.PresetError, "default_parameters: 'x' is no preset; known are C, F"),
    (zeros(defaults=3), errors.ArgumentTypeError, r"defaults: expected the name of a preset, got 3 \(int\)"),
    (lambda: arrays.zeros(SHAPE, backend="x"), errors.PresetError, "backend: 'x' is no preset; known are"),
]

PLACES: list[Case] = [
    (zeros(device="tpu"), errors.ArgumentValueError, "device: expected None, 'cpu', 'gpu', .* got 'tpu'"),
    (zeros(device=0), errors.ArgumentTypeError, "device: expected None, 'cpu', 'gpu', .* got 0"),
    (zeros(gpu="yes"), errors.ArgumentTypeError, r"gpu: expected True or False, got 'yes' \(str\)"),
    (zeros(gpu=1), errors.ArgumentTypeError, r"gpu: expected True or False, got 1 \(int\)"),
    (zeros(managed="yes"), errors.ArgumentValueError, "managed: expected None, False, 'gt4py' or 'cuda', got 'yes'"),
    (zeros(managed=True), errors.ArgumentValueError, "managed: expected None, False, 'gt4py' or 'cuda', got True"),
    (
        lambda: field().to_cupy(),
        errors.GTNoSuchBufferError,
        r"no buffer on a device; to_numpy\(\) gives its host memory",
    ),
]

NAMES: list[Case] = [
    (zeros(dims="IJK", axes="IJK"), errors.ArgumentTypeError, rf"zeros\(\): 'dims' and 'axes' {BOTH}"),
    (zeros(layout=(0, 1, 2), layout_map=(0, 1, 2)), errors.ArgumentTypeError, f"'layout' and 'layout_map' {BOTH}"),
    (
        zeros(defaults="C", default_parameters="C"),
        errors.ArgumentTypeError,
        f"'defaults' and 'default_parameters' {BOTH}",
    ),
    (zeros(device="cpu", gpu=False), errors.ArgumentTypeError, f"'device' and 'gpu' {BOTH}"),
    (zeros(alignment=8, alignment_size=64), errors.ArgumentTypeError, f"'alignment' and 'alignment_size' {BOTH}"),
    (lambda: storage.full((2,), 1, value=1), errors.ArgumentTypeError, rf"full\(\): 'fill_value' and 'value' {BOTH}"),
    (
        zeros(backend="numpy"),
        errors.ArgumentTypeError,
        "no parameter 'backend'; the preset of a backend is given as defau",
    ),
    (
        zeros(order="F"),
        errors.ArgumentTypeError,
        "no parameter 'order'; an order is given as defaults='C' or defaults='F'",
    ),
    (
        zeros(haloo=3),
        errors.ArgumentTypeError,
        r"zeros\(\) has no parameter 'haloo' \(did you mean 'halo'\?\); beside its own it takes .* halo,",
    ),
    (zeros(mask=3), errors.ArgumentTypeError, r"zeros\(\) has no parameter 'mask'; beside its own it takes .* halo,"),
    (lambda: storage.zeros(SHAPE, float, "IJK"), TypeError, "positional argument"),  # type: ignore[misc]
    (
        lambda: storage.zeros_like(np.ones(3), shape=(4,)),
        errors.ArgumentTypeError,
        r"shape: zeros_like\(\) takes the shape of its data; leave shape out",
    ),
    (
        lambda: storage.zeros_like(np.ones(3), copy=True),
        errors.ArgumentTypeError,
        r"zeros_like\(\) has no parameter 'copy'",
    ),
    (
        lambda: arrays.ones((2,), halo=(1,)),
        errors.ArgumentTypeError,
        r"ones\(\) has no parameter 'halo'; beside its own it takes aligned_index, alignment_size, backend, device",
    ),
    (
        lambda: arrays.ones((2,), order="F"),
        errors.ArgumentTypeError,
        r"no parameter 'order'; an order is given as backend='C' or backend='F'; ",
    ),
    (
        lambda: arrays.ones((2,), defaults="F"),
        errors.ArgumentTypeError,
        r"no parameter 'defaults'; the preset of a backend is given as backend; ",
    ),
    (lambda: arrays.ones((2,), layout="F"), errors.ArgumentTypeError, "layout: 'F' is .*; give it as backend='F', or"),
    (
        lambda: storage.register_preset(5, "IJK"),  # type: ignore[arg-type]
        errors.ArgumentTypeError,
        r"name: expected the name of the preset, got 5",
    ),
    (
        lambda: field().host_to_device(force="yes"),  # type: ignore[arg-type]
        errors.ArgumentTypeError,
        r"force: expected True or False, got 'yes' \(str\)",
    ),
    *(
        (
            lambda name=name, value=value: arrays.ones((2,), backend="C", **{name: value}),
            errors.ArgumentValueError,
            f"{name}: 'backend' already says which; give one of '{name}' and 'backend'",
        )
        for name, value in {"layout": (0,), "alignment_size": 8, "device": "cpu"}.items()
    ),
]

VALUES: list[Case] = [
    (
        lambda: storage.full((2,)),
        errors.ArgumentTypeError,
        r"full\(\): fill_value is missing; give the number to fill with",
    ),
    (
        lambda: storage.full((2,), [1, 2]),
        errors.ArgumentValueError,
        r"fill_value: .* got \[1, 2\], which has several elem",
    ),
    (
        lambda: storage.full((2,), "3"),
        errors.ArgumentValueError,
        "fill_value: expected a number of type float64, got '3'",
    ),
    (
        lambda: storage.full((2,), 1j),
        errors.ArgumentValueError,
        "fill_value: expected a number of type float64, got 1j",
    ),
    (lambda: storage.full((2,), 300, np.uint8), errors.ArgumentValueError, "fill_value: expected .* uint8, got 300"),
    (
        lambda: storage.full((2,), object()),
        errors.ArgumentValueError,
        "fill_value: expected a number of type float64, got <",
    ),
]

DATA: list[Case] = [
    (
        lambda: storage.storage(),
        errors.ArgumentValueError,
        r"data: storage\(\) has nothing to copy; give data, or allocate with empty\(shape\) or copy=False and a shape",
    ),
    (
        lambda: storage.as_storage([1, 2]),
        errors.ArgumentTypeError,
        r"data: an object of type list has no memory that can be used as it is; copy it with storage\(data\)",
    ),
    (lambda: storage.as_storage(3.0), errors.ArgumentTypeError, "data: an object of type float has no memory"),
    (
        lambda: storage.storage(object()),
        errors.ArgumentTypeError,
        "data: an object of type object is no array of numbers",
    ),
    (
        lambda: storage.storage([[1], [1, 2]]),
        errors.ArgumentTypeError,
        "data: an object of type list is no array: .* inhom",
    ),
    (
        lambda: storage.zeros_like(None),
        errors.ArgumentTypeError,
        "data: an object of type NoneType is no array of numbers",
    ),
    (
        lambda: storage.storage("text"),
        errors.DTypeError,
        "data: elements of type .* are not supported: storages hold boolea",
    ),
    (
        lambda: storage.storage(np.ones(3), shape=(4,)),
        errors.ShapeError,
        r"shape: \(4,\) was given, but the data has shape",
    ),
    (
        lambda: storage.storage(np.ones(3), dtype=np.float32, copy=False),
        errors.DTypeError,
        "dtype: float32 was given, but the data is of type float64; memory that is wrapped keeps its type",
    ),
    (
        lambda: storage.storage(np.ones(3), copy="no"),
        errors.ArgumentTypeError,
        "copy: expected True or False, got 'no'",
    ),
    (
        lambda: storage.storage(np.ones(3), copy=None),
        errors.ArgumentTypeError,
        "copy: expected True or False, got None",
    ),
    (lambda: Storage(np.ones(3), copy=2), errors.ArgumentTypeError, "copy: expected True or False, got 2"),
    (lambda: arrays.from_array(object()), errors.ArgumentTypeError, "data: an object of type object is no array"),
]

KEYS: list[Case] = [
    (lambda: field()[2], IndexError, "index 2 is out of bounds for axis 0 with size 2"),
    (lambda: field()[0, -4], IndexError, "index -4 is out of bounds for axis 1 with size 3"),
    (lambda: field()[2**70], IndexError, "index 1180591620717411303424 is out of bounds"),
    (lambda: field()[0, 0, 0], IndexError, "too many indices: the storage has 2 axes, but 3 were indexed"),
    (lambda: field()[..., ...], IndexError, r"an index can only have one ellipsis \('...'\)"),
    (lambda: field()[1.0], IndexError, "only integers, slices .* and integer or boolean arrays are valid indices"),
    (lambda: field()["I"], IndexError, "only integers, slices .* and integer or boolean arrays are valid indices"),
    (lambda: field()[object()], IndexError, "only integers, slices .* and integer or boolean arrays are valid indices"),
    (lambda: field()[::0], ValueError, "slice step cannot be zero"),
    (lambda: field()[1.5:], TypeError, "slice indices must be integers or None or have an __index__ method"),
    (lambda: field()[[5]], IndexError, "index 5 is out of bounds for axis 0 with size 2"),
    (lambda: field()[np.ones((2, 2), bool)], IndexError, "boolean index did not match indexed array along axis 1"),
    (lambda: len(storage.zeros(())), TypeError, r"len\(\) of a storage without axes"),
    (lambda: iter(storage.zeros(())), TypeError, "iteration over a storage without axes"),
]

ASSIGNED: list[Case] = [
    (lambda: put(field(), ..., [1, 2]), errors.ShapeError, r"value: its shape \(2,\) cannot be broadcast to \(2, 3\)"),
    (lambda: put(field(), 0, "x"), errors.ArgumentValueError, "value: expected a number of type float64, got 'x'"),
    (lambda: put(field(), 0, 1j), errors.ArgumentValueError, "value: expected a number of type float64, got 1j"),
    (lambda: put(field(dtype=np.int8), 0, 300), errors.ArgumentValueError, "value: expected .* int8, got 300"),
    (
        lambda: put(field(), 0, object()),
        errors.ArgumentTypeError,
        "value: an object of type object is no array of numbers",
    ),
    (
        lambda: put(field(), 0, None),
        errors.ArgumentTypeError,
        "value: an object of type NoneType is no array of numbers",
    ),
    (lambda: put(field(), 0, {}), errors.ArgumentTypeError, "value: an object of type dict is no array of numbers"),
    (
        lambda: put(field(dims="IJ"), ..., storage.zeros((3,), dims="K")),
        errors.DimensionsError,
        r"value: it has an axis 'K', which the storage written to does not have; .* are \('K',\) and \('I', 'J'\)",
    ),
    (
        lambda: put(field(dims="IJ"), ..., storage.zeros((4,), dims="J")),
        errors.ShapeError,
        "value: it has 4 points along J, the storage written to 3",
    ),
    (
        lambda: put(storage.as_storage(READ_ONLY), 0, 1),
        errors.ReadOnlyError,
        r"the storage wraps read-only memory; copy it with storage.copy\(\) to write to it",
    ),
]

ORDERS: list[Case] = [
    *(
        (
            lambda order=order: field(dims="IJ").transpose(order),
            errors.ArgumentValueError,
            r"axes: expected a permutation of 0..1, or of the labels \('I', 'J'\), got ",
        )
        for order in [(0,), (0, 0), (0, 2), (0, -3), ("I", "K"), (0.0, 1), "x", (True, False), {}]
    ),
    (lambda: field().transpose(0, 0), errors.ArgumentValueError, r"axes: expected a permutation of 0..1, got \(0, 0\)"),
    (
        lambda: np.transpose(field(), (0, 5)),
        errors.ArgumentValueError,
        r"axes: expected a permutation of 0..1, got \(0, 5\)",
    ),
]

CONVERSIONS: list[Case] = [
    (lambda: bool(field()), ValueError, "truth value of an array with more than one element is ambiguous"),
    (lambda: int(field()), TypeError, "only 0-dimensional arrays can be converted"),
    (
        lambda: field().__array__(np.float32, copy=False),
        ValueError,
        "copy=False: elements of type float64 cannot be seen as float32 without a copy",
    ),
]

UTILS: list[Case] = [
    (
        lambda: utils.as_numpy(None),
        errors.ArgumentTypeError,
        "data: None is no array; expected an array, a storage, or",
    ),
    (lambda: utils.as_numpy(object()), errors.ArgumentTypeError, "data: an object of type object has no memory"),
    (lambda: utils.as_numpy(["a"]), errors.DTypeError, "data: elements of type .* are not supported"),
    (
        lambda: utils.get_dims([1, 2]),
        errors.ArgumentTypeError,
        r"'storage' is \[1, 2\] \(of type list\), expected",
    ),
    (lambda: utils.get_origin(None), errors.ArgumentTypeError, "'data' is None, expected an array"),
    (lambda: utils.get_dims(np.zeros(2), 3), errors.ArgumentTypeError, "annotation: expected labels such as .*, got 3"),
    (
        lambda: utils.get_dims(np.zeros((2, 3)), "XY"),
        errors.DimensionsError,
        "annotation: 'X' in 'XY' is no label of an axis; expected 'I', 'J', 'K', or '0', '1', ... for data dimensions",
    ),
    (
        lambda: utils.get_dims(np.zeros((2, 3, 4)), "IJ"),
        errors.DimensionsError,
        r"annotation: \('I', 'J'\) has 2 labels, but the storage has 3 axes; give an annotation with one label",
    ),
]

TABLE = {
    name: cases
    for name, cases in globals().items()
    if name.isupper() and isinstance(cases, list) and all(isinstance(case, tuple) for case in cases)
}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [pytest.param(*case, id=f"{name.lower()}-{number}") for name in TABLE for number, case in enumerate(TABLE[name])],
)
def test_wrong_input_is_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
