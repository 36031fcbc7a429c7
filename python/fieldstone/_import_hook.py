"""Something to be done as soon as another package is imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["when_imported"]


def when_imported(package: str, action: Callable[[], Any]) -> None:
    """Do something after a package has been imported: at once if it has been, else when it is.

    Parameters
    ----------
    package : str
        Name of a top-level package, which need not be installed.
    action : callable
        What to do, once.
    """
    if sys.modules.get(package) is not None:
        action()
    else:
        sys.meta_path.insert(0, _Waiting(package, action))


class _Waiting:
    """A finder of modules, without its base class, whose import takes longer than that of all of fieldstone.

    It finds nothing by itself: what the other finders find is loaded, and then the action is done.
    """

    def __init__(self, package: str, action: Callable[[], Any]) -> None:
        self._package = package
        self._action = action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._package:
            return None
        found = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._action()

        loader.exec_module = exec_module
