"""What is said of random stencils holds when they run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript
from tests.backends.test_generated_stencils import (
    COUNT,
    DOMAIN,
    FIRST,
    ORDERS,
    arguments,
    printed,  # noqa: F401 - a fixture
    texts,  # noqa: F401 - a fixture
)

SEEDS = range(FIRST, FIRST + COUNT)


def definition_of(seed: int, texts: dict[int, str], from_text: Callable[[str, str], Callable[..., Any]]) -> Any:  # noqa: F811
    return from_text(texts[seed], f"random_{seed}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", SEEDS)
def test_elements_that_are_moved(
    seed: int,
    texts: dict[int, str],  # noqa: F811
    from_text: Callable[[str, str], Callable[..., Any]],
) -> None:
    stencil = gtscript.stencil("cpu_ifirst", definition_of(seed, texts, from_text))
    moved = {field.name: field for field in stencil.explain(domain=DOMAIN).fields}
    values, origins = arguments(stencil, seed, ORDERS["i contiguous"])
    before = {name: value.copy() for name, value in values.items()}
    stencil(**values, origin=origins, domain=DOMAIN)
    points = np.prod(DOMAIN)

    other = {name: value.copy() for name, value in before.items()}
    for name, info in stencil.field_info.items():
        field, size = moved[name], info.dtype.itemsize
        written = round(field.bytes_written * points / size)
        levels = [slice(None)] * len(info.axes)
        if "K" in info.axes:
            # Levels that are computed are counted as those of the domain.
            start = origins[name][info.axes.index("K")]
            levels[info.axes.index("K")] = slice(start, start + DOMAIN[2])
        changed = np.count_nonzero((values[name] != before[name])[tuple(levels)])
        # What is assigned may be what was there.
        assert changed <= written + 0.01
        if field.bytes_read == 0 and field.access != "not used":
            other[name][...] = 3
    # Nothing depends on what is said to be assigned before it is read.
    stencil(**other, origin=origins, domain=DOMAIN)
    for name, field in moved.items():
        same = values[name] != before[name] if field.bytes_read == 0 else ...
        np.testing.assert_array_equal(other[name][same], values[name][same], err_msg=f"{name}\n{texts[seed]}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", SEEDS)
def test_explanations_are_complete(
    seed: int,
    texts: dict[int, str],  # noqa: F811
    from_text: Callable[[str, str], Callable[..., Any]],
) -> None:
    definition = definition_of(seed, texts, from_text)
    for backend in ("debug", "numpy", "gpu", "cpu_kfirst", "cpu_ifirst"):
        explained = gtscript.stencil(backend, definition).explain(domain=DOMAIN)
        assert json.loads(explained.to_json())["name"] == f"random_{seed}"
        assert "costs per point" in str(explained)
        assert explained.to_html().count("<table") == explained.to_html().count("</table>")
    names = {name for nest in explained.nests for stage in nest.stages for name in (*stage.reads, *stage.writes)}
    known = {one.name for one in (*explained.temporaries, *explained.fields)}
    # Elements of a field, as in `wind[1]`, are fields of their own in a schedule.
    assert {name if name in known else name.split("[")[0] for name in names} <= known
    for number, nest in enumerate(explained.nests):
        assert (nest.apart is None) == (number == 0)
        assert (nest.by_level is not None) == (nest.kind == "levels")
        assert all(stage.recomputed >= 1.0 for stage in nest.stages)
        ours = [one for one in explained.temporaries if one.nests == (number,) and one.lives_in != "array"]
        if nest.scratch is not None and not nest.transposed:
            assert sum(one.bytes_per_thread or 0 for one in ours) <= nest.scratch
    # A statement is in exactly one loop; one that became several is in each of them.
    assert all(stage.statements for nest in explained.nests for stage in nest.stages)
