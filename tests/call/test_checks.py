"""Origins and domains of every kind: a call runs exactly where it fits along every axis, and else touches nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from fieldstone import errors, gtscript
from fieldstone.gtscript import IJ, PARALLEL, Field, K, computation, interval

BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gpu"]
F64 = np.float64


def reach(inp: Field[F64], surface: Field[IJ, F64], levels: Field[K, F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        out = inp[-1, 0, 0] + inp[2, 0, 0] + inp[0, 1, 0] + surface[0, -1] + levels


# Along I, J, K what each field reaches before and behind the domain, and which axes it has.
REACH = {
    "inp": (((1, 2), (0, 1), (0, 0)), (0, 1, 2)),
    "surface": (((0, 0), (1, -1), (0, 0)), (0, 1)),
    "levels": (((0, 0), (0, 0), (0, 0)), (2,)),
    "out": (((0, 0), (0, 0), (0, 0)), (0, 1, 2)),
}
STENCILS = {backend: gtscript.stencil(backend, reach) for backend in BACKENDS}

sizes = st.integers(1, 7)
starts = st.integers(-1, 6)
integers = st.sampled_from([int, np.int64, np.int8])


@st.composite
def calls(draw: st.DrawFn) -> tuple[dict[str, tuple[int, ...]], Any, Any]:
    """Shapes, ``origin`` and ``domain``."""
    base = draw(st.tuples(*[st.integers(4, 8)] * 3))
    shapes = {}
    for name, (_, axes) in REACH.items():
        size = draw(st.sampled_from([base, base, base, draw(st.tuples(sizes, sizes, sizes))]))
        shapes[name] = tuple(size[axis] for axis in axes)
    kind = draw(integers)
    point = st.one_of(st.just((1, 1, 0)), st.tuples(starts, starts, starts))

    def entry(axes: tuple[int, ...]) -> Any:
        given = draw(point)
        own = given if draw(st.booleans()) else tuple(given[axis] for axis in axes)
        return draw(st.sampled_from([tuple, list, np.array]))([kind(value) for value in own])

    form = draw(st.sampled_from(["none", "all", "names", "both"]))
    origin: Any = None
    if form == "all":
        origin = entry((0, 1, 2))
    elif form != "none":
        named = draw(st.sets(st.sampled_from(list(REACH))))
        origin = {name: entry(REACH[name][1]) for name in named}
        if form == "both":
            origin["_all_"] = draw(point)
    domain = draw(st.one_of(st.none(), st.tuples(*[st.integers(0, 7)] * 3)))
    return shapes, origin, domain


def expanded(axes: tuple[int, ...], given: Any) -> list[int]:
    """Components along I, J, K of an origin that is given along all of them or along a field's own."""
    values = [int(value) for value in given]
    if len(values) == 3:
        return [values[axis] if axis in axes else 0 for axis in range(3)]
    result = [0, 0, 0]
    for axis, value in zip(axes, values, strict=True):
        result[axis] = value
    return result


def expected_place(shapes: Any, origin: Any, domain: Any) -> tuple[dict[str, list[int]], list[int]] | None:
    """Where it runs; None if it does not fit."""
    origins: dict[str, list[int] | None] = {}
    for name, (_, axes) in REACH.items():
        given = origin if not isinstance(origin, dict) else origin.get(name, origin.get("_all_"))
        origins[name] = None if given is None else expanded(axes, given)
    free = [name for name, given in origins.items() if given is None]
    shared = [max((REACH[name][0][axis][0] for name in free if axis in REACH[name][1]), default=0) for axis in range(3)]
    placed = {
        name: given if given is not None else [shared[axis] if axis in REACH[name][1] else 0 for axis in range(3)]
        for name, given in origins.items()
    }
    room, whole = [10**6] * 3, [0] * 3
    for name, (extent, axes) in REACH.items():
        for position, axis in enumerate(axes):
            behind = shapes[name][position] - placed[name][axis]
            room[axis], whole[axis] = min(room[axis], behind - extent[axis][1]), max(whole[axis], behind)
    size = list(domain) if domain is not None else [min(pair) for pair in zip(room, whole, strict=True)]
    if 0 in size and domain is not None:
        return placed, size
    fits = all(placed[name][axis] >= extent[axis][0] for name, (extent, axes) in REACH.items() for axis in axes)
    return (placed, size) if fits and all(0 < size[axis] <= room[axis] for axis in range(3)) else None


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=150, deadline=None)
@given(call=calls(), seed=st.integers(0, 3))
def test_a_call_runs_exactly_where_it_fits(backend: str, call: Any, seed: int) -> None:
    shapes, origin, domain = call
    random = np.random.default_rng(seed)
    arrays = {name: random.random(shape) for name, shape in shapes.items()}
    result = arrays["out"].copy()
    place = expected_place(shapes, origin, domain)
    keywords = {"origin": origin, "domain": domain}
    if place is None:
        event("refused")
        with pytest.raises((errors.OriginError, errors.DomainError, errors.ShapeError), match="argument '"):
            STENCILS[backend](**arrays, **keywords)
    else:
        event("ran")
        info: dict[str, Any] = {}
        STENCILS[backend](**arrays, **keywords, exec_info=info)
        origins, (ni, nj, nk) = place
        assert info["domain"] == (ni, nj, nk)
        for i, j, k in np.ndindex(ni, nj, nk):
            inp, surface, out = origins["inp"], origins["surface"], origins["out"]
            at = (inp[0] + i, inp[1] + j, inp[2] + k)
            value = arrays["inp"][at[0] - 1, at[1], at[2]] + arrays["inp"][at[0] + 2, at[1], at[2]]
            value = (
                value + arrays["inp"][at[0], at[1] + 1, at[2]] + arrays["surface"][surface[0] + i, surface[1] + j - 1]
            )
            result[out[0] + i, out[1] + j, out[2] + k] = value + arrays["levels"][origins["levels"][2] + k]
    np.testing.assert_array_equal(arrays["out"], result)
    frozen(backend, arrays, place, domain)


def frozen(backend: str, arrays: Any, place: Any, domain: Any) -> None:
    """The same place, fixed before the call."""
    if place is None or domain is None:
        return
    before = arrays["out"].copy()
    origins = {name: tuple(place[0][name][axis] for axis in axes) for name, (_, axes) in REACH.items()}
    STENCILS[backend].freeze(origin=origins, domain=domain)(**arrays)
    np.testing.assert_array_equal(arrays["out"], before)


def test_an_origin_may_lie_before_an_array_where_only_points_behind_it_are_read() -> None:
    def ahead(inp: Field[F64], out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = inp[2, 0, 0]

    inp, out = np.arange(24.0).reshape(4, 3, 2), np.zeros((4, 3, 2))
    for backend in BACKENDS:
        out[...] = 0.0
        gtscript.stencil(backend, ahead)(inp, out, origin={"inp": (-2, 0, 0), "out": (0, 0, 0)})
        np.testing.assert_array_equal(out, inp)
        with pytest.raises(errors.OriginError, match="'inp': its origin along I is -3"):
            gtscript.stencil(backend, ahead)(inp, out, origin={"inp": (-3, 0, 0), "out": (0, 0, 0)})
