"""The least that stencils and changes of layout have to do, in C, beside what fieldstone takes: ``ARGS=limits``.

Where a table of stencils or of storages falls short of its goal, these say how much of that C can do anything about.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from benches import bandwidth, paired
from benches.arguments import CACHE_LINE, Arguments
from benches.cases import CASES
from benches.contenders import WARM_UP, Contender, fieldstone
from benches.table import Table, amount, duration
from fieldstone import storage

# Points along I, J and K: what does not fit the caches, what the last one holds, and what each core's own do.
LARGE, SMALL, TINY = (256, 256, 80), (128, 128, 60), (64, 64, 40)

# What is read, and written once more, by a solver such as `vadv`.
FIELDS, MOVED = 5, 6

ONLY_READ = "C, one after the other from begin to end, and none written"

# Bytes of a level in blocks of columns, and levels ahead of which lines are asked for.
BLOCKS, AHEAD = (256, 512, 2048), (0, 2)

# Columns that are turned, as many as leave room in the cores' own caches.
COLUMNS = 256

# How many fields with contiguous columns a solver turns into vectors of levels, there and back.
TURNED = {"vdiff": 1, "vadv": 4}

# Ways of a solver in C, by the axis along which arrays are contiguous, with their numbers; and vectors of a block.
WAYS = {"I": {"": 0}, "K": {", squares before levels": 1, ", squares between levels": 2}}
VECTORS = (2, 4)

# Stencils whose rows are computed in the first-level cache by C, with the fields that it reads.
ROWS = {"hdiff": 2, "edges": 1}

# Stencils over neighbours in the plane, in C for contiguous columns: how many of these are a block, whether results go
# past the caches, and whether the row after the next one is asked for.
PLANES = ("lap7", "hdiff")
BLOCKS_OF_COLUMNS, PAST, ASKED = (8, 16, 32, 128), (0, 1), (0, 1)

Timed = Callable[[int], float]


def run(rounds: int) -> Iterator[Table]:
    """Measure rows without memory, an order of reading, columns as vectors, a whole solver, planes, and squares."""
    yield _rows(rounds)
    yield _reading(rounds)
    yield _columns(rounds)
    yield _solver(rounds)
    yield _planes(rounds)
    yield _squares(rounds)


def _rows(rounds: int) -> Table:
    """Stencils beyond the caches, beside C that only computes and C that only reads and writes as much."""
    ni, nj, nk = LARGE
    columns = ["type", "along I", "/ cores alone", "/ memory alone", "/ a copy of as many bytes"]
    note = "cores alone: the same arithmetic, on rows in the first-level cache; memory alone: as many fields, added"
    table = Table(f"Stencils on {_points(LARGE)} points, beside C", ["", *columns], note=note)
    for name, read in ROWS.items():
        for dtype in ("float64", "float32"):
            nbytes = ni * nj * nk * np.dtype(dtype).itemsize
            *fields, result = (_lines(nbytes) for _ in range(read + 1))
            rows = few_rows(read, ni, dtype)
            given = (ctypes.c_void_p * read)(*_addresses(fields))
            contenders = {
                "stencil": _stencil(name, LARGE, "I", dtype),
                "cores": _c(f"{name}_rows_{dtype}", nj * nk, ni, *_addresses(rows)),
                "memory": _c("sum_straight", nbytes, read, given, *_addresses([result])),
            }
            copies = dict(bandwidth.copies(result, fields[0]))
            measured = paired.measure(copies | contenders, rounds, warm_up=WARM_UP)
            alone = [measured.ratio("stencil", other) for other in ("cores", "memory")]
            copied = measured.ratio("stencil", *copies).mapped(lambda ratio, moved=read + 1: 2 / moved * ratio)
            table.add(f"`{name}`", dtype, duration(measured.time("stencil")), *alone, copied)
    return table


def few_rows(read: int, points: int, dtype: str) -> list[np.ndarray]:
    """Four rows of each field that is read, with two vectors on either side of the points, and room for results."""
    itemsize = np.dtype(dtype).itemsize
    blocks = [_lines(4 * (points * itemsize + 4 * CACHE_LINE)) for _ in range(read + 1)]
    for number, block in enumerate(blocks):
        block.view(dtype)[...] = np.arange(block.nbytes // itemsize) % (7 + number)
    return [block.view(dtype) for block in blocks]


def _reading(rounds: int) -> Table:
    """`vadv`, which reads five fields and writes one, beside C that does no more than this."""
    ni, nj, nk = LARGE
    plane, nbytes = ni * nj * 8, ni * nj * nk * 8
    blocks = [_lines(nbytes) for _ in range(FIELDS)]
    fields = (ctypes.c_void_p * FIELDS)(*_addresses(blocks))
    copies = dict(bandwidth.copies(blocks[0], blocks[1]))
    patterns = {
        ONLY_READ: _c("read_straight", nbytes, fields),
        "C, all together from begin to end": _c("update_straight", nbytes, fields),
    }
    for block in BLOCKS:
        for ahead in AHEAD:
            asked = f", asked for {ahead} levels ahead" if ahead else ""
            name = f"C, level by level in rows of {block} B{asked}"
            patterns[name] = _c("update_columns", nk, plane, block, ahead, fields)
    stencils = {f"`vadv` along {layout}": _stencil("vadv", LARGE, layout) for layout in "IK"}
    measured = paired.measure(copies | patterns | stencils, rounds, warm_up=WARM_UP)
    title = f"Five fields of {_points(LARGE)} float64 read and one of them written"
    table = Table(title, ["", "time", "GB/s", "of a copy's bandwidth"])
    copied = min(measured.time(name) for name in copies)
    table.add("a copy of one field", duration(copied), f"{2 * nbytes / copied / 1e9:.1f}", "1.00")
    for name in (*patterns, *stencils):
        moved = FIELDS if name == ONLY_READ else MOVED
        share = measured.ratio(name, *copies).mapped(lambda ratio, moved=moved: moved / 2 / ratio)
        spent = measured.time(name)
        table.add(name, duration(spent), f"{moved * nbytes / spent / 1e9:.1f}", share)
    return table


def _columns(rounds: int) -> Table:
    """Solvers along contiguous columns and along rows, and what it takes to turn columns into vectors and back."""
    room = pitch(SMALL, "float64", "K")
    source, target = (_lines(COLUMNS * room * 8) for _ in range(2))
    turning = _c("turn_columns", COLUMNS, room, room * 8, source.ctypes.data, target.ctypes.data)
    columns = ["along I", "along K", "/ along I", "along I, and columns turned by C"]
    title = f"Solvers along columns of {_points(SMALL)} float64"
    table = Table(title, ["", *columns], note="columns are turned in the cores' own caches")
    for name, fields in TURNED.items():
        contenders = {layout: _stencil(name, SMALL, layout) for layout in "IK"} | {"turned": turning}
        measured = paired.measure(contenders, rounds, warm_up=WARM_UP)
        times = fields * SMALL[0] * SMALL[1] / COLUMNS
        least = measured.ratio("turned", "I").mapped(lambda ratio, times=times: 1 + times * ratio)
        spent = [duration(measured.time(layout)) for layout in "IK"]
        table.add(f"`{name}`", *spent, measured.ratio("K", "I"), least)
    return table


def _solver(rounds: int) -> Table:
    """`vdiff` beside C with vectors in registers, whose arrays have no halo, along I and along K."""
    columns = ["along I", "along K", "/ along I", "C along I / along I", "C along K / along K", "C along K / along I"]
    note = "C along I and along K is written for each layout, without a halo"
    table = Table("`vdiff` along columns, beside C", ["", "type", *columns], note=note)
    for size in (SMALL, LARGE):
        for dtype in ("float64", "float32"):
            stencils = {layout: _stencil("vdiff", size, layout, dtype) for layout in WAYS}
            profile = Profile.of(size, dtype)
            written = {layout: dict(profile.contenders(layout)) for layout in WAYS}
            measured = paired.measure(stencils | written["I"] | written["K"], rounds, warm_up=WARM_UP)
            best = {layout: measured.fastest(*written[layout]) for layout in WAYS}
            spent = [duration(measured.time(layout)) for layout in WAYS]
            pairs = [("K", "I"), *((best[layout], layout) for layout in WAYS), (best["K"], "I")]
            table.add(_points(size), dtype, *spent, *(measured.ratio(*pair) for pair in pairs))
    return table


@dataclass(frozen=True)
class Profile:
    """What the solver in C reads, and where its results go."""

    size: tuple[int, int, int]
    height: np.ndarray
    sigma: np.ndarray
    ground: np.ndarray
    phi: np.ndarray
    phi_new: np.ndarray

    @classmethod
    def of(cls, size: tuple[int, int, int], dtype: str) -> Profile:
        """Return values like those of the benchmark, in arrays with room for either layout."""
        ni, nj, nk = size
        elements = max(nk * pitch(size, dtype, "I"), ni * nj * pitch(size, dtype, "K"))
        itemsize = np.dtype(dtype).itemsize
        phi, phi_new = (_lines(elements * itemsize).view(dtype) for _ in range(2))
        phi[...] = 1 + np.arange(phi.size) % 7
        ground = _lines(ni * nj * itemsize).view(dtype)
        ground[...] = np.arange(ground.size) % 5
        level = np.arange(nk) / nk
        height, sigma = 2e4 * level**2 + 500 * level, (1 - level) ** 2
        return cls(size, height.astype(dtype), sigma.astype(dtype), ground, phi, phi_new)

    def contenders(self, layout: str) -> Iterator[tuple[str, Timed]]:
        """All ways of the C along an axis."""
        for name, way in WAYS[layout].items():
            for vectors in VECTORS:
                yield f"C {layout}, {vectors} vectors{name}", self.contender(layout, way, vectors)

    def contender(self, layout: str, way: int, vectors: int) -> Timed:
        """One of them."""
        dtype = self.phi.dtype.name
        arrays = (self.height, self.sigma, self.ground, self.phi, self.phi_new)
        return _c(f"diffuse_{dtype}", way, vectors, *self.size, pitch(self.size, dtype, layout), *_addresses(arrays))


def pitch(size: tuple[int, int, int], dtype: str, layout: str) -> int:
    """Return the elements from one level to the next along I, and from one column to the next along K."""
    ni, nj, nk = size
    line = CACHE_LINE // np.dtype(dtype).itemsize
    # With a line between them, planes share the sets of caches evenly.
    return ni * nj + line if layout == "I" else -(-nk // line) * line


def _planes(rounds: int) -> Table:
    """Stencils over neighbours in the plane on contiguous columns, beside C for these."""
    columns = ["along I", "along K", "/ along I", "C along K / along K", "C along K / along I"]
    table = Table("Neighbours in the plane along columns, beside C", ["", "type", "points", *columns])
    for name, size, dtype in itertools.product(PLANES, (SMALL, LARGE), ("float64", "float32")):
        stencils = {layout: _stencil(name, size, layout, dtype) for layout in WAYS}
        fields = few_planes(size, dtype)
        choices = list(itertools.product(BLOCKS_OF_COLUMNS, PAST, ASKED))
        written = {f"C {choice}": along_k(name, size, dtype, fields, *choice) for choice in choices}
        measured = paired.measure(stencils | written, rounds, warm_up=WARM_UP)
        best = measured.fastest(*written)
        spent = [duration(measured.time(layout)) for layout in WAYS]
        ratios = [measured.ratio(*pair) for pair in (("K", "I"), (best, "K"), (best, "I"))]
        table.add(f"`{name}`", dtype, _points(size), *spent, *ratios)
    return table


def few_planes(size: tuple[int, int, int], dtype: str) -> list[np.ndarray]:
    """Two fields that are read and one that is written, with two columns of whole cache lines around the domain."""
    shape = (size[0] + 4, size[1] + 4, pitch(size, dtype, "K"))
    fields = [_lines(int(np.prod(shape)) * np.dtype(dtype).itemsize).view(dtype).reshape(shape) for _ in range(3)]
    for number, field in enumerate(fields[:2]):
        field[...] = (np.arange(field.size) % (7 + number)).reshape(shape)
    return fields


def along_k(name: str, size: tuple[int, int, int], dtype: str, fields: list[np.ndarray], *choice: int) -> Timed:
    """C on contiguous columns, with one of the choices."""
    q, coefficient, result = _addresses(fields)
    read = (q, coefficient if name == "hdiff" else None)
    return _c(f"along_k_{dtype}", *choice, *size, pitch(size, dtype, "K"), *read, result)


def _squares(rounds: int) -> Table:
    """Rows that become columns, in planes, beside C that moves squares of eight by eight."""
    columns = ["fieldstone", "C", "C, squares only moved", "fieldstone, straight"]
    table = Table("Rows of doubles that become columns, beside `memcpy` of as many bytes", ["", "bytes", *columns])
    for planes, rows, along in (TINY, (128, 128, 64), LARGE):
        source, target = (_lines(planes * rows * along * 8) for _ in range(2))
        shape = (planes, rows, along)
        values = source.view("float64").reshape(shape)
        turned = target.view("float64").reshape(planes, along, rows).transpose(0, 2, 1)
        flat = {"source": storage.as_storage(source), "target": storage.as_storage(target)}
        names = {"source": storage.as_storage(values), "target": storage.as_storage(turned)}
        addresses = (source.ctypes.data, target.ctypes.data)
        machine = dict(bandwidth.copies(target, source))
        contenders = {
            "fieldstone": paired.of_statement("target[...] = source", names),
            "C": _c("transpose_planes", *shape, *addresses),
            "C, squares only moved": _c("move_squares", *shape, *addresses),
            "fieldstone, straight": paired.of_statement("target[...] = source", flat),
        }
        measured = paired.measure(machine | contenders, rounds, warm_up=WARM_UP)
        ratios = [measured.ratio(name, *machine) for name in contenders]
        table.add(f"{planes} planes of {rows} x {along}", amount(source.nbytes), *ratios)
    return table


def library() -> ctypes.CDLL:
    """Return the functions of `limits.c`."""
    return bandwidth.library("limits.c", "columns.h", "rows.h", "planes.h")


def _c(function: str, *arguments: object) -> Timed:
    """Return a contender that calls a function of `limits.c`; arguments are numbers, addresses and arrays of these."""
    kernel = library()[function]
    kernel.restype = None
    given = [ctypes.c_size_t(argument) if isinstance(argument, int) else argument for argument in arguments]
    return bandwidth.timed(lambda calls: kernel(ctypes.c_size_t(calls), *given))


def _addresses(arrays: Iterable[np.ndarray]) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(array.ctypes.data) for array in arrays]


def _stencil(case: str, size: tuple[int, int, int], layout: str, dtype: str = "float64") -> Timed:
    arguments = Arguments(CASES[case], size, dtype, layout)
    contender = fieldstone.contender(arguments)
    return functools.partial(_timed, contender)


def _timed(contender: Contender, calls: int) -> float:
    return calls * contender.turn(max(2, calls), cold=False)


def _lines(nbytes: int) -> np.ndarray:
    """Return so many bytes that begin at a cache line, and lie in pages of their own."""
    block = np.full(nbytes + CACHE_LINE, 0, np.uint8)
    begin = -block.ctypes.data % CACHE_LINE
    return block[begin : begin + nbytes]


def _points(size: tuple[int, int, int]) -> str:
    return " x ".join(map(str, size))
