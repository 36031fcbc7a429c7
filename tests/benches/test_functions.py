"""The benchmark of functions computes what C does."""

from __future__ import annotations

import numpy as np
import pytest

from benches import functions


@pytest.mark.parametrize("dtype", functions.DTYPES)
@pytest.mark.parametrize("name", functions.ARGUMENTS)
def test_c_computes_the_same(name, dtype):
    library = functions._library()
    if library is None:
        pytest.skip("needs a C compiler, and a libmvec that has all functions")
    ours, c = functions._stencil(name, dtype), functions._c(library[f"{name}_{dtype}"], name, dtype)
    ours()
    c()
    tolerance = 32 * np.finfo(dtype).eps
    np.testing.assert_allclose(np.asarray(ours.args[-1]), c.memory[-1], rtol=tolerance, atol=tolerance)
