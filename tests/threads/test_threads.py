"""The number of threads can be read and set."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import fieldstone
from fieldstone.errors import ArgumentTypeError, ArgumentValueError


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = fieldstone.num_threads()
    yield
    fieldstone.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 7, np.int32(3)])
def test_set(threads: int) -> None:
    fieldstone.set_num_threads(threads)
    assert fieldstone.num_threads() == threads


@pytest.mark.parametrize(
    ("threads", "error"),
    [(0, ArgumentValueError), (-1, ArgumentValueError), (1025, ArgumentValueError)]
    + [(value, ArgumentTypeError) for value in (1.5, "2", None)],
)
def test_wrong_numbers_are_refused(threads: object, error: type[Exception]) -> None:
    before = fieldstone.num_threads()
    with pytest.raises(error, match=r"threads'? .* integer from 1 to 1024"):
        fieldstone.set_num_threads(threads)
    assert fieldstone.num_threads() == before


def test_the_environment_sets_the_default() -> None:
    code = "import fieldstone; print(fieldstone.num_threads())"
    run = subprocess.run(
        [sys.executable, "-c", code], env={"FIELDSTONE_NUM_THREADS": "5"}, capture_output=True, text=True, check=True
    )
    assert run.stdout == "5\n"


@pytest.mark.parametrize("value", ["many", "0", "-2"])
def test_an_environment_that_says_no_number_is_warned_of(value: str) -> None:
    code = "import fieldstone; print(fieldstone.num_threads())"
    run = subprocess.run(
        [sys.executable, "-c", code], env={"FIELDSTONE_NUM_THREADS": value}, capture_output=True, text=True, check=True
    )
    assert f"FIELDSTONE_NUM_THREADS is '{value}', but a number of threads must be an integer" in run.stderr
    assert int(run.stdout) >= 1
