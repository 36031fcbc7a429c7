"""An explanation in characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from fieldstone._repr.html import size
from fieldstone._repr.stencil import words
from fieldstone.gtscript.explanation import Explanation, Nest, Stage

_WIDTH = 118
# What the last column of a table has at least.
_LAST_COLUMN = 40
# Statements of a loop beyond which some are left out, and loops of a nest.
_STATEMENTS_SHOWN = 12
_STAGES_SHOWN = 40


def text(explanation: Explanation) -> str:
    """Give the text for ``str``."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    place = f" ({explanation.file}:{explanation.line})" if explanation.file else ""
    yield f"{explanation.name}, backend {explanation.backend}{place}"
    levels = explanation.min_levels
    if levels > 1:
        yield f"needs at least {levels} levels"
    yield ""
    yield from _parameters(explanation)
    yield ""
    yield from _schedule(explanation)
    if explanation.temporaries:
        yield ""
        yield "temporaries"
        rows = [(one.name, one.dtype, words.place(one), words.memory(one), one.why) for one in explanation.temporaries]
        yield from _columns(rows)
    yield ""
    yield f"costs {words.counted_for(explanation)}"
    yield from _columns(words.costs(explanation))
    if explanation.hints:
        yield ""
        yield "hints"
        for hint in explanation.hints:
            yield from _wrapped(hint.text, "  - ", "    ")


def _parameters(explanation: Explanation) -> Iterator[str]:
    yield "fields"
    rows = []
    for field in explanation.fields:
        along = f"contiguous along {field.contiguous}" if field.contiguous else ""
        rows.append((field.name, words.declaration(field), field.access, words.reach(field.extent), along))
    yield from _columns(rows)
    if explanation.scalars:
        yield "scalars"
        yield from _columns(list(explanation.scalars.items()))
    if explanation.externals:
        yield "externals"
        yield from _columns(list(explanation.externals.items()))


def _schedule(explanation: Explanation) -> Iterator[str]:
    if explanation.kernels:
        yield f"how it is computed: {words.kernels(explanation)}"
        if explanation.chosen:
            yield f"  chosen: {explanation.chosen}"
        for number, kernel in enumerate(explanation.kernels):
            yield from _wrapped(f"kernel {number}: {words.kernel(kernel)}", "  ", "    ")
        return
    if explanation.contiguous is None:
        yield f"how it is computed: {words.NOTHING_FUSED.get(explanation.backend, 'statement by statement')}"
        return
    nests = explanation.nests
    count = "1 nest" if len(nests) == 1 else f"{len(nests)} nests, each with a barrier behind it"
    yield (
        f"how it is computed: {count}; most fields contiguous along {explanation.contiguous}, vectors of "
        f"{explanation.vector_bytes} bytes, {explanation.threads} thread{'' if explanation.threads == 1 else 's'}"
    )
    if explanation.chosen:
        yield f"  chosen: {explanation.chosen}"
    if explanation.fast_math:
        yield f"  fast_math: {explanation.fast_math}"
    for number, nest in enumerate(nests):
        yield from _nest(number, nest)


def _nest(number: int, nest: Nest) -> Iterator[str]:
    around = f"; around the domain {words.reach(nest.extent)}" if nest.extent else ""
    yield from _wrapped(f"nest {number}: {words.KINDS[nest.kind]}{around}", "  ", "    ")
    yield from _wrapped(words.loops(nest), "    ", "    ")
    for number, reason in enumerate(words.apart(nest)):
        yield from _wrapped(reason, "      " if number else "    ", "        ")
    if by_level := words.by_level(nest):
        yield from _wrapped(by_level, "    ", "      ")
    shown = 0
    for one in nest.passes:
        if one.levels is not None:
            yield f"    {one.order}, {one.levels}"
        for stage in one.stages:
            shown += 1
            if shown <= _STAGES_SHOWN:
                yield from _stage(stage, within=one.levels)
    if shown > _STAGES_SHOWN:
        yield f"      … {shown - _STAGES_SHOWN} more loops"
    yield from _memory(nest)


def _stage(stage: Stage, within: str | None) -> Iterator[str]:
    facts = [stage.levels] if stage.levels != within else []
    facts += [word for word in (words.reach(stage.extent), words.region(stage), words.recomputed(stage)) if word]
    facts.append(f"{stage.lanes} lanes" if stage.lanes > 1 else "1 lane")
    yield f"      loop: {', '.join(facts)}"
    if stage.apart is not None:
        yield from _wrapped(f"a loop of its own: {stage.apart.text}", "        ", "        ")
    for statement in stage.statements[:_STATEMENTS_SHOWN]:
        line = "" if statement.line is None else str(statement.line)
        of = f"  ({statement.function})" if statement.function else ""
        yield f"        {line:>5}  {statement.text}{of}"
    rest = len(stage.statements) - _STATEMENTS_SHOWN
    if rest > 0:
        yield f"               … {rest} more statements"


def _memory(nest: Nest) -> Iterator[str]:
    said = []
    if nest.scratch:
        said.append(f"scratch memory of {size(nest.scratch)} per thread")
    if nest.transposed:
        names = ", ".join(dict.fromkeys(name if name.isidentifier() else f"({name})" for name, _, _ in nest.transposed))
        said.append(f"blocks of columns of {names} are transposed")
    if nest.streamed:
        does = {None: "may be", True: "are", False: "could be, in a larger domain,"}[nest.streams]
        said.append(f"{nest.streamed} bytes per point {does} stored past the caches")
    if nest.fetched:
        unless = ", unless calls before left them in the caches" if nest.unless_near else ""
        said.append(f"rows are fetched {nest.fetched} ahead{unless}")
    if said:
        yield from _wrapped("; ".join(said), "    ", "    ")


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    used = [n for n, width in enumerate(widths) if width]
    for row in rows:
        start = "  " + "  ".join(row[n].ljust(widths[n]) for n in used[:-1])
        start += "  " if len(used) > 1 else ""
        yield from _wrapped(row[used[-1]], start, " " * min(len(start), _WIDTH - _LAST_COLUMN))


def _wrapped(words: str, first: str, rest: str) -> Iterable[str]:
    if len(first) + len(words) <= _WIDTH or len(first) > _WIDTH * 2 // 3:
        return [(first + words).rstrip()]
    return textwrap.wrap(
        words, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
