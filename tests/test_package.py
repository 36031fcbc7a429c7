"""The package itself: what it shows, and what it imports only when somebody asks for it."""

import subprocess
import sys

import pytest

import fieldstone


def test_it_shows_its_public_names_only() -> None:
    assert {"devices", "gtscript", "storage", "xarray"} < set(dir(fieldstone))
    assert all(name == "__version__" or not name.startswith("_") for name in dir(fieldstone))
    assert all(hasattr(fieldstone, name) for name in dir(fieldstone))
    with pytest.raises(AttributeError, match="module 'fieldstone' has no attribute 'stroage'"):
        _ = fieldstone.stroage


def test_stencils_are_imported_when_they_are_asked_for() -> None:
    code = """
import sys, fieldstone
assert "fieldstone.gtscript" not in sys.modules and "llvmlite" not in sys.modules
assert fieldstone.gtscript.stencil
"""
    subprocess.run([sys.executable, "-c", code], check=True)
