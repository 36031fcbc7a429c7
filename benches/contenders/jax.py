"""JAX on CPUs: array expressions that XLA fuses, with outputs that take the place of those before."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benches.arguments import Arguments
from benches.contenders import Contender, sweeping


def contender(arguments: Arguments) -> Contender:
    """Return the case on arrays of JAX indexed [k, j, i], with the values that the arguments have now."""
    import jax

    jax.config.update("jax_enable_x64", True)
    program = _Program(arguments)
    return Contender("JAX", "JAX", program.run, _sweep, program)


class _Program(Arguments):
    """Arguments in JAX's own arrays."""

    def __init__(self, arguments: Arguments) -> None:
        import jax.numpy as jnp

        self.case, self.size, self.dtype = arguments.case, arguments.size, arguments.dtype
        self._initial = dict(zip(arguments.fields, map(np.array, arguments.kji()), strict=True))
        self._function = _compiled(self.case.jax, self.case.outputs, tuple(self._initial))
        self._scalars = tuple(jnp.asarray(value, self.dtype) for value in self.case.scalars.values())
        self.reset()

    def run(self) -> None:
        """Compute once, and wait for it."""
        written = self._function(
            self._scalars, {name: self._fields.pop(name) for name in self.case.outputs}, self._fields
        )
        for array in written.values():
            array.block_until_ready()
        self._fields |= written

    def refresh(self) -> None:
        """Restore what calls both read and change."""
        if any(argument.access == "inout" for argument in self.case.arguments):
            self.reset()

    def reset(self) -> None:
        """Restore what calls have changed."""
        import jax.numpy as jnp

        self._fields = {name: jnp.array(values) for name, values in self._initial.items()}

    def outputs(self) -> dict[str, np.ndarray]:
        """Copy the points of the domain of all fields that are written, and reset the fields."""
        self.fields = {name: np.asarray(values).transpose() for name, values in self._fields.items()}
        found = self.inner()
        self.reset()
        return found


@functools.cache
def _compiled(function: Callable[..., Any], outputs: tuple[str, ...], names: tuple[str, ...]) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def run(scalars: tuple[Any, ...], written: Mapping[str, Any], read: Mapping[str, Any]) -> dict[str, Any]:
        fields = (written[name] if name in written else read[name] for name in names)
        return dict(zip(outputs, function(jnp, *fields, *scalars), strict=True))

    compiled: Callable[..., Any] = jax.jit(run, donate_argnums=1)
    return compiled


@functools.cache
def _swept() -> tuple[Any, Callable[[Any], Any]]:
    import jax

    source, _ = sweeping.arrays()
    return jax.numpy.array(source), jax.jit(lambda array: array + 1)


def _sweep() -> None:
    array, add = _swept()
    add(array).block_until_ready()
