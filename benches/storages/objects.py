"""What costs nothing but the object: views, elements, attributes, protocols, arithmetic on a few numbers."""

from __future__ import annotations

from operator import iadd

import numpy as np

from benches import paired
from benches.table import Table, duration
from fieldstone import storage

# What is done to a storage, and what one does to NumPy's array instead.
CASES = [
    ("s[1:-1]", "a[1:-1]"),
    ("s[1:-1, 1:-1, :]", "a[1:-1, 1:-1, :]"),
    ("s[0]", "a[0]"),
    ("s[..., 0]", "a[..., 0]"),
    ("s[1, 2, 3]", "a[1, 2, 3]"),
    ("s[1, 2, 3] = 2.5", "a[1, 2, 3] = 2.5"),
    ("s[1:3] = 2.5", "a[1:3] = 2.5"),
    ("s[1:3] = s[2:4]", "a[1:3] = a[2:4]"),
    ("s.shape", "a.shape"),
    ("s.strides", "a.strides"),
    ("s.dtype", "a.dtype"),
    ("s.ndim", "a.ndim"),
    ("s.nbytes", "a.nbytes"),
    ("s.dims", "a.shape"),
    ("s.halo", "a.shape"),
    ("s.T", "a.T"),
    ("s.transpose(2, 0, 1)", "a.transpose(2, 0, 1)"),
    ("s.domain_view", "a[1:-1, 1:-1, :]"),
    ("len(s)", "len(a)"),
    ("storage.as_storage(a)", "np.asarray(a)"),
    ("storage.as_storage(s)", "a.view()"),
    ("np.asarray(s)", "np.asarray(b)"),
    ("s.to_numpy()", "a.view()"),
    ("memoryview(s)", "memoryview(a)"),
    ("np.from_dlpack(s)", "np.from_dlpack(a)"),
    ("s.__array_interface__", "a.__array_interface__"),
    ("storage.empty((4, 4, 4))", "np.empty((4, 4, 4))"),
    ("storage.zeros((4, 4, 4))", "np.zeros((4, 4, 4))"),
    ("storage.ones((4, 4, 4))", "np.ones((4, 4, 4))"),
    ("storage.zeros((4, 4, 4), dtype='float32')", "np.zeros((4, 4, 4), dtype='float32')"),
    ("storage.zeros((4, 4, 4), dims='IJK', halo=(1, 1, 0), defaults='cpu_ifirst')", "np.zeros((4, 4, 4), order='F')"),
    ("storage.zeros_like(s)", "np.zeros_like(a)"),
    ("storage.storage(a)", "np.array(a)"),
    ("s.copy()", "a.copy()"),
    ("s + s", "a + a"),
    ("iadd(s, 0.0)", "iadd(a, 0.0)"),
    ("np.sin(s)", "np.sin(a)"),
    ("np.sum(s)", "np.sum(a)"),
]

EMPTY = "pass"


class Speaks:
    """Another library's array."""

    def __init__(self, array: np.ndarray) -> None:
        self.__array_interface__ = array.__array_interface__
        self.array = array


def run(rounds: int) -> Table:
    """Measure all cases."""
    table = Table(
        "Small storages of shape (4, 4, 4)",
        ["", "beside", "time", "NumPy", "/ NumPy"],
        note="the time that an empty statement takes is subtracted",
    )
    array = np.ones((4, 4, 4))
    names = {
        "np": np,
        "iadd": iadd,
        "storage": storage,
        "s": storage.ones((4, 4, 4), dims="IJK", halo=(1, 1, 0)),
        "a": array,
        "b": Speaks(array),
    }
    for ours, theirs in CASES:
        contenders = {
            "fieldstone": paired.of_statement(ours, names),
            "NumPy": paired.of_statement(theirs, names),
            EMPTY: paired.of_statement(EMPTY, names),
        }
        measured = paired.measure(contenders, rounds).without(EMPTY)
        table.add(
            f"`{ours}`",
            f"`{theirs}`",
            duration(measured.time("fieldstone")),
            duration(measured.time("NumPy")),
            measured.ratio("fieldstone", "NumPy"),
        )
    return table
