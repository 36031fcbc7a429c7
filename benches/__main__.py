"""Runs the benchmarks, prints their tables and writes them to benches/results/."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benches import diffusion, machine, threads


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="turns of each contender (default %(default)s)")
    parser.add_argument(
        "--threads", type=int, default=threads.available(), help="of each contender (default %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="the smallest grid only")
    parser.add_argument("--markdown", action="store_true", help="print the tables as docs/performance.md has them")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "diffusion.json")
    arguments = parser.parse_args()

    threads.limit(arguments.threads)
    described = machine.describe() | {"threads": str(arguments.threads)}
    print(", ".join(f"{key} {value}" for key, value in described.items()), end="\n\n")
    sizes = diffusion.SIZES[:1] if arguments.quick else diffusion.SIZES
    results = []
    show = diffusion.format_markdown if arguments.markdown else diffusion.format_table
    for size in sizes:
        for dtype in ("float64", "float32"):
            table = diffusion.run(size, dtype, arguments.rounds)
            print(show(table), end="\n\n", flush=True)
            results.append(table.as_json())
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps({"machine": described, "results": results}, indent=1) + "\n")
    print(f"written to {arguments.output}")


if __name__ == "__main__":
    main()
