"""Runs the benchmarks, prints their tables and writes them to benches/results/."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benches import bandwidth, compile, diffusion, machine, storages, threads

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=tuple(MEASURES),
        default="stencils",
        help="what is measured (default %(default)s)",
    )
    parser.add_argument(
        "--rounds", type=int, help="turns of each contender (default 25, for compile 5, which take as many processes)"
    )
    parser.add_argument(
        "--threads", type=int, default=threads.available(), help="of each contender (default %(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="the smallest grid, storages that are not large, fewer sizes of stencils"
    )
    parser.add_argument("--complete", action="store_true", help="all pairs of layouts of four axes")
    parser.add_argument("--markdown", action="store_true", help="print the tables as docs/performance.md has them")
    parser.add_argument(
        "--gt4py-python", metavar="PATH", help="interpreter that has GT4Py, for compile (default: this one, if it has)"
    )
    parser.add_argument("--output", type=Path, help="where the figures go (default benches/results/)")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (5 if arguments.what == "compile" else 25)

    if arguments.what == "storages":
        bandwidth.let_threads_rest()
    threads.limit(arguments.threads)
    described = machine.describe() | {"threads": str(arguments.threads)}
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


def _stencils(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    show = diffusion.format_markdown if arguments.markdown else diffusion.format_table
    for size in diffusion.SIZES[:1] if arguments.quick else diffusion.SIZES:
        for dtype in ("float64", "float32"):
            table = diffusion.run(size, dtype, arguments.rounds)
            yield show(table), table.as_json()


def _storages(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in storages.tables(arguments.rounds, quick=arguments.quick, complete=arguments.complete):
        yield table.as_markdown() if arguments.markdown else table.as_text(), table.as_json()


def _compile(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in compile.tables(arguments.rounds, arguments.gt4py_python, quick=arguments.quick):
        yield table.as_markdown() if arguments.markdown else table.as_text(), table.as_json()


MEASURES = {
    "stencils": (_stencils, "diffusion.json"),
    "storages": (_storages, "storages.json"),
    "compile": (_compile, "compile.json"),
}

if __name__ == "__main__":
    main()
