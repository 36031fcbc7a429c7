"""The option ``schedule``: what is chosen about how a stencil runs changes no bit of its results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, PARALLEL, Field, computation, interval

F64 = np.float64
SHAPE = (41, 23, 19)
CHOICES = [
    "stores=streamed",
    "stores=cached",
    "tile.I=1 tile.J=1 tile.K=1",
    "tile.I=64 tile.J=3 tile.K=5",
    "tile.I=65536 tile.J=65536 tile.K=65536",
    "across=I",
    "across=I tile.I=3 tile.K=2",
    "vector=I tile.K=2",
    "vector=J tile.I=2",
    "tile.J=30",
    "vector=K tile.J=4 stores=streamed",
    "fetch=1",
    "fetch=0 stores=streamed",
    "fetch=64 stores=cached",
]


def diffusion(phi: Field[F64], coefficient: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        lap = 4.0 * phi - (phi[1, 0, 0] + phi[-1, 0, 0] + phi[0, 1, 0] + phi[0, -1, 0])
        along_i = lap[1, 0, 0] - lap
        along_j = lap[0, 1, 0] - lap
        out = phi - coefficient * (along_i - along_i[-1, 0, 0] + along_j - along_j[0, -1, 0])


def solve(phi: Field[F64], coefficient: Field[F64], out: Field[F64]):
    with computation(FORWARD):
        with interval(0, 1):
            upper = coefficient / (2.0 + coefficient)
            right = phi / (2.0 + coefficient)
        with interval(1, None):
            upper = coefficient / (2.0 + coefficient - coefficient * upper[0, 0, -1])
            right = (phi + coefficient * right[0, 0, -1]) / (2.0 + coefficient - coefficient * upper[0, 0, -1])
    with computation(BACKWARD):
        with interval(-1, None):
            out = right
        with interval(0, -1):
            out = right + upper * out[0, 0, 1]


def result(definition: Any, layout: str, **options: Any) -> np.ndarray:
    rng = np.random.default_rng(7)
    order = [layout.index(axis) for axis in "IJK"]
    arrays = [np.empty([SHAPE["IJK".index(axis)] for axis in layout]).transpose(order) for _ in range(3)]
    for array in arrays:
        array[...] = rng.random(SHAPE)
    gtscript.stencil("cpu_ifirst", definition, **options)(*arrays)
    return arrays[2]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chosen", CHOICES)
@pytest.mark.parametrize("layout", ["KJI", "IJK", "KIJ"])
@pytest.mark.parametrize("definition", [diffusion, solve])
def test_results_do_not_depend_on_choices(definition: Any, layout: str, chosen: str, threads: int) -> None:
    expected = result(definition, layout)
    np.testing.assert_array_equal(result(definition, layout, schedule=chosen, threads=threads), expected)


def test_a_mapping_says_the_same_as_words() -> None:
    mapping = {"tile": {"J": 32, "K": None}, "stores": "cached"}
    stencil = gtscript.stencil("cpu_ifirst", diffusion, schedule=mapping)
    assert stencil.explain().chosen == "tile.J=32 stores=cached"
    assert "chosen: tile.J=32 stores=cached" in str(stencil.explain())
    assert "rows side by side" in str(stencil.explain())


def test_tiles_are_as_chosen() -> None:
    stencil = gtscript.stencil("cpu_ifirst", diffusion, schedule="tile.I=128 tile.J=7 tile.K=3")
    (nest,) = stencil.explain(domain=(1000, 100, 80)).nests
    assert {loop.axis: loop.tile for loop in nest.loops} == {"I": 128, "J": 7, "K": 3}


@pytest.mark.parametrize(("chosen", "streams"), [("stores=streamed", True), ("stores=cached", False)])
def test_stores_are_as_chosen(chosen: str, streams: bool) -> None:
    for domain in ((4, 4, 4), (1000, 1000, 100)):
        explanation = gtscript.stencil("cpu_ifirst", diffusion, schedule=chosen).explain(domain=domain)
        (nest,) = explanation.nests
        assert nest.streams is streams
        assert ("stored past the caches" in " ".join(str(explanation).split())) is streams


@pytest.mark.parametrize("rows", [0, 3])
def test_rows_are_fetched_as_chosen(rows: int) -> None:
    for domain in ((4, 4, 4), (1000, 1000, 100)):
        explanation = gtscript.stencil("cpu_ifirst", diffusion, schedule={"fetch": rows}).explain(domain=domain)
        assert explanation.nests[0].fetched == rows
        assert ("rows are fetched 3 ahead" in " ".join(str(explanation).split())) is (rows == 3)


def test_points_that_are_vectors_are_fetched_unless_near() -> None:
    # Two arrays, of which a row has a line at each of 50 points: about 16 KiB, or a row where the last cache is far.
    near = "unless calls before left them in the caches"
    for schedule, said in ((None, "rows are fetched [12] ahead"), ("fetch=3", "rows are fetched 3 ahead")):
        explanation = gtscript.stencil("cpu_kfirst", diffusion, schedule=schedule).explain(domain=(1000, 100, 80))
        (nest,) = explanation.nests
        assert nest.unless_near is (schedule is None)
        text = " ".join(str(explanation).split())
        assert (near in text) is nest.unless_near
        assert re.search(said, text)


def neighbours(phi: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(1, -1):
        out = phi[1, 0, 0] + phi[-1, 0, 0] + phi[0, 1, 0] + phi[0, -1, 0] + phi[0, 0, 1] + phi[0, 0, -1]


def test_what_the_caches_have_is_not_fetched() -> None:
    # Rows along K, which are short; along I some processors are left to themselves.
    stencil = gtscript.stencil("cpu_kfirst", neighbours)
    assert stencil.explain(domain=(4, 4, 4)).nests[0].fetched == 0
    assert stencil.explain(domain=(10000, 10000, 100)).nests[0].fetched > 0


@pytest.mark.parametrize(("backend", "schedule", "levels"), [("cpu_ifirst", "tile.I=128", 4), ("cpu_kfirst", None, 0)])
def test_sweeps_fetch_later_levels_where_these_are_rows(backend: str, schedule: str | None, levels: int) -> None:
    stencil = gtscript.stencil(backend, solve, schedule=schedule)
    (nest,) = stencil.explain(domain=(10000, 10000, 100)).nests
    assert nest.fetched == levels
    # Single lines never come soon enough from the last cache; whether rows do depends on the processor.
    assert backend == "cpu_ifirst" or not nest.unless_near
    # The caches of the cores have what a small domain needs.
    (nest,) = stencil.explain(domain=(8, 8, 8)).nests
    assert nest.fetched == 0


def test_sweeps_of_few_columns_fetch_later_levels_of_any_domain() -> None:
    stencil = gtscript.stencil("cpu_ifirst", solve)
    (wide,) = gtscript.stencil("cpu_ifirst", solve, schedule="tile.I=128").explain(domain=(1000, 1000, 100)).nests
    for domain in ((1000, 1000, 100), (8, 8, 8)):
        (nest,) = stencil.explain(domain=domain).nests
        columns = next(loop.tile for loop in nest.loops if loop.axis == "I")
        if columns is not None and columns > 32:
            pytest.skip("vectors are too short here")
        assert nest.fetched > 0
        # A core sees in time that long rows follow each other, or gets the lines of short ones soon enough from near.
        assert nest.unless_near is not wide.unless_near


@pytest.mark.parametrize("backend", ["debug", "numpy"])
def test_backends_without_a_schedule_ignore_it(backend: str) -> None:
    assert gtscript.stencil(backend, diffusion, schedule="tile.J=32").explain().chosen == ""


@pytest.mark.parametrize(
    ("schedule", "error", "message"),
    [
        (
            {"tiel": 3},
            errors.ArgumentValueError,
            "'tiel' is not known.* vector, across, tile.I, tile.J, tile.K, stores, fetch, tuned",
        ),
        ({"store": "cached"}, errors.ArgumentValueError, "did you mean 'stores'"),
        ({"tile": {"L": 3}}, errors.ArgumentValueError, "'tile.L' is not known"),
        ({"tile": {"I": 0}}, errors.ArgumentValueError, "tile.I is 0, expected an integer from 1 to 65536"),
        ({"tile": {"I": 2.5}}, errors.ArgumentValueError, "tile.I is 2.5, expected an integer"),
        ({"tile": {"I": True}}, errors.ArgumentValueError, "tile.I is True, expected an integer"),
        ({"tile": 3}, errors.ArgumentValueError, "tile is 3, expected points along an axis"),
        ({"tile": (8, 8)}, errors.ArgumentValueError, r"tile is \(8, 8\), expected points along an axis"),
        ({"stores": "far"}, errors.ArgumentValueError, "stores is far, expected 'cached' or 'streamed'"),
        ({"across": "K"}, errors.ArgumentValueError, "across is K, expected 'I' or 'J'"),
        ({"fetch": 65}, errors.ArgumentValueError, "fetch is 65, expected an integer from 0 to 64"),
        ("tile.J", errors.ArgumentValueError, "tile.J has no value, expected an integer"),
        ("tuned=3", errors.ArgumentValueError, "'tuned' has no value but True or False"),
        ({"tuned": 3}, errors.ArgumentValueError, "'tuned' has no value but True or False"),
        (3, errors.ArgumentTypeError, "schedule is 3, expected a mapping"),
    ],
)
def test_other_choices_are_refused(schedule: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"(?s){message}"):
        gtscript.stencil("cpu_ifirst", diffusion, schedule=schedule)


def relax(phi: Field[F64], weight: Field[F64]):
    """Read and write one field, as often as it takes."""
    with computation(PARALLEL), interval(...):
        n = 0
        while phi > 0.01 and n < 50:
            phi = phi * weight
            n += 1


def scale(phi: Field[F64], weight: Field[F64]):
    with computation(PARALLEL), interval(...):
        phi = phi * weight


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("layout", ["KJI", "IJK"])
@pytest.mark.parametrize("definition", [diffusion, solve])
def test_measuring_changes_no_result(definition: Any, layout: str, own_cache: Path) -> None:
    expected = result(definition, layout)
    for schedule in ("tuned", {"tuned": True, "tile": {"J": 4}}):
        np.testing.assert_array_equal(result(definition, layout, schedule=schedule), expected)


def test_arguments_are_changed_by_the_call_alone(own_cache: Path) -> None:
    rng = np.random.default_rng(3)
    phi, weight = rng.random(SHAPE), 0.5 + 0.4 * rng.random(SHAPE)
    # A view may have elements of somebody else between its own.
    wide = np.repeat(phi, 2, axis=1)
    expected = phi.copy()
    gtscript.stencil("numpy", relax)(expected, weight)
    tuned = gtscript.stencil("cpu_kfirst", relax, schedule="tuned")
    tuned(wide[:, ::2], weight)
    np.testing.assert_array_equal(wide[:, ::2], expected)
    np.testing.assert_array_equal(wide[:, 1::2], phi)


def test_one_array_may_be_both_arguments(own_cache: Path) -> None:
    phi = np.random.default_rng(3).random(SHAPE)
    expected = phi * phi
    gtscript.stencil("cpu_kfirst", scale, schedule="tuned")(phi, phi)
    np.testing.assert_array_equal(phi, expected)


def test_choices_are_measured_once_for_a_size(own_cache: Path) -> None:
    def notes() -> int:
        return len(list(own_cache.glob("*.host")))

    phi, weight = np.full(SHAPE, 0.5), np.full(SHAPE, 0.5)
    gtscript.stencil("cpu_kfirst", relax)(phi, weight)
    before = notes()
    stencil = gtscript.stencil("cpu_kfirst", relax, schedule="tuned")
    stencil(phi, weight)
    stencil(phi[1:], weight[1:])
    assert notes() == before + 1
    again = gtscript.stencil("cpu_kfirst", relax, schedule="tuned")
    again(phi, weight)
    assert notes() == before + 1
    assert again.explain().chosen == stencil.explain().chosen
    stencil(phi[:4, :4, :4], weight[:4, :4, :4])
    assert notes() == before + 2


def test_a_note_that_cannot_be_read_is_made_again(own_cache: Path) -> None:
    phi, weight = np.full(SHAPE, 0.5), np.full(SHAPE, 0.5)
    gtscript.stencil("cpu_kfirst", relax, schedule="tuned")(phi, weight)
    for note in own_cache.glob("*.host"):
        note.write_bytes(note.read_bytes()[:-1] + b"?")
    phi = np.full(SHAPE, 0.5)
    gtscript.stencil("cpu_kfirst", relax, schedule="tuned")(phi, weight)
    expected = np.full(SHAPE, 0.5)
    gtscript.stencil("numpy", relax)(expected, weight)
    np.testing.assert_array_equal(phi, expected)
