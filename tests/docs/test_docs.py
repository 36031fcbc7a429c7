"""Every fenced Python block of the README and of docs/ runs, those of one page in order and in one namespace."""

from __future__ import annotations

import linecache
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(?P<language>\S*)[^\n]*\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)

# What a reader sees but the tests do not run.
OTHER_LANGUAGES = {"sh", "text", "c", "rust", "toml"}


def blocks(page: Path) -> list[tuple[int, str, str]]:
    """Line number, language and code of every fenced block."""
    text = page.read_text()
    return [
        (text.count("\n", 0, match.start("code")), match["language"], match["code"]) for match in FENCE.finditer(text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Pages tell what is in the cache: nothing is there of other tests.
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", str(tmp_path / "code"))
    names: dict[str, object] = {"__name__": "__main__"}
    for line, language, code in blocks(page):
        if language == "python":
            # Stencils read their own source: a block is a file of its own, whose lines are those of the page.
            source = "\n" * line + code
            file = f"{page}:{line}"
            linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
            exec(compile(source, file, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_names_its_language(page: Path) -> None:
    for line, language, _ in blocks(page):
        assert language == "python" or language in OTHER_LANGUAGES, f"{page.name}:{line}: language {language!r}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_is_overlooked(page: Path) -> None:
    fences = re.findall(r"^\s*(?:```|~~~).*$", page.read_text(), re.MULTILINE)
    assert len(fences) == 2 * len(blocks(page)), f"{page.name} has a fence that is indented, or not closed"


def anchors(page: Path) -> set[str]:
    """What headings of a page are linked by."""
    text = FENCE.sub("", page.read_text())
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text())
    for target, anchor in re.findall(r"\]\(\s*([^)#\s]*)(?:#([^)]*))?\)", text):
        if target.startswith(("http:", "https:")):
            continue
        there = page.parent / target if target else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(there), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    for path in re.findall(r"`((?:crates|python|benches|tests|docs)/[^`\s]*)`", page.read_text()):
        assert (ROOT / path.split("::")[0]).exists() or path == "benches/results/", f"{page.name} names {path}"


def test_every_dependency_has_its_reason() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    python = {re.split(r"[<>=\[]", name)[0] for name in project["dependencies"] + extras} - {"fieldstone"}
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    for name in python | {name for name in rust if not name.startswith("fieldstone")}:
        assert f"`{name}`" in page, f"docs/dependencies.md does not say what {name} is for"
