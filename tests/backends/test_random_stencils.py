"""Random stencils: every backend gives the bits of the interpreter."""

import random

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.errors import GTScriptDefinitionError

DOMAINS = [(11, 7, 5), (1, 1, 3), (33, 2, 4), (3, 40, 2)]
HALO = (9, 9, 2)
ORDERS = [(0, 1, 2), (2, 1, 0), (1, 2, 0)]  # of the axes in memory; the last is contiguous
INPUTS = {"a": "float64", "b": "float64", "f": "float32", "n": "int32"}
OUTPUTS = {"out": "float64", "single": "float32", "count": "int32"}

SIGNATURE = """
def definition(
    a: Field[float64], b: Field[float64], f: Field[float32], n: Field[int32],
    c: Field[IJ, float64], d: Field[K, float32],
    out: Field[float64], single: Field[float32], count: Field[int32], s: float64,
):
"""


class Author:
    """Writes stencils that are valid, or nearly so."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.readable = []

    def text(self):
        for _ in range(self.random.randint(1, 3)):
            self.computation()
        return SIGNATURE + "\n".join(self.lines) + "\n"

    def computation(self):
        order = self.random.choice(["PARALLEL", "PARALLEL", "FORWARD", "BACKWARD"])
        self.lines.append(f"    with computation({order}):")
        targets = [self.target() for _ in range(self.random.randint(1, 4))]
        intervals, carried = {
            "PARALLEL": (["..."], 0),
            "FORWARD": (["0, 1", "1, None"], -1),
            "BACKWARD": (["-1, None", "0, -1"], 1),
        }[order]
        before = list(self.readable)
        for number, interval in enumerate(intervals):
            self.lines.append(f"        with interval({interval}):")
            self.readable = list(before)
            self.levels = [-1, 0, 1] if order == "PARALLEL" else [0]
            self.carried = (targets, carried) if number else ([], 0)
            self.being_written = set(targets)
            for target in targets:
                self.statement(target)

    def target(self):
        names = [*OUTPUTS, "t0", "t1", "t2", "t3"]
        return self.random.choice(names)

    def statement(self, target, depth=0):
        if target in self.readable and self.random.random() < 0.3 - 0.1 * depth:
            self.branches(target, depth)
            return
        self.lines.append(f"{' ' * (12 + 4 * depth)}{target} = {self.number(3 - depth, target)}")
        if target not in self.readable:
            self.readable.append(target)

    def branches(self, target, depth):
        indent = " " * (12 + 4 * depth)
        others = [name for name in self.readable if name in self.being_written]
        condition = "s > 0.7" if self.random.random() < 0.1 else self.condition(1, target)
        self.lines.append(f"{indent}if {condition}:")
        self.statement(target, depth + 1)
        for _ in range(self.random.randint(0, 2)):
            self.statement(self.random.choice(others), depth + 1)
        if self.random.random() < 0.5:
            self.lines.append(f"{indent}else:")
            self.statement(self.random.choice(others), depth + 1)

    def offset(self, levels=(0,)):
        i, j = (self.random.choice([0, 0, 0, -1, 1]) for _ in range(2))
        return f"[{i}, {j}, {self.random.choice(levels)}]"

    def leaf(self, target):
        choice = self.random.random()
        if choice < 0.35 and self.readable:
            name = self.random.choice(self.readable)
            return name if name == target else name + self.offset()
        if choice < 0.5 and self.carried[0]:
            names, level = self.carried
            return f"{self.random.choice(names)}[0, 0, {level}]"
        if choice < 0.6:
            return self.random.choice(["0.5", "2.0", "3", "s", "-1.5"])
        if choice < 0.65:
            return f"c[{self.random.randint(-1, 1)}, {self.random.randint(-1, 1)}]"
        if choice < 0.7:
            return f"d[{self.random.randint(-1, 1)}]"
        return self.random.choice(list(INPUTS)) + self.offset([-1, 0, 1])

    def number(self, depth, target):
        if depth == 0:
            return self.leaf(target)
        x, y = self.number(depth - 1, target), self.number(self.random.randrange(depth), target)
        return self.random.choice(
            [
                lambda: f"({x} + {y})",
                lambda: f"({x} - {y})",
                lambda: f"({x} * {y})",
                lambda: f"({x} / ({y} * {y} + 1.0))",
                lambda: f"min({x}, 0.25)",
                lambda: f"max({x}, -2)",
                lambda: f"abs({x})",
                lambda: f"sqrt(abs({x}))",
                lambda: f"floor({x})",
                lambda: f"({x}) ** {self.random.randint(2, 4)}",
                lambda: f"({x} if {self.condition(0, target)} else {y})",
                lambda: f"(n{self.offset()} // 3 + n % 5)",
                lambda: f"(-{x})",
            ]
        )()

    def condition(self, depth, target):
        if depth == 0:
            sign = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
            return f"{self.leaf(target)} {sign} {self.leaf(target)}"
        word = self.random.choice(["and", "or"])
        left, right = self.condition(depth - 1, target), self.condition(depth - 1, target)
        return self.random.choice([f"({left}) {word} ({right})", f"not ({left})"])


def arrays(domain, order):
    generator = np.random.default_rng(3)
    shape = tuple(points + 2 * halo for points, halo in zip(domain, HALO, strict=True))

    def array(dtype):
        values = generator.normal(size=shape) * 3
        values = (np.round(values * 5) if dtype == "int32" else values).astype(dtype)
        return np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))

    inputs = [array(dtype) for dtype in INPUTS.values()]
    return inputs, array("float64")[:, :, 0], array("float32")[0, 0], [array(dtype) for dtype in OUTPUTS.values()]


def run(backend, definition, domain, order):
    inputs, c, d, outputs = arrays(domain, order)
    stencil = gtscript.stencil(backend, definition)
    stencil(*inputs, c, d, *outputs, 0.75, origin=HALO, domain=domain)
    return outputs


def written(from_text, seed):
    """Text and function of the first valid stencil that an author of this seed writes."""
    author = random.Random(seed)
    while True:
        text = Author(author.getrandbits(32)).text()
        definition = from_text(text)
        try:
            gtscript.stencil("debug", definition)
        except GTScriptDefinitionError:
            continue
        return text, definition


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(90))
def test_backends_agree(from_text, seed):
    text, definition = written(from_text, seed)
    order, domain = ORDERS[seed % len(ORDERS)], DOMAINS[seed % len(DOMAINS)]
    expected = run("debug", definition, domain, ORDERS[0])
    for backend in ("numpy", "cpu_kfirst", "cpu_ifirst", "gpu"):
        for name, found, value in zip(OUTPUTS, run(backend, definition, domain, order), expected, strict=True):
            np.testing.assert_array_equal(found, value, err_msg=f"{backend}, {name}, axes {order}, of\n{text}")
