"""What a call writes into the dictionary that is given as ``exec_info=``.

Every call sets the times, in seconds as of ``time.perf_counter``: ``call_start_time``, ``call_run_start_time``,
``run_start_time``, ``run_end_time``, ``call_run_end_time``, ``call_end_time``, and ``domain`` and ``origin`` as they
were inferred. With ``exec_info["__aggregate_data"] = True`` there is one more dictionary for each stencil, under its
name, that adds up the times of its calls.
"""

from __future__ import annotations

from typing import Any

__all__ = ["aggregate"]


def aggregate(exec_info: dict[str, Any], stencil: str) -> None:
    """Add the times of a call that has ended to those of the stencil's earlier calls, if that is wanted.

    Parameters
    ----------
    exec_info : dict
        What the call has filled.
    stencil : str
        Name of the stencil.
    """
    if not exec_info.setdefault("__aggregate_data", False):
        return
    totals: dict[str, Any] = exec_info.setdefault(stencil, {})
    totals["ncalls"] = totals.get("ncalls", 0) + 1
    for kind in ("call", "run"):
        start, end = exec_info[f"{kind}_start_time"], exec_info[f"{kind}_end_time"]
        totals[f"{kind}_start_time"], totals[f"{kind}_end_time"] = start, end
        totals[f"{kind}_time"] = end - start
        totals[f"total_{kind}_time"] = totals.get(f"total_{kind}_time", 0.0) + end - start
