"""Modules of several functions are compiled in parts, at the same time."""

from __future__ import annotations

import numpy as np
import pytest

import fieldstone
from fieldstone import _jit, gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, Field, computation, interval
from tests.cache import scheme


def solve(a: Field[float], b: Field[float], w: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            c = 0.25 * (w[0, 0, 1] + w) / (2.0 + b)
            d = (a + b) / (2.0 + b)
        with interval(1, -1):
            down = -0.25 * (w[1, 0, 0] + w)
            up = 0.25 * (w[1, 0, 1] + w[0, 0, 1])
            explicit = -0.5 * (down * (a[0, 0, -1] - a) + up * (a[0, 0, 1] - a))
            c = up / (2.0 + b - down * c[0, 0, -1])
            d = (a + b + explicit - down * d[0, 0, -1]) / (2.0 + b - down * c[0, 0, -1])
        with interval(-1, None):
            down = -0.25 * (w[1, 0, 0] + w)
            c = 0.0
            d = (a + b - down * d[0, 0, -1]) / (2.0 + b - down * c[0, 0, -1])
    with computation(BACKWARD):
        with interval(-1, None):
            x = d
            out = x
        with interval(0, -1):
            x = d - c * x[0, 0, 1]
            out = x


@pytest.fixture
def threads():
    """Set how many threads there are, until the end of the test."""
    before = fieldstone.num_threads()
    yield fieldstone.set_num_threads
    fieldstone.set_num_threads(before)


@pytest.fixture
def compiled(monkeypatch):
    """What is compiled: texts and object files."""
    calls = []
    compile = _jit.compile

    def watched(texts):
        calls.append((texts, compile(texts)))
        return calls[-1][1]

    monkeypatch.setattr(_jit, "compile", watched)
    return calls


def result(backend, directory):
    """Call the stencil with arrays whose levels are contiguous."""
    stencil = scheme.make(solve, directory) if backend == "cpu_ifirst" else gtscript.stencil(backend, solve)
    rng = np.random.default_rng(5)
    a, b, w = (rng.random((13, 19, 21)) for _ in range(3))
    out = np.zeros_like(a)
    stencil(a, b, w, out, origin=(0, 0, 0), domain=(12, 19, 21))
    return out


def test_parts_give_what_the_whole_gives(directory, threads, compiled):
    expected = result("debug", directory)
    for count in (1, 2, 4):
        threads(count)
        np.testing.assert_array_equal(result("cpu_ifirst", directory.with_name(f"with{count}")), expected)
    one, two, four = (len(texts) for texts, _ in compiled)
    assert (one, two) == (1, 2)
    assert 2 <= four <= 4


def test_parts_are_found_in_the_cache(directory, threads, compiled):
    threads(2)
    first = result("cpu_ifirst", directory)
    threads(1)
    np.testing.assert_array_equal(result("cpu_ifirst", directory), first)
    assert len(compiled) == 1


def test_llvm_loads_parts_as_well(directory, threads, compiled):
    threads(2)
    result("cpu_ifirst", directory)
    ((_, objects),) = compiled
    for ordered in (objects, objects[::-1]):
        (address,), _keep = _jit.load(ordered, ["fieldstone_kernel_0"], [])
        assert address


def test_an_error_in_any_part_is_raised():
    right = "define void @f() {\n  ret void\n}\n"
    for texts in (["nonsense", right], [right, "nonsense"]):
        with pytest.raises(RuntimeError, match="IR parsing error"):
            _jit.compile(texts)
