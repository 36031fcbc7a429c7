"""Directories for compiled code, and processes that use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCHEME = Path(__file__).with_name("scheme.py")


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "code"


@pytest.fixture
def entry(directory):
    """The file of a stencil that was compiled."""
    from tests.cache import scheme

    assert not scheme.reused(directory)
    (path,) = directory.glob("*.code")
    return path


@pytest.fixture
def process():
    """Start the program of `scheme`, with its cache in a directory; it is ended with the test."""
    started = []

    def start(directory, *words, **keywords):
        child = subprocess.Popen(
            [sys.executable, SCHEME, *words],
            env={**os.environ, "FIELDSTONE_CACHE_DIR": str(directory)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **keywords,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


@pytest.fixture
def outcome():
    """Wait for a process; it must have computed the right result."""

    def wait(child):
        out, err = child.communicate(timeout=300)
        assert child.returncode == 0, err
        return json.loads(out)["cached"]

    return wait
