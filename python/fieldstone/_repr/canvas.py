"""A picture that grows with what is drawn on it, as SVG that stands alone."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

Point = tuple[float, float]

_FONT = 11
_LETTER = 0.6 * _FONT
_MARGIN = 4


class Canvas:
    """Shapes and words, and the rectangle that holds them."""

    def __init__(self) -> None:
        self._shapes: list[str] = []
        self._corners: list[Point] = []

    def polygon(self, points: Iterable[Point], style: str) -> None:
        """Draw a closed line through some points."""
        self._trace("polygon", tuple(points), style)

    def path(self, points: Iterable[Point], style: str) -> None:
        """Draw an open line through some points."""
        self._trace("polyline", tuple(points), f"fill:none;{style}")

    def dot(self, centre: Point, radius: float, style: str) -> None:
        """Draw a filled circle."""
        x, y = centre
        self._corners += [(x - radius, y - radius), (x + radius, y + radius)]
        self._shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" style="{style}"/>')

    def box(self, corner: Point, size: Point, radius: float, style: str) -> None:
        """Draw a rectangle with round corners, by its upper left corner."""
        (x, y), (width, height) = corner, size
        self._corners += [corner, (x + width, y + height)]
        self._shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" style="{style}"/>'
        )

    def reserve(self) -> int:
        """Keep a place behind what is drawn next; `fill` draws there."""
        self._shapes.append("")
        return len(self._shapes) - 1

    def fill(self, place: int, corner: Point, size: Point, radius: float, style: str) -> None:
        """Draw a rectangle with round corners at a place that was kept."""
        self.box(corner, size, radius, style)
        self._shapes[place] = self._shapes.pop()

    def curve(self, start: Point, end: Point, style: str) -> None:
        """Draw a curve that leaves one point and reaches another to the right or to the left."""
        (x, y), (X, Y) = start, end
        self._corners += [start, end]
        middle = (x + X) / 2
        bend = f"C{middle:.1f},{y:.1f} {middle:.1f},{Y:.1f} {X:.1f},{Y:.1f}"
        self._shapes.append(f'<path d="M{x:.1f},{y:.1f} {bend}" style="fill:none;{style}"/>')

    def text(self, at: Point, words: str, anchor: str = "middle", style: str = "", letter: float = _LETTER) -> None:
        """Write words whose line begins, ends or has its middle at a point."""
        x, y = at
        width = letter * len(words)
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        self._corners += [(left, y - _FONT), (left + width, y + 3)]
        self._shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="fill:currentColor;{style}">'
            f"{escape(words)}</text>"
        )

    def _trace(self, element: str, points: tuple[Point, ...], style: str) -> None:
        self._corners += points
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(f'<{element} points="{places}" style="{style}"/>')

    def svg(self, title: str) -> str:
        """Give the picture, with words for those who do not see it."""
        left, right = min(x for x, _ in self._corners) - _MARGIN, max(x for x, _ in self._corners) + _MARGIN
        top, bottom = min(y for _, y in self._corners) - _MARGIN, max(y for _, y in self._corners) + _MARGIN
        width, height = right - left, bottom - top
        words = escape(title)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{words}" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" '
            f'style="flex:none;max-width:100%;overflow:visible;font:{_FONT}px sans-serif"><title>{words}</title>'
            f"{''.join(self._shapes)}</svg>"
        )
