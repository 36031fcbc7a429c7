"""``gt4py.cartesian.gtscript_imports``: import files ``NAME.gt.py`` in which the words of gtscript need no import.

Such a file has a line ``# [GT] using-dsl: gtscript`` where the words are to come from.
"""

from __future__ import annotations

import importlib.machinery
import linecache
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

__all__ = ["GTS_COMMENT", "GTS_EXTENSIONS", "GTS_IMPORT", "GtsFinder", "GtsLoader", "enable", "enabled"]

GTS_EXTENSIONS = [".gt.py"]
GTS_COMMENT = "# [GT] using-dsl: gtscript"
GTS_IMPORT = "from fieldstone.gt4py.cartesian.gtscript import *"


class GtsLoader(SourceFileLoader):
    """Loads a file with the words of gtscript imported where its comment stands."""

    def get_data(self, path: str) -> bytes:
        """Read the file, and replace the comment by an import of the same length in lines."""
        text = Path(path).read_text(encoding="utf-8").replace(GTS_COMMENT, GTS_IMPORT)
        # Stencils read their own text.
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        return text.encode()

    def get_code(self, fullname: str) -> CodeType:
        """Compile the file, without a folder of compiled files beside it."""
        path = self.get_filename(fullname)
        code = self.source_to_code(self.get_data(path), path)
        assert isinstance(code, CodeType)
        return code


class GtsFinder(MetaPathFinder):
    """Finds files ``NAME.gt.py``.

    Parameters
    ----------
    search_path : sequence of path, optional
        Where to look; wherever Python looks by default.
    generate_path : path, optional
        Where GT4Py keeps generated modules; nothing is generated here.
    in_source : bool, optional
        The same, beside the files.
    """

    def __init__(
        self,
        search_path: Sequence[str | Path] | None = None,
        generate_path: str | Path | None = None,  # noqa: ARG002
        in_source: bool = False,  # noqa: ARG002
    ) -> None:
        self.search_path = None if search_path is None else [Path(path) for path in search_path]

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Find the file of a module."""
        folders = [*(self.search_path or map(Path, sys.path)), *map(Path, path or ())]
        for folder in folders:
            for extension in GTS_EXTENSIONS:
                file = folder.absolute() / (fullname.rpartition(".")[2] + extension)
                if file.is_file():
                    loader = GtsLoader(fullname, str(file))
                    return importlib.machinery.ModuleSpec(fullname, loader, origin=str(file), is_package=False)
        return None

    def install(self) -> None:
        """Let imports use it."""
        sys.meta_path.append(self)
        sys.path.extend(str(path) for path in self.search_path or ())


def enable(
    *,
    search_path: Sequence[str | Path] | None = None,
    generate_path: str | Path | None = None,
    in_source: bool = False,
) -> GtsFinder:
    """Let imports find files ``NAME.gt.py``; the parameters are those of `GtsFinder`."""
    finder = GtsFinder(search_path, generate_path, in_source)
    finder.install()
    return finder


@contextmanager
def enabled(**parameters: Any) -> Iterator[GtsFinder]:
    """Let imports find files ``NAME.gt.py`` inside of a ``with`` block; the parameters are those of `GtsFinder`."""
    path, modules = sys.path.copy(), set(sys.modules)
    finder = enable(**parameters)
    try:
        yield finder
    finally:
        sys.meta_path.remove(finder)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            del sys.modules[name]
