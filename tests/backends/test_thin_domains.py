"""Columns whose levels follow each other in memory are computed side by side along the axis that has enough of them."""

from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.errors import CacheError
from fieldstone.gtscript import (
    BACKWARD,
    FORWARD,
    IJ,
    IK,
    PARALLEL,
    Field,
    I,
    J,
    K,
    computation,
    horizontal,
    interval,
    region,
)

HALO = (2, 2, 0)
THIN = [(40, 1, 17), (21, 3, 9), (65, 20, 16), (8, 4, 5), (70, 31, 8)]


def solve(
    phi: Field["real"],
    height: Field[K, "real"],
    ground: Field[IJ, "real"],
    along_i: Field[I, "real"],
    along_j: Field[J, "real"],
    section: Field[IK, "real"],
    out: Field["real"],
):
    with computation(FORWARD):
        with interval(0, 1):
            upper = along_i / (2.0 + phi[1, 0, 0])
            right = (phi + ground) / (2.0 + along_j)
        with interval(1, None):
            upper = height / (3.0 + section - phi[0, 1, 0] * upper[0, 0, -1])
            right = (phi + ground * right[0, 0, -1]) / (3.0 - along_i * upper[0, 0, -1])
    with computation(BACKWARD):
        with interval(-1, None):
            out = right
        with interval(0, -1):
            out = right + upper * out[0, 0, 1]


def exchanged(phi: Field["real"], ground: Field[IJ, "real"], out: Field["real"]):
    # What a level reads of neighbours of the one below: level by level.
    with computation(FORWARD):
        with interval(0, 1):
            mass = phi + ground[1, 0]
            out = mass
        with interval(1, None):
            mass = 0.5 * phi + 0.25 * (out[0, 0, -1] + phi[-1, 0, 0])
            out = mass + ground * phi[0, -1, -1]


def diffused(phi: Field["real"], coefficient: Field[J, "real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        lap = 4.0 * phi - (phi[1, 0, 0] + phi[-1, 0, 0] + phi[0, 1, 0] + phi[0, -1, 0])
        flux_i = lap[1, 0, 0] - lap
        flux_j = lap[0, 1, 0] - lap
        flux_i = 0.0 if flux_i * (phi[1, 0, 0] - phi) > 0.0 else flux_i
        flux_j = 0.0 if flux_j * (phi[0, 1, 0] - phi) > 0.0 else flux_j
        out = phi - coefficient * (flux_i - flux_i[-1, 0, 0] + flux_j - flux_j[0, -1, 0])


def bordered(phi: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        slope = phi[1, 0, 0] - phi[-1, 0, 0] + 2.0 * (phi[0, 1, 0] - phi[0, -1, 0])
        with horizontal(region[I[0], :], region[:, J[-1]]):
            slope = phi * 3.0
        curve = slope[1, 0, 0] - slope[-1, 0, 0] + slope[0, 1, 0] * slope[0, -1, 0]
        out = curve + slope * phi


DEFINITIONS = [solve, exchanged, diffused, bordered]


def arguments(stencil: Any, domain: tuple[int, ...], dtype: Any, order: str = "IJK") -> dict[str, np.ndarray]:
    """Arrays whose axes lie in this order in memory, the last contiguous."""
    random = np.random.default_rng(5)
    made = {}
    for name, field in stencil.field_info.items():
        points = [domain["IJK".index(axis)] + 2 * HALO["IJK".index(axis)] for axis in field.axes]
        axes = sorted(range(len(points)), key=lambda n, field=field: order.index(field.axes[n]))
        memory = np.empty([points[n] for n in axes], dtype)
        made[name] = memory.transpose(np.argsort(axes))
        made[name][...] = random.random(points)
    return made


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["IJK", "JIK"])
@pytest.mark.parametrize("domain", [*THIN, (17, 33, 9), (1, 40, 8)])
def test_they_give_the_bits_of_the_interpreter(
    definition: Any, dtype: Any, order: str, domain: tuple[int, ...]
) -> None:
    oracle = gtscript.stencil("debug", definition, dtypes={"real": dtype})
    stencil = gtscript.stencil("cpu_kfirst", definition, dtypes={"real": dtype})
    expected = arguments(oracle, domain, dtype)
    found = arguments(stencil, domain, dtype, order)
    oracle(**expected, origin=HALO, domain=domain)
    stencil(**found, origin=HALO, domain=domain)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def rows(stencil: Any, domain: tuple[int, ...] | None = None) -> list[str]:
    """The axis that rows of columns lie along, in each nest."""
    nests = stencil.explain(**({} if domain is None else {"domain": domain})).nests
    return [next(loop.axis for loop in reversed(nest.loops) if loop.axis != "K") for nest in nests]


@pytest.mark.parametrize(
    ("definition", "domain", "axis"),
    [
        (solve, (40, 1, 17), "I"),
        (solve, (64, 31, 17), "I"),
        (solve, (64, 32, 17), "J"),
        (solve, (40, 21, 17), "J"),
        (diffused, (40, 2, 17), "I"),
        (diffused, (40, 3, 17), "J"),
    ],
)
def test_rows_lie_along_the_axis_that_has_points_for_them(definition: Any, domain: tuple[int, ...], axis: str) -> None:
    stencil = gtscript.stencil("cpu_kfirst", definition, dtypes={"real": np.float64})
    assert rows(stencil, domain) == [axis]
    assert rows(stencil) == ["J"], "nothing is compiled yet"
    values = arguments(stencil, domain, np.float64)
    stencil(**values, origin=HALO, domain=domain)
    assert rows(stencil) == [axis], "what was compiled"


def test_columns_that_are_near_each_other_are_side_by_side() -> None:
    stencil = gtscript.stencil("cpu_kfirst", diffused, dtypes={"real": np.float64})
    for order, domain, axis in [
        ("IJK", (20, 30, 9), "J"),
        ("JIK", (20, 30, 9), "I"),
        ("JIK", (2, 30, 9), "J"),
        ("IJK", (30, 2, 9), "I"),
        ("JIK", (3, 30, 9), "I"),
    ]:
        values = arguments(stencil, domain, np.float64, order)
        nests = stencil.explain(**values, origin=HALO, domain=domain).nests
        assert [loop.axis for loop in nests[0].loops][1] == axis, f"{order}, {domain}"


def test_arrays_that_are_contiguous_along_another_axis_have_one_code() -> None:
    stencil = gtscript.stencil("cpu_ifirst", solve, dtypes={"real": np.float64})
    assert rows(stencil, (40, 1, 17)) == ["I"]
    assert rows(stencil, (1, 40, 17)) == ["I"]


def test_who_chose_an_axis_has_it_on_every_domain() -> None:
    stencil = gtscript.stencil("cpu_kfirst", solve, dtypes={"real": np.float64}, schedule="across=J")
    assert rows(stencil, (40, 1, 17)) == ["J"]
    stencil = gtscript.stencil("cpu_kfirst", solve, dtypes={"real": np.float64}, schedule="across=I")
    assert rows(stencil, (1, 40, 17)) == ["I"]


@pytest.mark.parametrize(("compiled", "called"), [((40, 30, 9), (40, 1, 9)), ((40, 1, 9), (40, 30, 9))])
def test_where_only_the_cache_may_be_asked_code_for_other_domains_does(
    tmp_path: Any, monkeypatch: Any, compiled: tuple[int, ...], called: tuple[int, ...]
) -> None:
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", str(tmp_path))
    options = {"dtypes": {"real": np.float64}}
    before = gtscript.stencil("cpu_kfirst", diffused, **options).compile(domain=compiled)
    stencil = gtscript.stencil("cpu_kfirst", diffused, raise_if_not_cached=True, **options)
    expected, found = (arguments(stencil, called, np.float64) for _ in range(2))
    stencil(**found, origin=HALO, domain=called)
    assert rows(stencil, called) != rows(before), "what would be compiled"
    assert rows(stencil) == rows(before), "what ran"
    gtscript.stencil("debug", diffused, **options)(**expected, origin=HALO, domain=called)
    np.testing.assert_array_equal(found["out"], expected["out"])
    with pytest.raises(CacheError):
        stencil(**arguments(stencil, called, np.float64, "KJI"), origin=HALO, domain=called)


def test_code_for_a_thin_domain_is_compiled_before_the_call(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", str(tmp_path))
    options = {"dtypes": {"real": np.float64}}
    thin = {"origin": HALO, "domain": (40, 1, 9)}
    compiled = gtscript.stencil("cpu_kfirst", diffused, **options).compile(**thin)
    assert rows(compiled) == ["I"]
    stencil = gtscript.stencil("cpu_kfirst", diffused, raise_if_not_cached=True, **options)
    stencil(**arguments(stencil, thin["domain"], np.float64), **thin)
    assert rows(stencil) == ["I"]
