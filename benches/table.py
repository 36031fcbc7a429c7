"""A table as people read it, as documentation has it, and as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Table:
    """Rows of text under a title."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""

    def add(self, *cells: object) -> None:
        """Append a row."""
        self.rows.append([str(cell) for cell in cells])

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def as_text(self) -> str:
        """Return it in columns."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[n]) for line in lines) for n in range(len(self.columns))]
        body = [
            "  ".join(_aligned(cell, width, n) for n, (cell, width) in enumerate(zip(line, widths, strict=True)))
            for line in lines
        ]
        return "\n".join([self.title, *([self.note] if self.note else []), *body])

    def as_markdown(self) -> str:
        """Return it for docs/performance.md."""
        rule = ["---", *["---:"] * (len(self.columns) - 1)]
        body = ["| " + " | ".join(line) + " |" for line in (self.columns, rule, *self.rows)]
        note = f"; {self.note}" if self.note else ""
        return "\n".join([f"**{self.title}**{note}", "", *body])


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column == 0 else cell.rjust(width)


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def amount(nbytes: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:g} {unit}"
    return f"{nbytes} B"
