"""``fieldstone cache list | verify | clear``: the compiled code that is kept on disk."""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fieldstone.cache import Entry

WRONG_USE = 2
BROKEN = 1


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of ``fieldstone``.

    Parameters
    ----------
    commands : subparsers
        Of that parser.
    """
    cache = commands.add_parser(
        "cache",
        help="list, verify or clear compiled code that is kept on disk",
        description="Lists, verifies or clears the compiled code of stencils that is kept on disk.",
    )
    actions = cache.add_subparsers(title="actions", required=True, metavar="ACTION", parser_class=type(cache))
    for name, run, text in (
        ("list", _list, "show what there is"),
        ("verify", _verify, "check every entry's checksum; the exit status is 1 if one is broken"),
        ("clear", _clear, "remove entries: all, or those to which everything applies that is given"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        action.add_argument(
            "--dir", type=Path, metavar="DIR", help="directory of the cache (default: the one that stencils use)"
        )
        action.set_defaults(run=run, prog=action.prog)
        if name == "clear":
            action.add_argument(
                "--older-than", type=_days, metavar="DAYS", help="entries that were not used for so many days"
            )
            action.add_argument("--stencil", metavar="NAME", help="entries of the stencil of that name")
            action.add_argument("--broken", action="store_true", help="entries that are broken")


def _days(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0.0:
        raise argparse.ArgumentTypeError(f"expected a number of days, got {text!r}")
    return value


def _list(options: argparse.Namespace) -> int:
    from fieldstone import cache

    place = _directory(options)
    if isinstance(place, int):
        return place
    found = cache.entries(place)
    rows = [_row(entry) for entry in found]
    if rows:
        for line in _columns([("stencil", "backend", "contiguous", "processor", "version", "used", "size"), *rows]):
            print(line)
    print(f"{_count(found)} in {place}, {_amount(sum(entry.size for entry in found))}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from fieldstone import cache

    place = _directory(options)
    if isinstance(place, int):
        return place
    found = cache.verify(place)
    broken = [entry for entry in found if entry.broken is not None]
    for entry in broken:
        print(f"{entry.path}: {entry.broken}")
    if not broken:
        print(f"{_count(found)} in {place}, none is broken")
        return 0
    print(
        f"{_count(found)} in {place}, {len(broken)} broken: they are replaced when their code is needed, "
        f"or removed by fieldstone cache clear --broken"
    )
    return BROKEN


def _clear(options: argparse.Namespace) -> int:
    from fieldstone import cache

    place = _directory(options)
    if isinstance(place, int):
        return place
    try:
        cleared = cache.clear(place, older_than=options.older_than, stencil=options.stencil, broken=options.broken)
    except OSError as error:
        return _fail(options, f"cannot remove from {place}: {error.strerror or error}")
    what = "1 entry" if cleared.entries == 1 else f"{cleared.entries} entries"
    print(f"removed {what} of {place}, {_amount(cleared.bytes)}")
    return 0


def _directory(options: argparse.Namespace) -> Path | int:
    """Return the directory that is meant, or the exit status where there is none."""
    from fieldstone import cache

    if options.dir is not None:
        given: Path = options.dir
        return given if given.is_dir() else _fail(options, f"there is no directory {given}")
    place = cache.directory()
    if place is None:
        return _fail(options, "there is no cache: FIELDSTONE_CACHE_DIR is empty, or there is no home; give --dir DIR")
    if place.exists() and not place.is_dir():
        return _fail(options, f"{place} is no directory; nothing is kept")
    return place


def _fail(options: argparse.Namespace, message: str) -> int:
    print(f"{options.prog}: {message}", file=sys.stderr)
    return WRONG_USE


def _row(entry: Entry) -> tuple[str, ...]:
    used, size = f"{entry.used:%Y-%m-%d}", _amount(entry.size)
    if entry.layout is None:
        what = "broken" if entry.broken is not None else "of another version"
        return (f"({what}: {entry.path.name})", "", "", "", "", used, size)
    facts = (entry.stencil, entry.backend, _layout(entry.layout), entry.cpu, entry.fieldstone)
    return (*(fact or "" for fact in facts), used, size)


def _layout(layout: dict[str, str]) -> str:
    """Return the axes that fields are contiguous along, each with its fields unless it is that of all."""
    fields = collections.defaultdict(list)
    for name, axis in layout.items():
        fields[axis].append(name)
    if len(fields) <= 1:
        return "".join(fields)
    ordered = sorted(fields.items(), key=lambda item: (-len(item[1]), item[0]))
    usual, *others = (axis for axis, _ in ordered)
    return ", ".join([usual, *(f"{axis}: {_some(fields[axis])}" for axis in others)])


def _some(names: list[str]) -> str:
    return " ".join(names) if len(names) <= 3 else f"{' '.join(names[:2])} and {len(names) - 2} more"


def _columns(rows: list[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    last = len(widths) - 1
    for row in rows:
        cells = (
            cell.rjust(width) if n == last else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _count(found: list[Entry]) -> str:
    return "1 entry" if len(found) == 1 else f"{len(found)} entries"


def _amount(nbytes: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.1f} {unit}"
    return f"{nbytes} B"
