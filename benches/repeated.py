"""Two runs of the benchmark stencils, one beside the other: what of them holds in both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.paired import Spread
from benches.suite import Comparison, Setting
from benches.table import Table

# What is aimed at: a time relative to that of the fastest C, with two hundredths for noise, and of K relative to I.
# How K compares with C is shown by the same measure, and is not aimed at.
AS_C = 1.02
AS_I = 1.15

ROWS = ("fieldstone I", "fieldstone J")
LAYOUTS = (*ROWS, "fieldstone K")

# Who is asked only where a run is told to.
STRICT = "strict C"


@dataclass(frozen=True)
class Pair:
    """The same comparison in two runs."""

    one: Comparison
    other: Comparison

    def ratios(self, name: str) -> list[float]:
        """Return the times of a contender relative to those of C."""
        return [each.ratios[name].median for each in (self.one, self.other)]

    def beside_strict(self, name: str) -> list[float]:
        """Return the times of a contender relative to those of strict C."""
        return [each.rounds.ratio(name, STRICT).median for each in (self.one, self.other)]

    def has_strict(self) -> bool:
        """Whether strict C took part in both."""
        return all(STRICT in each.ratios for each in (self.one, self.other))

    def along_k(self) -> list[float]:
        """Return the times along K relative to those along I."""
        return [each.rounds.ratio("fieldstone K", "fieldstone I").median for each in (self.one, self.other)]

    def c(self) -> str:
        """Say how long C takes."""
        times = [each.rounds.time(each.c) * 1e6 for each in (self.one, self.other) if each.c is not None]
        return f"{_both('{:.0f}', times)} µs"

    def of_copy(self) -> str:
        """Say which share of a copy's bandwidth fieldstone comes to along I."""
        both = (self.one, self.other)
        return _both("{:.0%}", [one.traffic / one.rounds.time("fieldstone I") / one.copy_bandwidth for one in both])


def tables(first: Path, second: Path) -> Iterator[Table]:
    """Return a table for each that both files have of stencils beside C in all layouts, and how much holds."""
    by_table: dict[str, list[Pair]] = {}
    others = {comparison.setting: comparison for comparison in read(second)}
    for one in read(first):
        if one.setting in others and set(LAYOUTS) <= set(one.ratios):
            by_table.setdefault(one.setting.without_case, []).append(Pair(one, others[one.setting]))
    for title, pairs in by_table.items():
        names = [*([STRICT] if all(pair.has_strict() for pair in pairs) else []), *LAYOUTS]
        table = Table(title, ["", "C: time", *names, "fieldstone I: of copy", "K / I"])
        for pair in pairs:
            ratios = [_both("{:.2f}", pair.ratios(name)) for name in names]
            table.add(pair.one.setting.case, pair.c(), *ratios, pair.of_copy(), _both("{:.2f}", pair.along_k()))
        yield table
    yield _holding([pair for pairs in by_table.values() for pair in pairs])


def _holding(pairs: list[Pair]) -> Table:
    table = Table("What holds", ["", "of", "in both runs", "in one", "in neither"])
    along_rows = [pair.ratios(name) for pair in pairs for name in ROWS]
    counted = [
        (f"along I and J at most {AS_C} of C", along_rows, AS_C),
        (f"K / I at most {AS_I}", [pair.along_k() for pair in pairs], AS_I),
        (f"along K at most {AS_I} of C", [pair.ratios("fieldstone K") for pair in pairs], AS_I),
    ]
    strict = [pair for pair in pairs if pair.has_strict()]
    if strict:
        beside = [pair.beside_strict(name) for pair in strict for name in ROWS]
        counted.append((f"along I and J at most {AS_C} of strict C", beside, AS_C))
    for what, found, most in counted:
        held = [sum(round(ratio, 2) <= most for ratio in ratios) for ratios in found]
        table.add(what, len(held), *(held.count(times) for times in (2, 1, 0)))
    return table


def read(file: Path) -> list[Comparison]:
    """Return what a run has written."""
    results = json.loads(file.read_text())["results"]
    return [_comparison(one) for table in results for one in table["comparisons"]]


def _comparison(data: dict[str, Any]) -> Comparison:
    setting = Setting(**{**data["setting"], "size": tuple(data["setting"]["size"])})
    ratios = {name: Spread(**spread) for name, spread in data["ratios"].items()}
    return Comparison(**{**data, "setting": setting, "ratios": ratios})


def _both(form: str, values: list[float]) -> str:
    return ", ".join(form.format(value) for value in values)
