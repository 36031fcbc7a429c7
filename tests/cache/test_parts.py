"""Modules of several functions are compiled in parts, at the same time."""

from __future__ import annotations

import numpy as np
import pytest

import fieldstone
from benches.cases.vadv import vadv
from fieldstone import _jit, gtscript
from tests.cache import scheme


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
    """Solve tridiagonal systems in arrays whose levels are contiguous."""
    types = {"real": np.float64}
    if backend == "cpu_ifirst":
        stencil = scheme.make(vadv, directory, dtypes=types)
    else:
        stencil = gtscript.stencil(backend, vadv, dtypes=types)
    rng = np.random.default_rng(5)
    fields = [rng.random((13, 19, 21)) for _ in range(5)]
    stencil(*fields, rate=3.0, origin=(0, 0, 0), domain=(12, 19, 21))
    return fields[0]


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
