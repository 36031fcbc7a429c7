"""The benchmark stencils on one grid after another, beside C and other packages."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from benches import agreement, peak, threads, turns
from benches.arguments import LAYOUTS, Arguments
from benches.cases import CASES
from benches.contenders import Contender, c
from benches.contenders import fieldstone as ours
from benches.contenders import numpy as by_hand
from benches.paired import Rounds, Spread
from benches.table import Table

PACKAGES = ("fieldstone", "C", "strict-C", "Numba", "JAX", "GT4Py", "NumPy")


@dataclass(frozen=True)
class Setting:
    """What is the same for all contenders of a comparison.

    Attributes
    ----------
    case : str
        Name of the case.
    size : tuple of int
        Points of the domain along I, J and K.
    dtype : str
        Element type.
    threads : int
        Of each contender.
    cold : bool
        Whether caches are swept before each timed call.
    """

    case: str
    size: tuple[int, int, int]
    dtype: str
    threads: int
    cold: bool = False

    @property
    def without_case(self) -> str:
        """Say what comparisons of one table have in common."""
        size = " x ".join(map(str, self.size))
        cached = "caches swept before each call" if self.cold else "repeated on the same arrays"
        return f"{size}, {self.dtype}, {self.threads} thread{'' if self.threads == 1 else 's'}, {cached}"


@dataclass(frozen=True)
class Choice:
    """Who takes part, and how often.

    Attributes
    ----------
    layouts, memories : sequence of str
        In which fieldstone has its fields.
    packages : sequence of str
        Some of `PACKAGES`.
    rounds : int
        Turns of each contender.
    gt4py_python : str or None
        An interpreter that has GT4Py.
    """

    layouts: Sequence[str]
    memories: Sequence[str]
    packages: Sequence[str]
    rounds: int
    gt4py_python: str | None = None


@dataclass
class Comparison:
    """What contenders took in one setting, round by round.

    Attributes
    ----------
    setting : Setting
        What was the same for all.
    times : dict of str to list of float or None
        Seconds of one call, by contender and round; slow contenders have no turn in most rounds.
    copy_bandwidth : float
        Bytes per second of the fastest copy of an array of this size, measured in the same rounds.
    traffic : float
        Bytes that the case has to move.
    floating : float
        Floating-point operations of the case, as its source has them.
    peak : float or None
        Floating-point operations per second that the machine can do.
    c : str or None
        The fastest C.
    ratios : dict of str to Spread
        Times relative to that of C in the same round.
    refused : dict of str to str
        What contenders said that do not compute the case.
    """

    setting: Setting
    times: dict[str, list[float | None]]
    copy_bandwidth: float
    traffic: float
    floating: float
    peak: float | None
    c: str | None
    ratios: dict[str, Spread] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @property
    def rounds(self) -> Rounds:
        """The times, to be compared."""
        return Rounds(self.times)


def settings(
    cases: Sequence[str],
    sizes: Sequence[tuple[int, int, int]],
    dtypes: Sequence[str],
    threads: Sequence[int],
    caches: Sequence[bool],
) -> Iterator[list[Setting]]:
    """Return all combinations, those that differ in the case only together."""
    for size, dtype, count, cold in itertools.product(sizes, dtypes, threads, caches):
        yield [Setting(case, size, dtype, count, cold) for case in cases]


def compare(setting: Setting, choice: Choice) -> Comparison:
    """Time every contender, after checking that all compute the same."""
    threads.limit(setting.threads)
    case = CASES[setting.case]
    on_i = Arguments(case, setting.size, setting.dtype, "I")
    reference = by_hand.contender(on_i)
    expected = agreement.outputs(reference)
    refused: dict[str, str] = {}
    contenders = [*_ours(on_i, choice)]
    best = None
    if "C" in choice.packages and c.library() is not None:
        best = turns.fastest(c.variants(on_i), cold=setting.cold)
        contenders.append(best)
    if "strict-C" in choice.packages and c.library() is not None:
        strict = turns.fastest(c.variants(on_i, strict=True), cold=setting.cold)
        contenders.append(replace(strict, name="strict C"))
    on_i.reset()
    contenders += _others(setting, on_i, choice, refused)
    for contender in contenders:
        agreement.check(contender, expected)
    if "NumPy" in choice.packages:
        contenders.append(reference)
    copies = _copies(setting)
    threads.limit(setting.threads)
    taken = turns.take([*contenders, *copies], choice.rounds, cold=setting.cold)
    copied = min(taken.time(copy.name) for copy in copies)
    names = [contender.name for contender in contenders]
    return Comparison(
        setting,
        {name: taken.times[name] for name in names},
        CASES["copy"].bytes_moved(setting.size, setting.dtype) / copied,
        case.bytes_moved(setting.size, setting.dtype),
        _floating(setting),
        peak.operations(setting.dtype, setting.threads),
        best.name if best else None,
        {name: taken.ratio(name, best.name) for name in names} if best else {},
        refused,
    )


def _ours(on_i: Arguments, choice: Choice) -> Iterator[Contender]:
    if "fieldstone" not in choice.packages:
        return
    for layout, memory in itertools.product(choice.layouts, choice.memories):
        same = layout == "I" and memory == "padded"
        arguments = on_i if same else Arguments(on_i.case, on_i.size, on_i.dtype, layout, memory)
        yield ours.contender(arguments)


def _others(setting: Setting, on_i: Arguments, choice: Choice, refused: dict[str, str]) -> Iterator[Contender]:
    """Return those of other packages that are installed."""
    if "Numba" in choice.packages and importlib.util.find_spec("numba") is not None:
        from benches.contenders import numba

        yield numba.contender(Arguments(on_i.case, on_i.size, on_i.dtype, "I", "packed"))
    # The number of its threads is that of all cores.
    everywhere = setting.threads == threads.available()
    if "JAX" in choice.packages and everywhere and importlib.util.find_spec("jax") is not None:
        from benches.contenders import jax

        yield jax.contender(on_i)
    if "GT4Py" in choice.packages and choice.gt4py_python is not None:
        from benches.contenders import gt4py

        for backend in gt4py.BACKENDS:
            try:
                yield gt4py.contender(choice.gt4py_python, on_i, backend, setting.threads)
            except gt4py.Refusal as refusal:
                refused[f"GT4Py {backend}"] = str(refusal)


def _copies(setting: Setting) -> list[Contender]:
    """Return copies of an array of the same size, with stores through the caches and past them."""
    arguments = Arguments(CASES["copy"], setting.size, setting.dtype, "I")
    found = [*c.variants(arguments)] or [by_hand.contender(arguments)]
    return [Contender(f"machine: {copy.name}", copy.package, copy.call, copy.sweep, copy.arguments) for copy in found]


def _floating(setting: Setting) -> float:
    stencils = ours.stencils(CASES[setting.case], setting.dtype, "cpu_ifirst")
    costs = (stencil.explain(domain=setting.size).costs for stencil in stencils)
    return float(sum(cost.total_floating or 0 for cost in costs))


def details(comparison: Comparison) -> Table:
    """Return a table of one comparison: contender, time, bandwidth, its share of copying, and time relative to C.

    Under its title stands what those say that refuse the case, the first line of it.
    """
    title = f"{comparison.setting.case}, {comparison.setting.without_case}"
    title += f"; copy {comparison.copy_bandwidth / 1e9:.1f} GB/s"
    rows = []
    for name in comparison.times:
        time = comparison.rounds.time(name)
        bandwidth = comparison.traffic / time
        ratio = str(comparison.ratios[name]) if name in comparison.ratios else ""
        share = f"{bandwidth / comparison.copy_bandwidth:.0%}"
        rows.append([name, f"{time * 1e6:.1f}", f"{bandwidth / 1e9:.1f}", share, ratio])
    refused = [f"{name} refuses: {_first_line(reason)}" for name, reason in comparison.refused.items()]
    return Table(title, ["", "time / µs", "GB/s", "of copy", "x C (quartiles)"], rows, "\n".join(refused))


def _first_line(text: str) -> str:
    """Return the first line that is not empty, if there is one."""
    return text.strip().partition("\n")[0]


def summary(comparisons: Iterable[Comparison]) -> Table:
    """Return a table of comparisons that differ in the case: what the best C does, and all times relative to it."""
    each = list(comparisons)
    names = list(dict.fromkeys(name for one in each for name in (*one.times, *one.refused) if name != one.c))
    copied = np.median([one.copy_bandwidth for one in each])
    title = f"{each[0].setting.without_case}; copy {copied / 1e9:.0f} GB/s"
    of_copy = [name for name in names if name == "fieldstone I"]
    apart = {"fieldstone I", "fieldstone K"} <= set(names)
    columns = ["", *(["C: time", "of copy"] if each[0].c is not None else []), *names]
    columns += [*(f"{name}: of copy" for name in of_copy), *(["K / I"] if apart else [])]
    rows = []
    for one in each:
        cells = [one.setting.case]
        if one.c is not None:
            cells += [f"{one.rounds.time(one.c) * 1e6:.0f} µs", _of_copy(one, one.c)]
        cells += [_relative(one, name) for name in names]
        cells += [_of_copy(one, name) for name in of_copy]
        cells += [f"{one.rounds.ratio('fieldstone K', 'fieldstone I').median:.2f}"] if apart else []
        rows.append(cells)
    return Table(title, columns, rows)


def _of_copy(comparison: Comparison, name: str) -> str:
    return f"{comparison.traffic / comparison.rounds.time(name) / comparison.copy_bandwidth:.0%}"


def _relative(comparison: Comparison, name: str) -> str:
    if name in comparison.refused:
        return "refuses"
    if name not in comparison.times:
        return ""
    if name not in comparison.ratios:
        return f"{comparison.rounds.time(name) * 1e6:.0f} µs"
    spread = comparison.ratios[name]
    # Where there are many columns, medians have to do.
    return str(spread) if name in {f"fieldstone {layout}" for layout in LAYOUTS} else f"{spread.median:.3g}"
