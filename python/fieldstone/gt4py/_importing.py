"""How ``import gt4py`` comes to find fieldstone, for a while or for good."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
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
    """Finds ``gt4py`` and what is in it, and ``gtc``, which was a package beside it once."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname.startswith("fieldstone.gt4py."):
            # What `from gt4py import name` asks for in the end.
            if PathFinder.find_spec(fullname, path, target) is None:
                name = fullname.removeprefix("fieldstone.")
                raise ModuleNotFoundError(_names.missing_module(name), name=name)
            return None
        if not _names.is_name(fullname) or (fullname == "gtc" and PathFinder.find_spec(fullname, path, target)):
            return None
        original = _names.original(fullname)
        try:
            importlib.util.find_spec(original)
        except ModuleNotFoundError:
            raise ModuleNotFoundError(_names.missing_module(fullname), name=fullname) from None
        return ModuleSpec(fullname, _Alias(), origin=original)


_finder = _Finder()
_replaced: dict[str, ModuleType] = {}


def _modules() -> dict[str, ModuleType]:
    """Modules of GT4Py's names that are imported, GT4Py's or those that stand in for them."""
    found = {name: module for name, module in sys.modules.items() if _names.is_name(name)}
    # Another package may be called `gtc`.
    ours = getattr(found.get("gtc"), "__name__", "").startswith("fieldstone.")
    return {name: module for name, module in found.items() if ours or not name.startswith("gtc")}


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
