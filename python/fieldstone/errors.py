"""Exceptions of fieldstone; each also derives from the built-in exception that NumPy would raise in its place."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ._traceback import Diagnosed


class FieldstoneError(Exception):
    """Base class of every exception fieldstone raises on purpose."""


class Location(NamedTuple):
    """A place in a file.

    Attributes
    ----------
    line, column : int
        From 1.
    scope : str
        Name of the file.
    """

    line: int
    column: int
    scope: str


class GTScriptError(Diagnosed, FieldstoneError):
    """A stencil definition is wrong; the message is the rendered diagnostics.

    Attributes
    ----------
    diagnostics : list of dict
        One entry per error: ``code``, ``severity``, ``message``, ``file``, ``line``, ``column``, ``end_line``,
        ``end_column``, ``label``, ``help``, ``related`` (the places it conflicts with and the calls that led there),
        ``rendered``.
    """

    diagnostics: list[dict[str, Any]]

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.diagnostics = []

    @property
    def message(self) -> str:
        """The first error in one line."""
        return str(self.diagnostics[0]["message"] if self.diagnostics else self)

    @property
    def loc(self) -> Location | None:
        """Where the first error is, None if that is not known."""
        if not self.diagnostics:
            return None
        first = self.diagnostics[0]
        return Location(first["line"], first["column"], first["file"])


class _OfAName:
    """An error about something that has a name."""

    message: str

    @property
    def name(self) -> str | None:
        """What the first error is about, None if that has no name."""
        named = re.search(r"`([\w.]+)`", self.message)
        return named and named[1]


class GTSyntaxError(GTScriptError):
    """The text of a definition is wrong.

    Attributes
    ----------
    frontend : str
        What found it, in GT4Py's words.
    """

    frontend = "gtscript"


class GTSpecificationError(GTScriptError):
    """A definition states a condition for its compilation that does not hold."""


class GTSemanticError(GTScriptError):
    """A definition contradicts itself; for programs that catch it by this name, nothing raises it."""


class GTScriptSyntaxError(GTSyntaxError):
    """The text is not gtscript; base class of what else can be wrong with it, as in GT4Py."""


class GTScriptSymbolError(_OfAName, GTScriptSyntaxError):
    """A name is unknown, or is used as something it is not."""


class GTScriptDefinitionError(_OfAName, GTScriptSyntaxError, ValueError):
    """The text is gtscript but has no meaning, such as a self-assignment with a horizontal offset in PARALLEL."""


class GTScriptValueError(GTScriptDefinitionError):
    """A default value or an annotation of a parameter cannot be what it is."""


class GTScriptDataTypeError(GTScriptSyntaxError, TypeError, ValueError):
    """Types in a stencil do not fit."""


class GTScriptAssertionError(GTSpecificationError):
    """The condition of a ``compile_assert`` does not hold."""


class GTScriptUnsupportedError(GTScriptSyntaxError, NotImplementedError):
    """A part of gtscript that fieldstone does not have."""


class ArgumentTypeError(FieldstoneError, TypeError):
    """An argument is of the wrong kind: no array, no integer, no string."""


class ArgumentValueError(FieldstoneError, ValueError):
    """An argument is of the right kind with a wrong value."""


class ShapeError(ArgumentValueError):
    """A shape or rank does not fit: negative sizes, wrong number of dimensions, shapes that cannot hold the domain."""


class DTypeError(ArgumentTypeError):
    """An element type does not fit or is not supported."""


class DimensionsError(ArgumentValueError):
    """Dimension labels are unknown, repeated, missing or ambiguous."""


class LayoutError(ArgumentValueError):
    """A layout is not a permutation of ``0..ndim-1``."""


class PresetError(ArgumentValueError):
    """A preset of ``defaults=`` or ``backend=`` is not known."""


class BackendError(ArgumentValueError):
    """A backend of a stencil is not known."""


class OriginError(ArgumentValueError):
    """An origin lies inside the extent a stencil needs, or outside the field."""


class DomainError(ArgumentValueError):
    """A compute domain does not fit the fields."""


class CacheError(FieldstoneError, ValueError):
    """The cache does not have the code of a stencil that was made with ``raise_if_not_cached=True``."""


class ReadOnlyError(ArgumentValueError):
    """A stencil would write to a read-only array."""


class AliasError(ArgumentValueError):
    """Two arguments of a call overlap in memory in a way that changes the result."""


class ExecutionError(Diagnosed, FieldstoneError, RuntimeError):
    """A run found an error in the stencil or in its arguments.

    Attributes
    ----------
    diagnostics : list of dict
        The facts, as those of `GTScriptError.diagnostics`.
    index : tuple of int, optional
        Where in the grid, along I, J, K; the domain starts at 0.
    """

    diagnostics: list[dict[str, object]]
    index: tuple[int, int, int] | None

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.diagnostics = []
        self.index = None


class OutOfBoundsError(ExecutionError, IndexError):
    """A field is accessed outside of its array."""


class IntervalError(ExecutionError, ValueError):
    """Bounds of intervals that are given with a call contradict each other, or leave the domain."""


class UninitialisedError(ExecutionError):
    """A temporary is read at a point where nothing was assigned; found by the backend ``debug``."""


class RaceError(ExecutionError):
    """Arguments share memory, so that the result depends on the order of points; found by the backend ``debug``."""


class NaNError(ExecutionError, FloatingPointError):
    """A value is the first that is no number; found by the backend ``debug`` with ``check_nan=True``."""


class DeviceError(FieldstoneError, RuntimeError):
    """A device is not there, or refused an operation."""


class GTNoSuchBufferError(FieldstoneError, RuntimeError):
    """A storage has no buffer on the device that was asked for."""


class CompilationError(FieldstoneError, RuntimeError):
    """The code generator or LLVM failed; a defect of fieldstone."""


class StencilWarning(UserWarning):
    """A stencil compiles, but is probably not what was meant; the message starts with the code of the warning.

    Attributes
    ----------
    diagnostic : dict
        The facts, as those of `GTScriptError.diagnostics`.
    """

    diagnostic: dict[str, object]

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.diagnostic = {}


class SyncWarning(UserWarning):
    """Warning that the two copies of a storage cannot be kept equal without help."""


class TransferWarning(UserWarning):
    """Warning that data is copied between host and device for a call."""


class LayoutWarning(UserWarning):
    """An array lies in memory such that a stencil runs slowly on it."""
