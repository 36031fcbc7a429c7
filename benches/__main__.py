"""Runs the benchmarks, prints their tables and writes them to benches/results/."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benches import (
    bandwidth,
    calls,
    compile,
    figures,
    functions,
    gpu,
    limits,
    machine,
    memory,
    repeated,
    selection,
    storages,
    suite,
    threads,
)
from benches.arguments import LAYOUTS, MEMORIES
from benches.cases import CASES
from benches.table import Table

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run what the command line asks for."""
    parser = _parser()
    arguments = parser.parse_args()
    output = _output(arguments)
    if arguments.what == "figures":
        if not output.is_file():
            parser.error(f"there is no file {str(output)!r} that stencils have written")
        _figures(output)
        return
    if arguments.what == "repeated":
        if arguments.beside is None:
            parser.error("repeated needs the file of a run before: --beside FILE")
        for path in (arguments.beside, output):
            if not path.is_file():
                parser.error(f"there is no file {str(path)!r} that stencils have written")
        _repeated(arguments.beside, output, markdown=arguments.markdown)
        return
    if arguments.what in ("storages", "limits"):
        bandwidth.let_threads_rest()
    count = arguments.threads or [threads.available()]
    threads.limit(max(count))
    described = machine.describe() | {"threads": ",".join(map(str, count))}
    print(", ".join(f"{key} {value}" for key, value in described.items()), end="\n\n")
    results = []
    output.parent.mkdir(parents=True, exist_ok=True)
    for text, found in MEASURES[arguments.what](arguments):
        print(text, end="\n\n", flush=True)
        results.append(found)
        # What was measured is kept if somebody interrupts.
        output.write_text(json.dumps({"machine": described, "results": results}, indent=1) + "\n")
    print(f"written to {output}")
    if arguments.what == "stencils" and importlib.util.find_spec("matplotlib") is not None:
        _figures(output)


def _output(arguments: argparse.Namespace) -> Path:
    measured = "stencils" if arguments.what in ("figures", "repeated") else arguments.what
    given = arguments.output or RESULTS
    return given / f"{measured}.json" if given == RESULTS or given.is_dir() else given


def _figures(written: Path) -> None:
    for path in figures.draw(written, written.parent):
        print(f"written to {path}")


def _repeated(first: Path, second: Path, *, markdown: bool) -> None:
    for table in repeated.tables(first, second):
        print(table.as_markdown() if markdown else table.as_text(), end="\n\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=(*MEASURES, "figures", "repeated"),
        default="stencils",
        help="what is measured; or figures: draw what stencils have written, repeated: show it beside that of a run "
        "before (default %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=_whole,
        help="turns of each contender (default: stencils, limits and gpu 11, compile 5, memory 3, others 25)",
    )
    parser.add_argument(
        "--threads",
        type=_several(_whole),
        help="numbers of threads of each contender (default: all cores)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="the smallest grid, storages that are not large, fewer sizes of stencils"
    )
    parser.add_argument(
        "--complete", action="store_true", help="all combinations of stencils, all pairs of layouts of four axes"
    )
    parser.add_argument("--markdown", action="store_true", help="print the tables as docs/performance.md has them")
    parser.add_argument(
        "--gt4py-python",
        type=_program,
        metavar="PATH",
        help="interpreter that has GT4Py, for stencils and compile (default: this one for compile, if it has)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="file or folder for what was measured, beside which it is drawn (default benches/results/)",
    )
    parser.add_argument(
        "--beside", type=Path, metavar="FILE", help="for repeated: what stencils have written in a run before"
    )
    stencils = parser.add_argument_group(
        "stencils", "lists with commas, such as hdiff,vadv; without any, what says most"
    )
    stencils.add_argument("--only", type=_several(_one_of(CASES)), dest="cases", help="cases (default all)")
    stencils.add_argument("--sizes", type=_several(_size), help="such as 128x128x60")
    stencils.add_argument("--dtypes", type=_several(_one_of(selection.DTYPES)), help="element types")
    stencils.add_argument("--layouts", type=_several(_one_of(LAYOUTS)), help="axes that are contiguous")
    stencils.add_argument("--memories", type=_several(_one_of(MEMORIES)), help=f"how rows lie: {', '.join(MEMORIES)}")
    stencils.add_argument("--caches", type=_several(_one_of(("warm", "cold"))), help="warm, cold (swept), or both")
    stencils.add_argument(
        "--contenders",
        type=_several(_one_of(suite.PACKAGES)),
        dest="packages",
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


def _whole(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= 1024:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 1024, got {word!r}")
    return int(word)


def _program(word: str) -> str:
    if shutil.which(word) is None:
        raise argparse.ArgumentTypeError(f"there is no program {word!r}")
    return word


def _size(word: str) -> tuple[int, ...]:
    points = tuple(int(number) for number in word.split("x") if number.isdigit())
    if len(points) != 3 or min(points) < 3:
        raise argparse.ArgumentTypeError(f"expected sizes such as 128x128x60, got {word!r}")
    return points


def _stencils(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    for selected in _selected(arguments):
        choice = suite.Choice(
            selected.layouts,
            selected.memories,
            selected.packages,
            arguments.rounds or selection.ROUNDS,
            arguments.gt4py_python,
        )
        for settings in selected.settings():
            comparisons = []
            for setting in settings:
                comparisons.append(suite.compare(setting, choice))
                print(suite.details(comparisons[-1]).as_text(), end="\n\n", file=sys.stderr, flush=True)
            table = suite.summary(comparisons)
            text = table.as_markdown() if arguments.markdown else table.as_text()
            yield text, {"comparisons": [comparison.as_json() for comparison in comparisons]}


def _selected(arguments: argparse.Namespace) -> list[selection.Selection]:
    words = ("cases", "sizes", "dtypes", "threads", "caches", "layouts", "memories", "packages")
    given = {word: getattr(arguments, word) for word in words if getattr(arguments, word) is not None}
    if given:
        return [selection.Selection(**given)]
    if arguments.quick:
        return [selection.Selection(sizes=selection.SIZES[:1])]
    return selection.complete() if arguments.complete else selection.usual()


def _shown(tables: Iterable[Table], arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in tables:
        yield table.as_markdown() if arguments.markdown else table.as_text(), table.as_json()


def _storages(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    tables = storages.tables(arguments.rounds or 25, quick=arguments.quick, complete=arguments.complete)
    return _shown(tables, arguments)


def _compile(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    return _shown(compile.tables(arguments.rounds or 5, arguments.gt4py_python, quick=arguments.quick), arguments)


def _calls(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    return _shown(calls.run(arguments.rounds or 25), arguments)


def _gpu(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    sizes, dtypes = arguments.sizes or gpu.SIZES, arguments.dtypes or gpu.DTYPES
    return _shown(gpu.tables(arguments.rounds or 11, tuple(sizes), tuple(dtypes)), arguments)


def _memory(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    return _shown(memory.run(arguments.rounds or 3), arguments)


def _limits(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    return _shown(limits.run(arguments.rounds or 11), arguments)


def _functions(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    return _shown(functions.run(arguments.rounds or 25), arguments)


MEASURES = {
    "stencils": _stencils,
    "storages": _storages,
    "compile": _compile,
    "calls": _calls,
    "memory": _memory,
    "functions": _functions,
    "limits": _limits,
    "gpu": _gpu,
}

if __name__ == "__main__":
    main()
