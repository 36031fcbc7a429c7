"""The table of the specification names tests that there are, and leaves out no public name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fieldstone import arrays, storage, utils
from fieldstone.storage import Storage

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "specification.md").read_text()
TESTS = sorted(set(re.findall(r"`(tests/[^`]*::[^`]*)`", TEXT)))
NAMES = {name for text in re.findall(r"`([^`]*)`", TEXT) for name in (text, *text.split())}


@pytest.fixture(scope="module")
def collected() -> set[str]:
    """Give the names of all tests of the files that the table names, without their parameters, and of their classes."""
    files = sorted(file for file in {name.split("::")[0] for name in TESTS} if (ROOT / file).exists())
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-o", "addopts=--import-mode=importlib", *files]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    tests = {re.sub(r"\[.*", "", line) for line in lines if "::" in line}
    return tests | {test.rpartition("::")[0] for test in tests}


@pytest.mark.parametrize("name", TESTS)
def test_every_test_that_is_named_is_collected(name: str, collected: set[str]) -> None:
    assert name in collected


@pytest.mark.parametrize(
    "name",
    [
        *storage.__all__,
        *storage.Parameters.__annotations__,
        *(name for name in dir(Storage) if not name.startswith("_")),
        *(f"arrays.{name}" for name in arrays.__all__),
        *(f"utils.{name}" for name in utils.__all__),
    ],
)
def test_every_public_name_is_in_the_table(name: str) -> None:
    assert name in NAMES


def test_every_row_names_a_test() -> None:
    for row in re.findall(r"^\|.*\|$", TEXT, re.MULTILINE):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 3, row
        assert cells[2] in ("held by", "---") or cells[2].startswith("`tests/"), row
