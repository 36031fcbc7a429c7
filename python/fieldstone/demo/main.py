"""The main job from start to end: read, run on every backend, compare, write, show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import xarray as xr
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import fieldstone
from fieldstone.demo import data, figure, report, run
from fieldstone.demo.errors import DemoError


@dataclass(frozen=True)
class Options:
    """What the user may choose; None stands for what the file or the machine suggests."""

    input: Path | None = None
    variable: str | None = None
    backend: str = "cpu_ifirst"
    steps: int = 50
    dtype: str | None = None
    output: Path = Path("fieldstone-demo")


def main(options: Options, console: Console) -> bool:
    """Do the job.

    Returns
    -------
    bool
        Whether all backends agree.

    Raises
    ------
    DemoError
        If the input cannot be used or the output not be written.
    fieldstone.errors.FieldstoneError
        If the backend is unknown or a stencil cannot run.
    """
    case = data.read(options.input, options.variable, options.dtype)
    _make_folder(options.output)
    device = run.device(options.backend)
    planned = [(options.backend, run.STORAGES)]
    if not run.is_on_device(options.backend):
        planned.insert(0, (options.backend, run.XARRAY))
    planned += [(backend, run.XARRAY) for backend in (run.NUMPY, run.INTERPRETER) if backend != options.backend]

    compiled = run.compile_times(case, options.backend)
    bandwidth = run.copy_bandwidth(case, options.backend)
    runs = []
    with _progress(console) as progress:
        for backend, kind in planned:
            task = progress.add_task(f"{backend}, {kind}", total=options.steps)
            runs.append(run.diffuse(case, backend, kind, options.steps, partial(progress.advance, task)))
    comparisons = [report.compare(one, runs) for one in runs]

    threads = fieldstone.num_threads()
    place = (
        f"CPU, {threads} thread{'s' if threads != 1 else ''}" if device.kind == "host" else f"{device!r}".strip("<>")
    )
    report.show(console, case, place, options.steps, compiled, runs, comparisons, bandwidth)
    for path in _write(case, runs[0], options):
        console.print(f"written to {path}", highlight=False)
    agree = all(comparison.agrees for comparison in comparisons)
    console.print("all backends agree" if agree else "[bold red]the backends do not agree[/]")
    return agree


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    )


def _make_folder(path: Path) -> None:
    """Fail before the work is done rather than after it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DemoError(f"cannot write to {str(path)!r}: {error.strerror or error}") from None


def _write(case: data.Case, one: run.Run, options: Options) -> list[Path]:
    """Write the variable before and after as NetCDF, and the picture."""
    order = [case.dims[axis] for axis in "IJK"]
    before = case.phi.where(~case.missing).assign_attrs(case.phi.attrs)
    after = before.transpose(*order).copy(data=one.result).where(~case.missing).transpose(*before.dims)
    after = after.assign_attrs(case.phi.attrs)
    name = str(case.phi.name)
    dataset = xr.Dataset(
        {name: after, f"{name}_change": (after - before).assign_attrs(units=str(case.phi.attrs.get("units", "1")))},
        attrs={"Conventions": "CF-1.8", "title": f"{name} after {options.steps} steps of diffusion"},
    )
    for variable in dataset.variables.values():
        variable.encoding.clear()
    result, picture = options.output / f"{name}.nc", options.output / f"{name}.png"
    title = f"{name.replace('_', ' ').capitalize()}: {options.steps} steps of horizontal and vertical diffusion"
    try:
        dataset.to_netcdf(result, engine="netcdf4")
        figure.save(figure.draw(case, before, after, title), picture)
    except OSError as error:
        raise DemoError(f"cannot write to {str(options.output)!r}: {error.strerror or error}") from None
    return [result, picture]
