"""Code that is made before the first call, and what can be seen of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript, storage
from fieldstone.gtscript.stencil_object import StencilObject
from tests.explain import definitions

SHAPE = (12, 10, 8)


def stencil(backend: str = "cpu_ifirst") -> StencilObject:
    made = gtscript.stencil(backend, definitions.lap7)
    assert isinstance(made, StencilObject)
    return made


def arrays(preset: str) -> list[Any]:
    return [storage.ones(SHAPE, defaults=preset, dims="IJK") for _ in range(2)]


@pytest.mark.parametrize("backend", ["cpu_ifirst", "cpu_kfirst"])
def test_the_preset_is_compiled_without_arrays(backend: str) -> None:
    made = stencil(backend)
    assert made.compile() is made
    assert len(made._compilations) == 1
    made(*arrays(backend))
    assert len(made._compilations) == 1


def test_the_layout_of_arrays_is_compiled() -> None:
    made = stencil()
    inp, out = np.ones(SHAPE), np.zeros(SHAPE)
    made.compile(inp, out=out)
    assert not out.any()
    made(inp, out)
    assert len(made._compilations) == 1
    # Of an array that is not given, the preset's is assumed.
    made.compile(inp)
    assert made.inspect("llvm").count("; inp=") == 2


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(12, 10, 8), (100, 3, 5), (101, 130, 300)])
def test_sweeps_are_compiled_for_the_domain_of_arrays(shape: tuple[int, ...], order: Any) -> None:
    made = gtscript.stencil("cpu_ifirst", definitions.vadv)
    assert isinstance(made, StencilObject)
    fields = [np.full(shape, value, order=order) for value in (0.1, 1.0, 0.2, 1.0, 0.0)]
    made.compile(*fields)
    made(*fields)
    assert len(made._compilations) == 1
    # Columns that are alike have the same result.
    x = fields[-1]
    assert x.all()
    assert (x == x[0, 0]).all()


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("I", "inp=I out=I"),
        ("J", "inp=J out=J"),
        ("F", "inp=I out=I"),
        ("C", "inp=K out=K"),
        ("cpu_kfirst", "inp=K out=K"),
        ({"out": "K"}, "inp=I out=K"),
        ({"out": "cpu_kfirst", "inp": "J"}, "inp=J out=K"),
    ],
)
def test_layouts_by_name(layout: Any, said: str) -> None:
    assert stencil().compile(layout=layout).inspect("llvm").startswith(f"; {said}\n")


@pytest.mark.parametrize("backend", ["debug", "numpy"])
def test_backends_that_compile_nothing(backend: str) -> None:
    made = stencil(backend).compile()
    assert "import numpy" in made.inspect("numpy")
    with pytest.raises(
        errors.ArgumentValueError, match="form 'asm' exists for the backends cpu_kfirst, cpu_ifirst and"
    ):
        made.inspect("asm")


def test_forms_before_a_call_and_after() -> None:
    made = stencil()
    assert made.inspect("asm").startswith("# inp=I out=I\n")
    assert made.inspect("llvm").startswith("; inp=I out=I\n")
    assert "contiguous along I" in made.inspect("schedule")
    assert not made._compilations
    made(np.ones(SHAPE), np.zeros(SHAPE))
    assert "contiguous along I" not in made.inspect("schedule")
    made(*arrays("cpu_ifirst"))
    assert [word in made.inspect("schedule") for word in ("along K", "along I")] == [True, True]
    for form, mark in (("llvm", ";"), ("asm", "#")):
        headings = [line for line in made.inspect(form).splitlines() if line.startswith(f"{mark} inp=")]
        assert headings == [f"{mark} inp=K out=K", f"{mark} inp=I out=I"]


def test_code_that_is_not_cached_is_not_made() -> None:
    made = gtscript.stencil("cpu_ifirst", definitions.lower_axes)
    assert made.compile() is made
    other = gtscript.stencil("cpu_ifirst", definitions.lower_axes, raise_if_not_cached=True)
    other.compile()
    with pytest.raises(errors.FieldstoneError, match="J"):
        other.compile(layout={"a": "J", "out": "K"})


def test_lazy_stencils() -> None:
    lazy = gtscript.lazy_stencil("cpu_ifirst", definitions.hdiff)
    assert "not compiled yet" in repr(lazy)
    assert lazy.explain().name == "hdiff"
    assert lazy.compile() is lazy.implementation
    assert "def hdiff" in lazy.inspect("source")
