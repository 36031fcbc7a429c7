from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def from_text(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Callable[..., Any]]:
    """Make a function of gtscript text, from a file, as users have it."""
    folder = tmp_path_factory.mktemp("gtscript")
    numbers = itertools.count()

    def load(text: str, name: str) -> Callable[..., Any]:
        path = folder / f"case{next(numbers)}.py"
        path.write_text(f"from fieldstone.gtscript import *\n\n\n{text}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        definition: Callable[..., Any] = getattr(module, name)
        return definition

    return load
