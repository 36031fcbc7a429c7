"""The kernels of Numba that stencils on a GPU are compared with compute what the cases say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benches.arguments import Arguments
from benches.cases import CASES
from benches.contenders import numba_cuda
from benches.gpu import DTYPES, NAMES

# Neither a multiple of a block's points along any axis, nor less than them.
SIZE = (37, 13, 6)


class OneAfterTheOther:
    """In the place of ``numba.cuda``: threads of the host's, one at a time."""

    def __init__(self) -> None:
        self.thread = (0, 0, 0)

    def jit(self, function: Callable[..., Any] | None = None, *, device: bool = False) -> Any:
        """Return a function as it is."""
        return (lambda function: function) if device else function

    def grid(self, axes: int) -> tuple[int, ...]:
        """Return the number of the thread along each axis."""
        return self.thread[:axes]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_kernels_compute_what_the_cases_say(name: str, dtype: str) -> None:
    case, how, real = CASES[name], numba_cuda.SHAPES[name], np.dtype(dtype).type
    arguments = Arguments(case, SIZE, dtype, "I")
    case.numpy(*arguments.kji(), *case.scalars.values())
    expected = {key: np.asarray(arguments.fields[key]).copy() for key in case.outputs}
    arguments.reset()

    threads = OneAfterTheOther()
    kernel = numba_cuda.kernels(real, threads)[name]
    fields = [np.asarray(arguments.fields[argument.name]) for argument in case.arguments]
    scratch = [np.empty(SIZE, dtype) for _ in range(how.scratch)]
    points = [range(count * along) for count, along in zip(how.grid(SIZE), how.block, strict=True)]
    for i in points[0]:
        for j in points[1]:
            for k in points[2]:
                threads.thread = (i, j, k)
                kernel(*fields, *scratch, *SIZE, *map(real, case.scalars.values()))

    for key, values in expected.items():
        close = case.tolerance[dtype] * np.abs(values).max()
        found = np.asarray(arguments.fields[key])
        assert found.dtype == values.dtype
        np.testing.assert_allclose(found, values, rtol=0, atol=close)
