"""Every benchmark stencil computes the same for all contenders, in every layout, as NumPy does by hand."""

import pytest

from benches import agreement
from benches.arguments import LAYOUTS, MEMORIES, Arguments
from benches.cases import CASES
from benches.contenders import c, fieldstone, numpy

SIZES = [(19, 10, 8), (16, 8, 16)]
DTYPES = ["float64", "float32"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CASES)
class TestContenders:
    def test_all_backends(self, name, size, dtype):
        arguments = Arguments(CASES[name], size, dtype, "I")
        expected = agreement.outputs(numpy.contender(arguments))
        for backend in ("debug", "numpy", "cpu_ifirst", "cpu_kfirst"):
            agreement.check(fieldstone.contender(arguments, backend), expected)

    def test_all_layouts(self, name, size, dtype):
        expected = agreement.outputs(numpy.contender(Arguments(CASES[name], size, dtype, "I")))
        for layout in LAYOUTS:
            for memory in MEMORIES:
                arguments = Arguments(CASES[name], size, dtype, layout, memory)
                agreement.check(fieldstone.contender(arguments), expected)

    @pytest.mark.skipif(c.library() is None, reason="needs a C compiler")
    def test_c_with_all_choices(self, name, size, dtype):
        arguments = Arguments(CASES[name], size, dtype, "I")
        expected = agreement.outputs(numpy.contender(arguments))
        for contender in c.variants(arguments):
            agreement.check(contender, expected)


@pytest.mark.parametrize("name", CASES)
def test_what_a_case_says_of_itself_is_what_its_stencils_do(name):
    case = CASES[name]
    stencils = fieldstone.stencils(case, "float64", "cpu_ifirst")
    explained = [stencil.explain(domain=(64, 64, 64)) for stencil in stencils]
    halo = max(
        max(abs(reach) for reach in field.extent.get(axis, (0, 0)))
        for explanation in explained
        for field in explanation.fields
        for axis in "IJ"
    )
    assert halo == case.halo
    moved = sum(explanation.costs.bytes for explanation in explained)
    # Halos, fields without all axes, and levels that are left out.
    assert moved / 8 == pytest.approx(case.traffic, rel=0.15)
