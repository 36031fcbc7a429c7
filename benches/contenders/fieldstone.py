"""fieldstone: the case's stencils, called as a user calls them, with all checks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benches.arguments import Arguments
from benches.case import Case
from benches.contenders import Contender, sweeping
from fieldstone import gtscript, storage


def contender(arguments: Arguments, backend: str | None = None, **options: Any) -> Contender:
    """Return the stencils on fields of any layout."""
    backend = backend or ("cpu_kfirst" if arguments.layout == "K" else "cpu_ifirst")
    memory = "" if arguments.memory == "padded" else f" {arguments.memory}"
    name = f"fieldstone {arguments.layout}{memory}"
    return Contender(name, "fieldstone", _call(arguments, backend, options), _sweep, arguments)


def stencils(case: Case, dtype: str, backend: str, **options: Any) -> list[Any]:
    """Compile all steps of a case."""
    dtypes = {"real": np.dtype(dtype)}
    return [gtscript.stencil(backend, definition=definition, dtypes=dtypes, **options) for definition, _ in case.steps]


def _call(arguments: Arguments, backend: str, options: dict[str, Any]) -> Callable[[], object]:
    bound = []
    steps = stencils(arguments.case, arguments.dtype, backend, **options)
    for stencil, (_, names) in zip(steps, arguments.case.steps, strict=True):
        keywords = {name: value for name, value in arguments.case.scalars.items() if name in stencil.parameter_info}
        fields = [arguments.fields[name] for name in names]
        bound.append(functools.partial(stencil, *fields, **keywords, origin=arguments.origin, domain=arguments.size))
    if len(bound) == 1:
        return bound[0]

    def run() -> None:
        for step in bound:
            step()

    return run


@functools.cache
def _swept() -> tuple[Any, Any]:
    source, target = sweeping.arrays()
    return storage.as_storage(source), storage.as_storage(target)


def _sweep() -> None:
    source, target = _swept()
    target[...] = source
