"""Explanations as text and as HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from fieldstone import gtscript
from fieldstone.gtscript.explanation import Explanation
from tests.explain import definitions

ALL = [value for value in vars(definitions).values() if isinstance(value, FunctionType)]
BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gpu"]


def explain(definition: Callable[..., Any], backend: str = "cpu_ifirst", **keywords: Any) -> Explanation:
    externals = {"ALPHA": 0.25} if definition is definitions.with_externals else None
    explained = gtscript.stencil(backend, definition, externals=externals).explain(**keywords)
    assert isinstance(explained, Explanation)
    return explained


class Tree(HTMLParser):
    """Checks that every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.seen.add(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parsed(html: str) -> Tree:
    tree = Tree()
    tree.feed(html)
    tree.close()
    assert not tree.open
    assert "script" not in tree.seen
    return tree


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("definition", ALL, ids=lambda definition: definition.__name__)
def test_every_kind_has_both_faces(definition: Callable[..., Any], backend: str) -> None:
    for keywords in ({}, {"domain": (64, 32, 16), "bandwidth": 1e10, "threads": 3}):
        explained = explain(definition, backend, **keywords)
        text = str(explained)
        assert text.startswith(f"{definition.__name__}, backend {backend} (")
        for line in text.splitlines():
            assert line == line.rstrip()
        html = explained._repr_html_()
        tree = parsed(html)
        assert ("svg" in tree.seen) == (backend in ("cpu_kfirst", "cpu_ifirst"))
        for field in explained.fields:
            assert field.name in text
            assert any(field.name in words for words in tree.words)
        for hint in explained.hints:
            assert hint.text in tree.words


def test_the_text() -> None:
    text = str(explain(definitions.vadv, threads=4, domain=(64, 32, 40)))
    body = text.split("\n", 2)[2]
    first = definitions.vadv.__code__.co_firstlineno
    assert body.startswith(
        textwrap.dedent("""\
        fields
          lower     Field[IJK, float64]  read              K without the first level  contiguous along I
          diagonal  Field[IJK, float64]  read                                         contiguous along I
        """)
    )
    assert f"{first + 7}  ratio = upper / pivot\n" in body
    for words in (
        "how it is computed: 1 nest; most fields contiguous along I",
        "nest 0: columns, block by block",
        "BACKWARD, levels 0..end-1",
        "one sweep reads it at K…K+1, no further back",
        "costs per point of the domain 64 × 32 × 40",
        "memory          39.8 bytes: 31.8 read, 8 written (each element once)",
        "81920 points",
    ):
        assert words in body, words


def test_reasons_are_in_the_text() -> None:
    text = " ".join(str(explain(definitions.cut)).split())
    line = definitions.cut.__code__.co_firstlineno + 3
    assert (
        f"not fused with the nest before: as rows, line {line}: it writes `b` on other points around the domain than "
        f"what the nest writes as columns, line {line}: it reads `t[1, 0, 0]`, another column of what the nest writes"
    ) in text


def stencil_of(text: str, path: Path) -> Any:
    path.write_text(f"from fieldstone.gtscript import *\n{textwrap.dedent(text)}")
    spec = spec_from_file_location("explained", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return gtscript.stencil("cpu_ifirst", module.definition, externals={"a<b": 1, "page": "<script>"})


def test_everything_is_escaped(tmp_path: Path) -> None:
    text = """
    def definition(a: Field[float], b: Field[float]):
        with computation(PARALLEL), interval(...):
            b = 1.0 if a < 2.0 and a > 1.0 else 0.0  # <img>
    """
    explained = stencil_of(text, tmp_path / "<b>&amp.py").explain()
    html = explained._repr_html_()
    assert "<img" not in html
    assert "<script>" not in html
    assert "<b>&amp.py" not in html
    tree = parsed(html)
    assert any("a < 2.0 and a > 1.0" in words for words in tree.words)
    assert "'<script>'" in tree.words


def test_large_stencils_stay_small(tmp_path: Path) -> None:
    fields = [f"f{n}" for n in range(40)]
    name = [f"f{n % 40}" for n in range(1510)]
    body = "\n".join(f"        {name[n]} = {name[n + 1]} * 2.0 + {name[n + 7]}" for n in range(1500))
    parameters = ", ".join(f"{name}: Field[float]" for name in fields)
    text = f"def definition({parameters}):\n    with computation(PARALLEL), interval(...):\n{body}\n"
    explained = stencil_of(text, tmp_path / "large.py").explain()
    assert explained.costs.operations == {"add": 1500, "multiply": 1500}
    assert len(str(explained).splitlines()) < 700
    assert len(explained._repr_html_()) < 200_000
