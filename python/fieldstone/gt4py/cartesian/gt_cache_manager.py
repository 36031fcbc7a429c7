"""``gt4py.cartesian.gt_cache_manager``: the folders of the cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from . import config

__all__ = ["clean_caches", "find_caches"]


def find_caches(root: str | None = None, cache_name: str | None = None) -> list[Path]:
    """Find the folders of caches below a folder.

    Parameters
    ----------
    root : str, optional
        Where to look; ``config.cache_settings["root_path"]`` by default.
    cache_name : str, optional
        How they are called; ``config.cache_settings["dir_name"]`` by default.
    """
    root = root or config.cache_settings["root_path"]
    cache_name = cache_name or config.cache_settings["dir_name"]
    return [Path(folder) / cache_name for folder, folders, _ in os.walk(root) if cache_name in folders]


def clean_caches(caches: Sequence[Path], *, verbose: bool = False) -> None:
    """Remove folders of caches with all that is in them.

    Parameters
    ----------
    caches : sequence of path
        What `find_caches` has found.
    verbose : bool, optional
        Whether to name each on the screen.
    """
    for cache in caches:
        if cache.exists():
            if verbose:
                print(cache)
            shutil.rmtree(cache.resolve())
