"""Stencils whose compilation is timed, as text that both fieldstone and GT4Py take."""

from __future__ import annotations

import random
from collections.abc import Iterator

HEAD = """\
from {package} import gtscript
from {package}.gtscript import BACKWARD, FORWARD, PARALLEL, Field, computation, interval, sqrt


"""

HORIZONTAL_DIFFUSION = """\
@gtscript.function
def laplacian(phi):
    return 4.0 * phi - (phi[1, 0, 0] + phi[-1, 0, 0] + phi[0, 1, 0] + phi[0, -1, 0])


def stencil(phi: Field[float], coefficient: Field[float], result: Field[float]):
    with computation(PARALLEL), interval(...):
        lap = laplacian(phi)
        east = lap[1, 0, 0] - lap
        flux_i = 0.0 if east * (phi[1, 0, 0] - phi) > 0.0 else east
        north = lap[0, 1, 0] - lap
        flux_j = 0.0 if north * (phi[0, 1, 0] - phi) > 0.0 else north
        result = phi - coefficient * (flux_i - flux_i[-1, 0, 0] + flux_j - flux_j[0, -1, 0])
"""

VERTICAL_ADVECTION = """\
def stencil(velocity: Field[float], w: Field[float], tendency: Field[float], result: Field[float], dt: float):
    with computation(FORWARD):
        with interval(0, 1):
            up = 0.25 * (w[1, 0, 1] + w[0, 0, 1])
            upper = 0.5 * up
            diagonal = 1.0 / dt - upper
            explicit = -0.5 * up * (velocity[0, 0, 1] - velocity)
            c = upper / diagonal
            d = (velocity / dt + tendency + explicit) / diagonal
        with interval(1, -1):
            down = -0.25 * (w[1, 0, 0] + w)
            up = 0.25 * (w[1, 0, 1] + w[0, 0, 1])
            lower = 0.5 * down
            upper = 0.5 * up
            diagonal = 1.0 / dt - lower - upper
            explicit = -0.5 * (down * (velocity[0, 0, -1] - velocity) + up * (velocity[0, 0, 1] - velocity))
            c = upper / (diagonal - lower * c[0, 0, -1])
            d = (velocity / dt + tendency + explicit - lower * d[0, 0, -1]) / (diagonal - lower * c[0, 0, -1])
        with interval(-1, None):
            down = -0.25 * (w[1, 0, 0] + w)
            lower = 0.5 * down
            diagonal = 1.0 / dt - lower
            explicit = -0.5 * down * (velocity[0, 0, -1] - velocity)
            c = 0.0
            d = (velocity / dt + tendency + explicit - lower * d[0, 0, -1]) / (diagonal - lower * c[0, 0, -1])
    with computation(BACKWARD):
        with interval(-1, None):
            solution = d
            result = solution
        with interval(0, -1):
            solution = d - c * solution[0, 0, 1]
            result = solution
"""

# Statements of a computation of the generated stencils.
OF_COMPUTATION = 250
INPUTS, OUTPUTS = 12, 6


def column_physics(statements: int) -> str:
    """Return a stencil like the physics of an atmospheric model: many statements on one column, few neighbours."""
    parameters = [f"q{n}: Field[float]" for n in range(INPUTS)] + [f"r{n}: Field[float]" for n in range(OUTPUTS)]
    lines = [f"def stencil({', '.join(parameters)}, dt: float):"]
    random_numbers = random.Random(0)
    for number, first in enumerate(range(0, statements, OF_COMPUTATION)):
        order = ("PARALLEL", "FORWARD", "PARALLEL", "BACKWARD")[number % 4]
        interval = {"FORWARD": "1, None", "BACKWARD": "0, -1"}.get(order, "...")
        lines.append(f"    with computation({order}), interval({interval}):")
        count = min(OF_COMPUTATION, statements - first)
        lines += [f"        {line}" for line in _statements(random_numbers, order, number, count)]
    return "\n".join(lines) + "\n"


def _statements(random_numbers: random.Random, order: str, computation: int, count: int) -> Iterator[str]:
    inputs = [f"q{n}" for n in range(INPUTS)]
    known = list(inputs)
    neighbour = {"FORWARD": "[0, 0, -1]", "BACKWARD": "[0, 0, 1]"}.get(order, "[1, 0, 0]")

    def value() -> str:
        recent = known[-12:] if random_numbers.random() < 0.7 else inputs
        return random_numbers.choice(recent)

    for number in range(count):
        a, b, c = value(), value(), value()
        constant = round(random_numbers.random(), 4)
        text = random_numbers.choice(
            [
                f"{a} * {b} + {constant} * {c}",
                f"({a} - {b}) / (1.0 + {c} * {c})",
                f"max({a}, {b}) - dt * {c}",
                f"{a} if {b} > {c} else {constant}",
                f"{a} + {random_numbers.choice(inputs)}{neighbour} * {b}",
                f"sqrt(abs({a})) * {b} + {c}",
            ]
        )
        if number % 20 == 19 or number == count - 1:
            # A sum, so that what was computed before counts.
            output = f"r{random_numbers.randrange(OUTPUTS)}"
            yield f"{output} = 0.5 * {output} + {' + '.join(known[-6:])}"
        else:
            known.append(f"t{computation}_{number}")
            yield f"{known[-1]} = {text}"
