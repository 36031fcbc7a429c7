"""Which modules of GT4Py there are here, which of them under older names too, and what is said of all others."""

from __future__ import annotations

OLDER = (
    "backend",
    "caching",
    "config",
    "definitions",
    "frontend",
    "gt_cache_manager",
    "gtscript",
    "gtscript_imports",
    "lazy_stencil",
    "stencil_object",
    "type_hints",
    "utils",
)
"""Modules of ``gt4py.cartesian`` that were modules of ``gt4py`` before there was a ``gt4py.cartesian``."""

ELSEWHERE = {
    "next": "the other language of GT4Py, for unstructured grids",
    "eve": "the library that GT4Py's compiler is made of",
    "_core": "private to GT4Py",
    "stencil_builder": "a part of GT4Py's compiler",
    "loader": "a part of GT4Py's compiler",
    "caching": "a part of GT4Py's compiler",
    "gtc": "a part of GT4Py's compiler",
    "testing": "GT4Py's own tests",
    "allocators": "private to GT4Py",
}
"""Parts of GT4Py that have no counterpart here, and what they are."""

OFFERED = "gt4py.cartesian (gtscript and what belongs to it) and gt4py.storage"


def is_offered(name: str) -> bool:
    """Tell whether ``gt4py.NAME`` is a module that is imported when it is asked for."""
    return name in ("cartesian", *OLDER)


def is_name(module: str) -> bool:
    """Tell whether a module is GT4Py's: ``gt4py``, or ``gtc``, as ``gt4py.cartesian.gtc`` was called before 1.0."""
    return module.partition(".")[0] in ("gt4py", "gtc")


def original(module: str) -> str:
    """Give the name that a module has here.

    Parameters
    ----------
    module : str
        As a program imports it: ``"gt4py"``, ``"gt4py.gtscript"``, ``"gt4py.cartesian.gtscript"``, ``"gtc.passes"``, …

    Returns
    -------
    str
        As this package has it, such as ``"fieldstone.gt4py.cartesian.gtscript"``.
    """
    parts = module.split(".")
    if parts[0] == "gtc":
        parts[:0] = ["gt4py", "cartesian"]
    if len(parts) > 1 and parts[1] in OLDER:
        parts.insert(1, "cartesian")
    return ".".join(("fieldstone", *parts))


def missing_module(name: str) -> str:
    """Say that there is no such module.

    Parameters
    ----------
    name : str
        As a program imports it.
    """
    what = next((f" ({ELSEWHERE[part]})" for part in name.split(".") if part in ELSEWHERE), "")
    return f"No module named {name!r}{what}: fieldstone stands in for GT4Py with {OFFERED}; the rest it does not have"


def missing_attribute(module: str, name: str) -> str:
    """Say that a module has no such attribute.

    Parameters
    ----------
    module : str
        The module's name here.
    name : str
        The attribute.
    """
    module = module.removeprefix("fieldstone.")
    what = f" ({ELSEWHERE[name]})" if name in ELSEWHERE else ""
    return (
        f"module {module!r} has no attribute {name!r}{what}: fieldstone stands in for GT4Py here, and offers {OFFERED}"
    )
