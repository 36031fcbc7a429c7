"""The process that runs GT4Py: answers one question after the other, each a line of JSON."""

from __future__ import annotations

import functools
import json
import os
import sys
from typing import Any

import numpy as np

from benches.arguments import Arguments
from benches.case import HALO
from benches.cases import CASES
from benches.contenders import sweeping, turn
from benches.dialect import gtscript


class _Case:
    """A compiled case, and its fields in the layout of the backend."""

    def __init__(self, build: str, size: list[int], dtype: str, backend: str, cache: str) -> None:
        from gt4py import storage

        case = CASES[build]
        ni, nj, nk = size
        options = {"cache_settings": {"root_path": cache}, "literal_float_precision": np.dtype(dtype).itemsize * 8}
        stencils = [
            gtscript.stencil(backend, definition=definition, dtypes={"real": np.dtype(dtype).type}, **options)
            for definition, _ in case.steps
        ]
        packed = Arguments(case, (ni, nj, nk), dtype, "I", "packed")
        self.arguments = packed
        for argument in case.arguments:
            index = tuple(0 if axis == "K" else HALO for axis in argument.axes)
            packed.fields[argument.name] = storage.from_array(
                packed.fields[argument.name],
                dtype=np.dtype(dtype),
                backend=backend,
                aligned_index=index,
                dimensions=tuple(argument.axes),
            )
        self._calls = []
        for stencil, (_, names) in zip(stencils, case.steps, strict=True):
            real = np.dtype(dtype).type
            keywords = {name: real(value) for name, value in case.scalars.items() if name in stencil.parameter_info}
            origin = {name: tuple(HALO if axis != "K" else 0 for axis in _axes(case, name)) for name in names}
            fields = [packed.fields[name] for name in names]
            self._calls.append(
                functools.partial(stencil, *fields, **keywords, origin=origin, domain=tuple(size), validate_args=True)
            )

    def __call__(self) -> None:
        for call in self._calls:
            call()


def _axes(case: Any, name: str) -> str:
    return next(argument.axes for argument in case.arguments if argument.name == name)


def _sweep() -> None:
    source, target = sweeping.arrays()
    np.copyto(target, source)


def main() -> None:
    """Answer until the other side hangs up."""
    answers = os.fdopen(os.dup(1), "w")
    # What GT4Py and its compiler print goes elsewhere.
    os.dup2(2, 1)
    cases: dict[str, _Case] = {}
    latest = ""
    for line in sys.stdin:
        question = json.loads(line)
        answer: Any = None
        try:
            if "build" in question:
                latest = f"GT4Py {question['backend']}"
                cases[latest] = _Case(**question)
            elif "call" in question:
                latest = question["call"]
                cases[latest]()
            elif "turn" in question:
                case = cases[question["turn"]]
                case.arguments.refresh()
                answer = turn(case, _sweep, question["calls"], cold=question["cold"])
            else:
                np.savez(question["outputs"], **cases[latest].arguments.outputs())
            reply = {"answer": answer}
        except (Exception, SystemExit) as problem:
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
