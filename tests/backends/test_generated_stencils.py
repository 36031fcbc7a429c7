"""Random stencils give the same bits on every backend, for every order of axes in memory and any number of threads.

``FIELDSTONE_RANDOM_STENCILS=FIRST:COUNT`` chooses other seeds than those of every test run.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import errors, gtscript

ROOT = Path(__file__).resolve().parents[2]
FIRST, COUNT = map(int, os.environ.get("FIELDSTONE_RANDOM_STENCILS", "0:40").split(":"))
DOMAIN = (13, 9, 7)
HALO = 16  # more than a chain of statements reaches
ORDERS = {"i contiguous": (2, 1, 0), "j contiguous": (2, 0, 1), "k contiguous": (0, 1, 2)}


@pytest.fixture(scope="session")
def texts() -> dict[int, str]:
    """Text of the stencil of each seed."""
    command = ["cargo", "run", "--quiet", "-p", "fieldstone-stencil", "--features", "generate"]
    command += ["--example", "random_stencils", "--", str(FIRST), str(COUNT)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    parts = [part.split("\n", 1) for part in printed.split("# seed ")[1:]]
    return {int(seed): text.strip() + "\n" for seed, text in parts}


def arguments(stencil: Any, seed: int, order: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays that lie in memory in an order of axes, their origins and numbers for scalars."""
    values: dict[str, Any] = {}
    origins: dict[str, Any] = {}
    for name, info in stencil.field_info.items():
        rng = np.random.default_rng(zlib.crc32(f"{seed} {name}".encode()))
        axes = ["IJK".index(axis) for axis in info.axes]
        shape = [DOMAIN[axis] + 2 * HALO for axis in axes]
        data = numbers(rng, shape, info.dtype)
        slowest_first = [axes.index(axis) for axis in order if axis in axes]
        values[name] = np.ascontiguousarray(data.transpose(slowest_first)).transpose(np.argsort(slowest_first))
        origins[name] = (HALO,) * len(axes)
    for name, info in stencil.parameter_info.items():
        rng = np.random.default_rng(zlib.crc32(f"{seed} {name}".encode()))
        values[name] = numbers(rng, (), info.dtype)[()]
    return values, origins


def numbers(rng: np.random.Generator, shape: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return rng.uniform(-4, 4, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.integers(-9, 10, shape).astype(dtype)


def outcome(backend: str, seed: int, definition: Callable[..., Any], order: tuple[int, ...]) -> dict[str, Any]:
    """Every field after a run, with axes in the order of the stencil."""
    stencil = gtscript.stencil(backend=backend, definition=definition)
    values, origins = arguments(stencil, seed, order)
    stencil(**values, origin=origins, domain=DOMAIN)
    return {name: values[name] for name in stencil.field_info}


def assert_same_bits(expected: dict[str, Any], found: dict[str, Any], what: str) -> None:
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=f"{what}: {name}", strict=True)


@pytest.fixture(autouse=True)
def _same_threads_afterwards() -> Iterator[None]:
    threads = fieldstone.num_threads()
    yield
    fieldstone.set_num_threads(threads)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_every_backend_gives_the_same_bits(
    seed: int, texts: dict[int, str], from_text: Callable[[str, str], Callable[..., Any]]
) -> None:
    text = texts[seed]
    definition = from_text(text, f"random_{seed}")
    expected = outcome("numpy", seed, definition, ORDERS["k contiguous"])
    try:
        found = outcome("debug", seed, definition, ORDERS["k contiguous"])
        assert_same_bits(expected, found, f"debug\n{text}")
    except errors.FieldstoneError as error:
        # Reads of points that no branch assigned are zero elsewhere, and an error here.
        if "was not written" not in str(error):
            raise
    for name, order in ORDERS.items():
        for threads in (1, 3):
            fieldstone.set_num_threads(threads)
            found = outcome("cpu_ifirst", seed, definition, order)
            assert_same_bits(expected, found, f"cpu_ifirst, {name}, {threads} threads\n{text}")
