"""An explanation for notebooks: the drawing, and tables of what is known.

All style is in the elements, and most colours are the page's own, so that it looks right in light and dark notebooks
and changes nothing around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fieldstone._repr.stencil import picture, words
from fieldstone._repr.stencil.text import text
from fieldstone.gtscript.explanation import Explanation

_CELL = "padding:1px 14px 1px 0;border:0;background:none;vertical-align:top;text-align:left"
_TABLE = "table-layout:auto;width:auto;border-collapse:collapse;border:0;margin:0 0 8px;font:inherit"
_FAINT = "opacity:.65;font-weight:normal"


def card(explanation: Explanation) -> str:
    """Give the HTML text of an explanation."""
    return (
        '<div class="fieldstone-explanation" style="font-size:13px;line-height:1.4;text-align:left">'
        f"{_heading(explanation)}{_schedule(explanation)}{_temporaries(explanation)}{_fields(explanation)}"
        f"{_values(explanation)}{_costs(explanation)}{_hints(explanation)}"
        '<details><summary style="cursor:pointer">as text</summary>'
        '<pre style="margin:4px 0;padding:0;overflow-x:auto;background:none;color:inherit;font-size:12px">'
        f"{escape(text(explanation))}</pre></details></div>"
    )


def _heading(explanation: Explanation) -> str:
    said = [f"<b>{escape(explanation.name)}</b>", f"backend {escape(explanation.backend)}"]
    if explanation.file:
        said.append(f'<span style="{_FAINT}">{escape(explanation.file)}:{explanation.line}</span>')
    if explanation.min_levels > 1:
        said.append(f"at least {explanation.min_levels} levels")
    if explanation.domain is not None:
        said.append("domain " + " × ".join(map(str, explanation.domain)))
    if explanation.chosen:
        said.append(f"chosen: {escape(explanation.chosen)}")
    if explanation.fast_math:
        said.append(f"fast_math: {escape(explanation.fast_math)}")
    return f'<div style="margin-bottom:6px">{" · ".join(said)}</div>'


def _schedule(explanation: Explanation) -> str:
    if explanation.kernels:
        rows = [f"<li>{escape(words.kernel(kernel))}</li>" for kernel in explanation.kernels]
        return f'<div style="margin-bottom:8px">{words.kernels(explanation)}<ol start="0">{"".join(rows)}</ol></div>'
    if explanation.contiguous is None:
        said = words.NOTHING_FUSED.get(explanation.backend, "statement by statement")
        return f'<div style="margin-bottom:8px">{escape(said)}</div>'
    return (
        f'<div style="overflow-x:auto;margin:4px 0">{picture.drawing(explanation)}</div>'
        '<div style="font-size:11px;display:flex;flex-wrap:wrap;gap:0 12px;margin:2px 0 8px">'
        + _key("read", picture.READ)
        + _key("written", picture.WRITTEN)
        + "".join(
            _key(f"temporary in {name}" if kind != "unused" else "temporary that is not needed", colour)
            for kind, (colour, name) in picture.PLACES.items()
            if any(one.lives_in == kind for one in explanation.temporaries)
        )
        + "</div>"
    )


def _key(said: str, colour: str) -> str:
    return (
        f'<span><span style="display:inline-block;width:9px;height:9px;border-radius:5px;vertical-align:middle;'
        f'background:{colour};margin-right:4px"></span>{escape(said)}</span>'
    )


def _fields(explanation: Explanation) -> str:
    rows = [
        (
            field.name,
            words.declaration(field),
            field.access,
            words.reach(field.extent),
            field.contiguous or "",
            words.count(field.bytes_read),
            words.count(field.bytes_written),
        )
        for field in explanation.fields
    ]
    head = ("field", "type", "access", "around the domain", "contiguous", "bytes read", "written")
    return _table(head, rows)


def _values(explanation: Explanation) -> str:
    rows = [(name, dtype, "") for name, dtype in explanation.scalars.items()]
    rows += [(name, "external", value) for name, value in explanation.externals.items()]
    return _table(("value", "type", ""), rows) if rows else ""


def _temporaries(explanation: Explanation) -> str:
    if explanation.contiguous is None or not explanation.temporaries:
        return ""
    rows = [(one.name, one.dtype, words.place(one), words.memory(one), one.why) for one in explanation.temporaries[:60]]
    rest = len(explanation.temporaries) - len(rows)
    if rest:
        rows.append((f"… {rest} more", "", "", "", ""))
    colours = [picture.PLACES[one.lives_in][0] for one in explanation.temporaries]
    return _table(("temporary", "type", "lives in", "memory", "why"), rows, colours)


def _costs(explanation: Explanation) -> str:
    rows = words.costs(explanation)
    return _table(("costs", words.counted_for(explanation)), rows)


def _hints(explanation: Explanation) -> str:
    if not explanation.hints:
        return ""
    items = "".join(f'<li style="margin:0 0 2px">{escape(hint.text)}</li>' for hint in explanation.hints)
    return f'<div style="{_FAINT}">hints</div><ul style="margin:0 0 8px;padding-left:18px;max-width:60em">{items}</ul>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], colours: Sequence[str] = ()) -> str:
    header = "".join(f'<th style="{_CELL};{_FAINT}">{escape(name)}</th>' for name in head)
    body = []
    for number, row in enumerate(rows):
        mark = f"border-left:4px solid {colours[number]};padding-left:6px" if number < len(colours) else ""
        cells = [
            f'<td style="{_CELL};{"font-weight:bold;" + mark if column == 0 else ""}">{escape(cell)}</td>'
            for column, cell in enumerate(row)
        ]
        body.append(f'<tr style="background:none">{"".join(cells)}</tr>')
    return (
        f'<table style="{_TABLE}"><thead><tr style="background:none">{header}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )
