"""Which of all combinations of grid, type, threads, caches, layout and memory are measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benches import suite, threads
from benches.arguments import LAYOUTS, MEMORIES
from benches.cases import CASES

SIZES = ((128, 128, 60), (256, 256, 80))
ODD_SIZES = ((127, 61, 47),)
DTYPES = ("float64", "float32")
ROUNDS = 11


@dataclass(frozen=True)
class Selection:
    """Some of all combinations.

    Attributes
    ----------
    cases, sizes, dtypes, threads, caches, layouts, memories, packages : sequence
        What is combined; caches are ``"warm"`` or ``"cold"``.
    """

    cases: Sequence[str] = tuple(CASES)
    sizes: Sequence[tuple[int, int, int]] = SIZES
    dtypes: Sequence[str] = DTYPES
    threads: Sequence[int] = (threads.available(),)
    caches: Sequence[str] = ("warm",)
    layouts: Sequence[str] = tuple(LAYOUTS)
    memories: Sequence[str] = ("padded",)
    packages: Sequence[str] = tuple(package for package in suite.PACKAGES if package != "strict-C")

    def settings(self) -> Iterator[list[suite.Setting]]:
        """Return all combinations, those that differ in the case only together."""
        colds = [cache == "cold" for cache in self.caches]
        return suite.settings(self.cases, self.sizes, self.dtypes, self.threads, colds)


def usual() -> list[Selection]:
    """Return what says most: all packages on data that stays where it is, and fieldstone beside C on all else."""
    beside_c = replace(Selection(), packages=("fieldstone", "C"))
    selected = [Selection(), replace(beside_c, caches=("cold",))]
    if threads.available() > 1:
        selected.append(replace(beside_c, dtypes=DTYPES[:1], threads=(1,)))
    selected.append(replace(beside_c, sizes=ODD_SIZES, dtypes=DTYPES[:1], memories=MEMORIES))
    return selected


def complete() -> list[Selection]:
    """Return all combinations."""
    counts = tuple(sorted({1, threads.available()}))
    everything = Selection(sizes=SIZES + ODD_SIZES, threads=counts, caches=("warm", "cold"), memories=MEMORIES)
    return [everything]
