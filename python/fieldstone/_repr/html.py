"""A storage for notebooks: the drawing beside a table of facts, and the values to unfold.

All style is in the elements, and every colour but three is the page's own, so that it looks right in light and dark
notebooks and changes nothing around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from fieldstone._core import Storage
from fieldstone._repr import box, text
from fieldstone._repr.facts import Facts, facts_of

# Axes of which each has a row.
_AXES_SHOWN = 8

_CELL = "padding:1px 8px 1px 0;border:0;background:none;vertical-align:top;white-space:nowrap"
_TABLE = "table-layout:auto;width:auto;border-collapse:collapse;border:0;margin:0;font:inherit"
_HEAD = "opacity:.65;font-weight:normal"


def card(storage: Storage) -> str:
    """Give the HTML text of a storage."""
    facts = facts_of(storage)
    return (
        '<div class="fieldstone-storage" style="font-size:13px;line-height:1.35;text-align:left">'
        f"{_heading(facts)}"
        '<div style="display:flex;flex-wrap:wrap;gap:10px 24px;align-items:center;margin:4px 0">'
        f"<div>{box.drawing(facts)}{_legend(facts)}</div>"
        f"<div>{_axes(facts)}{_table(_rows(facts))}</div></div>"
        '<details><summary style="cursor:pointer">values</summary>'
        '<pre style="margin:4px 0;padding:0;overflow-x:auto;background:none;color:inherit;font-size:12px">'
        f"{escape(text.body(storage, facts))}</pre></details></div>"
    )


def _heading(facts: Facts) -> str:
    words = [f"<b>{escape(facts.name)}</b>", escape(facts.dtype), escape(facts.place)]
    if facts.state:
        words.append(f"<b>{escape(facts.state)}</b>")
    words += [word for word, said in (("wrapped", facts.wrapped), ("read-only", not facts.writeable)) if said]
    return f"<div>{' · '.join(words)}</div>"


def _legend(facts: Facts) -> str:
    entries = [("compute domain", box.DOMAIN), ("halo", box.HALO)] if facts.has_halo else []
    if any(axis.contiguous for axis in facts.axes):
        entries.append(("contiguous", box.CONTIGUOUS))
    return (
        '<div style="font-size:11px;display:flex;flex-wrap:wrap;gap:0 10px">'
        + "".join(
            f'<span><span style="display:inline-block;width:9px;height:{3 if words == "contiguous" else 9}px;'
            f'vertical-align:middle;background:{colour};margin-right:4px"></span>{words}</span>'
            for words, colour in entries
        )
        + "</div>"
    )


def _axes(facts: Facts) -> str:
    if not facts.axes:
        return ""
    head = ["", "size", "stride", "layout"]
    if facts.has_halo:
        head[2:2] = ["halo", "domain"]
    rows = [_row(head, "th", _HEAD)]
    for number, axis in enumerate(facts.axes[:_AXES_SHOWN]):
        lower, upper = axis.halo
        cells = [f"<b>{escape(box.name(axis, number))}</b>", axis.size, axis.stride, axis.rank]
        if facts.has_halo:
            cells[2:2] = [f"{lower}+{upper}", axis.domain]
        rows.append(_row(map(str, cells), "td", f"color:{box.CONTIGUOUS}" if axis.contiguous else ""))
    if len(facts.axes) > _AXES_SHOWN:
        rows.append(_row([f"… {len(facts.axes) - _AXES_SHOWN} more"], "td", ""))
    return f'<table style="{_TABLE}">{"".join(rows)}</table>'


def _rows(facts: Facts) -> list[tuple[str, str]]:
    rows = [("bytes", size(facts.nbytes) + (f", {size(facts.gaps)} in between" if facts.gaps else ""))]
    if facts.alignment > 1:
        index = ", ".join(map(str, facts.aligned_index))
        rows.append(("aligned", f"[{index}] to {facts.alignment} bytes"))
    if facts.range:
        rows.append(("range", facts.range))
    return rows


def size(count: int) -> str:
    """Write a number of bytes for people."""
    if count < 1024:
        return f"{count} B"
    value, unit = count / 1024, 0
    while value >= 1024 and unit < 5:
        value, unit = value / 1024, unit + 1
    return f"{value:.4g} {'KMGTPE'[unit]}iB"


def _table(rows: Iterable[tuple[str, str]]) -> str:
    body = "".join(
        f'<tr style="background:none"><th style="{_CELL};{_HEAD};text-align:left">{escape(name)}</th>'
        f'<td style="{_CELL};text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table style="{_TABLE};margin-top:4px"><tbody>{body}</tbody></table>'


def _row(cells: Iterable[str], element: str, style: str) -> str:
    inner = "".join(f'<{element} style="{_CELL};text-align:right;{style}">{cell}</{element}>' for cell in cells)
    return f'<tr style="background:none">{inner}</tr>'
