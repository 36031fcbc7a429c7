"""The benchmark stencils on one grid after another, beside C and other packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benches import agreement, threads, turns
from benches.arguments import Arguments
from benches.cases import CASES
from benches.contenders import Contender, c
from benches.contenders import fieldstone as ours
from benches.contenders import numpy as by_hand
from benches.paired import Rounds, Spread

PACKAGES = ("fieldstone", "C", "NumPy")

# Other packages have a turn in every so many rounds only, so that these do not take hours.
EVERY = 3


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


@dataclass
class Comparison:
    """What contenders took in one setting, round by round.

    Attributes
    ----------
    setting : Setting
        What was the same for all.
    times : dict of str to list of float
        Seconds of one call, by contender and round.
    copy_bandwidth : float
        Bytes per second of the fastest copy of an array of this size, measured in the same rounds.
    traffic : float
        Bytes that the case has to move.
    c : str or None
        The fastest C.
    """

    setting: Setting
    times: dict[str, list[float]]
    copy_bandwidth: float
    traffic: float
    c: str | None
    ratios: dict[str, Spread] = field(default_factory=dict)

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
) -> Iterator[Setting]:
    """Return all combinations."""
    for case in cases:
        for size in sizes:
            for dtype in dtypes:
                for count in threads:
                    for cold in caches:
                        yield Setting(case, size, dtype, count, cold)


def compare(
    setting: Setting,
    *,
    layouts: Iterable[str],
    memories: Iterable[str],
    packages: Sequence[str],
    rounds: int,
) -> Comparison:
    """Time every contender, after checking that all compute the same."""
    threads.limit(setting.threads)
    case = CASES[setting.case]
    on_i = Arguments(case, setting.size, setting.dtype, "I")
    reference = by_hand.contender(on_i)
    expected = agreement.outputs(reference)
    contenders: list[Contender] = []
    if "fieldstone" in packages:
        for layout in layouts:
            for memory in memories:
                same = layout == "I" and memory == "padded"
                arguments = on_i if same else Arguments(case, setting.size, setting.dtype, layout, memory)
                contenders.append(ours.contender(arguments))
    best = None
    if "C" in packages and c.library() is not None:
        best = turns.fastest(c.variants(on_i), cold=setting.cold)
        contenders.append(best)
    if "NumPy" in packages:
        contenders.append(reference)
    for contender in contenders:
        if contender is not reference:
            agreement.check(contender, expected)
    copies = _copies(setting)
    taken = turns.take([*contenders, *copies], rounds, cold=setting.cold)
    copied = min(taken.time(copy.name) for copy in copies)
    names = [contender.name for contender in contenders]
    return Comparison(
        setting,
        {name: taken.times[name] for name in names},
        CASES["copy"].bytes_moved(setting.size, setting.dtype) / copied,
        case.bytes_moved(setting.size, setting.dtype),
        best.name if best else None,
        {name: taken.ratio(name, best.name) for name in names} if best else {},
    )


def _copies(setting: Setting) -> list[Contender]:
    """Return copies of an array of the same size, with stores through the caches and past them."""
    arguments = Arguments(CASES["copy"], setting.size, setting.dtype, "I")
    found = [*c.variants(arguments)] or [by_hand.contender(arguments)]
    return [Contender(f"machine: {copy.name}", copy.package, copy.call, copy.sweep, copy.arguments) for copy in found]


def heading(comparison: Comparison) -> str:
    """Say what a comparison is of."""
    setting = comparison.setting
    size = "x".join(map(str, setting.size))
    cached = "caches swept" if setting.cold else "repeated on the same arrays"
    of = f"{setting.threads} thread{'' if setting.threads == 1 else 's'}"
    return f"{setting.case}, {size}, {setting.dtype}, {of}, {cached}; copy {comparison.copy_bandwidth / 1e9:.1f} GB/s"


def rows(comparison: Comparison) -> Iterator[tuple[str, str, str, str, str]]:
    """Return contender, time, bandwidth, share of the copy bandwidth, and time relative to C."""
    taken = comparison.rounds
    for name in comparison.times:
        time = taken.time(name)
        bandwidth = comparison.traffic / time
        ratio = str(comparison.ratios[name]) if name in comparison.ratios else ""
        share = f"{bandwidth / comparison.copy_bandwidth:.0%}"
        yield name, f"{time * 1e6:.1f}", f"{bandwidth / 1e9:.1f}", share, ratio


COLUMNS = ["", "time / µs", "GB/s", "of copy", "x C (quartiles)"]
