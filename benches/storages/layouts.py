"""Copies between the orders that axes can have in memory, beside NumPy's and beside `memcpy` of as many bytes.

`memcpy` has OpenMP's threads, fieldstone its own, and which of them get a core each is up to the system. A copy of as
many bytes in one piece by fieldstone's threads ("straight") does not depend on that: beside it stands what a change of
order costs, and beside `memcpy` what fieldstone's threads do.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from benches import bandwidth, paired
from benches.contenders import WARM_UP, sweeping
from benches.table import Table, amount
from fieldstone import storage

DTYPES = ("float64", "float32", "int8", "complex128")

# Points along each axis: sizes that caches and vectors like, and sizes that they do not.
SHAPES = {
    "in the caches": {3: [(64, 64, 40), (61, 67, 39), (128, 128, 60)], 4: [(32, 24, 16, 12), (31, 23, 17, 13)]},
    "beyond them": {3: [(256, 256, 80), (261, 259, 83)], 4: [(80, 64, 48, 24), (79, 67, 47, 23)]},
}
ALIGNMENTS = {"packed": 1, "padded lines": 64}

# Beyond the caches NumPy takes long: fewer types, and fewer rounds.
LARGE_DTYPES, LARGE_ROUNDS = DTYPES[:2], 5

# Pairs of permutations of four axes that are drawn where not all are measured.
DRAWN = 24

# Copies of a turn before which the caches are swept.
SWEPT_CALLS = 3

Order = tuple[int, ...]
Timed = Callable[[int], float]


def run(rounds: int, *, quick: bool, complete: bool) -> Iterator[Table]:
    """Measure all pairs of permutations of three axes, and some or all of those of four."""
    for place, shapes in SHAPES.items():
        large = place == "beyond them"
        dtypes = DTYPES[:1] if quick else LARGE_DTYPES if large else DTYPES
        turns = min(rounds, LARGE_ROUNDS) if large else rounds
        for ndim in (3, 4):
            sizes = shapes[ndim][:1] if quick else shapes[ndim]
            cases = list(itertools.product(sizes, dtypes, ALIGNMENTS.items()))
            title = f"Copies from one layout to another, {ndim} axes, {place}"
            columns = ["/ straight: median", "worst", "of which"]
            others = ["straight / memcpy", "/ memcpy: median", "/ NumPy: median", "worst"]
            table = Table(title, ["", "bytes", "pairs", *columns, *others])
            for shape, dtype, (label, alignment) in cases:
                _Fields(shape, dtype, alignment, complete=complete).measure(table, label, turns)
            yield table
            if not large:
                table = Table(f"{title}, which are swept before each copy", ["", "bytes", "pairs", *columns])
                for shape, dtype, (label, alignment) in cases:
                    _Fields(shape, dtype, alignment, complete=complete).measure_swept(table, label, turns)
                yield table


class _Fields:
    """Storages of all layouts, and the pairs of them that are copied to each other."""

    def __init__(self, shape: tuple[int, ...], dtype: str, alignment: int, *, complete: bool) -> None:
        orders = list(itertools.permutations(range(len(shape))))
        pairs = list(itertools.product(orders, orders))
        if len(shape) > 3 and not complete:
            pairs = random.Random(0).sample(pairs, DRAWN)
        sources, targets = ({order: _field(shape, dtype, order, alignment) for order in orders} for _ in range(2))
        self.name = f"{' x '.join(map(str, shape))} {dtype}"
        self.nbytes = sources[orders[0]].nbytes
        self.pairs = {f"{source} to {target}": (sources[source], targets[target]) for source, target in pairs}
        self.flat = [storage.ones(self.nbytes, "int8") for _ in range(2)]

    def copies(self) -> dict[str, Timed]:
        """Return the copies that fieldstone makes."""
        return {"straight": _copy(*self.flat)} | {pair: _copy(*both) for pair, both in self.pairs.items()}

    def measure(self, table: Table, label: str, rounds: int) -> None:
        """Add a row of copies that are repeated on the same fields."""
        machine = dict(bandwidth.copies(*(np.asarray(flat) for flat in self.flat)))
        contenders = machine | self.copies()
        for pair, (source, target) in self.pairs.items():
            _check(source, target)
            names = {"np": np, "source": np.asarray(source), "target": np.asarray(target)}
            contenders[f"NumPy {pair}"] = paired.of_statement("np.copyto(target, source)", names)
        measured = paired.measure(contenders, rounds, warm_up=WARM_UP)
        of_memcpy = {pair: measured.ratio(pair, *machine) for pair in self.pairs}
        of_numpy = {pair: measured.ratio(pair, f"NumPy {pair}") for pair in self.pairs}
        table.add(
            *self._beside_straight(label, measured),
            measured.ratio("straight", *machine),
            _median(of_memcpy)[1],
            _median(of_numpy)[1],
            _worst(of_numpy)[1],
        )

    def measure_swept(self, table: Table, label: str, rounds: int) -> None:
        """Add a row of copies before each of which other data goes through the caches."""
        other = [storage.as_storage(array) for array in sweeping.arrays()]
        sweep = _copy(*other)
        contenders = {name: _swept(copy, sweep) for name, copy in self.copies().items()}
        table.add(*self._beside_straight(label, paired.measure(contenders, rounds)))

    def _beside_straight(self, label: str, measured: paired.Rounds) -> list[object]:
        ratios = {pair: measured.ratio(pair, "straight") for pair in self.pairs}
        worst, spread = _worst(ratios)
        return [f"{self.name}, {label}", amount(self.nbytes), len(self.pairs), _median(ratios)[1], spread, worst]


def _field(shape: tuple[int, ...], dtype: str, order: Order, alignment: int) -> storage.Storage:
    field = storage.empty(shape, dtype, layout=order, alignment_size=alignment)
    field[...] = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    return field


def _copy(source: storage.Storage, target: storage.Storage) -> Timed:
    return paired.of_statement("target[...] = source", {"source": source, "target": target})


def _swept(copy: Timed, sweep: Timed) -> Timed:
    """Return a copy that finds nothing in the caches; of many calls, a few are made and count for all."""

    def run(calls: int) -> float:
        made = min(calls, SWEPT_CALLS)
        elapsed = 0.0
        for _ in range(made):
            # By fieldstone's threads, which so are awake.
            sweep(1)
            elapsed += copy(1)
        return elapsed * calls / made

    return run


def _median(spreads: Mapping[str, paired.Spread]) -> tuple[str, paired.Spread]:
    """Return what takes a middle time, and how long."""
    return sorted(spreads.items(), key=lambda item: item[1].median)[len(spreads) // 2]


def _worst(spreads: Mapping[str, paired.Spread]) -> tuple[str, paired.Spread]:
    """Return what takes longest, and how long."""
    return max(spreads.items(), key=lambda item: item[1].median)


def _check(source: storage.Storage, target: storage.Storage) -> None:
    """Raise if a copy does not move each element to its place."""
    target[...] = 0
    target[...] = source
    if not np.array_equal(np.asarray(target), np.asarray(source)):
        raise RuntimeError(f"a copy from strides {source.strides} to {target.strides} went wrong")
