"""Every stencil that a test makes becomes machine code of NVIDIA's GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fieldstone import gtscript
from tests.gpu.assembler import PROCESSORS, TRIPLE, compiled
from tests.gpu.suite import Suite, Text, wrong

SQUARE = """
def square(a: Field[float], b: Field[float]):
    with computation(PARALLEL), interval(...):
        b = a * a
"""


def test_every_stencil_of_the_tests_assembles(suite: Suite) -> None:
    """Comes after all other tests of a run, or of one of the processes that share them."""
    assert suite.finish() == []


def noted(stencil: Any) -> Suite:
    """A suite that knows one stencil."""
    own = Suite()
    own.begin(wanted=True)
    own._made = [stencil]
    return own


def replace(monkeypatch: pytest.MonkeyPatch, stencil: Any, before: bytes, after: bytes) -> None:
    """Let stencils compile to something else for one of the processors."""
    right = type(stencil)._compiled_for

    def changed(self: Any, triple: str, cpu: str, layout: Any) -> bytes:
        ptx: bytes = right(self, triple, cpu, layout)
        return ptx.replace(before, after) if cpu == "sm_70" else ptx

    monkeypatch.setattr(type(stencil), "_compiled_for", changed)


class TestWhatIsWrong:
    @pytest.fixture
    def stencil(self, from_text: Callable[[str, str], Callable[..., Any]]) -> Any:
        return gtscript.stencil("gpu", from_text(SQUARE, "square"))

    def test_is_found_among_what_is_right(self, stencil: Any) -> None:
        ptx = compiled(stencil, "sm_80")
        texts = [Text(f"s{number}", f"test_{number}", "sm_80", ptx) for number in range(9)]
        texts[5] = Text("s5", "test_5", "sm_80", ptx.replace("mul.rn.f64", "mul.rn.f65"))
        failures = wrong(texts, "sm_80")
        assert len(failures) == 1
        assert failures[0].startswith("stencil 's5' for sm_80, made in test_5: ptxas 0.ptx, line ")
        assert ".f65" in failures[0]

    def test_names_the_stencil_and_its_test(self, stencil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        own = noted(stencil)
        replace(monkeypatch, stencil, b"mul.rn.f64", b"mul.f128")
        own.compile("tests/here.py::test_there")
        assert own.texts == dict.fromkeys(PROCESSORS, 1)
        (failure,) = own.finish()
        assert failure.startswith("stencil 'square' for sm_70, made in tests/here.py::test_there: ")

    def test_is_arithmetic_that_nobody_allowed(self, stencil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        own = noted(stencil)
        replace(monkeypatch, stencil, b"mul.rn.f64", b"mul.f64")
        own.compile("tests/here.py::test_there")
        (failure,) = own.finish()
        assert failure.startswith(
            "stencil 'square' for sm_70, made in tests/here.py::test_there: a sum, difference or "
        )

    def test_is_what_does_not_compile(self, stencil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        own = noted(stencil)

        def broken(*_: Any) -> bytes:
            raise RuntimeError(f"{TRIPLE} is not what it was")

        monkeypatch.setattr(type(stencil), "_compiled_for", broken)
        own.compile("tests/here.py::test_there")
        assert [failure.partition(": ")[2] for failure in own.finish()] == [f"{TRIPLE} is not what it was"]
