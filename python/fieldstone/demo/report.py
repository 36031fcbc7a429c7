"""The demo's tables, and whether its backends agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from fieldstone.demo.data import Case
from fieldstone.demo.run import INTERPRETER, NUMPY, CompileTime, Run, traffic

# Rounding errors (in units of the last place of the largest value) by which NumPy may differ.
TOLERANCE = 16


@dataclass(frozen=True)
class Comparison:
    """How far a run's result is from the two references.

    Attributes
    ----------
    to_interpreter, to_numpy : float
        Largest absolute difference at any point, in the units of the variable.
    agrees : bool
        Whether it equals the interpreter's bit for bit and NumPy's up to rounding errors.
    """

    to_interpreter: float
    to_numpy: float
    agrees: bool


def compare(run: Run, runs: Sequence[Run]) -> Comparison:
    """Compare a run with those of the interpreter and of NumPy among `runs`."""
    interpreter = next(other.result for other in runs if other.backend == INTERPRETER)
    numpy = next(other.result for other in runs if other.backend == NUMPY)
    largest = float(np.max(np.abs(numpy), initial=0.0, where=np.isfinite(numpy)))
    limit = TOLERANCE * float(np.finfo(run.result.dtype).eps) * largest
    to_numpy = _largest_difference(run.result, numpy)
    exact = run.backend == NUMPY or np.array_equal(run.result, interpreter, equal_nan=True)
    return Comparison(_largest_difference(run.result, interpreter), to_numpy, exact and to_numpy <= limit)


def _largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    # Numbers too large for their type are no disagreement where both overflow.
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)), initial=0.0, where=~same))


def show(
    console: Console,
    case: Case,
    device: str,
    steps: int,
    compiled: Sequence[CompileTime],
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
    copy_bandwidth: float,
) -> None:
    """Print what was computed and on what, then one line per run."""
    shape, gaps = case.shape, int(case.missing.sum())
    facts = Table(box=None, show_header=False, pad_edge=False)
    for name, value in (
        ("variable", f"{case.phi.name} / {case.phi.attrs.get('units', '1')}, {case.phi.dtype}, from {case.path.name}"),
        ("grid", f"{shape['I']} x {shape['J']} x {shape['K']} points (I x J x K), in memory {_memory_order(case)}"),
        ("heights", case.vertical),
        *([("missing", f"{gaps} values, filled with the mean of their level")] if gaps else []),
        ("steps", str(steps)),
        ("device", device),
        ("copy bandwidth", f"{copy_bandwidth / 1e9:.1f} GB/s for an array of this size"),
        *(
            (f"compile {time.stencil}", f"{time.cold * 1e3:.0f} ms cold, {time.cached * 1e3:.1f} ms from cache")
            for time in compiled
        ),
    ):
        facts.add_row(name, value)
    console.print(facts)
    console.print()

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    units = case.phi.attrs.get("units", "1")
    table.add_column("\nbackend", min_width=10)
    table.add_column("called\nwith", min_width=8)
    for heading in (
        "horiz.\nµs",
        "vert.\nµs",
        "step\nµs",
        "\nGB/s",
        "of\ncopy",
        f"|Δ| to\n{INTERPRETER}",
        f"|Δ| to\n{NUMPY}",
    ):
        table.add_column(heading, justify="right")
    table.add_column("\nsame", min_width=4)
    for run, comparison in zip(runs, comparisons, strict=True):
        bandwidth = traffic(case) / run.step_time
        table.add_row(
            run.backend,
            run.arguments,
            *(f"{time * 1e6:.0f}" for time in (run.horizontal_time, run.vertical_time, run.step_time)),
            f"{bandwidth / 1e9:.1f}",
            f"{bandwidth / copy_bandwidth:.0%}",
            f"{comparison.to_interpreter:.2g}",
            f"{comparison.to_numpy:.2g}",
            "yes" if comparison.agrees else "[bold red]NO[/]",
        )
    console.print(table)
    console.print(f"\n|Δ|: largest difference at any point, in {units}. Of copy: share of the copy bandwidth.\n")


def _memory_order(case: Case) -> str:
    """Axes from the largest stride to the smallest."""
    axes = {dim: axis for axis, dim in case.dims.items()}
    strides = dict(zip(case.phi.dims, case.phi.values.strides, strict=True))
    return ", ".join(axes[dim] for dim in sorted(case.phi.dims, key=lambda dim: -strides[dim]))
