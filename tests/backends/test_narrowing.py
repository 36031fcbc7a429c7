"""Stores of narrowed integers to a single level stay on that level.

LLVM 22 turns a masked store of a narrowed vector whose mask is a constant with one lane into a store of the wide
element.
"""

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval


def first_level(wide: Field["wide"], narrow: Field["narrow"]):
    with computation(PARALLEL), interval(0, 1):
        narrow = wide


@pytest.mark.parametrize("narrow", ["int32", "int16", "int8"])
@pytest.mark.parametrize("backend", ["cpu_kfirst", "debug", "numpy"])
def test_one_level_of_narrowed_integers(backend, narrow):
    stencil = gtscript.stencil(backend, first_level, dtypes={"wide": np.int64, "narrow": np.dtype(narrow)})
    wide = np.full((5, 4, 9), 7, "int64")
    field = np.full((5, 4, 9), -1, narrow)
    stencil(wide, field)
    assert (field[:, :, 0] == 7).all()
    assert (field[:, :, 1:] == -1).all()
