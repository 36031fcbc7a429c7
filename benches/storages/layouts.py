"""Copies between the orders that axes can have in memory, beside NumPy's and beside `memcpy` of as many bytes."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Iterator

import numpy as np

from benches import bandwidth, paired
from benches.table import Table, amount
from fieldstone import storage

DTYPES = ("float64", "float32", "int8", "complex128")

# Points along each axis: sizes that caches and vectors like, and sizes that they do not.
SHAPES = {
    "in the caches": {3: [(64, 64, 40), (61, 67, 39)], 4: [(32, 24, 16, 12), (31, 23, 17, 13)]},
    "beyond them": {3: [(256, 256, 80), (261, 259, 83)], 4: [(80, 64, 48, 24), (79, 67, 47, 23)]},
}
ALIGNMENTS = {"packed": 1, "padded lines": 64}

# Beyond the caches NumPy takes long: fewer types, and fewer rounds.
LARGE_DTYPES, LARGE_ROUNDS = DTYPES[:2], 5

# Pairs of permutations of four axes that are drawn where not all are measured.
DRAWN = 24


def run(rounds: int, *, quick: bool, complete: bool) -> Iterator[Table]:
    """Measure all pairs of permutations of three axes, and some or all of those of four."""
    for place, shapes in SHAPES.items():
        large = place == "beyond them"
        dtypes = DTYPES[:1] if quick else LARGE_DTYPES if large else DTYPES
        turns = min(rounds, LARGE_ROUNDS) if large else rounds
        for ndim in (3, 4):
            table = Table(
                f"Copies from one layout to another, {ndim} axes, {place}",
                ["", "bytes", "pairs", "/ memcpy: median", "worst", "of which", "/ NumPy: median", "worst"],
            )
            sizes = shapes[ndim][:1] if quick else shapes[ndim]
            for shape, dtype, (label, alignment) in itertools.product(sizes, dtypes, ALIGNMENTS.items()):
                _measure(table, shape, dtype, label, alignment, turns, complete=complete)
            yield table


def _measure(
    table: Table, shape: tuple[int, ...], dtype: str, label: str, alignment: int, rounds: int, *, complete: bool
) -> None:
    orders = list(itertools.permutations(range(len(shape))))
    pairs = list(itertools.product(orders, orders))
    if len(shape) > 3 and not complete:
        pairs = random.Random(0).sample(pairs, DRAWN)
    sources = {order: _field(shape, dtype, order, alignment) for order in orders}
    targets = {order: _field(shape, dtype, order, alignment) for order in orders}
    nbytes = sources[orders[0]].nbytes
    flat = np.ones(nbytes, np.int8), np.ones(nbytes, np.int8)
    machine = dict(bandwidth.copies(*flat))
    contenders = dict(machine)
    for source, target in pairs:
        names = {"np": np, "source": sources[source], "target": targets[target]}
        names |= {"from_": np.asarray(sources[source]), "to": np.asarray(targets[target])}
        contenders[f"{source} to {target}"] = paired.of_statement("target[...] = source", names)
        contenders[f"NumPy {source} to {target}"] = paired.of_statement("np.copyto(to, from_)", names)
        _check(names)
    measured = paired.measure(contenders, rounds)
    of_memcpy, of_numpy = {}, {}
    for source, target in pairs:
        name = f"{source} to {target}"
        of_memcpy[name] = measured.ratio(name, *machine).median
        of_numpy[name] = measured.ratio(name, f"NumPy {name}").median
    worst = max(of_memcpy, key=of_memcpy.__getitem__)
    size = " x ".join(map(str, shape))
    table.add(
        f"{size} {dtype}, {label}",
        amount(nbytes),
        len(pairs),
        f"{statistics.median(of_memcpy.values()):.2f}",
        f"{of_memcpy[worst]:.2f}",
        worst,
        f"{statistics.median(of_numpy.values()):.2f}",
        f"{max(of_numpy.values()):.2f}",
    )


def _field(shape: tuple[int, ...], dtype: str, order: tuple[int, ...], alignment: int) -> storage.Storage:
    field = storage.empty(shape, dtype, layout=order, alignment_size=alignment)
    field[...] = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    return field


def _check(names: dict[str, np.ndarray]) -> None:
    """Raise if a copy does not move each element to its place."""
    names["target"][...] = 0
    names["target"][...] = names["source"]
    if not np.array_equal(names["to"], names["from_"]):
        raise RuntimeError(f"a copy from strides {names['from_'].strides} to {names['to'].strides} went wrong")
