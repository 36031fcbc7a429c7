"""Explanations, beside what one counts by hand and what a schedule is known to be."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import errors, gtscript, storage
from fieldstone.gtscript.explanation import Explanation
from fieldstone.gtscript.stencil_object import StencilObject
from tests.explain import definitions
from tests.machine import second_level_cache


def stencil(definition: Callable[..., Any], backend: str = "cpu_ifirst", **keywords: Any) -> StencilObject:
    made = gtscript.stencil(backend, definition, **keywords)
    assert isinstance(made, StencilObject)
    return made


@pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gpu"])
@pytest.mark.parametrize(
    ("definition", "operations", "read", "written"),
    [
        (definitions.lap7, {"add": 6, "multiply": 1}, 8, 8),
        (definitions.hdiff, {"add": 12, "multiply": 4, "compare": 2, "select": 2}, 16, 8),
        # The unknown is read back from what was written; the first level does not count in a large domain.
        (definitions.vadv, {"add": 3, "multiply": 3, "divide": 2}, 32, 8),
        (definitions.cut, {"add": 2, "multiply": 1}, 8, 16),
        (definitions.by_level, {"add": 1, "multiply": 1}, 8, 8),
        # What lies on a line or on a plane costs nothing per point of a large domain.
        (definitions.lower_axes, {"add": 1, "multiply": 1}, 8, 8),
        # The divisor is the same at all points, and so computed once.
        (
            definitions.mixed,
            {"add": 1, "multiply": 2, "divide": 1, "function": 1, "convert": 2},
            4,
            8,
        ),
        (definitions.masked, {"square root": 1, "min max": 1, "compare": 1}, 8, 8),
    ],
)
def test_costs_per_point(
    definition: Callable[..., Any], backend: str, operations: Mapping[str, float], read: float, written: float
) -> None:
    costs = stencil(definition, backend).explain().costs
    assert costs.operations == operations
    assert (costs.bytes_read, costs.bytes_written) == (read, written)
    floating = sum(operations.get(kind, 0) for kind in ("add", "multiply", "divide", "square root", "function"))
    assert costs.floating == floating
    assert costs.intensity == pytest.approx(floating / (read + written), abs=1e-4)
    assert costs.points is costs.total_bytes is costs.seconds is None


def test_costs_of_a_domain() -> None:
    costs = stencil(definitions.lap7).explain(domain=(10, 20, 30), bandwidth=1e9).costs
    # Seven points around each of the 28 inner levels: a cross in each of these, and their columns beyond them.
    inner = 10 * 20 * 28
    assert costs.points == 10 * 20 * 30
    read = (12 * 20 + 10 * 22 - 10 * 20) * 28 + 2 * 10 * 20
    assert costs.total_bytes == 8 * (read + inner)
    assert costs.total_floating == 7 * inner
    assert costs.seconds == pytest.approx(costs.total_bytes / 1e9)
    assert costs.operations["add"] == pytest.approx(6 * 28 / 30, abs=1e-4)


def test_fields() -> None:
    explained = stencil(definitions.lap7).explain()
    inp, out = explained.fields
    assert (inp.name, inp.dtype, inp.axes, inp.access) == ("inp", "float64", "IJK", "read")
    assert inp.extent == {"I": (1, 1), "J": (1, 1)}
    assert (out.access, out.extent) == ("written", {"K": (-1, -1)})
    assert explained.min_levels >= 2
    assert explained.file is not None
    assert explained.file.endswith("tests/explain/definitions.py")
    assert explained.line == definitions.lap7.__code__.co_firstlineno
    lower = stencil(definitions.lower_axes).explain()
    assert [(field.axes, field.contiguous) for field in lower.fields] == [
        ("IJK", "I"),
        ("IJ", "I"),
        ("K", "K"),
        ("IJK", "I"),
    ]


def test_scalars_and_externals() -> None:
    assert stencil(definitions.mixed).explain().scalars == {"scale": "float64"}
    explained = stencil(definitions.with_externals, externals={"ALPHA": 0.25}).explain()
    assert explained.externals == {"ALPHA": "0.25"}


def lives_in(explained: Explanation) -> dict[str, str]:
    return {temporary.name: temporary.lives_in for temporary in explained.temporaries}


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = fieldstone.num_threads()
    fieldstone.set_num_threads(2)
    yield
    fieldstone.set_num_threads(before)


@pytest.mark.parametrize(
    ("backend", "role", "domain", "most"),
    [("cpu_kfirst", "block", (8, 128, 60), 64), ("cpu_ifirst", "slide", (128, 512, 4), 16)],
)
@pytest.mark.usefixtures("two_threads")
def test_planes_that_are_read_again_stay_near(backend: str, role: str, domain: tuple[int, int, int], most: int) -> None:
    explained = stencil(definitions.lap7, backend).explain(domain=domain)
    (nest,) = explained.nests
    (rows,) = [loop.tile for loop in nest.loops if loop.role == role]
    # A first-level cache has four rows of each point; where a register is half a line, a second-level one counts.
    assert rows >= 4
    assert (rows <= most) == (explained.vector_bytes != 32)


def test_rows() -> None:
    explained = stencil(definitions.hdiff).explain()
    (nest,) = explained.nests
    assert (nest.kind, nest.apart, nest.by_level) == ("rows", None, None)
    assert [(loop.axis, loop.role) for loop in nest.loops] == [("J", "slide"), ("K", "block"), ("I", "vector")]
    first, *others, last = nest.stages
    assert first.extent == {"I": (1, 1), "J": (1, 1)}
    assert first.recomputed >= last.recomputed == 1.0
    assert first.apart is None
    assert [stage.apart.kind for stage in (*others, last) if stage.apart] == ["other points"] * 3
    source = [statement.text for statement in first.statements]
    assert source == ["lap = laplacian(phi)"]
    line = definitions.hdiff.__code__.co_firstlineno + 2
    assert first.statements[0].line == line
    assert set(lives_in(explained).values()) == {"ring", "register"}
    ring = explained.temporaries[0]
    assert (ring.name, ring.kept, ring.extent) == ("lap", 2, {"I": (1, 1), "J": (1, 1)})
    assert ring.bytes_per_thread is not None
    assert ring.bytes_per_thread >= 2 * 256 * 8
    assert "I…I+1, J…J+1" in ring.why
    assert sum(one.bytes_per_thread or 0 for one in explained.temporaries) == nest.scratch
    cut = stencil(definitions.hdiff, schedule={"tile": {"I": 64}}).explain().nests[0].stages
    assert cut[0].recomputed > cut[-1].recomputed == 1.0
    along_k = stencil(definitions.hdiff, "cpu_kfirst").explain().nests[0]
    assert along_k.loops[-1].axis == "K"


def test_columns() -> None:
    explained = stencil(definitions.vadv).explain(domain=(64, 32, 40))
    (nest,) = explained.nests
    assert nest.kind == "columns"
    assert [one.order for one in nest.passes] == ["FORWARD", "FORWARD", "BACKWARD", "BACKWARD"]
    assert [one.levels for one in nest.passes][:2] == ["levels 0..1", "levels 1..end"]
    assert lives_in(explained) == {"ratio": "column", "partial": "column", "pivot": "register", "x@": "window"}
    assert not nest.transposed
    along_k = stencil(definitions.vadv, "cpu_kfirst").explain()
    assert {name for name, *_ in along_k.nests[0].transposed} == {"lower", "diagonal", "upper", "rhs", "x"}
    assert [hint.kind for hint in along_k.hints] == ["transposed"]


def test_why_nests_are_not_fused() -> None:
    explained = stencil(definitions.cut).explain(domain=(16, 8, 4))
    assert [nest.kind for nest in explained.nests] == ["rows", "columns"]
    assert explained.nests[0].apart is None
    rows, columns = explained.nests[-1].apart or (None, None)
    assert rows is not None
    assert columns is not None
    assert rows.text == "it writes `b` on other points around the domain than what the nest writes"
    assert columns.text == "it reads `t[1, 0, 0]`, another column of what the nest writes"
    assert rows.statement.line == columns.statement.line == definitions.cut.__code__.co_firstlineno + 3
    assert columns.statement.text == "b = t[1, 0, 0]"
    (t,) = (one for one in explained.temporaries if one.name == "t")
    assert t.lives_in == "array"
    assert t.bytes_per_point == 8
    assert t.bytes is not None
    assert t.bytes >= 17 * 8 * 4 * 8
    assert t.why.startswith("the nests 0, ")
    hints = [hint.kind for hint in explained.hints]
    assert "array" in hints


def test_level_by_level() -> None:
    explained = stencil(definitions.by_level).explain()
    (nest,) = explained.nests
    assert nest.kind == "levels"
    assert nest.by_level is not None
    assert nest.by_level.text == "it reads `t[1, 0, 0]`, another column of what the nest writes"
    assert lives_in(explained)["t"] == "array"
    assert explained.hints[0].kind == "level by level"


def test_regions() -> None:
    explained = stencil(definitions.edges).explain(domain=(8, 4, 2))
    (nest,) = explained.nests
    # They share a loop with what is computed everywhere.
    (stage,) = nest.stages
    assert stage.region is None
    texts = [statement.text for statement in stage.statements]
    assert texts[-2:] == ["region[:, J[-1]]", "  out = 2.0 * a[0, 1, 0]"]
    # The regions have 4 and 8 points of each level; the second reads one row behind the domain.
    assert explained.costs.total_floating == 2 * (4 + 8)
    assert explained.costs.total_bytes == 8 * 2 * (32 + 8 + 32)
    # In a large domain they do not count.
    costs = stencil(definitions.edges).explain().costs
    assert costs.operations == {}
    assert costs.bytes == 16


def test_both_branches_are_shown() -> None:
    (nest,) = stencil(definitions.masked).explain().nests
    texts = [statement.text for stage in nest.stages for statement in stage.statements]
    assert texts == ["if a < 0.0: # noqa: SIM108", "  out = -a", "else:", "  out = sqrt(a)"]


def test_backends_that_fuse_nothing() -> None:
    for backend in ("debug", "numpy"):
        explained = stencil(definitions.hdiff, backend).explain()
        assert explained.nests == ()
        assert explained.contiguous is None
        assert set(lives_in(explained).values()) == {"array"}


def test_layouts_and_domains_of_arguments() -> None:
    made = stencil(definitions.lap7)
    inp, out = np.zeros((12, 22, 30)), storage.zeros((12, 22, 30), defaults="cpu_ifirst", dims="IJK")
    explained = made.explain(inp, out)
    assert explained.domain == (10, 20, 30)
    assert [field.contiguous for field in explained.fields] == ["K", "I"]
    hint, *_ = explained.hints
    assert hint.kind == "layout"
    assert "'inp'" in hint.text or "'out'" in hint.text
    assert made.explain(inp).domain is None
    assert made.explain(layout="K").contiguous == "K"
    assert made.explain(layout="cpu_kfirst").fields == made.explain(layout="C").fields
    assert made.explain(layout={"inp": "J"}).fields[0].contiguous == "J"
    assert made.explain(inp[::1, ::1, ::2]).fields[0].contiguous is None
    assert "no axis along which elements are adjacent" in made.explain(inp[:, :, ::2]).hints[0].text
    # What was compiled last is what is explained.
    assert made.explain().contiguous == "I"
    made(inp, np.zeros_like(inp))
    assert made.explain().contiguous == "K"


def test_few_tiles_and_functions_are_hinted_at() -> None:
    hints = {hint.kind: hint.text for hint in stencil(definitions.mixed).explain(domain=(8, 4, 2), threads=64).hints}
    assert hints["threads"] == "nest 0 has 8 tiles for 64 threads: the domain is too small for all of them"
    assert hints["functions"].startswith("1 call per point")
    assert hints["conversions"].startswith("2 conversions per point")


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"domain": (1, 2)}, errors.FieldstoneError, "domain"),
        (
            {"domain": (4, 4, 1)},
            errors.DomainError,
            r"domain has 1 level\(s\), but the intervals of stencil 'lap7' need 2",
        ),
        ({"threads": 0}, errors.ArgumentValueError, "threads is 0, expected a positive number"),
        ({"threads": 1.5}, errors.ArgumentTypeError, "threads is 1.5, expected an integer"),
        ({"bandwidth": "fast"}, errors.ArgumentTypeError, "bandwidth is 'fast', expected a number"),
        ({"layout": "cpu_jfirst"}, errors.ArgumentValueError, "layout: .*cpu_jfirst"),
        ({"layout": 3}, errors.ArgumentTypeError, "layout is .*expected a preset"),
        (
            {"layout": "Q"},
            errors.ArgumentValueError,
            "layout: 'Q' is no preset; known are C, .*; or an axis: I, J, K",
        ),
        (
            {"layout": {"imp": "I"}},
            errors.ArgumentValueError,
            r"'imp'.* \(did you mean 'inp'\?\); its fields are: inp, out",
        ),
        ({"layout": {"inp": 1}}, errors.ArgumentTypeError, "layout has the entry"),
        ({"inn": None}, errors.ArgumentTypeError, r"unexpected argument 'inn' \(did you mean 'inp'\?\)"),
        ({"inp": np.zeros((2, 2, 2), np.float32)}, errors.DTypeError, "argument 'inp' has elements of type float32"),
    ],
)
def test_wrong_arguments(keywords: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        stencil(definitions.lap7).explain(**keywords)


@pytest.mark.parametrize("definition", [definitions.hdiff, definitions.vadv, definitions.cut, definitions.by_level])
def test_for_programs(definition: Callable[..., Any]) -> None:
    explained = stencil(definition).explain(domain=(16, 16, 8))
    plain = explained.to_dict()
    assert json.loads(explained.to_json()) == plain
    assert json.loads(explained.to_json(indent=2)) == plain
    assert set(plain) == {entry.name for entry in dataclasses.fields(explained)}
    assert plain["nests"][0]["loops"][-1]["role"] == "vector"
    assert plain["domain"] == [16, 16, 8]


def test_elements_of_data_dimensions_belong_to_their_field() -> None:
    explained = stencil(definitions.vectors, "cpu_kfirst").explain(domain=(8, 8, 8))
    # A plane of matrices does not decide how volumes are computed.
    assert explained.contiguous == "K"
    read = {field.name: field.bytes_read for field in explained.fields}
    assert read == {"wind": 3 * 8 * 9 / 8, "turn": 9 * 8 * 9 / 8 / 8, "out": 0, "speed": 0}
    arrays = {one.name: one.bytes for one in explained.temporaries if one.lives_in == "array"}
    assert arrays == dict.fromkeys(["unit[0]", "unit[1]", "unit[2]"], 9 * 8 * 8 * 8)
    picture = explained.to_html().partition("</svg>")[0]
    assert all(picture.count(f">{name}</text>") == 1 for name in ("wind", "turn", "out"))


def test_elements_that_are_not_the_one_assigned_are_read() -> None:
    explained = stencil(definitions.one_element).explain(domain=(8, 8, 8))
    read = {field.name: field.bytes_read for field in explained.fields}
    assert read == {"a": 8, "out": 3 * 8, "total": 0}


@pytest.mark.parametrize("backend", ["cpu_kfirst", "cpu_ifirst"])
def test_scratch_memory_stays_within_half_of_a_cache_for_deep_domains(backend):
    made = stencil(definitions.many_temporaries, backend)
    (nest,) = made.explain(domain=(512, 512, 200)).nests
    assert nest.kind == "columns"
    assert 0 < nest.scratch <= second_level_cache() // 2


def test_kernels_of_a_device() -> None:
    explained = stencil(definitions.vadv, "gpu").explain(domain=(64, 64, 20))
    (kernel,) = explained.kernels
    assert explained.launches == 1
    assert explained.nests == ()
    assert "K" not in kernel.tile
    assert kernel.threads == kernel.tile["I"] * kernel.tile["J"]
    assert "all levels of a column by one thread" in str(explained)
    by_level = stencil(definitions.by_level, "gpu").explain(domain=(8, 8, 20))
    assert by_level.launches is not None
    assert by_level.launches >= 20
    assert f"{by_level.launches} launches" in str(by_level)
    assert {one.lives_in for one in by_level.temporaries} <= {"register", "shared", "array", "unused"}
