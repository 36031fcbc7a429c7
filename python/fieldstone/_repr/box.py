"""A storage as a box: its compute domain, the halo around that, and the axis along which memory is contiguous.

I goes to the right, J back, K up; where two axes are left, the first goes to the right and the second up. Axes without
labels are taken for I, J, K, but two of them lie as NumPy prints them. Further axes are boxes behind the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fieldstone._repr.canvas import Canvas, Point
from fieldstone._repr.facts import Axis, Facts

DOMAIN = "#3987c9"
"""Of the front; what is above is lighter, and what is on the right darker."""
HALO = "#eb9034"
CONTIGUOUS = "#e0407a"

# The longest and the shortest edge, in pixels; the others are in between by the square root of their points.
_LONGEST = 130.0
_SHORTEST = 34.0
# The least that a halo takes of an edge, and the most that both take together.
_HALO_SHOWN = 6.0
_HALO_SHARE = 0.5
# Where one pixel back leads.
_BACK = (0.42, -0.36)
# Boxes behind the first, and how far apart they are.
_COPIES = 2
_APART = 7.0

_SHADES = ("#3987c9", "#7fb4e0", "#2a6ba5")
_LINE = "stroke:currentColor;stroke-width:1;stroke-linejoin:round"
_HIDDEN = "stroke:currentColor;stroke-width:1;stroke-opacity:.35;stroke-dasharray:3 3"

Vertex = tuple[float, float, float]


@dataclass(frozen=True)
class Edge:
    """One direction of the box."""

    axis: Axis | None
    number: int
    length: float
    domain: tuple[float, float]
    """Where the compute domain begins and ends; the same if it has no points."""

    @property
    def name(self) -> str:
        """What the axis is called."""
        return "" if self.axis is None else name(self.axis, self.number)


def name(axis: Axis, number: int) -> str:
    """Tell what an axis is called: its label, else its number."""
    return axis.label or f"axis {number}"


def drawing(facts: Facts) -> str:
    """Draw a storage."""
    canvas = Canvas()
    if facts.axes:
        _draw_box(canvas, facts)
    else:
        canvas.polygon([(0, 0), (16, 0), (16, 16), (0, 16)], f"fill:{DOMAIN};{_LINE}")
        canvas.text((8, 32), "one element")
    return canvas.svg(title(facts))


def title(facts: Facts) -> str:
    """Say what the drawing shows."""
    if not facts.axes:
        return "A single element"
    shown = list(enumerate(facts.axes))[:8]
    parts = [", ".join(f"{axis.size} points along {name(axis, number)}" for number, axis in shown)]
    if len(facts.axes) > len(shown):
        parts[0] += f" and {len(facts.axes) - len(shown)} more axes"
    if facts.has_halo:
        halos = (f"{name(axis, number)} {axis.parts}" for number, axis in shown if any(axis.halo))
        parts.append("halo, compute domain and halo: " + ", ".join(halos))
    contiguous = [name(axis, number) for number, axis in shown if axis.contiguous]
    if contiguous:
        parts.append(f"contiguous in memory along {contiguous[0]}")
    return "; ".join(parts)


def _draw_box(canvas: Canvas, facts: Facts) -> None:
    numbers = spatial(facts)
    edges = [_edge(facts, number, numbers) for number in numbers]
    behind = [number for number in range(len(facts.axes)) if number not in numbers]
    none = Edge(None, -1, 0.0, (0.0, 0.0))
    if len(edges) == 1:
        right, back, up = edges[0], none, Edge(None, -1, 26.0, (0.0, 26.0))
    elif len(edges) == 2:
        # As NumPy prints them, the second one goes to the right, and the first one down.
        right, back, up = (edges[0], none, edges[1]) if facts.labelled else (edges[1], none, _reversed(edges[0]))
    else:
        right, back, up = edges
    box = _Box(right, back, up)
    if behind:
        _draw_copies(canvas, box, facts, behind)
    box.draw(canvas)
    _mark_first(canvas, box, downwards=len(edges) == 2 and not facts.labelled)
    _label_edges(canvas, box)


def spatial(facts: Facts) -> list[int]:
    """Choose the axes that are edges of the box: those of I, J and K, in this order, else the first three."""
    labelled = sorted(
        (axis.label, number) for number, axis in enumerate(facts.axes) if axis.label is not None and axis.label in "IJK"
    )
    return [number for _, number in labelled] or list(range(min(3, len(facts.axes))))


def _edge(facts: Facts, number: int, numbers: Sequence[int]) -> Edge:
    axis = facts.axes[number]
    longest = max(1, *(facts.axes[other].size for other in numbers))
    length = max(_SHORTEST, _LONGEST * (axis.size / longest) ** 0.5)
    lower, upper = (max(_HALO_SHOWN, length * points / axis.size) if points else 0.0 for points in axis.halo)
    if axis.size == 0 or axis.domain == 0:
        share = lower / (lower + upper) if lower + upper else 0.0
        return Edge(axis, number, length, (share * length, share * length))
    fit = min(1.0, _HALO_SHARE * length / (lower + upper)) if lower + upper else 1.0
    return Edge(axis, number, length, (lower * fit, length - upper * fit))


def _reversed(edge: Edge) -> Edge:
    lower, upper = edge.domain
    return Edge(edge.axis, edge.number, edge.length, (edge.length - upper, edge.length - lower))


class _Box:
    """The storage's box with the domain's in it, seen from the front, from above and from the right."""

    def __init__(self, right: Edge, back: Edge, up: Edge) -> None:
        self.right, self.back, self.up = right, back, up

    def at(self, x: float, y: float, z: float) -> Point:
        """Where a point of space is on the canvas."""
        return x + _BACK[0] * y, _BACK[1] * y - z

    def faces(self, low: Vertex, high: Vertex) -> list[list[Point]]:
        """Give the faces that are seen: front, top, and the one on the right."""
        (x, y, z), (X, Y, Z) = low, high
        corners = [
            [(x, y, z), (X, y, z), (X, y, Z), (x, y, Z)],
            [(x, y, Z), (X, y, Z), (X, Y, Z), (x, Y, Z)],
            [(X, y, z), (X, Y, z), (X, Y, Z), (X, y, Z)],
        ]
        return [[self.at(*corner) for corner in face] for face in corners[: 1 if self.is_flat else 3]]

    @property
    def is_flat(self) -> bool:
        """Whether there is a front only."""
        return self.back.axis is None

    @property
    def far(self) -> Vertex:
        """The corner opposite to that of the first point."""
        return self.right.length, self.back.length, self.up.length

    def draw(self, canvas: Canvas) -> None:
        """Draw the halo's box, the domain's in it, and what of the halo's is in front of that."""
        edges = (self.right, self.back, self.up)
        low, high = zip(*(edge.domain for edge in edges), strict=True)
        is_empty = any(edge.axis is not None and edge.axis.size == 0 for edge in edges)
        has_domain = all(edge.axis is None or edge.axis.domain > 0 for edge in edges)
        has_halo = not is_empty and any(edge.axis is not None and any(edge.axis.halo) for edge in edges)
        X, Y, Z = self.far
        outline: list[Vertex] = [(0, 0, 0), (X, 0, 0), (X, Y, 0), (X, Y, Z), (0, Y, Z), (0, 0, Z)]
        fill = f"fill:{HALO};fill-opacity:{0.75 if self.is_flat else 0.5}" if has_halo else "fill:none"
        canvas.polygon((self.at(*corner) for corner in outline), f"{fill};{_LINE}")
        if not self.is_flat:
            for end in (X, Y, 0.0), (0.0, 0.0, 0.0), (0.0, Y, Z):
                canvas.path([self.at(0.0, Y, 0.0), self.at(*end)], _HIDDEN)
        if has_domain:
            for colour, face in zip(_SHADES, self.faces(low, high), strict=False):
                canvas.polygon(face, f"fill:{colour};{_LINE}")
        if not self.is_flat and (has_halo or is_empty):
            for face in self.faces((0.0, 0.0, 0.0), self.far):
                canvas.polygon(face, f"{f'fill:{HALO};fill-opacity:.12' if has_halo else 'fill:none'};{_LINE}")


def _draw_copies(canvas: Canvas, box: _Box, facts: Facts, behind: Sequence[int]) -> None:
    X, Y, Z = box.far
    points = 1
    for number in behind:
        points *= facts.axes[number].size
    outline = [(0.0, 0.0, Z), (0.0, Y, Z), (X, Y, Z), (X, Y, 0.0), (X, 0.0, 0.0)]
    for copy in range(max(0, min(_COPIES, points - 1)), 0, -1):
        shift = copy * _APART
        corners = (box.at(*corner) for corner in outline)
        canvas.path(((x + shift, y - shift) for x, y in corners), f"{_LINE};stroke-opacity:{0.6 / copy:.2f}")
    shift = _APART * _COPIES
    x, y = box.at(X / 2, Y, Z)
    sizes = (f"{name(facts.axes[number], number)}: {facts.axes[number].size}" for number in behind[:4])
    words = ", ".join(sizes) + (", …" if len(behind) > 4 else "")
    is_contiguous = any(facts.axes[number].contiguous for number in behind)
    canvas.text((x + shift, y - shift - 6), words, style=_emphasis(is_contiguous))


def _mark_first(canvas: Canvas, box: _Box, downwards: bool) -> None:
    place = box.at(0.0, 0.0, box.up.length if downwards else 0.0)
    canvas.dot(place, 2.5, "fill:currentColor")


def _label_edges(canvas: Canvas, box: _Box) -> None:
    X, Y, Z = box.far
    below, beside, left = box.at(X / 2, 0.0, 0.0), box.at(X, Y / 2, 0.0), box.at(0.0, 0.0, Z / 2)
    ends = (
        (box.right, [(0.0, 0.0, 0.0), (X, 0.0, 0.0)], (below[0], below[1] + 16), "middle"),
        (box.back, [(X, 0.0, 0.0), (X, Y, 0.0)], (beside[0] + 7, beside[1] + 10), "start"),
        (box.up, [(0.0, 0.0, 0.0), (0.0, 0.0, Z)], (left[0] - 7, left[1]), "end"),
    )
    for edge, line, place, anchor in ends:
        if edge.axis is None:
            continue
        if edge.axis.contiguous:
            _mark_contiguous(canvas, (box.at(*corner) for corner in line))
        canvas.text(place, f"{edge.name}: {edge.axis.size}", anchor, _emphasis(edge.axis.contiguous))
        if any(edge.axis.halo):
            x, y = place
            canvas.text((x, y + 13), edge.axis.parts, anchor, "opacity:.7;font-size:10px")


def _mark_contiguous(canvas: Canvas, line: Iterable[Point]) -> None:
    canvas.path(line, f"stroke:{CONTIGUOUS};stroke-width:3.5;stroke-linecap:round")


def _emphasis(contiguous: bool) -> str:
    return f"fill:{CONTIGUOUS};font-weight:bold" if contiguous else ""
