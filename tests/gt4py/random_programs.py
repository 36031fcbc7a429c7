"""Random programs, written against GT4Py's names only: ``random_programs.py FIRST COUNT`` prints them as a module.

They assign reals to two fields and to temporaries in one to three computations, with conditions, functions, offsets,
intervals and recurrences. Where GT4Py is known to compute something else than a program says, none is written: no
function of integers or of integer literals, and no temporary that is assigned under a condition.
"""

from __future__ import annotations

import os
import random
import sys

CHOSEN = tuple(map(int, os.environ.get("FIELDSTONE_GT4PY_PROGRAMS", "0:30").split(":")))
"""The first program that the tests run, and how many."""

HEADER = """\
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import *


@gtscript.function
def half(v):
    return 0.5 * v + 1.0


@gtscript.function
def positive(v):
    w = 0.0 * v
    if v > 0.0:
        w = v
    return w
"""

SIGNATURE = (
    "a: Field[float], b: Field[float], n: Field[int], p: Field[IJ, float], q: Field[K, float], "
    "x: Field[float], y: Field[float], s: float"
)
INTERVALS = (("...",), ("...",), ("0, 1", "1, None"), ("0, 1", "1, -1", "-1, None"))


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.temporaries: list[str] = []
        self.below = 0
        self.number = 0

    def program(self, name: str) -> str:
        self.lines = [f"def {name}({SIGNATURE}):"]
        for _ in range(self.random.randint(1, 3)):
            self.computation()
        return "\n".join(self.lines)

    def line(self, indent: int, text: str) -> None:
        self.lines.append(" " * indent + text)

    def computation(self) -> None:
        order = self.random.choice(["PARALLEL", "PARALLEL", "FORWARD", "BACKWARD"])
        intervals = self.random.choice(INTERVALS)
        self.line(4, f"with computation({order}):")
        known = list(self.temporaries)
        for place, interval in enumerate(intervals if order != "BACKWARD" else reversed(intervals)):
            self.line(8, f"with interval({interval}):")
            self.below = -1 if interval.startswith("1") else 0
            self.temporaries = list(known)
            self.statements(self.random.randint(1, 4), 12)
            if order != "PARALLEL" and place > 0:
                field = self.random.choice("xy")
                behind = -1 if order == "FORWARD" else 1
                self.line(12, f"{field} = 0.5 * {field}[0, 0, {behind}] + {self.leaf()}")
        if len(intervals) > 1:
            self.temporaries = known

    def statements(self, count: int, indent: int, depth: int = 0) -> None:
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.3 and depth == 0:
                name = f"t{self.number}"
                self.number += 1
                self.line(indent, f"{name} = 1.0 * {self.expression(2)}")
                self.temporaries.append(name)
            elif kind < 0.4 and depth == 0 and self.temporaries:
                name = self.random.choice(self.temporaries)
                self.line(
                    indent, f"{name} {self.random.choice(['+=', '*='])} {self.random.choice(['a', 'b', 'p', 's'])}"
                )
            elif kind < 0.6 and depth < 2:
                self.line(indent, f"if {self.condition()}:")
                self.statements(self.random.randint(1, 2), indent + 4, depth + 1)
                if self.random.random() < 0.6:
                    self.line(indent, "else:")
                    self.statements(self.random.randint(1, 2), indent + 4, depth + 1)
            elif kind < 0.75:
                self.line(indent, f"{self.random.choice('xy')} += {self.expression(1)}")
            else:
                self.line(indent, f"{self.random.choice('xy')} = {self.expression(2)}")

    def offset(self, levels: int) -> str:
        i, j = (self.random.choice([-1, 0, 0, 1]) for _ in range(2))
        return f"[{i}, {j}, {self.random.choice([0, levels])}]"

    def leaf(self) -> str:
        kind = self.random.random()
        if kind < 0.15:
            return self.random.choice(["0.5", "2.0", "-1.5", "3.0", "0.1"])
        if kind < 0.5:
            field = self.random.choice("ab")
            return field + (self.offset(self.below) if self.random.random() < 0.6 else "")
        if kind < 0.75 or not self.temporaries:
            return self.random.choice(["1.0 * n", "1.0 * n[1, 0, 0]", "p", "p[1, -1]", "q", "s"])
        name = self.random.choice(self.temporaries)
        return name + (self.offset(0) if self.random.random() < 0.5 else "")

    def expression(self, depth: int) -> str:
        if depth == 0:
            return self.leaf()
        first, second = (self.expression(depth - 1) for _ in range(2))
        forms = [
            f"({first} {self.random.choice('+-*')} {second})",
            f"({first} {self.random.choice('+-*')} {second})",
            f"({first} / (abs({second}) + 1.0))",
            f"{self.random.choice(['min', 'max'])}({first}, {second})",
            f"{self.random.choice(['abs', 'floor', 'trunc', 'tanh', 'half', 'positive'])}({first})",
            f"({first} if {self.condition()} else {second})",
            f"(-{first} + ({second}) ** 2)",
        ]
        return self.random.choice(forms)

    def condition(self) -> str:
        simple = f"{self.leaf()} {self.random.choice(['<', '>', '<=', '>=', '!='])} {self.leaf()}"
        forms = [simple, simple, f"({simple} and {self.leaf()} > 0.0)", f"({simple} or not {self.leaf()} > 0.5)"]
        return self.random.choice(forms)


def module(first: int, count: int) -> str:
    """A module with programs ``program_FIRST`` and so on."""
    programs = [Writer(seed).program(f"program_{seed}") for seed in range(first, first + count)]
    return "\n\n\n".join([HEADER, *programs]) + "\n"


if __name__ == "__main__":
    print(module(int(sys.argv[1]), int(sys.argv[2])))
