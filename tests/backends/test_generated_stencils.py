"""Random stencils give the same bits on every backend, for every order of axes in memory and any number of threads.

``FIELDSTONE_RANDOM_STENCILS=FIRST:COUNT`` chooses other seeds than those of every test run.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import errors, gtscript, storage
from tests.backends.columns import LINE

ROOT = Path(__file__).resolve().parents[2]
FIRST, COUNT = map(int, os.environ.get("FIELDSTONE_RANDOM_STENCILS", "0:24").split(":"))
# Of stencils that once went wrong: 897519 stores bytes with masks that wait on the stack, of which LLVM forgot a part.
FOUND = [897519]
SEEDS = [*range(FIRST, FIRST + COUNT), *(seed for seed in FOUND if not FIRST <= seed < FIRST + COUNT)]
DOMAIN = (13, 9, 7)
# Of some seeds; where a region needs more points, it is the one above.
DOMAINS = [DOMAIN, DOMAIN, DOMAIN, (1, 1, 4), (1, 12, 5), (16, 1, 6), (33, 4, 4), (8, 8, 9)]
HALO = 20  # more than a chain of statements reaches
Order = tuple[int, ...]
ORDERS: dict[str, Order] = {"i contiguous": (2, 1, 0), "j contiguous": (2, 0, 1), "k contiguous": (0, 1, 2)}
# Both backends are one compiler, which looks at the arguments alone; the name says only which layout new storages have.
BACKENDS = {"i contiguous": "cpu_ifirst", "j contiguous": "cpu_ifirst", "k contiguous": "cpu_kfirst"}


@pytest.fixture(scope="session")
def printed() -> dict[int, tuple[str, str]]:
    """Text of the stencil of each seed, without and with functions."""
    command = ["cargo", "run", "--quiet", "-p", "fieldstone-stencil", "--features", "generate"]
    command += ["--example", "random_stencils", "--"]
    ranges = [(FIRST, COUNT), *((seed, 1) for seed in FOUND)]
    runs = [[*command, str(first), str(count)] for first, count in ranges]
    found = [subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout for run in runs]
    parts = [part.split("\n", 1) for part in "".join(found).split("# seed ")[1:]]
    texts = {int(seed): [text.strip() + "\n" for text in both.split("# functions\n")] for seed, both in parts}
    return {seed: (plain, functions) for seed, (plain, functions) in texts.items()}


@pytest.fixture(scope="session")
def texts(printed: dict[int, tuple[str, str]]) -> dict[int, str]:
    """Text of the stencil of each seed, with functions."""
    return {seed: functions for seed, (_, functions) in printed.items()}


def random_of(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(f"{seed} {name}".encode()))


def origin_of(seed: int, name: str, axes: int) -> tuple[int, ...]:
    rng = random_of(seed, f"origin of {name}")
    return tuple(HALO + int(rng.integers(3)) for _ in range(axes))


def arguments(
    stencil: Any, seed: int, order: Order, domain: tuple[int, ...] = DOMAIN
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays that lie in memory in an order of axes, their origins and numbers for scalars."""
    values: dict[str, Any] = {}
    origins: dict[str, Any] = {}
    for name, info in stencil.field_info.items():
        rng = random_of(seed, name)
        axes = ["IJK".index(axis) for axis in info.axes]
        origin = origin_of(seed, name, len(axes))
        shape = [domain[axis] + before + HALO for axis, before in zip(axes, origin, strict=True)]
        data = numbers(rng, (*shape, *info.data_dims), info.dtype)
        elements = [len(axes) + n for n in range(len(info.data_dims))]
        slowest_first = [axes.index(axis) for axis in order if axis in axes]
        slowest_first = elements + slowest_first if rng.integers(2) else slowest_first + elements
        values[name] = np.ascontiguousarray(data.transpose(slowest_first)).transpose(np.argsort(slowest_first))
        origins[name] = origin
    for name, info in stencil.parameter_info.items():
        values[name] = numbers(random_of(seed, name), (), info.dtype)[()]
    return values, {name: origin for name, origin in origins.items() if origin}


def numbers(rng: np.random.Generator, shape: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return rng.uniform(-4, 4, shape).astype(dtype)
    lowest, highest = {"b": (0, 2), "u": (0, 10), "i": (-9, 10)}[dtype.kind]
    return rng.integers(lowest, highest, shape).astype(dtype)


def outcome(
    backend: str, seed: int, definition: Callable[..., Any], order: Order, domain: tuple[int, ...]
) -> dict[str, Any]:
    """Every field after a run, with axes in the order of the stencil."""
    stencil = gtscript.stencil(backend=backend, definition=definition)
    values, origins = arguments(stencil, seed, order, domain)
    stencil(**values, origin=origins, domain=domain)
    return {name: values[name] for name in stencil.field_info}


def outcome_past_the_caches(seed: int, definition: Callable[..., Any], domain: tuple[int, ...]) -> dict[str, Any]:
    """The same of storages whose columns begin with cache lines, as if the caches did not hold them."""
    stencil = gtscript.stencil("cpu_kfirst", definition, schedule="fetch=1 stores=streamed")
    values, origins = arguments(stencil, seed, ORDERS["k contiguous"], domain)
    for name, info in stencil.field_info.items():
        if info.axes and not info.data_dims:
            order = tuple(range(len(info.axes)))
            made = storage.empty(
                values[name].shape,
                info.dtype,
                dims="".join(info.axes),
                layout=order,
                alignment_size=LINE,
                aligned_index=origins[name],
            )
            made[...] = values[name]
            values[name] = made
    stencil(**values, origin=origins, domain=domain)
    return {name: np.asarray(values[name]) for name in stencil.field_info}


def inside(
    definition: Callable[..., Any], seed: int, fields: dict[str, Any], domain: tuple[int, ...]
) -> dict[str, Any]:
    """What fields are at the points of the domain."""
    cut = {}
    for name, info in gtscript.stencil("numpy", definition).field_info.items():
        sizes = [domain["IJK".index(axis)] for axis in info.axes]
        starts = origin_of(seed, name, len(sizes))
        place = tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
        cut[name] = fields[name][place]
    return cut


def assert_same_bits(expected: dict[str, Any], found: dict[str, Any], what: str) -> None:
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=f"{what}: {name}", strict=True)


@pytest.fixture(autouse=True)
def _same_threads_afterwards() -> Iterator[None]:
    threads = fieldstone.num_threads()
    yield
    fieldstone.set_num_threads(threads)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", SEEDS)
def test_every_backend_gives_the_same_bits(
    seed: int, printed: dict[int, tuple[str, str]], from_text: Callable[[str, str], Callable[..., Any]]
) -> None:
    plain, text = printed[seed]
    definition = from_text(text, f"random_{seed}")
    last = ORDERS["k contiguous"]
    without_functions = from_text(plain, f"random_{seed}")
    domain = DOMAINS[seed % len(DOMAINS)]
    try:
        expected, found = (outcome("numpy", seed, one, last, domain) for one in (definition, without_functions))
    except errors.DomainError:
        domain = DOMAIN
        expected, found = (outcome("numpy", seed, one, last, domain) for one in (definition, without_functions))
    # What a function is given is computed at every point of the domain, so that more may be computed around it.
    inner = [inside(definition, seed, fields, domain) for fields in (expected, found)]
    assert_same_bits(*inner, f"without functions\n{plain}\n{text}")
    with contextlib.suppress(errors.UninitialisedError):
        # Reads of points that no branch assigned are zero elsewhere, and an error here.
        found = outcome("debug", seed, definition, last, domain)
        assert_same_bits(expected, found, f"debug\n{text}")
    for name, order in ORDERS.items():
        for threads in (1, 3):
            fieldstone.set_num_threads(threads)
            found = outcome(BACKENDS[name], seed, definition, order, domain)
            assert_same_bits(expected, found, f"{BACKENDS[name]}, {name}, {threads} threads\n{text}")
        found = outcome("gpu", seed, definition, order, domain)
        assert_same_bits(expected, found, f"gpu, {name}\n{text}")
    found = outcome_past_the_caches(seed, definition, domain)
    assert_same_bits(expected, found, f"past the caches\n{text}")
