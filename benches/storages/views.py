"""Copies and fills of views: interiors of fields with halos, and elements that do not follow each other in memory.

Beside each stands `memcpy` or `memset` of as many bytes in one piece, with all cores, and NumPy doing the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benches import bandwidth, paired
from benches.contenders import WARM_UP
from benches.table import Table, amount, duration
from fieldstone import storage

DTYPES = ("float64", "float32", "int16", "bool")

SHAPE = (128, 128, 60)

# What is done, with `a` and `b` of the same layout and `c` of another one; all have three points of halo along I and J.
CASES = [
    ("b[3:-3, 3:-3] = a[3:-3, 3:-3]", "copy"),
    ("c[3:-3, 3:-3] = a[3:-3, 3:-3]", "copy"),
    ("a[3:-3, 3:-3] = 0", "fill"),
    ("a[3:-3, 3:-3] = 2.5", "fill"),
    ("b[...] = a[:, :, ::-1]", "copy"),
    ("c[...] = a[:, :, ::-1]", "copy"),
    ("b[:, :, :30] = a[:, :, ::2]", "copy"),
    ("c[:, :, :30] = a[:, :, ::2]", "copy"),
    ("b[:67] = a[::2]", "copy"),
    ("c[:67] = a[::2]", "copy"),
    ("a[::2] = 2.5", "fill"),
]


def run(rounds: int, *, quick: bool) -> Iterator[Table]:
    """Measure all statements for each type, or for the first two."""
    for dtype in DTYPES[:2] if quick else DTYPES:
        for layout, other in (("cpu_kfirst", "cpu_ifirst"), ("cpu_ifirst", "cpu_kfirst")):
            fields = {name: _field(dtype, layout) for name in "ab"} | {"c": _field(dtype, other)}
            title = f"Views of {' x '.join(map(str, SHAPE))} {dtype}, {layout}, and one of {other} ('c')"
            yield _table(title, fields, rounds)


def _table(title: str, fields: dict[str, storage.Storage], rounds: int) -> Table:
    table = Table(title, ["", "bytes", "time", "/ memcpy or memset", "/ NumPy"])
    arrays = {name: np.asarray(field) for name, field in fields.items()}
    for statement, function in CASES:
        nbytes = eval(statement.split(" = ")[0], dict(fields)).nbytes
        blocks = [np.ones(nbytes, "int8") for _ in range(2)]
        machine = dict(bandwidth.copies(*blocks) if function == "copy" else bandwidth.fills(blocks[0]))
        contenders = {
            "fieldstone": paired.of_statement(statement, fields),
            "NumPy": paired.of_statement(statement, arrays),
        }
        measured = paired.measure(contenders | machine, rounds, warm_up=WARM_UP)
        table.add(
            f"`{statement}`",
            amount(nbytes),
            duration(measured.time("fieldstone")),
            measured.ratio("fieldstone", *machine),
            measured.ratio("fieldstone", "NumPy"),
        )
    return table


def _field(dtype: str, layout: str) -> storage.Storage:
    shape = (SHAPE[0] + 6, SHAPE[1] + 6, SHAPE[2])
    return storage.ones(shape, dtype, dims="IJK", halo=(3, 3, 0), defaults=layout)
