"""The demo's two stencils: fieldstone beside C, Numba and NumPy on the same memory."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import fieldstone.storage
from benches import measure, native, numpy_schemes
from fieldstone import gtscript
from fieldstone.demo import stencils

# Points of the compute domain along I, J and K: the demo's, one that fits the caches, one that does not.
SIZES = [(96, 96, 15), (128, 128, 60), (256, 256, 80)]
BACKENDS = ("cpu_ifirst", "cpu_kfirst")
HALO = 2
TIME_STEP, DIFFUSIVITY = 30.0, 5.0

# How far results may be from NumPy's, relative to the largest value, since C may contract operations.
TOLERANCE = {"float64": 1e-12, "float32": 2e-5}


@dataclass
class Row:
    """One contender's figures for one stencil."""

    stencil: str
    contender: str
    time: float
    bandwidth: float
    of_copy: float
    relative_to_c: float


@dataclass
class Table:
    """All contenders on one grid."""

    size: tuple[int, int, int]
    dtype: str
    copy_bandwidth: float
    rows: list[Row] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


class Fields:
    """The arguments of both stencils in one memory layout, all layouts with the same values."""

    def __init__(self, size: tuple[int, int, int], dtype: str, preset: str) -> None:
        ni, nj, nk = size
        random = np.random.default_rng(0)
        shape = (ni + 2 * HALO, nj + 2 * HALO, nk)

        def allocate(dims: str, values: Any) -> Any:
            lengths = tuple(shape["IJK".index(dim)] for dim in dims)
            halo = tuple(0 if dim == "K" else HALO for dim in dims)
            storage = fieldstone.storage.empty(lengths, dtype, dims=tuple(dims), defaults=preset, halo=halo)
            storage[...] = values
            return storage

        self.phi = allocate("IJK", (288 + random.random(shape)).astype(dtype))
        self.coefficient = allocate("IJK", np.full(shape, 1 / 64, dtype))
        self.phi_new = allocate("IJK", np.zeros(shape, dtype))
        self.level_height = allocate("K", (5 + np.arange(nk) * (15 + np.arange(nk))).astype(dtype))
        self.sigma = allocate("K", np.linspace(1, 0.9, nk).astype(dtype))
        self.surface_altitude = allocate("IJ", (500 * random.random(shape[:2])).astype(dtype))
        self.frame = {"origin": (HALO, HALO, 0), "domain": size}

    def kji(self, *names: str) -> list[np.ndarray]:
        """Return the named fields as NumPy arrays indexed [k, j, i], without copying."""
        return [np.asarray(getattr(self, name)).transpose() for name in names]

    def result(self) -> np.ndarray:
        """Copy of the inner points of `phi_new`, which is then cleared."""
        inner = np.asarray(self.phi_new)[HALO:-HALO, HALO:-HALO].copy()
        self.phi_new[...] = 0
        return inner


HORIZONTAL = ("phi", "coefficient", "phi_new")
VERTICAL = ("phi", "level_height", "sigma", "surface_altitude", "phi_new")

# Arrays of the compulsory traffic, each read or written once.
TRAFFIC = {"horizontal diffusion": 3, "vertical diffusion": 2}


def run(size: tuple[int, int, int], dtype: str, rounds: int) -> Table:
    """Time every contender on one grid, after checking that all compute the same."""
    fields = {preset: Fields(size, dtype, preset) for preset in BACKENDS}
    i_first = fields["cpu_ifirst"]
    library = native.build()
    copies = _copies(library, i_first)
    copy_time = min(measure.in_turns(copies, rounds).values())
    array_bytes = np.prod(size) * np.dtype(dtype).itemsize
    table = Table(size, dtype, float(2 * array_bytes / copy_time))
    for name in TRAFFIC:
        contenders = dict(_contenders(name, fields, library, dtype))
        _check(name, contenders, fields, dtype)
        medians = measure.in_turns(contenders, rounds)
        for contender, time in medians.items():
            bandwidth = float(TRAFFIC[name] * array_bytes / time)
            ratio = time / medians["C"] if "C" in medians else float("nan")
            table.rows.append(Row(name, contender, time, bandwidth, bandwidth / table.copy_bandwidth, ratio))
    return table


def _copies(library: Any, fields: Fields) -> dict[str, Callable[[], object]]:
    source, target = fields.kji("phi", "phi_new")
    copies: dict[str, Callable[[], object]] = {"numpy": lambda: np.copyto(target, source)}
    if library is not None:
        copies |= native.copy(library, source, target)
    return copies


def _contenders(
    name: str, fields: dict[str, Fields], library: Any, dtype: str
) -> Iterator[tuple[str, Callable[[], object]]]:
    horizontal = name == "horizontal diffusion"
    physics: dict[str, Any] = {} if horizontal else {"dt": TIME_STEP, "diffusivity": DIFFUSIVITY}
    definition = stencils.horizontal_diffusion if horizontal else stencils.vertical_diffusion
    names = HORIZONTAL if horizontal else VERTICAL

    for backend in BACKENDS:
        stencil = gtscript.stencil(backend=backend, definition=definition, dtypes={"real": np.dtype(dtype)})
        arguments = [getattr(fields[backend], argument) for argument in names]
        yield f"fieldstone {backend}", _bound(stencil, *arguments, **physics, **fields[backend].frame)

    arrays = fields["cpu_ifirst"].kji(*names)
    if library is not None:
        build = native.horizontal_diffusion if horizontal else native.vertical_diffusion
        variants = build(library, *arrays, *physics.values())
        yield "C", variants[measure.fastest(variants)]
    if importlib.util.find_spec("numba") is not None:
        from benches import numba_schemes

        inside = arrays if horizontal else [_inside(array) for array in arrays]
        yield "Numba", _bound(getattr(numba_schemes, definition.__name__), *inside, *physics.values())
    inside = arrays if horizontal else [_inside(array) for array in arrays]
    yield "NumPy", _bound(getattr(numpy_schemes, definition.__name__), *inside, *physics.values())


def _bound(function: Callable[..., object], *arguments: Any, **keywords: Any) -> Callable[[], object]:
    return lambda: function(*arguments, **keywords)


def _inside(array: np.ndarray) -> np.ndarray:
    """Return the array without its halo in I and J."""
    return array if array.ndim == 1 else array[..., HALO:-HALO, HALO:-HALO]


def _check(name: str, contenders: dict[str, Callable[[], object]], fields: dict[str, Fields], dtype: str) -> None:
    """Raise if a contender's result is not NumPy's."""
    results = {}
    for contender, call in contenders.items():
        call()
        layout = "cpu_kfirst" if contender.endswith("cpu_kfirst") else "cpu_ifirst"
        results[contender] = fields[layout].result()
    for contender, result in results.items():
        error = float(np.max(np.abs(result - results["NumPy"])) / np.max(np.abs(results["NumPy"])))
        if not error <= TOLERANCE[dtype]:
            raise RuntimeError(f"{contender} and NumPy differ by {error:.1e} in {name}, {dtype}")


def format_table(table: Table) -> str:
    """Table for people."""
    size = " x ".join(map(str, table.size))
    lines = [
        f"{size} {table.dtype}, copy bandwidth {table.copy_bandwidth / 1e9:.1f} GB/s",
        f"{'':22}{'':24}{'time':>11}{'GB/s':>9}{'of copy':>9}{'x C':>8}",
    ]
    stencil = ""
    for row in table.rows:
        label, stencil = ("" if row.stencil == stencil else row.stencil), row.stencil
        lines.append(
            f"{label:22}{row.contender:24}{row.time * 1e6:8.1f} µs{row.bandwidth / 1e9:9.1f}"
            f"{row.of_copy:9.0%}{row.relative_to_c:8.2f}"
        )
    return "\n".join(lines)


def format_markdown(table: Table) -> str:
    """Table for docs/performance.md."""
    size = " x ".join(map(str, table.size))
    lines = [
        f"**{size}, {table.dtype}**; copy bandwidth {table.copy_bandwidth / 1e9:.0f} GB/s",
        "",
        "| | | time / µs | GB/s | of copy | x C |",
        "|---|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.stencil} | {row.contender} | {row.time * 1e6:.1f} | {row.bandwidth / 1e9:.1f} "
        f"| {row.of_copy:.0%} | {row.relative_to_c:.2f} |"
        for row in table.rows
    ]
    return "\n".join(lines)
