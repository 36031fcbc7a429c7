"""New storages of all sizes, beside NumPy's functions and beside the C library with all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benches import bandwidth, paired
from benches.contenders import WARM_UP
from benches.table import Table, amount, duration
from fieldstone import storage

# Bytes of an array.
SIZES = [1 << 10, 16 << 10, 256 << 10, 4 << 20, 16 << 20, 64 << 20, 512 << 20]

# What makes a storage, what makes NumPy's array, and the function of `bandwidth.c` that touches as much new memory.
CASES = [
    ("empty", "storage.empty(shape)", "np.empty(shape)", "new_block"),
    ("zeros", "storage.zeros(shape)", "np.zeros(shape)", "new_zeros"),
    ("ones", "storage.ones(shape)", "np.ones(shape)", "new_filled"),
    ("full", "storage.full(shape, 2.5)", "np.full(shape, 2.5)", "new_filled"),
    ("copy", "field.copy()", "array.copy()", "new_copy"),
    ("storage(data)", "storage.storage(array)", "np.array(array)", "new_copy"),
    ("field[...] = 2.5", "field[...] = 2.5", "array[...] = 2.5", "fill"),
    ("field[...] = other", "field[...] = other", "array[...] = second", "copy"),
]


def run(rounds: int, largest: int) -> Iterator[Table]:
    """Measure all functions for each size up to the largest."""
    for nbytes in SIZES:
        if nbytes <= largest:
            yield _of_size(nbytes, rounds)


def _of_size(nbytes: int, rounds: int) -> Table:
    shape = (nbytes // 8 // 16, 4, 4)
    names = {
        "np": np,
        "storage": storage,
        "shape": shape,
        "array": np.ones(shape),
        "second": np.ones(shape),
        "field": storage.ones(shape),
        "other": storage.ones(shape),
    }
    table = Table(
        f"New storages of {amount(nbytes)}",
        ["", "time", "NumPy", "C, all cores", "/ NumPy", "/ C"],
    )
    for label, ours, theirs, function in CASES:
        contenders = {
            "fieldstone": paired.of_statement(ours, names),
            "NumPy": paired.of_statement(theirs, names),
        }
        machine = dict(_machine(function, nbytes, names))
        measured = paired.measure(contenders | machine, rounds, warm_up=WARM_UP)
        table.add(
            label,
            duration(measured.time("fieldstone")),
            duration(measured.time("NumPy")),
            duration(min(measured.time(name) for name in machine)),
            measured.ratio("fieldstone", "NumPy"),
            measured.ratio("fieldstone", *machine),
        )
    return table


def _machine(function: str, nbytes: int, names: dict[str, object]) -> Iterator[tuple[str, Callable[[int], float]]]:
    array, second = np.asarray(names["array"]), np.asarray(names["second"])
    if function == "fill":
        return bandwidth.fills(array)
    if function == "copy":
        return bandwidth.copies(array, second)
    return bandwidth.new_blocks(function, nbytes, *([array.ctypes.data] if function == "new_copy" else []))
