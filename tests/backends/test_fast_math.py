"""The option ``fast_math``: what compiled arithmetic may do to results, by name."""

import platform

import llvmlite.binding
import numpy as np
import pytest

from fieldstone import errors, gtscript

COMPILED = ("cpu_kfirst", "cpu_ifirst", "gpu")
NAMES = ("contract", "reassociate", "reciprocal", "no_nans", "no_signed_zeros")

DIFFUSION = """
def definition(a: Field[float], b: Field[float], out: Field[float], weight: float):
    with computation(PARALLEL), interval(...):
        lap = 4.0 * a[0, 0, 0] - (a[-1, 0, 0] + a[1, 0, 0] + a[0, -1, 0] + a[0, 1, 0])
        out = max(a + weight * lap, min(b, lap / weight)) - a * b / (1.0 + b)
"""
SUM = """
def definition(a: Field[float], b: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a * a + b
"""
SMALLER = """
def definition(a: Field[float], b: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = min(a, b)
"""


@pytest.fixture
def fields():
    generator = np.random.default_rng(5)
    return [generator.random((9, 8, 7)) + 0.5 for _ in range(2)]


@pytest.mark.parametrize("fast_math", [None, (), *NAMES, NAMES, list(NAMES[:2]), {"contract"}])
def test_results_are_nearly_those_of_strict_arithmetic(from_text, backend, fields, fast_math):
    definition = from_text(DIFFUSION)
    strict, loose = (np.zeros((9, 8, 7)) for _ in range(2))
    gtscript.stencil(backend, definition)(*fields, strict, 0.3)
    gtscript.stencil(backend, definition, fast_math=fast_math)(*fields, loose, 0.3)
    np.testing.assert_allclose(loose, strict, rtol=1e-13, atol=1e-14)
    if backend not in COMPILED or not fast_math:
        assert np.array_equal(loose, strict)


@pytest.mark.parametrize("backend", COMPILED)
def test_contraction_rounds_a_product_and_its_sum_once(from_text, backend):
    a = np.full((4, 4, 20), 1.0 + 2.0**-30)
    # What the square has beyond double precision is all that is left.
    b, out = -(a * a), np.empty_like(a)
    stencil = gtscript.stencil(backend, from_text(SUM))
    stencil(a, b, out)
    assert (out == 0.0).all()
    # Nor is the code that the cache has of the one taken for the other.
    stencil = gtscript.stencil(backend, from_text(SUM), fast_math="contract")
    stencil(a, b, out)
    has_instruction = llvmlite.binding.get_host_cpu_features().get("fma", platform.machine() != "x86_64")
    assert (out == (2.0**-60 if has_instruction else 0.0)).all()


@pytest.mark.parametrize("backend", COMPILED)
def test_no_nans_leaves_out_what_keeps_them(from_text, backend):
    stencil = gtscript.stencil(backend, from_text(SMALLER), fast_math="no_nans")
    assert "fcmp ord" not in stencil.inspect("llvm")
    a, b = np.array([np.nan, 1.0, 2.0, 3.0]), np.array([5.0, np.nan, 1.0, 4.0])
    out = np.zeros((1, 1, 4))
    stencil(a.reshape(1, 1, 4), b.reshape(1, 1, 4), out)
    assert out[0, 0, 2:].tolist() == [1.0, 3.0]
    # Either operand may be the result, and nothing else.
    assert all(np.isnan(found) or found == number for found, number in zip(out[0, 0, :2], (5.0, 1.0), strict=True))


def test_it_can_be_seen(from_text):
    stencil = gtscript.stencil("cpu_ifirst", from_text(SUM), fast_math=["reciprocal", "contract"])
    assert "fast_math contract, reciprocal" in stencil.inspect("ir")
    assert "fadd contract arcp" in stencil.inspect("llvm")
    assert stencil.explain().fast_math == "contract, reciprocal"
    assert "fast_math: contract, reciprocal" in str(stencil.explain())
    assert "fast_math" not in gtscript.stencil("cpu_ifirst", from_text(SUM)).inspect("ir")


WRONG = [
    (
        "contarct",
        errors.ArgumentValueError,
        "fast_math: 'contarct' is not known (did you mean 'contract'?); the names are: ",
    ),
    (("contract", "all"), errors.ArgumentValueError, "fast_math: 'all' is not known; the names are: 'contract', "),
    (True, errors.ArgumentTypeError, "fast_math is True, expected a name or several: 'contract', 'reassociate', "),
    ([1], errors.ArgumentTypeError, "fast_math is [1], expected a name or several: "),
]


@pytest.mark.parametrize(("given", "error", "message"), WRONG)
def test_other_values_are_refused(from_text, backend, given, error, message):
    definition = from_text(SUM)
    with pytest.raises(error) as caught:
        gtscript.stencil(backend, definition, fast_math=given)
    assert message in str(caught.value)
