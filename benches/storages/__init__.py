"""Storages beside NumPy's arrays and beside the machine: ``make bench ARGS=storages``.

`creation` makes storages of all sizes, `layouts` copies between the orders that axes can have in memory, `views` copies
and fills parts of storages, `objects` times what costs nothing but the object itself (views, attributes, protocols),
and `footprint` weighs it. Ratios are of times measured in the same round (`paired`); beside a ratio stand the
quartiles of those of all rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

from benches.storages import creation, footprint, layouts, objects, views
from benches.table import Table


def tables(rounds: int, *, quick: bool, complete: bool) -> Iterator[Table]:
    """Measure one table after the other; ``quick`` leaves out what takes long, ``complete`` samples nothing."""
    yield objects.run(rounds)
    yield footprint.run()
    yield from creation.run(rounds, largest=64 << 20 if quick else 512 << 20)
    yield from layouts.run(rounds, quick=quick, complete=complete)
    yield from views.run(rounds, quick=quick)
