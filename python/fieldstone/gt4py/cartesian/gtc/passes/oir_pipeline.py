"""``gt4py.cartesian.gtc.passes.oir_pipeline``: which steps of an optimiser a program skips."""

from __future__ import annotations

from collections.abc import Sequence

from . import oir_optimizations
from .oir_optimizations import Step

__all__ = ["DefaultPipeline", "OirPipeline"]


class OirPipeline:
    """What ``oir_pipeline=`` is; it has no effect here."""


class DefaultPipeline(OirPipeline):
    """All steps but some.

    Parameters
    ----------
    skip, add_steps : sequence, optional
        Steps that are left out and those that are added.
    """

    def __init__(self, *, skip: Sequence[type[Step]] | None = None, add_steps: Sequence[type[Step]] | None = None):
        self.skip = list(skip or [])
        self.add_steps = list(add_steps or [])

    @staticmethod
    def all_steps() -> list[type[Step]]:
        """Give all steps, so that they can be chosen by name."""
        return [getattr(oir_optimizations, name) for name in oir_optimizations.__all__]

    @property
    def steps(self) -> list[type[Step]]:
        """Those that are left."""
        return [step for step in self.all_steps() if step not in self.skip] + self.add_steps

    def __repr__(self) -> str:
        return str([step.__name__ for step in self.steps])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DefaultPipeline) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))
