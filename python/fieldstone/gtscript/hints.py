"""What costs time in a stencil and can perhaps be avoided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .explanation import Explanation, Hint

_PRESET_AXIS = {"cpu_kfirst": "K", "cpu_ifirst": "I"}
# Work beyond what is needed that is worth a word.
_MUCH = 1.1


def hints(explanation: Explanation) -> tuple[Hint, ...]:
    """Find what costs time.

    Parameters
    ----------
    explanation : Explanation
        Everything else that is known.

    Returns
    -------
    tuple of Hint
        In the order of what it usually costs.
    """
    from .explanation import Hint

    found = (
        *_layouts(explanation),
        *_by_level(explanation),
        *_arrays(explanation),
        *_transposed(explanation),
        *_several_nests(explanation),
        *_recomputed(explanation),
        *_threads(explanation),
        *_functions(explanation),
        *_conversions(explanation),
    )
    return tuple(Hint(kind, text) for kind, text in found)


Found = Iterator[tuple[str, str]]


def _names(names: list[str]) -> str:
    shown = [f"'{name}'" for name in names[:4]]
    rest = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(shown) + rest


def _layouts(explanation: Explanation) -> Found:
    most = explanation.contiguous
    if most is None:
        return
    used = [field for field in explanation.fields if field.access != "not used" and field.axes]
    apart = [field.name for field in used if field.contiguous is None]
    if apart:
        yield (
            "layout",
            f"{_names(apart)} {_has(apart)} no axis along which elements are adjacent: an access moves a whole cache "
            f"line for one element; pass contiguous arrays",
        )
    others = [field.name for field in used if field.contiguous not in (None, most) and most in field.axes]
    if others:
        yield (
            "layout",
            f"{_names(others)} {_is(others)} not contiguous along {most} as most fields are: vectors are put together "
            f"element by element; allocate all arrays with one preset",
        )
    preset = _PRESET_AXIS.get(explanation.backend)
    if preset is not None and preset != most and any(preset in field.axes for field in used):
        yield (
            "layout",
            f"most fields are contiguous along {most}, those of preset '{explanation.backend}' along {preset}: arrays "
            f"that mix both would be slow",
        )


def _has(names: list[str]) -> str:
    return "have" if len(names) > 1 else "has"


def _is(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _by_level(explanation: Explanation) -> Found:
    for number, nest in enumerate(explanation.nests):
        if nest.by_level is not None:
            yield (
                "level by level",
                f"nest {number} goes level by level, with a barrier of all threads behind each of its loops on every "
                f"level: {_where(nest.by_level.statement.line)}{nest.by_level.text}",
            )


def _where(line: int | None) -> str:
    return "" if line is None else f"line {line}: "


def _arrays(explanation: Explanation) -> Found:
    if explanation.contiguous is None:
        return
    for temporary in explanation.temporaries:
        if temporary.lives_in == "array":
            moved = temporary.bytes_per_point * max(2, len(temporary.nests))
            yield (
                "array",
                f"temporary '{temporary.name}' is an array in memory, which moves at least {moved} more bytes per "
                f"point: {temporary.why}",
            )


def _transposed(explanation: Explanation) -> Found:
    for number, nest in enumerate(explanation.nests):
        # Others are values that are composed of several arrays.
        names = list(dict.fromkeys(name for name, _, _ in nest.transposed if name.isidentifier()))
        if names:
            back = " and back" if any(stores for _, _, stores in nest.transposed) else ""
            yield (
                "transposed",
                f"nest {number} sweeps along K, along which {_names(names)} {_is(names)} contiguous: blocks of columns "
                f"are transposed into scratch memory{back}; arrays that are contiguous along I (preset 'cpu_ifirst') "
                f"need none of that",
            )


def _several_nests(explanation: Explanation) -> Found:
    uses: dict[str, int] = {}
    for nest in explanation.nests:
        for name in {name for stage in nest.stages for name in (*stage.reads, *stage.writes)}:
            uses[name] = uses.get(name, 0) + 1
    again = [field.name for field in explanation.fields if uses.get(field.name, 0) > 1]
    if again:
        yield (
            "several nests",
            f"{_names(again)} {_is(again)} moved by more than one nest, and so more than once where the domain is "
            f"larger than the caches",
        )


def _recomputed(explanation: Explanation) -> Found:
    for number, nest in enumerate(explanation.nests):
        worst = max(nest.stages, key=lambda stage: stage.recomputed, default=None)
        if worst is not None and worst.recomputed > _MUCH:
            yield (
                "edges of tiles",
                f"nest {number} computes {', '.join(worst.writes)} {worst.recomputed:.2f} times per point needed: "
                f"every tile computes its own edges",
            )


def _threads(explanation: Explanation) -> Found:
    for number, nest in enumerate(explanation.nests):
        tiles = 1
        for loop in nest.loops:
            if loop.tiles is None:
                tiles = 0
                break
            tiles *= loop.tiles
        if 0 < tiles < explanation.threads:
            yield (
                "threads",
                f"nest {number} has {tiles} tile{'' if tiles == 1 else 's'} for {explanation.threads} threads: the "
                f"domain is too small for all of them",
            )


def _functions(explanation: Explanation) -> Found:
    count = explanation.costs.operations.get("function", 0)
    if count:
        yield (
            "functions",
            f"{count:g} call{'' if count == 1 else 's'} per point of functions such as exp or pow, each of which takes "
            f"as long as many multiplications; a value that does not change from call to call can be a field",
        )


def _conversions(explanation: Explanation) -> Found:
    count = explanation.costs.operations.get("convert", 0)
    if count:
        yield (
            "conversions",
            f"{count:g} conversion{'' if count == 1 else 's'} per point between types: lanes are those of the widest "
            f"type of a loop; give fields and scalars one type",
        )
