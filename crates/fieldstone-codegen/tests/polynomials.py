"""Finds the polynomials of `src/transcendental` anew, and says which are not those in the source.

``python crates/fieldstone-codegen/tests/polynomials.py`` takes less than a minute; names of functions behind it
choose some. It needs Sollya (https://www.sollya.org, a package of Debian) and mpmath.
"""

from __future__ import annotations

import itertools
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "transcendental"

# Sollya's names of numbers of 64 and of 32 bits.
DOUBLE, SINGLE = "D", "SG"


@dataclass(frozen=True)
class Best:
    """The polynomial of least error among those whose coefficients are numbers of a type: Sollya's `fpminimax`.

    It has some powers of ``x``, besides terms that are given.
    """

    name: str
    file: str
    function: str
    powers: Sequence[int]
    type: str
    interval: str
    given: str = "0"
    kind: str = "relative"

    def find(self) -> tuple[list[float], str]:
        """Return the coefficients, and what the error is."""
        numbers, error = self.find_with_error()
        return numbers, f"{self.kind} error 2^{error}"

    def find_with_error(self) -> tuple[list[float], float]:
        """Return the coefficients, and the error's logarithm to base two."""
        powers = ", ".join(map(str, self.powers))
        kind = f"[|{self.type}...|], {self.interval}, {self.kind}, {self.given}"
        of_what = f"p / ({self.function}) - 1" if self.kind == "relative" else f"p - ({self.function})"
        lines = [
            "prec = 400; display = hexadecimal;",
            f"p = fpminimax({self.function}, [|{powers}|], {kind});",
            *(f"coeff(p - ({self.given}), {power});" for power in self.powers),
            f"e = dirtyinfnorm({of_what}, {self.interval}); display = decimal; round(log2(e), 12, RN);",
            "quit;",
        ]
        done = subprocess.run(["sollya"], input="\n".join(lines), capture_output=True, text=True, check=True)
        numbers = [line for line in done.stdout.splitlines() if re.match(r"-?(0x)?[\d.]", line)]
        return [float.fromhex(text) for text in numbers[:-1]], float(numbers[-1])


@dataclass(frozen=True)
class Pieces:
    """Polynomials of 32 bits for `tanh` in sixteen pieces, around numbers whose value is nearly one of the type.

    ``(edge * SCALE + 2)`` are numbers of two bits behind the first one.
    """

    name: str
    file: str
    count: int

    def find(self) -> tuple[list[float], str]:
        """Return all numbers, then their values, then all linear coefficients, and so on."""
        from mpmath import mp

        mp.prec = 200
        scaled = [(1 + quarter / 4) * 2 ** (octave + 1) for octave in range(4) for quarter in range(4)]
        edges = [(mp.mpf(edge) - 2) / mp.mpf(SCALE) for edge in scaled] + [mp.mpf(FURTHEST)]
        columns, errors = [], []
        for first, last in itertools.pairwise(edges):
            center = self._center((first + last) / 2) if first else 0.0
            value = _single(mp.tanh(center))
            low, high = (mp.nstr(edge - center, 30) for edge in (first or mp.mpf("1e-6"), last))
            linear = "0" if first else "x"
            best = Best(
                self.name,
                self.file,
                f"tanh({center!r} + x) - {value!r}",
                range(1 if first else 2, self.count + 1),
                SINGLE,
                f"[{low}, {high}]",
                linear,
                "absolute" if first else "relative",
            )
            coefficients, error = best.find_with_error()
            columns.append([center, value, *([] if first else [1.0]), *coefficients])
            errors.append(error)
        return [number for row in zip(*columns, strict=True) for number in row], f"errors up to 2^{max(errors)}"

    @staticmethod
    def _center(middle: object) -> float:
        """Return the number near another one whose hyperbolic tangent is nearest to a number of 32 bits."""
        from mpmath import mp

        start = _single(mp.atanh(min(_single(mp.tanh(middle)), 1 - 2.0**-24)))
        bits = struct.unpack("i", struct.pack("f", start))[0]
        near = (struct.unpack("f", struct.pack("i", bits + n))[0] for n in range(-2000, 2000))
        return min(near, key=lambda x: abs(mp.tanh(x) - _single(mp.tanh(x))))


def _single(value: object) -> float:
    """Return the nearest number of 32 bits."""
    return struct.unpack("f", struct.pack("f", float(value)))[0]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Fitted:
    """Polynomials for pieces of `erf` around multiples of ``WIDTH``, or of `exp(x^2) erfc(x)` between edges.

    They have nearly the least relative error. They are found one after another as least squares whose weights grow
    where the error is large; each of the first coefficients is rounded before the others are found.
    """

    name: str
    file: str
    edges: Sequence[int]
    count: int
    rounded: int
    digits: int

    def find(self) -> tuple[list[float], str]:
        """Return all parts of values, then all linear coefficients, and so on."""
        from mpmath import erf, erfc, exp, mp

        mp.prec = self.digits

        def function(x: object) -> object:
            return exp(x * x) * erfc(x) if self.edges else erf(x)

        columns = []
        for piece in range(8):
            if self.edges:
                first, last = map(mp.mpf, self.edges[piece : piece + 2])
                center, half = (first + last) / 2, (last - first) / 2 * mp.mpf("1.00001")
                low = -half
            else:
                center, half = mp.mpf(WIDTH) * piece, mp.mpf(WIDTH) / 2 * mp.mpf("1.0001")
                low = -half if piece else mp.mpf(0)
            value = function(center)
            points = [low + (half - low) * at for at in _chebyshev(90)]
            rest = [function(center + x) - value for x in points]
            weights = [1 / function(center + x) for x in points]
            found: list[float] = []
            for power in range(1, 1 + (self.rounded if piece or self.edges else 1)):
                coefficient = float(_least(points, rest, weights, range(power, self.count + 1))[0])
                found.append(coefficient)
                rest = [y - mp.mpf(coefficient) * x**power for x, y in zip(points, rest, strict=True)]
            others = _least(points, rest, weights, range(len(found) + 1, self.count + 1))
            parts = [float(center)] if self.edges else []
            parts += [float(value), float(value - float(value))]
            columns.append([*parts, *found, *map(float, others)])
        return [number for row in zip(*columns, strict=True) for number in row], "fitted"


def _chebyshev(count: int) -> list[object]:
    """Return Chebyshev's points from zero to one."""
    from mpmath import mp

    return [(1 + mp.cos(mp.pi * (2 * n + 1) / (2 * count))) / 2 for n in range(count)]


def _least(points: list[object], values: list[object], weights: list[object], powers: Sequence[int]) -> list[object]:
    """Return coefficients whose largest weighted error is nearly the least: Lawson's method, four steps of it."""
    from mpmath import lu_solve, matrix, mp, sqrt

    shares = [mp.mpf(1)] * len(points)
    found: list[object] = []
    for _ in range(4):
        factors = [weight * sqrt(share) for weight, share in zip(weights, shares, strict=True)]
        rows = matrix([[x**power * factor for power in powers] for x, factor in zip(points, factors, strict=True)])
        wanted = matrix([y * factor for y, factor in zip(values, factors, strict=True)])
        found = list(lu_solve(rows.T * rows, rows.T * wanted))
        errors = [
            abs(sum(c * x**power for c, power in zip(found, powers, strict=True)) - y) * weight
            for x, y, weight in zip(points, values, weights, strict=True)
        ]
        shares = [share * (error / max(errors) + mp.mpf("1e-3")) for share, error in zip(shares, errors, strict=True)]
    return found


WIDTH = 0.794921875
SCALE, FURTHEST = 3.28, 9.1
SCALED_EDGES = (0, 1, 2, 4, 6, 10, 14, 22, 28)


def odd(first: int, count: int) -> Sequence[int]:
    """So many powers, each two more than the one before."""
    return range(first, first + 2 * count, 2)


def exponential_less(terms: int) -> str:
    """Return the exponential less its first terms, divided by the next power, as series: nothing divides by zero."""
    return " + ".join(f"x^{n} / {factorial(n + terms)}" for n in range(28))


def scaled_complement(a: str) -> str:
    """Return what is left of ``erfc(a)`` without ``exp(-a^2)``."""
    return f"exp({a}^2) * erfc({a})"


LOG_2_HALVES = "[-log(2) / 2 - 1b-12, log(2) / 2 + 1b-12]"
LOG_2_HALF = "[1b-30, log(2) / 2 + 1b-12]"
LOGARITHM_OF_PIECE = "[-0.0353, 0.0626]"
LOGARITHM = "[1b-20, (sqrt(2) - 1) / (sqrt(2) + 1) * 1.0001]"
EIGHTH_TURN = "[1b-30, pi / 4 * 1.0001]"

POLYNOMIALS = (
    Best("exp", "exponential", "exp(x)", range(2, 12), DOUBLE, LOG_2_HALVES, "1 + x", "absolute"),
    Best("exp", "exponential", "exp(x)", range(2, 7), SINGLE, LOG_2_HALVES, "1 + x", "absolute"),
    Best("gamma", "exponential", exponential_less(2), range(11), DOUBLE, LOG_2_HALVES),
    Best("log", "logarithm", "2 * atanh(x)", odd(3, 7), DOUBLE, LOGARITHM, "2 * x"),
    Best("log", "logarithm", "log(1 + x)", range(2, 6), SINGLE, LOGARITHM_OF_PIECE, "x"),
    Best("log10", "logarithm", "log(1 + x) / log(10)", range(2, 6), SINGLE, LOGARITHM_OF_PIECE, "x / log(10)"),
    Best("pow", "logarithm", "atanh(x)", odd(5, 8), DOUBLE, LOGARITHM, "x + x^3 / 3"),
    Best("pow", "power", "2 * atanh(x) / log(2)", odd(1, 5), DOUBLE, LOGARITHM),
    Best("pow", "power", "2^x", range(7), DOUBLE, "[-0.5, 0.5]"),
    Best("sin", "trigonometric", "sin(x)", odd(3, 4), DOUBLE, "[1b-30, pi / 16 * 1.0001]", "x"),
    Best("sin", "trigonometric", "sin(x)", odd(3, 2), SINGLE, "[1b-20, pi / 32 * 1.0001]", "x"),
    Best("cos", "trigonometric", "cos(x)", odd(2, 5), DOUBLE, "[1b-30, pi / 16 * 1.0001]", "1"),
    Best("cos", "trigonometric", "cos(x)", odd(2, 2), SINGLE, "[1b-20, pi / 32 * 1.0001]", "1"),
    Best("gamma", "trigonometric", "sin(x)", odd(3, 7), DOUBLE, EIGHTH_TURN, "x"),
    Best("gamma", "trigonometric", "cos(x)", odd(4, 7), DOUBLE, EIGHTH_TURN, "1 - x^2 / 2"),
    Best("tan", "trigonometric", "x / tan(x)", odd(2, 9), DOUBLE, "[1b-20, pi / 4 * 1.0001]", "1", "absolute"),
    Best("tan", "trigonometric", "x / tan(x)", odd(2, 4), SINGLE, "[1b-20, pi / 4 * 1.0001]", "1", "absolute"),
    Best("asin", "inverse", "asin(x)", odd(3, 13), DOUBLE, "[1b-30, 0.5001]", "x"),
    Best("asin", "inverse", "asin(x)", odd(3, 5), SINGLE, "[1b-20, 0.5]", "x"),
    Best("atan", "inverse", "atan(x)", odd(3, 8), DOUBLE, "[1b-30, 0.2581]", "x"),
    Best("atan", "inverse", "atan(x)", odd(3, 3), SINGLE, "[1b-20, 0.1501]", "x"),
    Best("cosh", "hyperbolic", "cosh(x)", odd(2, 5), DOUBLE, LOG_2_HALF, "1", "absolute"),
    Best("cosh", "hyperbolic", "cosh(x)", odd(2, 3), SINGLE, LOG_2_HALF, "1", "absolute"),
    Best("sinh", "hyperbolic", "sinh(x)", odd(3, 5), DOUBLE, LOG_2_HALF, "x"),
    Best("sinh", "hyperbolic", "sinh(x)", odd(3, 3), SINGLE, LOG_2_HALF, "x"),
    Pieces("tanh", "hyperbolic", 5),
    Best("tanh", "hyperbolic", "tanh(x)", odd(3, 6), DOUBLE, "[1b-20, 0.1802]", "x"),
    Best("atanh", "inverse_hyperbolic", "atanh(x)", odd(3, 9), DOUBLE, "[1b-20, 0.2728]", "x"),
    Best("atanh", "inverse_hyperbolic", "atanh(x)", odd(3, 4), SINGLE, "[1b-20, 0.2728]", "x"),
    Best("asinh", "inverse_hyperbolic", "atanh(x)", odd(3, 7), DOUBLE, "[1b-20, 0.1717]", "x"),
    Best("asinh", "inverse_hyperbolic", "asinh(x)", odd(3, 5), SINGLE, "[1b-20, 0.5]", "x"),
    Fitted("erf", "error_function", (), 16, 3, 220),
    Best("erf", "error_function", "erf(x)", odd(1, 7), SINGLE, "[1b-20, 1.001]", "x"),
    # Where erf is nearly one, hardly any digits of the logarithm count: it will do beyond these intervals as well.
    Best("erf", "error_function", "-log(erfc(x))", range(1, 8), SINGLE, "[0.99, 2.6]", kind="absolute"),
    Best(
        "erfc",
        "error_function",
        scaled_complement("(3 * (1 + x) / (1 - x))"),
        range(11),
        DOUBLE,
        "[-1 + 1b-30, (10.2 - 3) / (10.2 + 3)]",
    ),
    Fitted("erfc", "error_function", SCALED_EDGES, 19, 2, 260),
)


def is_in(numbers: list[float], source: list[float]) -> bool:
    """Whether some numbers stand one behind the other in a source."""
    starts = range(len(source) - len(numbers) + 1)
    return any(source[start : start + len(numbers)] == numbers for start in starts)


def main() -> None:
    """Look at the polynomials of the functions that the command line names, or at all."""
    missing = 0
    for polynomial in POLYNOMIALS:
        if len(sys.argv) > 1 and polynomial.name not in sys.argv[1:]:
            continue
        numbers, error = polynomial.find()
        text = (SOURCE / f"{polynomial.file}.rs").read_text()
        source = [float(number) for number in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)]
        found = is_in(numbers, source)
        missing += not found
        print(f"{polynomial.name} ({polynomial.file}): {error}", "" if found else f"is not in the source: {numbers}")
    sys.exit(missing > 0)


if __name__ == "__main__":
    main()
