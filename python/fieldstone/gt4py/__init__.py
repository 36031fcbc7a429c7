"""GT4Py's names for fieldstone's stencils and storages, so that a program written against GT4Py runs unmodified.

After ::

    import fieldstone.gt4py

    fieldstone.gt4py.install()

``import gt4py`` finds this package, and ``gt4py.cartesian.gtscript``, ``gt4py.storage`` and what else models import are
its modules: one file here for each of GT4Py's. ``python -m fieldstone.gt4py PROGRAM`` runs a program with that line
before it. Without `install`, the modules can be imported under their names here.

===============  ================================================================================
``_importing``   how ``import gt4py`` comes to find this package
``_names``       what the package has under older names, and what it does not have
``storage``      arrays that lie in memory as a backend wants them
``cartesian``    gtscript and what belongs to it
===============  ================================================================================
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from fieldstone import __version__ as fieldstone_version

from . import _names, storage
from ._importing import find, install, installed, is_installed, uninstall

__all__ = ["__version__", "fieldstone_version", "install", "installed", "is_installed", "storage", "uninstall"]

__version__ = "1.1.12"
"""The version of GT4Py whose names these are."""
__version_info__ = (1, 1, 12)


def __getattr__(name: str) -> ModuleType | Any:
    if _names.is_offered(name):
        return find(name)
    raise AttributeError(_names.missing_attribute(__name__, name))
