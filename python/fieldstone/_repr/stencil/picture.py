"""How a stencil is computed, as a drawing.

Fields are on both sides, nests in the middle, and in these loops with their statements.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from fieldstone._repr.canvas import Canvas, Point
from fieldstone._repr.html import size
from fieldstone._repr.stencil import words
from fieldstone.gtscript.explanation import Explanation, Nest, Stage, Statement

READ = "#1f9aa8"
WRITTEN = "#eb9034"
PLACES = {
    "register": ("#3fa66b", "registers"),
    "ring": ("#3987c9", "a ring of rows"),
    "window": ("#8a63d2", "some levels of columns"),
    "column": ("#b04fc0", "columns"),
    "array": ("#e0533a", "an array in memory"),
    "unused": ("#8a8a8a", "nowhere"),
}

# The middle, and the room for curves on each side of it, in pixels.
_WIDTH = 540.0
_GAP = 56.0
_LINE = 15.0
_PAD = 8.0
_LETTER = 6.1
_SMALL = 5.4
_BOLD = 7.0
# Statements and chips beyond which the rest is left out.
_STATEMENTS_SHOWN = 60
_OF_A_LOOP = 10
_CHIPS_SHOWN = 24

_FRAME = "stroke:currentColor;stroke-opacity:.55;fill:currentColor;fill-opacity:.03"
_LOOP = "stroke:currentColor;stroke-opacity:.28;fill:currentColor;fill-opacity:.05"
_CODE = "font:10.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre"
_FAINT = "opacity:.65;font-size:10px"


def drawing(explanation: Explanation) -> str:
    """Draw how a stencil is computed."""
    picture = _Picture(explanation)
    picture.draw()
    return picture.canvas.svg(_title(explanation))


def _title(explanation: Explanation) -> str:
    count = len(explanation.nests)
    return f"How {explanation.name} is computed: {count} nest{'' if count == 1 else 's'}"


class _Picture:
    """A drawing that grows downwards."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        self.canvas = Canvas()
        self.y = 0.0
        self.statements = 0
        self.lives_in = {one.name: one.lives_in for one in explanation.temporaries}
        self.fields = {field.name: field for field in explanation.fields}
        # Per nest where curves end.
        self.ports: list[float] = []

    def draw(self) -> None:
        """Draw everything."""
        for number, nest in enumerate(self.explanation.nests):
            if number:
                self.barrier(nest)
            self.nest(number, nest)
        self.chips("reads", READ, -_GAP, "end")
        self.chips("writes", WRITTEN, _WIDTH + _GAP, "start")

    def write(self, said: str, x: float = _PAD, style: str = "", letter: float = _SMALL) -> None:
        """Write one line and go on below it."""
        self.y += _LINE
        self.canvas.text((x, self.y - 4), said, "start", style, letter)

    def barrier(self, nest: Nest) -> None:
        """Draw what is between two nests."""
        self.y += 6
        self.canvas.path(
            [(0.0, self.y), (_WIDTH, self.y)], "stroke:currentColor;stroke-opacity:.5;stroke-dasharray:5 4"
        )
        self.y += 4
        for line in _lines(words.apart(nest), 96):
            self.write(line, style=_FAINT, letter=_SMALL)
        self.y += 8

    def nest(self, number: int, nest: Nest) -> None:
        """Draw a nest."""
        top = self.y
        # The frame is behind all that is in it, and its height is known last.
        frame = self.canvas.reserve()
        self.y += 3
        self.write(f"nest {number}: {words.KINDS[nest.kind]}", style="font-weight:bold;font-size:12px")
        self.ports.append(self.y - 8)
        facts = [words.loops(nest)]
        if nest.extent:
            facts.append(f"around the domain {words.reach(nest.extent)}")
        if nest.scratch:
            facts.append(f"scratch memory of {size(nest.scratch)} per thread")
        if by_level := words.by_level(nest):
            facts.append(by_level)
        for line in _lines(facts, 98):
            self.write(line, style=_FAINT)
        for one in nest.passes:
            if one.levels is not None:
                self.y += 2
                self.write(f"{one.order}, {one.levels}", style="font-size:10px;font-style:italic;opacity:.85")
            for stage in one.stages:
                self.stage(stage, one.levels)
        self.y += _PAD
        self.canvas.fill(frame, (0.0, top), (_WIDTH, self.y - top), 7, _FRAME)

    def stage(self, stage: Stage, within: str | None) -> None:
        """Draw a loop."""
        if self.statements >= _STATEMENTS_SHOWN:
            if self.statements < 10**9:
                self.write("… and more loops", style=_FAINT)
            self.statements = 10**9
            return
        self.y += 4
        top = self.y
        frame = self.canvas.reserve()
        self.y += 2
        facts = [stage.levels] if stage.levels != within else []
        facts += [said for said in (words.reach(stage.extent), words.region(stage), words.recomputed(stage)) if said]
        facts.append(f"{stage.lanes} lanes" if stage.lanes > 1 else "1 lane")
        self.write("  ·  ".join(facts), 2 * _PAD, _FAINT)
        for statement in stage.statements[:_OF_A_LOOP]:
            self.write(_code(statement), 2 * _PAD, _CODE, _LETTER)
        rest = len(stage.statements) - _OF_A_LOOP
        if rest > 0:
            self.write(f"… {rest} more statements", 2 * _PAD, _FAINT)
        self.statements += len(stage.statements)
        self.tags(stage)
        self.y += 4
        self.canvas.fill(frame, (_PAD, top), (_WIDTH - 2 * _PAD, self.y - top), 5, _LOOP)

    def tags(self, stage: Stage) -> None:
        """Draw a tag for each temporary that a loop writes."""
        names = [name for name in stage.writes if name in self.lives_in]
        x = 2 * _PAD
        for name in names[:6] + (["…"] if len(names) > 6 else []):
            width = _LETTER * len(name) + 14
            if x + width > _WIDTH - 2 * _PAD:
                break
            colour = PLACES[self.lives_in.get(name, "unused")][0]
            self.canvas.box((x, self.y + 2), (width, 14), 7, f"fill:{colour}")
            self.canvas.text((x + width / 2, self.y + 12.5), name, "middle", "fill:#fff;font-size:10px", _SMALL)
            x += width + 5
        if names:
            self.y += 17

    def chips(self, role: str, colour: str, x: float, anchor: str) -> None:
        """Draw the fields that are read, or written, with a curve to each nest that does so."""
        uses: dict[str, list[int]] = {}
        for number, nest in enumerate(self.explanation.nests):
            for stage in nest.stages:
                # Elements of data dimensions belong to one field.
                for name in (name.partition("[")[0] for name in getattr(stage, role)):
                    if name in self.fields and number not in uses.setdefault(name, []):
                        uses[name].append(number)
        y = 0.0
        for name, nests in list(uses.items())[:_CHIPS_SHOWN]:
            y = max(y, self.ports[nests[0]] - 10)
            self.chip(name, (x, y), colour, anchor)
            edge = 0.0 if anchor == "end" else _WIDTH
            for number in nests:
                self.canvas.curve((x, y + 11), (edge, self.ports[number]), f"stroke:{colour};stroke-width:1.5")
                self.canvas.dot((edge, self.ports[number]), 2.5, f"fill:{colour}")
            y += 38
        if len(uses) > _CHIPS_SHOWN:
            self.canvas.text((x, y + 10), f"… {len(uses) - _CHIPS_SHOWN} more", anchor, _FAINT)

    def chip(self, name: str, at: Point, colour: str, anchor: str) -> None:
        """Draw a field."""
        field = self.fields[name]
        width = _BOLD * len(name) + 18
        x, y = at
        left = x - width if anchor == "end" else x
        self.canvas.box((left, y), (width, 21), 10.5, f"fill:{colour};fill-opacity:.18;stroke:{colour}")
        self.canvas.text((left + width / 2, y + 14.5), name, "middle", "font-weight:bold", _BOLD)
        said = words.reach(field.extent) if anchor == "end" else ""
        facts = "  ".join(part for part in (field.axes, said) if part)
        self.canvas.text((x, y + 32), facts, anchor, "opacity:.65;font-size:9.5px", 5.0)


def _code(statement: Statement) -> str:
    line = "" if statement.line is None else str(statement.line)
    return f"{line:>4}  {statement.text}"


def _lines(texts: Iterable[str] | Sequence[str], width: int) -> list[str]:
    return [line for text in texts for line in textwrap.wrap(text, width, break_on_hyphens=False)]
