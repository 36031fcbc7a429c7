"""Facts of an explanation in words, for text and for HTML."""

from __future__ import annotations

from collections.abc import Mapping

from fieldstone._repr.html import size
from fieldstone.gtscript.explanation import Explanation, FieldUse, Kernel, Loop, Nest, Stage, Temporary

KINDS = {
    "rows": "rows, tile by tile",
    "columns": "columns, block by block",
    "levels": "level by level",
}

NOTHING_FUSED = {
    "numpy": "every statement is an expression of NumPy over the whole domain: nothing is fused",
    "debug": "the interpreter takes one statement after the other, point by point: nothing is fused",
}


def reach(extent: Mapping[str, tuple[int, int]]) -> str:
    """Say how far around the domain: ``I -1…+2  J 0…+1``."""
    return "  ".join(
        _levels(*ends) if axis == "K" else f"{axis} {_end(-ends[0])}…{_end(ends[1])}" for axis, ends in extent.items()
    )


def _end(offset: int) -> str:
    return f"{offset:+d}" if offset else "0"


def _levels(lower: int, upper: int) -> str:
    said = []
    for count, first, before in ((lower, "first", "below"), (upper, "last", "above")):
        if count < 0:
            said.append(f"without the {first} level" if count == -1 else f"without the {first} {-count} levels")
        elif count > 0:
            said.append(f"{count} level{'' if count == 1 else 's'} {before}")
    return "K " + ", ".join(said)


def declaration(field: FieldUse) -> str:
    """Say axes and type as an annotation does."""
    dtype = f"({field.dtype}, {field.data_dims})" if field.data_dims else field.dtype
    return f"Field[{field.axes}, {dtype}]" if field.axes else f"GlobalTable[{dtype}]"


def counted_for(explanation: Explanation) -> str:
    """Say what points the numbers are for."""
    if explanation.domain is None:
        return "per point of a large domain"
    return "per point of the domain " + " × ".join(map(str, explanation.domain))


def count(number: float) -> str:
    """Write a number without digits that say nothing."""
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def operations(counts: Mapping[str, float]) -> str:
    """Say how many operations of which kinds."""
    return ", ".join(f"{count(number)} {name}" for name, number in counts.items()) or "none"


def loops(nest: Nest) -> str:
    """Say how the loops of a nest run, from the outermost to the innermost."""
    return ", ".join(_loop(loop) for loop in nest.loops)


def _loop(loop: Loop) -> str:
    words = {
        "slide": f"slide along {loop.axis}",
        "block": f"rows side by side along {loop.axis}",
        "row": f"rows along {loop.axis}",
        "outer": f"row by row along {loop.axis}",
        "levels": f"levels along {loop.axis}",
        "vector": f"vectors along {loop.axis}",
    }[loop.role]
    if loop.tile is None:
        return words
    pieces = "" if loop.tiles is None else f"{loop.tiles} × "
    return f"{words} ({pieces}{loop.tile} point{'' if loop.tile == 1 else 's'})"


def region(stage: Stage) -> str:
    """Say in which region of the plane a loop is computed, if that is not all of it."""
    return "" if stage.region is None else f"region [{stage.region}]"


def recomputed(stage: Stage) -> str:
    """Say how often points are computed, if that is more than once."""
    return f"computed {stage.recomputed:.2f} times per point" if stage.recomputed >= 1.005 else ""


def place(temporary: Temporary) -> str:
    """Say where a temporary lives."""
    around = reach(temporary.extent)
    rows = f"{temporary.kept} row{'' if temporary.kept == 1 else 's'}"
    said = {
        "unused": "nowhere",
        "register": "registers",
        "shared": "shared memory",
        "ring": f"ring of {rows}" + (f", {around} around the tile" if around else ""),
        "window": f"{temporary.kept} level{'' if temporary.kept == 1 else 's'} of a block of columns",
        "column": "all levels of a block of columns",
        "array": "array" + (f", {around} around the domain" if around else ""),
    }[temporary.lives_in]
    return f"{said}, zero at first" if temporary.zeroed else said


def kernels(explanation: Explanation) -> str:
    """Say how many kernels of a device compute a stencil."""
    count = len(explanation.kernels)
    launched = explanation.launches
    said = "1 kernel" if count == 1 else f"{count} kernels"
    return said if launched in (None, count) else f"{said}, {launched} launches"


def kernel(one: Kernel) -> str:
    """Say what a block of threads of a kernel computes."""
    points = " x ".join(f"{points} {axis}" for axis, points in one.tile.items())
    levels = "" if "K" in one.tile else ", all levels of a column by one thread"
    around = f"; around the domain {reach(one.extent)}" if one.extent else ""
    shared = f"{size(one.shared_bytes)} of shared memory" if one.shared_bytes else "no shared memory"
    registers = "" if one.registers is None else f" of {one.registers} registers"
    fewer = f", as {one.wanted_threads} would have too few" if one.wanted_threads != one.threads else ""
    spilled = f"; {size(one.spilled_bytes)} of each thread in memory for lack of registers" if one.spilled_bytes else ""
    return f"blocks of {one.threads} threads{registers}{fewer} for {points}{levels}; {shared}{spilled}{around}"


def memory(temporary: Temporary) -> str:
    """Say how much memory a temporary has."""
    if temporary.bytes:
        return size(temporary.bytes)
    if temporary.bytes_per_point:
        return f"{temporary.bytes_per_point} bytes per point"
    if temporary.bytes_per_thread:
        return f"{size(temporary.bytes_per_thread)} per thread"
    if temporary.bytes_per_thread is None:
        return "grows with the number of levels"
    return ""


def apart(nest: Nest) -> list[str]:
    """Say why a nest is one of its own: a first line, and one for each reason."""
    if nest.apart is None:
        return []
    rows, columns = nest.apart
    return [
        "not fused with the nest before:",
        f"as rows, {at(rows.statement.line)}{rows.text}",
        f"as columns, {at(columns.statement.line)}{columns.text}",
    ]


def by_level(nest: Nest) -> str:
    """Say why a nest goes level by level."""
    return "" if nest.by_level is None else f"not as columns, {at(nest.by_level.statement.line)}{nest.by_level.text}"


def at(line: int | None) -> str:
    """Say the line, if it is known."""
    return "" if line is None else f"line {line}: "


def costs(explanation: Explanation) -> list[tuple[str, str]]:
    """Say what there is to do, whatever the schedule."""
    costs = explanation.costs
    moved = f"{count(costs.bytes)} bytes: {count(costs.bytes_read)} read, {count(costs.bytes_written)} written"
    rows = [("memory", f"{moved} (each element once)")]
    if costs.bytes_of_arrays:
        rows.append(("", f"and at least {count(costs.bytes_of_arrays)} for temporaries in arrays"))
    rows.append(("operations", operations(costs.operations)))
    if costs.intensity is not None:
        rows.append(("floating point", f"{count(costs.floating)}, {count(costs.intensity)} per byte"))
    if costs.points is not None and costs.total_bytes is not None and costs.total_floating is not None:
        total = f"{size(costs.total_bytes)}, {costs.total_floating:.4g} floating-point operations"
        rows.append(("in all", f"{costs.points} points, {total}"))
    if costs.seconds is not None:
        rows.append(("time", f"at least {duration(costs.seconds)} with the given bandwidth"))
    return rows


def duration(seconds: float) -> str:
    """Write a time for people."""
    for unit, length in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
