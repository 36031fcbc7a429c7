"""What a stencil does, how it is computed, and what that costs.

:meth:`~fieldstone.gtscript.stencil_object.StencilObject.explain` gives an :class:`Explanation`. Printed, it is text for
people; in a notebook, a picture; its attributes, :meth:`Explanation.to_dict` and :meth:`Explanation.to_json` are for
programs. It is made in `fieldstone.gtscript.facts`.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Costs",
    "Explanation",
    "FieldUse",
    "Hint",
    "Kernel",
    "Loop",
    "Nest",
    "Pass",
    "Reason",
    "Stage",
    "Statement",
    "Temporary",
]

Reach = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Statement:
    """A statement as the source has it, abbreviated.

    Attributes
    ----------
    text : str
        The statement, on one line.
    file : str or None
        Where it stands.
    line : int or None
        The line of that file.
    function : str or None
        The function it is part of, if that was called.
    """

    text: str
    file: str | None
    line: int | None
    function: str | None


@dataclass(frozen=True)
class Reason:
    """Why a statement is not computed together with those before.

    Attributes
    ----------
    kind : str
        A word or two for it, such as ``"other level"``.
    text : str
        A clause whose subject is the statement.
    statement : Statement
        The statement.
    """

    kind: str
    text: str
    statement: Statement


@dataclass(frozen=True)
class Loop:
    """One loop of a nest.

    Attributes
    ----------
    axis : str
        The axis it runs along.
    role : str
        ``"slide"``: loops of a tile advance along it together. ``"block"``: rows of a tile beside each other.
        ``"row"``: rows of which every point is a vector along another axis. ``"outer"``: one column after the other.
        ``"levels"``: in the order of the sweep. ``"vector"``: the innermost.
    tile : int or None
        Points of a tile along it, if that is known.
    tiles : int or None
        Number of tiles, if that is known.
    """

    axis: str
    role: str
    tile: int | None
    tiles: int | None


@dataclass(frozen=True)
class Stage:
    """Statements that share one vector loop.

    Attributes
    ----------
    statements : tuple of Statement
        In order.
    levels : str
        The levels they are computed at.
    extent : dict of str to (int, int)
        Points around the domain that they are computed at as well, by axis, where there are any.
    region : str or None
        The region of the plane that they are computed in, if that is not all of it.
    reads, writes : tuple of str
        Fields and temporaries.
    lanes : int
        Points computed at once.
    apart : Reason or None
        Why they are no part of the loop before; None for the first.
    recomputed : float
        How many times each point that is needed is computed: more than once at the edges of tiles.
    operations : dict of str to int
        Operations for one point.
    """

    statements: tuple[Statement, ...]
    levels: str
    extent: Reach
    region: str | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    lanes: int
    apart: Reason | None
    recomputed: float
    operations: dict[str, int]


@dataclass(frozen=True)
class Pass:
    """Vector loops that run one after the other: over the rows of a tile, or at each level of a section of a sweep.

    Attributes
    ----------
    order : str
        ``"PARALLEL"``, ``"FORWARD"`` or ``"BACKWARD"``.
    levels : str or None
        The levels of a section of a sweep.
    stages : tuple of Stage
        In order.
    """

    order: str
    levels: str | None
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Nest:
    """A loop nest that runs on all threads, with a barrier behind it.

    Attributes
    ----------
    kind : str
        ``"rows"``: tiles, in which every loop is a few rows ahead of those that read it. ``"columns"``: blocks of
        columns, each swept through all its levels. ``"levels"``: level by level, with a barrier behind every loop.
    loops : tuple of Loop
        From the outermost to the innermost.
    extent : dict of str to (int, int)
        Points around the domain that it computes as well, by axis, where there are any.
    passes : tuple of Pass
        In order.
    apart : tuple of Reason or None
        Why its first statements are no part of the nest before: what keeps both out of one nest of rows, and out of one
        nest of columns. None for the first nest.
    by_level : Reason or None
        Why it goes level by level, if it does.
    scratch : int or None
        Bytes of scratch memory for each thread, if that is known.
    transposed : tuple of (str, bool, bool)
        What is transposed in whole blocks of columns: the name of an array, or the text of a value that is computed
        from several before; whether it is read, and written.
    streamed : int
        Bytes for each point that are stored past the caches where a call moves enough.
    streams : bool or None
        Whether they are, in the given domain.
    fetched : int or None
        Rows ahead that are fetched into the caches, in the given domain, of arrays in which rows follow each other.
    unless_near : bool
        Whether they are not in a call whose fields those before it have just left in the caches.
    """

    kind: str
    loops: tuple[Loop, ...]
    extent: Reach
    passes: tuple[Pass, ...]
    apart: tuple[Reason, Reason] | None
    by_level: Reason | None
    scratch: int | None
    transposed: tuple[tuple[str, bool, bool], ...]
    streamed: int
    streams: bool | None
    fetched: int | None
    unless_near: bool

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of all passes."""
        return tuple(stage for one in self.passes for stage in one.stages)


@dataclass(frozen=True)
class Temporary:
    """A temporary and where it lives.

    Attributes
    ----------
    name : str
        Its name; that of one with several values, or of a function's, has a mark behind it.
    dtype : str
        Its type.
    axes : str
        The axes it extends along.
    data_dims : tuple of int
        Sizes of its data dimensions.
    lives_in : str
        ``"register"``, ``"ring"`` (of rows of a tile), ``"column"`` (all levels of a block of columns), ``"window"``
        (the last levels of one), ``"shared"`` (memory of a block of threads), ``"array"`` (in memory, as large as the
        domain), or ``"unused"``.
    kept : int or None
        Rows of a ring, levels of a window.
    extent : dict of str to (int, int)
        Points around the tile, or those of an array around the domain, by axis, where there are any.
    zeroed : bool
        Whether it is set to zero before, as it may be read where it was not assigned.
    why : str
        The reason for where it lives.
    nests : tuple of int
        The nests that use it.
    bytes_per_point : int
        Bytes for each point that it has in memory: those of an array.
    bytes_per_thread : int or None
        Bytes of scratch memory for each thread, if that is known.
    bytes : int or None
        Bytes of the array, in the given domain.
    """

    name: str
    dtype: str
    axes: str
    data_dims: tuple[int, ...]
    lives_in: str
    kept: int | None
    extent: Reach
    zeroed: bool
    why: str
    nests: tuple[int, ...]
    bytes_per_point: int
    bytes_per_thread: int | None
    bytes: int | None


@dataclass(frozen=True)
class FieldUse:
    """A field and what is moved of it.

    Attributes
    ----------
    name, dtype, axes : str
        As in the signature.
    data_dims : tuple of int
        Sizes of its data dimensions.
    access : str
        ``"read"``, ``"written"``, ``"read and written"`` or ``"not used"``.
    extent : dict of str to (int, int)
        By axis, how many points before and after the domain are accessed; negative along K where not all levels are.
    contiguous : str or None
        The axis along which the elements of the array are adjacent.
    bytes_read, bytes_written : float
        Bytes for each point of the domain, each element counted once. An element that the stencil assigns before it
        reads it is not read from memory.
    """

    name: str
    dtype: str
    axes: str
    data_dims: tuple[int, ...]
    access: str
    extent: Reach
    contiguous: str | None
    bytes_read: float
    bytes_written: float


@dataclass(frozen=True)
class Costs:
    """What there is to do for each point of the domain, whatever the schedule, and for all of them.

    Attributes
    ----------
    operations : dict of str to float
        Operations for each point, by kind, as the source has them: what is the same at all points does not count, both
        branches of a condition do, and the body of a loop counts once.
    floating : float
        Those that are floating-point operations: additions, multiplications, divisions, square roots and functions.
    bytes_read, bytes_written : float
        Bytes of fields for each point, each element counted once.
    bytes_of_arrays : float
        Bytes for each point that temporaries in arrays move on top of that, at least.
    intensity : float or None
        Floating-point operations for each byte that has to be moved.
    points : int or None
        Points of the given domain.
    total_floating, total_bytes : int or None
        For all points of it.
    seconds : float or None
        The time that moving the bytes takes with the given bandwidth: nothing can be faster, except in a cache.
    """

    operations: dict[str, float]
    floating: float
    bytes_read: float
    bytes_written: float
    bytes_of_arrays: float
    intensity: float | None
    points: int | None
    total_floating: int | None
    total_bytes: int | None
    seconds: float | None

    @property
    def bytes(self) -> float:
        """Bytes of fields for each point, read and written."""
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True)
class Hint:
    """Something that costs time and can perhaps be avoided.

    Attributes
    ----------
    kind : str
        A word or two for it.
    text : str
        What it is, and what to do.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Kernel:
    """What blocks of threads of a device compute.

    Attributes
    ----------
    threads : int
        Threads of a block.
    tile : dict of str to int
        Points that a block computes along each axis; without K each thread computes all levels of a column.
    wanted_threads : int
        Threads that a block would have if each had as many registers as it wants.
    registers, spilled_bytes : int or None
        Registers of each thread, and what it has in memory for lack of more; only known once a GPU has the code.
    shared_bytes : int
        Shared memory of a block.
    extent : dict of str to (int, int)
        Points around the domain that are computed as well, by axis, where there are any.
    """

    threads: int
    tile: dict[str, int]
    wanted_threads: int
    registers: int | None
    spilled_bytes: int | None
    shared_bytes: int
    extent: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Explanation:
    """What a stencil does, how it is computed, and what that costs.

    Attributes
    ----------
    name, backend : str
        Of the stencil.
    file : str or None
        Where it is defined.
    line : int or None
        The line of that file.
    domain : tuple of (int, int, int) or None
        The domain it is explained for; without one, for each point of a domain so large that its edges do not count.
    threads : int
        How many there are.
    min_levels : int
        Levels a domain must have at least.
    fields : tuple of FieldUse
        In the order of the signature.
    scalars : dict of str to str
        Types of scalar parameters.
    externals : dict of str to str
        Values of externals, as text.
    contiguous : str or None
        The axis that most fields are contiguous along; None for backends that do not care.
    vector_bytes : int or None
        Bytes of a vector register.
    chosen : str
        What the option ``schedule`` or a measurement decided, not the cost model, such as ``"tile.J=32"``.
    fast_math : str
        What the option ``fast_math`` lets arithmetic do to results, such as ``"contract, no_nans"``.
    nests : tuple of Nest
        How it is computed, in order; empty for backends that take one statement after the other, and for ``gpu``.
    kernels : tuple of Kernel
        How the backend ``gpu`` computes it, in order.
    launches : int or None
        Kernels that a call on the given domain launches: one that goes from level to level is launched for each.
    temporaries : tuple of Temporary
        In the order of their first assignment.
    costs : Costs
        What there is to do.
    hints : tuple of Hint
        What costs time and can perhaps be avoided.
    """

    name: str
    backend: str
    file: str | None
    line: int | None
    domain: tuple[int, int, int] | None
    threads: int
    min_levels: int
    fields: tuple[FieldUse, ...]
    scalars: dict[str, str]
    externals: dict[str, str]
    contiguous: str | None
    vector_bytes: int | None
    chosen: str
    fast_math: str
    nests: tuple[Nest, ...]
    kernels: tuple[Kernel, ...]
    launches: int | None
    temporaries: tuple[Temporary, ...]
    costs: Costs
    hints: tuple[Hint, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as dictionaries, lists, numbers and strings.

        Returns
        -------
        dict
            With a key for each attribute.
        """
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain

    def to_json(self, indent: int | None = None) -> str:
        """Give everything as JSON.

        Parameters
        ----------
        indent : int, optional
            As in :func:`json.dumps`.

        Returns
        -------
        str
            The text.
        """
        return json.dumps(dataclasses.asdict(self), indent=indent, ensure_ascii=False)

    def to_html(self) -> str:
        """Give the picture that notebooks show.

        Returns
        -------
        str
            HTML without scripts, for light and dark pages.
        """
        from fieldstone._repr.stencil.html import card

        return card(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        from fieldstone._repr.stencil.text import text

        return text(self)

    def __repr__(self) -> str:
        what = f"{len(self.nests)} nest{'' if len(self.nests) == 1 else 's'}" if self.contiguous else "not scheduled"
        if self.kernels:
            what = f"{len(self.kernels)} kernel{'' if len(self.kernels) == 1 else 's'}"
        return f"<Explanation of {self.name!r}, backend={self.backend!r}: {what}, {self.costs.bytes:g} bytes per point>"
