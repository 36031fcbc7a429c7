"""What lies behind the columns of a storage may be overwritten where it is its own padding, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from tests.backends.columns import LINE, UNTOUCHED, both, doubled


def below_the_top(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(0, -1):
        out = inp + inp[0, 0, 1]


def smoothed(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        mean = inp[-1, 0, 0] + inp[1, 0, 0] + inp[0, -1, 0] + inp[0, 1, 0]
        out = mean[-1, 0, 0] + mean[1, 0, 0] - mean[0, 1, 0] * 2


def moved(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(1, None):
        out = inp[0, 0, -1]


DEFINITIONS = [doubled, both, below_the_top, smoothed, moved]
HALO = 2
PLANE = (7, 9)


def outputs(definition: Callable[..., Any]) -> list[str]:
    return [name for name in ("out", "other") if name in definition.__annotations__]


def wide(array: Any, padded: int) -> np.ndarray:
    """Return the columns of an array along memory up to where the next ones begin."""
    plain = np.asarray(array)
    return np.lib.stride_tricks.as_strided(plain, (*plain.shape[:-1], padded), plain.strides)


def made(levels: int, dtype: type, begin: int = 0) -> tuple[Any, np.ndarray]:
    """Return a storage whose level `begin` lies at the begin of a line, and its columns up to the next ones."""
    shape = (PLANE[0] + 2 * HALO, PLANE[1] + 2 * HALO, levels)
    one = storage.empty(shape, dtype, dims="IJK", layout=(0, 1, 2), alignment_size=LINE, aligned_index=(0, 0, begin))
    everything = wide(one, one.strides[1] // one.itemsize)
    everything[...] = UNTOUCHED
    return one, everything


def values(levels: int, dtype: type) -> Any:
    one, everything = made(levels, dtype)
    everything[...] = np.random.default_rng(levels).integers(0, 9, everything.shape)
    return one


def compiled(definition: Callable[..., Any], dtype: type, **schedule: Any) -> Any:
    schedule = {"stores": "streamed", **schedule}
    return gtscript.stencil("cpu_kfirst", definition=definition, dtypes={"real": dtype}, schedule=schedule)


def wanted(definition: Callable[..., Any], inp: Any, levels: int, dtype: type, domain: int) -> dict[str, np.ndarray]:
    found = {name: np.full((*inp.shape[:2], levels), UNTOUCHED, dtype) for name in outputs(definition)}
    oracle = gtscript.stencil("debug", definition=definition, dtypes={"real": dtype})
    oracle(np.array(inp), **found, origin=(HALO, HALO, 0), domain=(*PLANE, domain))
    return found


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Any:
    before = fieldstone.num_threads()
    fieldstone.set_num_threads(request.param)
    yield request.param
    fieldstone.set_num_threads(before)


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("levels", [5, 8, 23, 60])
@pytest.mark.parametrize("begin", [0, 3])
def test_only_padding_changes_beside_the_domain(definition, dtype, levels, begin, threads):
    inp = values(levels, dtype)
    arguments = {name: made(levels, dtype, begin) for name in outputs(definition)}
    stencil = compiled(definition, dtype)
    where = {"origin": (HALO, HALO, 0), "domain": (*PLANE, levels)}
    for _ in range(2):
        stencil(inp, **{name: one for name, (one, _) in arguments.items()}, **where)
    expected = wanted(definition, inp, levels, dtype, levels)
    for name, (one, everything) in arguments.items():
        np.testing.assert_array_equal(np.asarray(one), expected[name])
        around = np.ones(everything.shape[:2], bool)
        around[HALO:-HALO, HALO:-HALO] = False
        assert (everything[around] == UNTOUCHED).all(), "columns around the domain"


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("schedule", [{"tile.K": 16}, {"fetch": 4}, {"stores": "cached"}, {"tile.J": 2, "fetch": 0}])
def test_however_the_domain_is_divided(definition, schedule):
    levels = 29
    inp = values(levels, np.float64)
    arguments = {name: made(levels, np.float64)[0] for name in outputs(definition)}
    stencil = compiled(definition, np.float64, **schedule)
    stencil(inp, **arguments, origin=(HALO, HALO, 0), domain=(*PLANE, levels))
    expected = wanted(definition, inp, levels, np.float64, levels)
    for name, one in arguments.items():
        np.testing.assert_array_equal(np.asarray(one), expected[name])


def test_whole_lines_are_stored_where_there_is_padding():
    levels = 57  # no vector ends with them
    inp, (out, everything) = values(levels, np.float64), made(levels, np.float64)
    stencil = compiled(doubled, np.float64)
    stencil(inp, out, origin=(HALO, HALO, 0), domain=(*PLANE, levels))
    if "nontemporal" not in stencil.inspect("llvm"):
        pytest.skip("this processor has no stores past the caches")
    assert (everything[HALO:-HALO, HALO:-HALO, levels:] != UNTOUCHED).any()


def parts(levels: int, dtype: type) -> list[Any]:
    """Return arguments behind whose last level lies what may be somebody's, each with its columns."""
    larger, columns = made(levels + 4, dtype)
    every, of_every = made(levels, dtype)
    reversed_, of_reversed = made(levels, dtype)
    bare, of_bare = made(levels, dtype)
    wrapped, of_wrapped = made(levels, dtype)
    return [
        pytest.param(larger[:, :, :levels], columns, id="part of a storage"),
        pytest.param(larger[:, :, 2 : levels + 2][..., ::1], columns, id="part from within a storage"),
        pytest.param(every[:, :, ::-1][:, :, ::-1], of_every, id="turned twice"),
        pytest.param(reversed_[:, :, 0:levels].T[::-1][::-1].T, of_reversed, id="turned twice, of other axes"),
        pytest.param(np.asarray(bare), of_bare, id="NumPy array of a storage"),
        pytest.param(storage.as_storage(np.asarray(wrapped), dims="IJK"), of_wrapped, id="storage around an array"),
    ]


@pytest.mark.parametrize("definition", [doubled, both, smoothed])
@pytest.mark.parametrize(("out", "everything"), parts(52, np.float64))
def test_what_is_not_known_as_padding_stays(definition, out, everything):
    levels, stencil = 52, compiled(definition, np.float64)
    inp = values(levels, np.float64)
    where = {"origin": (HALO, HALO, 0), "domain": (*PLANE, levels)}
    names = outputs(definition)
    # Storages come first, of the same shape and strides, and what was found of them is remembered.
    stencil(inp, **{name: made(levels, np.float64)[0] for name in names}, **where)
    everything[...] = UNTOUCHED
    others = {name: made(levels, np.float64)[0] for name in names[1:]}
    for _ in range(2):
        stencil(inp, out, **others, **where)
    np.testing.assert_array_equal(np.asarray(out), wanted(definition, inp, levels, np.float64, levels)["out"])
    np.asarray(out)[...] = UNTOUCHED
    assert (everything == UNTOUCHED).all()


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("levels", [20, 57, 59])
def test_levels_above_the_domain_stay(definition, levels):
    inp = values(60, np.float64)
    arguments = {name: made(60, np.float64) for name in outputs(definition)}
    stencil = compiled(definition, np.float64)
    stencil(
        inp,
        **{name: one for name, (one, _) in arguments.items()},
        origin=(HALO, HALO, 0),
        domain=(*PLANE, levels),
    )
    expected = wanted(definition, inp, 60, np.float64, levels)
    for name, (one, everything) in arguments.items():
        np.testing.assert_array_equal(np.asarray(one), expected[name])
        assert (everything[:, :, 60:] == UNTOUCHED).all()


def test_frozen_calls_tell_storages_from_their_parts():
    levels = 52
    inp = values(levels, np.float64)
    (larger, columns), (own, _) = made(levels + 4, np.float64), made(levels, np.float64)
    assert own.strides == larger.strides
    frozen = compiled(doubled, np.float64).freeze(origin=(HALO, HALO, 0), domain=(*PLANE, levels))
    for _ in range(3):
        frozen(inp, own)
        frozen(inp, larger[:, :, :levels])
    assert (columns[:, :, levels:] == UNTOUCHED).all()
    np.testing.assert_array_equal(np.asarray(own), np.asarray(larger[:, :, :levels]))


def elements(inp: Field["real"], out: Field[(float, (2,))]):
    with computation(PARALLEL), interval(...):
        out[0, 0, 0][0] = inp
        out[0, 0, 0][1] = inp * 2


def test_elements_of_data_dimensions_have_rows_of_their_own():
    levels, inp = 13, values(13, np.float64)
    shape = (PLANE[0] + 2 * HALO, PLANE[1] + 2 * HALO, levels, 2)
    out = storage.zeros(shape, dims=("I", "J", "K", "0"), defaults="cpu_kfirst")
    stencil = compiled(elements, np.float64)
    stencil(inp, out, origin=(HALO, HALO, 0), domain=(*PLANE, levels))
    inner = (slice(HALO, -HALO), slice(HALO, -HALO))
    for element in range(2):
        expected = np.zeros(shape[:3])
        expected[inner] = np.asarray(inp)[inner] * (element + 1)
        np.testing.assert_array_equal(np.asarray(out)[..., element], expected)
