"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more of the machine and its other users than of the code.
settings.register_profile("fieldstone", deadline=None)
settings.load_profile("fieldstone")

# Machine code of the tests stays in the tree.
CODE = Path(__file__).resolve().parents[1] / ".pytest_cache" / "code"
os.environ.setdefault("FIELDSTONE_CACHE_DIR", str(CODE))


@pytest.fixture(scope="session", autouse=True)
def _threads_for_small_domains() -> Iterator[None]:
    """Cut the small domains of tests into parts for all threads, as only large ones are otherwise."""
    from fieldstone import _core

    before = _core._set_work_per_thread(0)
    yield
    _core._set_work_per_thread(before)
