"""How ``import gt4py`` comes to find fieldstone, for a while or for good."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from . import _names

__all__ = ["find", "install", "installed", "is_installed", "uninstall"]


def find(name: str) -> ModuleType:
    """Import ``gt4py.NAME`` of this package.

    Parameters
    ----------
    name : str
        Such as ``"cartesian.gtscript"``.
    """
    return importlib.import_module(_names.original(f"gt4py.{name}"))


class _Alias(Loader):
    """Loads a module by giving the one that has another name already."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_names.original(spec.name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has written the other name into it.
        module.__spec__ = self._spec


class _Finder(MetaPathFinder):
    """Finds ``gt4py`` and what is in it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname != "gt4py" and not fullname.startswith("gt4py."):
            return None
        original = _names.original(fullname)
        if importlib.util.find_spec(original) is None:
            raise ModuleNotFoundError(_names.missing_module(fullname), name=fullname)
        return ModuleSpec(fullname, _Alias(), origin=original)


_finder = _Finder()
_replaced: dict[str, ModuleType] = {}


def _modules() -> dict[str, ModuleType]:
    """Modules of the name ``gt4py`` that are imported."""
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "gt4py"}


def is_installed() -> bool:
    """Tell whether ``import gt4py`` finds fieldstone."""
    return _finder in sys.meta_path


def install() -> None:
    """Let ``import gt4py`` find fieldstone from now on, whether or not GT4Py is installed.

    Modules that have been imported keep what they have: call this before the modules of a model are imported.

    Warns
    -----
    UserWarning
        If GT4Py itself has been imported before.
    """
    if is_installed():
        return
    before = _modules()
    sys.meta_path.insert(0, _finder)
    for name, module in before.items():
        _replaced[name] = module
        del sys.modules[name]
    if before:
        warnings.warn(
            "GT4Py has been imported before fieldstone.gt4py.install(). From now on `import gt4py` gives fieldstone, "
            "but modules that are imported already keep GT4Py's stencils and storages: call install() first, or run "
            "the program with `python -m fieldstone.gt4py`",
            stacklevel=2,
        )


def uninstall() -> None:
    """Let ``import gt4py`` find again what it found before `install`: GT4Py, if there is one."""
    if not is_installed():
        return
    sys.meta_path.remove(_finder)
    for name in _modules():
        del sys.modules[name]
    sys.modules.update(_replaced)
    _replaced.clear()


@contextmanager
def installed() -> Iterator[None]:
    """Let ``import gt4py`` find fieldstone inside of a ``with`` block."""
    before = is_installed()
    install()
    try:
        yield
    finally:
        if not before:
            uninstall()
