"""What GT4Py itself makes of the programs here, asked for once, as soon as the first test of this folder begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from . import asking, random_programs

SCRIPTS = {
    "constructs_on_gt4py": "run_constructs.py",
    "programs_on_gt4py": "run_programs.py",
    "random_programs_on_gt4py": "run_random.py",
    "refusals_of_gt4py": "run_wrong.py",
}
"""The script that answers for each fixture."""


def _needed(item: pytest.Item) -> set[str]:
    """Which answers a test compares with."""
    return SCRIPTS.keys() & getattr(item, "fixturenames", ())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put off what waits for GT4Py."""
    items.sort(key=lambda item: bool(_needed(item)))


@pytest.fixture(scope="session", autouse=True)
def questions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, asking.Question]]:
    """All that the selected tests will want to know; the scripts run beside each other and beside the tests."""
    wanted = {name for item in request.session.items for name in _needed(item)}
    asked: dict[str, asking.Question] = {}
    folder = tmp_path_factory.getbasetemp()
    # Processes that share the tests have folders of their own in one.
    shared = "PYTEST_XDIST_WORKER" in os.environ
    folder = folder.parent if shared else folder
    for name, script in SCRIPTS.items():
        if asking.PYTHON is not None and name in wanted:
            arguments = [str(request.getfixturevalue("random_module"))] if name.startswith("random") else []
            asked[name] = asking.Question(script, folder / name, "numpy", *arguments, shared=shared)
    yield asked
    for question in asked.values():
        question.stop()


def _answer(questions: dict[str, asking.Question], name: str) -> dict[str, Any]:
    if asking.PYTHON is None:
        pytest.skip(asking.UNKNOWN)
    return dict(questions[name].answer())


@pytest.fixture(scope="session")
def constructs_on_gt4py(questions: dict[str, asking.Question]) -> dict[str, Any]:
    """The results of `constructs`, by name."""
    return _answer(questions, "constructs_on_gt4py")


@pytest.fixture(scope="session")
def programs_on_gt4py(questions: dict[str, asking.Question]) -> dict[str, Any]:
    """The results of `programs`, by name."""
    return _answer(questions, "programs_on_gt4py")


@pytest.fixture(scope="session")
def random_programs_on_gt4py(questions: dict[str, asking.Question]) -> dict[str, Any]:
    """The results of `random_module`, by name."""
    return _answer(questions, "random_programs_on_gt4py")


@pytest.fixture(scope="session")
def refusals_of_gt4py(questions: dict[str, asking.Question]) -> dict[str, Any]:
    """Class, message and attributes of each exception that `wrong` leads to, by name."""
    return _answer(questions, "refusals_of_gt4py")


@pytest.fixture(scope="session")
def random_module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A file with random programs; ``FIELDSTONE_GT4PY_PROGRAMS=FIRST:COUNT`` says which."""
    file = tmp_path_factory.mktemp("random") / "programs.py"
    file.write_text(random_programs.module(*random_programs.CHOSEN))
    return file
