"""What the parameters of a stencil are annotated with."""

from __future__ import annotations

import contextlib
import enum
import operator
import types
import typing
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ..errors import DimensionsError

DTypes: TypeAlias = Mapping[Any, Any]
"""Types by the name, or by the type, that annotations use for them."""

Kind: TypeAlias = tuple[Any, ...]
"""What the compiler is told of a parameter: ``("field", dtype, axes, data_dims)``, ``("scalar", dtype)``,
``("missing",)``, ``("wrong default", reason)`` or ``("invalid", reason, word, known, help)``, see `invalid`."""

WORDS = ("Field", "GlobalTable", "I", "J", "K", "IJ", "IK", "JK", "IJK", "float", "int", "bool")
"""What annotations are made of, for those who misspell it."""

ELEMENT_TYPES = frozenset(
    ["bool", "float16", "float32", "float64"] + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
"""NumPy's names of the types an element can have."""

MOST_DATA_DIMENSIONS = 5
"""Data dimensions a field can have; arrays have eight dimensions at most."""


class Axes(str):
    """Axes of a field, as in ``Field[IJ, float]`` and ``Axes["IJ"]``.

    Parameters
    ----------
    names : str
        ``"I"``, ``"J"`` and ``"K"``, each at most once.
    """

    __slots__ = ()

    def __new__(cls, names: str) -> Axes:
        """Check the names and put them in order."""
        if not names or sorted(set(names)) != sorted(names) or not set(names) <= set("IJK"):
            raise DimensionsError(f"axes are some of 'I', 'J' and 'K', each at most once, not {names!r}")
        return super().__new__(cls, "".join(sorted(names)))

    def __class_getitem__(cls, names: str) -> Axes:
        return cls(names)

    def __repr__(self) -> str:
        return str(self)

    @property
    def __gtscript_name__(self) -> str:
        """The word this is inside of a stencil."""
        return str(self)


@dataclass(frozen=True)
class AxisIndex:
    """A point along an axis, as a bound of regions: ``I[0] + 2``, ``J[-1]``.

    Attributes
    ----------
    axis : str
        Name of the axis.
    index : int
        ``0`` for the first point of the domain, ``-1`` for the last.
    offset : int
        Points from there.
    """

    axis: str
    index: int
    offset: int = 0

    @property
    def __gtscript_point__(self) -> tuple[str, int, int]:
        """What this is inside of a stencil."""
        return self.axis, self.index, self.offset

    def __add__(self, offset: int) -> AxisIndex:
        """Move by some points."""
        if isinstance(offset, bool) or not hasattr(offset, "__index__"):
            return NotImplemented
        return AxisIndex(self.axis, self.index, self.offset + operator.index(offset))

    def __radd__(self, offset: int) -> AxisIndex:
        """Move by some points."""
        return self + offset

    def __sub__(self, offset: int) -> AxisIndex:
        """Move by some points, the other way."""
        if isinstance(offset, bool) or not hasattr(offset, "__index__"):
            return NotImplemented
        return AxisIndex(self.axis, self.index, self.offset - operator.index(offset))

    def __str__(self) -> str:
        return f"{self.axis}[{self.index}] {self.offset:+}" if self.offset else f"{self.axis}[{self.index}]"


class Axis(Axes):
    """One axis; inside of a stencil ``field[K - 1]`` reads the level below, and ``I[0]`` is the first point along I."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The axis' name."""
        return str(self)

    def __getitem__(self, index: Any) -> AxisIndex:  # type: ignore[override]
        """Give a point along the axis, for regions: ``I[0]`` is the first of the domain, ``I[-1]`` the last."""
        if isinstance(index, int) and index in (0, -1):
            return AxisIndex(str(self), index)
        raise DimensionsError(
            f"points along {self} count from {self}[0], the first, or {self}[-1], the last; not {index!r}"
        )

    def _outside(self) -> NoReturn:
        raise TypeError(f"an offset from `{self}` means something inside of a stencil only")

    def __add__(self, _other: Any) -> Any:
        """Raise, because outside of a stencil an offset means nothing."""
        self._outside()

    def __sub__(self, _other: int) -> Any:
        """Raise, because outside of a stencil an offset means nothing."""
        self._outside()


I: Axis = Axis("I")  # noqa: E741 - the name of the axis in the literature and in gtscript
"""Axis I, horizontal."""
J: Axis = Axis("J")
"""Axis J, horizontal."""
K: Axis = Axis("K")
"""Axis K, vertical."""
IJ = Axes("IJ")
IK = Axes("IK")
JK = Axes("JK")
IJK = Axes("IJK")


@dataclass(frozen=True)
class Argument:
    """A part of an annotation in brackets, such as ``Alignment[8]``."""

    value: Any

    def __class_getitem__(cls, value: Any) -> Argument:
        return cls(value)


class DType(Argument):
    """Element type: ``Field[DType[np.float32]]``."""


class LayoutMap(Argument):
    """Layout: ``Field[float, LayoutMap[(0, 2, 1)]]``.

    A permutation of the axes, or a callable that gives one for a number of axes. Entry 0 belongs to the axis with the
    largest stride.
    """


class Alignment(Argument):
    """Alignment in elements: ``Field[float, Alignment[8]]``."""


class DefaultParameters(Argument):
    """Layout and alignment of a preset: ``Field[float, DefaultParameters["F"]]``; what is given besides wins."""


@dataclass(frozen=True)
class FieldType:
    """The annotation of an array parameter; made by ``Field[...]``.

    Attributes
    ----------
    dtype : dtype_like, str or tuple
        Element type, or a name that ``dtypes=`` resolves; with data dimensions a pair of it and their sizes.
    axes : Axes
        Axes the field extends along; none for a `GlobalTable`.
    arguments : tuple of Argument
        Other parts in brackets.
    """

    dtype: Any
    axes: Axes = IJK
    arguments: tuple[Argument, ...] = ()

    @property
    def data_dims(self) -> tuple[int, ...]:
        """Sizes of the data dimensions."""
        return _data_dimensions(self.dtype, {})[1]

    def __or__(self, other: Any) -> Any:
        """Make it optional: ``Field[float] | None``."""
        return typing.Union[self, other]  # noqa: UP007 - this is what `|` stands for

    def __ror__(self, other: Any) -> Any:
        """Make it optional: ``None | Field[float]``."""
        return typing.Union[other, self]  # noqa: UP007

    def __call__(self) -> NoReturn:
        """Raise, because an annotation makes no array."""
        raise TypeError(f"{self!r} is an annotation; arrays are made by fieldstone.storage and fieldstone.arrays")


class Field:
    """Annotation of an array: ``Field[float]``, ``Field[IJ, float]``, ``Field["name"]``, ``Field[(float, (3,))]``."""

    __gtscript_name__ = "Field"

    def __class_getitem__(cls, parts: Any) -> Any:
        """Make an annotation of an element type and, before or behind it, axes and other parts."""
        dtype: Any = None
        axes: Axes | None = None
        arguments: list[Argument] = []
        for part in parts if isinstance(parts, tuple) and not _has_data_dimensions(parts) else (parts,):
            if isinstance(part, DType) and dtype is None:
                dtype = part.value
            elif isinstance(part, Argument) and not isinstance(part, DType):
                if any(type(part) is type(other) for other in arguments):
                    raise TypeError(f"Field[...] takes one {type(part).__name__}[...], not {parts!r}")
                arguments.append(part)
            elif (found := _as_axes(part)) is not None and axes is None:
                axes = found
            elif dtype is None:
                dtype = part
            elif any(type(text) is str and text in ("I", "J", "K", "IJ", "IK", "JK", "IJK") for text in parts):
                raise TypeError("axes stand without quotes, as in Field[IJ, float]")
            else:
                raise TypeError(f"Field[...] takes one element type and one set of axes, not {parts!r}")
        if dtype is None:
            raise TypeError(f"Field[...] needs an element type, as in Field[float], not {parts!r}")
        return FieldType(dtype, axes if axes is not None else IJK, tuple(arguments))


class GlobalTable:
    """Annotation of a table, which is the same at all points: ``GlobalTable[float, (10,)]``, read as ``table.A[n]``."""

    __gtscript_name__ = "GlobalTable"

    def __class_getitem__(cls, part: Any) -> Any:
        """Make an annotation of an element type and the sizes of the table."""
        if not _has_data_dimensions(part):
            raise TypeError(
                f"GlobalTable[...] takes an element type and sizes, as in GlobalTable[float, (10,)], not {part!r}"
            )
        return FieldType(part, str.__new__(Axes, ""))


def _has_data_dimensions(part: Any) -> bool:
    """Whether a part is an element type with data dimensions, such as ``(float, (3,))`` or ``(float, 3)``."""
    if not isinstance(part, tuple) or len(part) != 2 or _as_axes(part[0]) is not None:
        return False
    sizes = part[1]
    return isinstance(sizes, (int, np.integer, list, tuple)) and _as_axes(sizes) is None


def _as_axes(part: Any) -> Axes | None:
    if isinstance(part, Axes):
        return part
    if isinstance(part, Sequence) and not isinstance(part, str) and part:
        return Axes("".join(part)) if all(isinstance(axis, Axes) for axis in part) else None
    return None


def kind(annotation: Any, dtypes: DTypes) -> Kind:
    """Tell what an evaluated annotation says.

    Parameters
    ----------
    annotation : object
        A ``Field[...]``, a type, or a name of a type.
    dtypes : mapping
        Types by name, or by the type they stand in for.

    Returns
    -------
    tuple of str
        See `Kind`.
    """
    annotation = present(annotation)
    if annotation is Field:
        return invalid("the element type is missing, as in `Field[float]`")
    if isinstance(annotation, FieldType):
        element, sizes = _data_dimensions(annotation.dtype, dtypes)
        dtype = element_type(element, dtypes)
        if dtype is None:
            return _no_type(element, "element type", dtypes)
        if not all(isinstance(size, (int, np.integer)) and 0 < size < 2**31 for size in sizes):
            return invalid(f"`{sizes!r}` are no sizes of data dimensions")
        if len(sizes) > MOST_DATA_DIMENSIONS:
            return invalid(f"a field has at most {MOST_DATA_DIMENSIONS} data dimensions")
        return ("field", dtype, str(annotation.axes), tuple(int(size) for size in sizes))
    dtype = element_type(annotation, dtypes)
    if dtype is None:
        return _no_type(annotation, "type of a parameter", dtypes)
    if dtype == "float16":
        return invalid("`float16` is a type of arrays only; use `float32` for a number")
    return ("scalar", dtype)


def invalid(reason: str, word: str | None = None, known: Iterable[str] = (), help: str | None = None) -> Kind:
    """Tell that an annotation means nothing.

    Parameters
    ----------
    reason : str
        Why, as a clause.
    word : str, optional
        The word in it that is not known.
    known : iterable of str, optional
        Words that could stand there.
    help : str, optional
        What to write where none of them is close.
    """
    return ("invalid", reason, word, list(known), help)


def _no_type(given: Any, what: str, dtypes: DTypes) -> Kind:
    """Tell that something is no type; a string may be a misspelt name of one."""
    meant = dtypes.get(given, given) if isinstance(given, Hashable) else given
    if any(meant is value for value in dtypes.values()):
        return invalid(f"`dtypes` says that it is {_quoted(meant)}, which is no {what}")
    reason = f"{_quoted(given)} is no {what}"
    if not isinstance(given, str):
        return invalid(reason)
    names = [name for name in dtypes if isinstance(name, str)]
    help = f'say what it stands for: `dtypes={{"{given}": float}}`' if given.isidentifier() else None
    return invalid(reason, given, [*names, *sorted(ELEMENT_TYPES), "float", "int"], help)


def present(annotation: Any) -> Any:
    """Give what an annotation says of an argument that is not None: ``X`` of ``Optional[X]`` and ``X | None``."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        others = [part for part in typing.get_args(annotation) if part is not type(None)]
        if len(others) == 1:
            return others[0]
    return annotation


def _data_dimensions(dtype: Any, dtypes: DTypes) -> tuple[Any, tuple[Any, ...]]:
    """Take an element type and the sizes of its data dimensions apart."""
    with contextlib.suppress(TypeError):  # not hashable
        dtype = dtypes.get(dtype, dtype)
    if _has_data_dimensions(dtype):
        element, sizes = dtype
        return element, tuple(sizes) if isinstance(sizes, (list, tuple)) else (sizes,)
    if isinstance(dtype, np.dtype) and dtype.subdtype is not None:
        return dtype.subdtype
    return dtype, ()


def element_type(dtype: Any, dtypes: DTypes) -> str | None:
    """Give NumPy's name of an element type, None where there is none.

    Parameters
    ----------
    dtype : object
        A type, or a name of one.
    dtypes : mapping
        Types by name, or by the type they stand in for.
    """
    try:
        dtype = dtypes.get(dtype, dtype)
    except TypeError:  # not hashable
        return None
    if dtype is None or isinstance(dtype, Axes):
        return None
    if isinstance(dtype, type) and issubclass(dtype, enum.IntEnum):
        return "int64"
    try:
        name = str(np.dtype(dtype).name)
    except TypeError:
        return None
    return name if name in ELEMENT_TYPES else None


def _quoted(value: Any) -> str:
    return f"`{value.__name__}`" if isinstance(value, type) else f"`{value!r}`"
