"""``gt4py.cartesian.config``: settings from the environment.

Where machine code is kept is `cache_settings`, if a program or ``GT_CACHE_ROOT``, ``GT_CACHE_DIR_NAME`` say so, else
fieldstone's own cache. What compilers and CUDA are told, `build_settings`, has no effect: fieldstone needs neither.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["build_settings", "cache_settings", "chosen_cache", "code_settings"]

GT4PY_INSTALLATION_PATH = os.path.dirname(os.path.abspath(__file__))

cache_settings: dict[str, Any] = {
    "dir_name": os.environ.get("GT_CACHE_DIR_NAME", ".gt_cache"),
    "root_path": os.environ.get("GT_CACHE_ROOT", os.path.abspath(".")),
    "load_retries": int(os.environ.get("GT_CACHE_LOAD_RETRIES", "3")),
    "load_retry_delay": int(os.environ.get("GT_CACHE_LOAD_RETRY_DELAY", "100")),
}
"""The cache is the folder ``dir_name`` in the folder ``root_path``; the other two have no effect."""

_DEFAULTS = dict(cache_settings)

build_settings: dict[str, Any] = {
    "cuda_bin_path": None,
    "cuda_include_path": None,
    "cuda_library_path": None,
    "cuda_arch": None,
    "gt_include_path": os.environ.get("GT_INCLUDE_PATH"),
    "openmp": {"use_openmp": True, "cppflags": [], "ldflags": []},
    "extra_compile_args": {"cxx": [], "cuda": []},
    "extra_link_args": [],
    "parallel_jobs": os.cpu_count() or 1,
    "cpp_template_depth": os.environ.get("GT_CPP_TEMPLATE_DEPTH", 1024),
}
"""Settings of compilers, which are kept and have no effect."""

code_settings: dict[str, Any] = {"root_package_name": "_GT_"}
"""Settings of generated code, which are kept and have no effect."""


def chosen_cache(settings: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """Tell which cache a program has chosen, None if it leaves that to fieldstone.

    Parameters
    ----------
    settings : dict, optional
        ``root_path`` and ``dir_name`` for one stencil.

    Returns
    -------
    dict or None
        ``root_path`` and ``dir_name``.
    """
    by_environment = "GT_CACHE_ROOT" in os.environ or "GT_CACHE_DIR_NAME" in os.environ
    names = ("root_path", "dir_name")
    if not settings and not by_environment and all(cache_settings.get(name) == _DEFAULTS[name] for name in names):
        return None
    return {name: (settings or {}).get(name, cache_settings.get(name, _DEFAULTS[name])) for name in names}
