"""Runs the benchmarks, prints their tables and writes them to benches/results/."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benches import bandwidth, compile, machine, storages, suite, threads
from benches.arguments import LAYOUTS, MEMORIES
from benches.cases import CASES
from benches.table import Table

RESULTS = Path(__file__).parent / "results"
SIZES = [(128, 128, 60), (256, 256, 80)]
DTYPES = ("float64", "float32")


def main() -> None:
    """Run what the command line asks for."""
    arguments = _parser().parse_args()
    if arguments.what == "storages":
        bandwidth.let_threads_rest()
    threads.limit(max(arguments.threads))
    described = machine.describe() | {"threads": ",".join(map(str, arguments.threads))}
    print(", ".join(f"{key} {value}" for key, value in described.items()), end="\n\n")
    results = []
    measure, file = MEASURES[arguments.what]
    for text, figures in measure(arguments):
        print(text, end="\n\n", flush=True)
        results.append(figures)
    output = arguments.output or RESULTS / file
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"machine": described, "results": results}, indent=1) + "\n")
    print(f"written to {output}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=tuple(MEASURES),
        default="stencils",
        help="what is measured (default %(default)s)",
    )
    parser.add_argument(
        "--rounds", type=int, help="turns of each contender (default 15, for compile 5, which take as many processes)"
    )
    parser.add_argument(
        "--threads",
        type=_several(int),
        default=[threads.available()],
        help="numbers of threads of each contender (default: all cores)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="the smallest grid, storages that are not large, fewer sizes of stencils"
    )
    parser.add_argument("--complete", action="store_true", help="all pairs of layouts of four axes")
    parser.add_argument("--markdown", action="store_true", help="print the tables as docs/performance.md has them")
    parser.add_argument(
        "--gt4py-python",
        metavar="PATH",
        help="interpreter that has GT4Py, for stencils and compile (default: this one for compile, if it has)",
    )
    parser.add_argument("--output", type=Path, help="where the figures go (default benches/results/)")
    stencils = parser.add_argument_group("stencils", "lists with commas, such as hdiff,vadv")
    stencils.add_argument("--only", type=_several(_one_of(CASES)), default=list(CASES), help="cases (default all)")
    stencils.add_argument("--sizes", type=_several(_size), default=SIZES, help="such as 128x128x60")
    stencils.add_argument("--dtypes", type=_several(_one_of(DTYPES)), default=list(DTYPES), help="element types")
    stencils.add_argument(
        "--layouts", type=_several(_one_of(LAYOUTS)), default=list(LAYOUTS), help="axes that are contiguous"
    )
    stencils.add_argument(
        "--memories", type=_several(_one_of(MEMORIES)), default=["padded"], help=f"how rows lie: {', '.join(MEMORIES)}"
    )
    stencils.add_argument(
        "--caches", type=_several(_one_of(("warm", "cold"))), default=["warm"], help="warm, cold (swept), or both"
    )
    stencils.add_argument(
        "--contenders",
        type=_several(_one_of(suite.PACKAGES)),
        default=list(suite.PACKAGES),
        help=f"packages: {', '.join(suite.PACKAGES)}",
    )
    return parser


def _several(convert: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    def words(text: str) -> list[Any]:
        return [convert(word) for word in text.split(",")]

    words.__name__ = "list"
    return words


def _one_of(known: Sequence[str] | dict[str, Any]) -> Callable[[str], str]:
    names = {name.lower(): name for name in known}

    def convert(word: str) -> str:
        if word.lower() not in names:
            raise argparse.ArgumentTypeError(f"expected some of {', '.join(known)}, got {word!r}")
        return names[word.lower()]

    return convert


def _size(word: str) -> tuple[int, ...]:
    points = tuple(int(number) for number in word.split("x") if number.isdigit())
    if len(points) != 3 or min(points) < 3:
        raise argparse.ArgumentTypeError(f"expected sizes such as 128x128x60, got {word!r}")
    return points


def _stencils(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    sizes = arguments.sizes[:1] if arguments.quick else arguments.sizes
    caches = [cache == "cold" for cache in arguments.caches]
    choice = suite.Choice(
        arguments.layouts, arguments.memories, arguments.contenders, arguments.rounds or 15, arguments.gt4py_python
    )
    for settings in suite.settings(arguments.only, sizes, arguments.dtypes, arguments.threads, caches):
        comparisons = []
        for setting in settings:
            comparisons.append(suite.compare(setting, choice))
            print(Table(*suite.details(comparisons[-1])).as_text(), end="\n\n", file=sys.stderr, flush=True)
        table = Table(*suite.summary(comparisons))
        text = table.as_markdown() if arguments.markdown else table.as_text()
        yield text, {"comparisons": [comparison.as_json() for comparison in comparisons]}


def _storages(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in storages.tables(arguments.rounds or 25, quick=arguments.quick, complete=arguments.complete):
        yield table.as_markdown() if arguments.markdown else table.as_text(), table.as_json()


def _compile(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in compile.tables(arguments.rounds or 5, arguments.gt4py_python, quick=arguments.quick):
        yield table.as_markdown() if arguments.markdown else table.as_text(), table.as_json()


MEASURES = {
    "stencils": (_stencils, "stencils.json"),
    "storages": (_storages, "storages.json"),
    "compile": (_compile, "compile.json"),
}

if __name__ == "__main__":
    main()
