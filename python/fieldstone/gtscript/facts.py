"""From the facts that the extension module has of a stencil to an explanation."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from .explanation import (
    Costs,
    Explanation,
    FieldUse,
    Kernel,
    Loop,
    Nest,
    Pass,
    Reach,
    Reason,
    Stage,
    Statement,
    Temporary,
)
from .hints import hints

__all__ = ["explanation"]


def explanation(
    facts: Mapping[str, Any],
    *,
    domain: tuple[int, int, int] | None,
    externals: Mapping[str, Any],
    bandwidth: float | None,
) -> Explanation:
    """Build an explanation from the facts that the extension module gives.

    Parameters
    ----------
    facts : mapping
        As ``_core.Stencil._explain`` gives them.
    domain : tuple of (int, int, int) or None
        The domain they are for.
    externals : mapping
        Values of the externals.
    bandwidth : float or None
        Bytes that are moved in a second.

    Returns
    -------
    Explanation
        The explanation.
    """
    schedule = facts["schedule"] or {
        "contiguous": None,
        "vector_bytes": None,
        "chosen": "",
        "fast_math": "",
        "nests": (),
        "layout": (),
    }
    place = facts["place"] or {"file": None, "line": None}
    device = facts["device"] or {"kernels": (), "launches": None, "chosen": ""}
    if facts["device"] is not None:
        temporaries = tuple(_of_device(one) for one in device["temporaries"])
    elif facts["schedule"] is None:
        temporaries = tuple(_in_array(name, dtype) for name, dtype in facts["temporaries"])
    else:
        temporaries = tuple(_temporary(one) for one in schedule["temporaries"])
    known = Explanation(
        name=facts["name"],
        backend=facts["backend"],
        file=place["file"],
        line=place["line"],
        domain=domain,
        threads=facts["threads"],
        min_levels=facts["min_levels"],
        fields=tuple(_field(one, dict(schedule["layout"]), facts["points"]) for one in facts["fields"]),
        scalars=dict(facts["scalars"]),
        externals={name: _value(value) for name, value in externals.items()},
        contiguous=schedule["contiguous"],
        vector_bytes=schedule["vector_bytes"],
        chosen=schedule["chosen"] or device["chosen"],
        fast_math=schedule["fast_math"],
        nests=tuple(_nest(one) for one in schedule["nests"]),
        kernels=tuple(_kernel(one) for one in device["kernels"]),
        launches=device["launches"],
        temporaries=temporaries,
        costs=_costs(facts, temporaries, domain is not None, bandwidth),
        hints=(),
    )
    return dataclasses.replace(known, hints=hints(known))


def _value(value: Any) -> str:
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else repr(value)


def _per_point(count: int, points: int) -> float:
    value = count / points if points else 0.0
    # Edges of a domain that is so large do not count.
    return round(value, 4)


def _reach(pairs: list[tuple[int, int]], axes: str = "IJK") -> Reach:
    along = zip("IJK", pairs, strict=True)
    return {axis: (lower, upper) for axis, (lower, upper) in along if axis in axes and (lower, upper) != (0, 0)}


def _field(facts: Mapping[str, Any], layout: Mapping[str, str | None], points: int) -> FieldUse:
    return FieldUse(
        name=facts["name"],
        dtype=facts["dtype"],
        axes=facts["axes"],
        data_dims=tuple(facts["data_dims"]),
        access=facts["access"],
        extent=_reach(facts["extent"], facts["axes"]),
        contiguous=layout.get(facts["name"]),
        bytes_read=_per_point(facts["bytes_read"], points),
        bytes_written=_per_point(facts["bytes_written"], points),
    )


def _statement(facts: Mapping[str, Any]) -> Statement:
    place = facts["place"] or {"file": None, "line": None}
    return Statement(facts["text"], place["file"], place["line"], facts["function"])


def _reason(facts: Mapping[str, Any]) -> Reason:
    return Reason(facts["kind"], facts["text"], _statement(facts["statement"]))


def _stage(facts: Mapping[str, Any]) -> Stage:
    return Stage(
        statements=tuple(_statement(one) for one in facts["statements"]),
        levels=facts["levels"],
        extent=_reach(facts["extent"]),
        region=facts["region"],
        reads=tuple(facts["reads"]),
        writes=tuple(facts["writes"]),
        lanes=facts["lanes"],
        apart=_reason(facts["apart"]) if facts["apart"] else None,
        recomputed=round(facts["recomputed"], 3),
        operations=dict(facts["operations"]),
    )


def _nest(facts: Mapping[str, Any]) -> Nest:
    apart = facts["apart"]
    return Nest(
        kind=facts["kind"],
        loops=tuple(Loop(one["axis"], one["role"], one["tile"], one["tiles"]) for one in facts["loops"]),
        extent=_reach(facts["extent"]),
        passes=tuple(
            Pass(one["order"], one["levels"], tuple(_stage(stage) for stage in one["stages"]))
            for one in facts["passes"]
        ),
        apart=(_reason(apart[0]), _reason(apart[1])) if apart else None,
        by_level=_reason(facts["levels"]) if facts["levels"] else None,
        scratch=facts["scratch"],
        transposed=tuple((name, loads, stores) for name, loads, stores in facts["transposed"]),
        streamed=facts["streamed"],
        streams=facts["streams"],
        fetched=facts["fetched"],
        unless_near=facts["unless_near"],
    )


def _temporary(facts: Mapping[str, Any]) -> Temporary:
    return Temporary(
        name=facts["name"],
        dtype=facts["dtype"],
        axes=facts["axes"],
        data_dims=tuple(facts["data_dims"]),
        lives_in=facts["lives_in"],
        kept=facts["kept"],
        extent=_reach(facts["extent"]),
        zeroed=facts["zeroed"],
        why=facts["why"],
        nests=tuple(facts["nests"]),
        bytes_per_point=facts["bytes_per_point"],
        bytes_per_thread=facts["bytes_per_thread"],
        bytes=facts["bytes"],
    )


def _kernel(facts: Mapping[str, Any]) -> Kernel:
    return Kernel(
        threads=facts["threads"],
        tile={axis: points for axis, points in zip("IJK", facts["tile"], strict=True) if points},
        wanted_threads=facts["wanted"],
        registers=facts["registers"],
        spilled_bytes=facts["spilled"],
        shared_bytes=facts["shared"],
        extent=_reach(facts["extent"]),
    )


# Why a temporary of a device lives where it does.
_WHY = {
    "unused": "nothing that is needed reads it",
    "register": "the thread that computes it reads it, or computes it again for each point that reads it",
    "shared": "other threads of the block read it",
    "array": "other kernels read it, or all levels of a column are kept",
}


def _of_device(facts: Mapping[str, Any]) -> Temporary:
    return Temporary(
        name=facts["name"],
        dtype=facts["dtype"],
        axes=facts["axes"],
        data_dims=(),
        lives_in=facts["lives_in"],
        kept=None,
        extent={},
        zeroed=False,
        why=_WHY[facts["lives_in"]],
        nests=(),
        bytes_per_point=facts["bytes_per_point"],
        bytes_per_thread=0,
        bytes=None,
    )


def _in_array(name: str, dtype: str) -> Temporary:
    return Temporary(
        name=name,
        dtype=dtype,
        axes="IJK",
        data_dims=(),
        lives_in="array",
        kept=None,
        extent={},
        zeroed=False,
        why="this backend takes one statement after the other",
        nests=(),
        bytes_per_point=np.dtype(dtype).itemsize,
        bytes_per_thread=0,
        bytes=None,
    )


def _operations(counts: list[tuple[str, int]], points: int) -> dict[str, float]:
    each = {name: _per_point(count, points) for name, count in counts}
    return {name: count for name, count in each.items() if count}


def _costs(
    facts: Mapping[str, Any], temporaries: tuple[Temporary, ...], has_domain: bool, bandwidth: float | None
) -> Costs:
    points = facts["points"]
    read = sum(field["bytes_read"] for field in facts["fields"])
    written = sum(field["bytes_written"] for field in facts["fields"])
    arrays = sum(one.bytes_per_point * max(2, len(one.nests)) for one in temporaries)
    total = read + written
    return Costs(
        operations=_operations(facts["operations"], points),
        floating=_per_point(facts["floating"], points),
        bytes_read=_per_point(read, points),
        bytes_written=_per_point(written, points),
        bytes_of_arrays=float(arrays),
        intensity=round(facts["floating"] / total, 4) if total else None,
        points=points if has_domain else None,
        total_floating=facts["floating"] if has_domain else None,
        total_bytes=total if has_domain else None,
        seconds=total / bandwidth if has_domain and bandwidth else None,
    )
