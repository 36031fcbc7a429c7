"""``fieldstone bench FILE:STENCIL --shape NIxNJxNK``: how long a call takes with each backend, and what limits it."""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldstone.commands import stencil_file
from fieldstone.errors import FieldstoneError

if TYPE_CHECKING:
    from fieldstone.gtscript.explanation import Explanation, FieldUse

WRONG_USE = 2
FAILED = 1

BACKENDS = ("cpu_ifirst", "cpu_kfirst", "numpy")
LAYOUTS = {"I": (2, 1, 0), "J": (1, 2, 0), "K": (0, 1, 2)}

# Turns of each backend, and how long each lasts at least (s): first untimed, then timed.
ROUNDS, WARM_UP, TURN = 9, 0.01, 0.03


@dataclass(frozen=True)
class Measured:
    """What one backend took.

    Attributes
    ----------
    backend : str
        The backend.
    contiguous : str
        The axis that fields are contiguous along.
    first_call : float
        Seconds from the definition to the first result.
    times : list of float
        Median seconds of a call in each round.
    """

    backend: str
    contiguous: str
    first_call: float
    times: list[float]

    @property
    def time(self) -> float:
        """The median."""
        return statistics.median(self.times)


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of ``fieldstone``.

    Parameters
    ----------
    commands : subparsers
        Of that parser.
    """
    bench = commands.add_parser(
        "bench",
        help="time a stencil with several backends, beside copying as many bytes",
        description=(
            "Imports a file and times a stencil of it with each backend, in turns, on storages that it makes. Says how "
            "many points are computed and how many bytes are moved in a second, each array counted once, beside what a "
            "copy of an array of that size moves."
        ),
    )
    bench.add_argument("stencil", metavar="FILE:STENCIL", help="a Python file, and a stencil in it")
    bench.add_argument(
        "--shape", type=stencil_file.points, metavar="NIxNJxNK", required=True, help="points of the domain"
    )
    bench.add_argument(
        "--backend",
        type=_words,
        metavar="B[,B]",
        help=f"backends, with commas (default: {','.join(BACKENDS)})",
    )
    bench.add_argument(
        "--layout",
        choices=LAYOUTS,
        metavar="I|J|K",
        help="axis that fields are contiguous along (default: each backend's own)",
    )
    bench.add_argument(
        "--threads", type=stencil_file.positive(int), metavar="T", help="threads to use (default: all cores)"
    )
    bench.add_argument(
        "--halo", type=_count, metavar="N", default=0, help="points around the domain (default: as far as is read)"
    )
    bench.add_argument(
        "--scalars",
        type=_scalar,
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="value of a scalar parameter (default: its own, or 1); can be repeated",
    )
    stencil_file.add_options(bench)
    bench.add_argument("--json", action="store_true", help="print everything as JSON")
    bench.set_defaults(run=_run, prog=bench.prog)


def _words(text: str) -> list[str]:
    return [word for word in (part.strip() for part in text.split(",")) if word]


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text!r}")
    return int(text)


def _scalar(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        number = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        number = None
    if not isinstance(number, int | float):
        raise argparse.ArgumentTypeError(f"{name} is {value!r}, expected a number, True or False")
    return name, number


def _run(options: argparse.Namespace) -> int:
    from fieldstone import num_threads, set_num_threads

    threads = num_threads()
    try:
        set_num_threads(options.threads or threads)
        return _bench(options)
    except (stencil_file.WrongUseError, FieldstoneError) as problem:
        print(f"{options.prog}: {str(problem).rstrip()}", file=sys.stderr)
        return WRONG_USE
    except MemoryError as problem:
        print(f"{options.prog}: {problem}; choose a smaller --shape", file=sys.stderr)
        return WRONG_USE
    finally:
        set_num_threads(threads)


def _bench(options: argparse.Namespace) -> int:
    path, name = stencil_file.split(options.stencil)
    module = stencil_file.imported(path, options.prog)
    if module is None:
        return FAILED
    if name is None:
        known = stencil_file.listed(path, module).rstrip()
        raise stencil_file.WrongUseError(f"which stencil of the file? It has:\n{known}")
    value = stencil_file.found(path, module, name)
    contenders = [_Contender(value, name, options, backend) for backend in options.backend or BACKENDS]
    explanation = contenders[0].explanation
    source, target = (_array(("I", "J", "K"), options.shape, _widest(explanation), None) for _ in range(2))

    def copy() -> None:
        target[...] = source

    times = _in_turns([*(contender.call for contender in contenders), copy])
    measured = [
        Measured(one.backend, one.contiguous, one.first_call, found)
        for one, found in zip(contenders, times, strict=False)
    ]
    bandwidth = 2 * source.nbytes / statistics.median(times[-1])
    show = _as_json if options.json else _as_text
    sys.stdout.write(show(options, explanation, measured, bandwidth))
    return 0


class _Contender:
    """A stencil with one backend, and fields for it."""

    def __init__(self, value: Any, name: str, options: argparse.Namespace, backend: str) -> None:
        self.backend = backend
        begin = time.perf_counter()
        stencil = stencil_file.compiled(value, name, options, backend)
        made = time.perf_counter() - begin
        self.explanation: Explanation = stencil.explain(
            domain=options.shape, **({"layout": options.layout} if options.layout else {})
        )
        fields = {use.name: _field(use, options, backend) for use in self.explanation.fields}
        self.contiguous = options.layout or ("K" if backend in ("debug", "numpy", "cpu_kfirst") else "I")
        scalars = _scalars(stencil, self.explanation, options)

        def call() -> None:
            stencil(**fields, **scalars, domain=options.shape)

        self.call: Callable[[], None] = call
        begin = time.perf_counter()
        call()
        self.first_call = made + time.perf_counter() - begin


def _scalars(stencil: Any, explanation: Explanation, options: argparse.Namespace) -> dict[str, Any]:
    import inspect

    given = dict(options.scalars)
    unknown = [name for name in given if name not in explanation.scalars]
    if unknown:
        known = ", ".join(explanation.scalars) or "none"
        raise stencil_file.WrongUseError(
            f"{unknown[0]!r} is no scalar parameter of {explanation.name!r}: it has {known}"
        )
    function = stencil.recipe.function if stencil.recipe is not None else None
    parameters = inspect.signature(function).parameters if function is not None else {}
    found = {}
    for name, dtype in explanation.scalars.items():
        own = parameters[name].default if name in parameters else inspect.Parameter.empty
        if name in given:
            found[name] = np.dtype(dtype).type(given[name]).item()
        elif own is inspect.Parameter.empty:
            found[name] = np.dtype(dtype).type(1).item()
    return found


def _field(use: FieldUse, options: argparse.Namespace, backend: str) -> Any:
    """Make a field as large as the stencil needs it, with numbers between one and two in it."""
    points = dict(zip("IJK", options.shape, strict=True))
    least = {"I": options.halo, "J": options.halo, "K": 0}
    around = []
    for axis in use.axes:
        lower, upper = use.extent.get(axis, (0, 0))
        around.append((max(lower, least[axis], 0), max(upper, least[axis], 0)))
    shape = tuple(points[axis] + lower + upper for axis, (lower, upper) in zip(use.axes, around, strict=True))
    dims = (*use.axes, *map(str, range(len(use.data_dims))))
    shape += use.data_dims
    if not use.axes:
        field: Any = np.empty(shape, use.dtype)
    else:
        halo = (*around, *((0, 0) for _ in use.data_dims))
        field = _array(dims, shape, use.dtype, options.layout, halo=halo, preset=backend)
    # Integers may be offsets or indices: zero is one that every field has.
    real = np.dtype(use.dtype).kind == "f"
    field[...] = np.random.default_rng(0).uniform(1, 2, shape).astype(use.dtype) if real else np.zeros(shape, use.dtype)
    return field


def _array(
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    dtype: str,
    layout: str | None,
    *,
    halo: tuple[tuple[int, int], ...] | None = None,
    preset: str = "cpu_ifirst",
) -> Any:
    from fieldstone import storage

    if layout is None:
        return storage.empty(shape, dtype, dims=dims, halo=halo, defaults=preset)
    # Axes of data have the largest strides, as presets have it.
    order = sorted(dims, key=lambda axis: LAYOUTS[layout]["IJK".index(axis)] if axis in LAYOUTS else -1)
    permutation = tuple(order.index(axis) for axis in dims)
    return storage.empty(shape, dtype, dims=dims, halo=halo, layout=permutation, alignment_size=64)


def _widest(explanation: Explanation) -> str:
    """Type of most of what is moved."""
    moved = [(use.bytes_read + use.bytes_written, use.dtype) for use in explanation.fields if use.axes == "IJK"]
    return max(moved)[1] if moved else "float64"


def _in_turns(calls: list[Callable[[], None]]) -> list[list[float]]:
    """Return for each call its median times in all rounds; each is called untimed first."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, found in zip(calls, times, strict=True):
            found.append(statistics.median(_turn(call)))
    return times


def _turn(call: Callable[[], None]) -> Iterator[float]:
    clock = time.perf_counter
    begin = clock()
    while True:
        call()
        if clock() - begin > WARM_UP:
            break
    begin = clock()
    while True:
        before = clock()
        call()
        after = clock()
        yield after - before
        if after - begin > TURN:
            return


def _as_json(options: argparse.Namespace, explanation: Explanation, measured: list[Measured], bandwidth: float) -> str:
    from fieldstone import num_threads

    moved, points = explanation.costs.total_bytes or 0, explanation.costs.points or 0
    facts = {
        "stencil": explanation.name,
        "file": explanation.file,
        "shape": options.shape,
        "threads": num_threads(),
        "bytes": moved,
        "floating": explanation.costs.total_floating,
        "copy_bandwidth": bandwidth,
        "backends": [
            asdict(one)
            | {
                "time": one.time,
                "points_per_second": points / one.time,
                "bandwidth": moved / one.time,
                "of_copy": moved / one.time / bandwidth,
            }
            for one in measured
        ],
    }
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def _as_text(options: argparse.Namespace, explanation: Explanation, measured: list[Measured], bandwidth: float) -> str:
    from fieldstone import num_threads

    costs, threads = explanation.costs, num_threads()
    moved, points = costs.total_bytes or 0, costs.points or 0
    lines = [
        f"{explanation.name}, {' x '.join(map(str, options.shape))}, {threads} thread{'' if threads == 1 else 's'}: "
        f"{costs.bytes:.4g} bytes and {costs.floating:.4g} floating-point operations per point",
        f"copy of an array of that size: {bandwidth / 1e9:.1f} GB/s",
        "",
    ]
    rows = [("backend", "contiguous", "first result", "call", "quartiles", "points/s", "GB/s", "of copy")]
    for one in measured:
        low, _, high = statistics.quantiles(one.times, n=4, method="inclusive")
        rows.append(
            (
                one.backend,
                one.contiguous,
                _duration(one.first_call),
                _duration(one.time),
                f"{_duration(low)} - {_duration(high)}",
                f"{points / one.time / 1e6:.4g} M",
                f"{moved / one.time / 1e9:.3g}",
                f"{moved / one.time / bandwidth:.0%}",
            )
        )
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.ljust(width) if n < 2 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
