"""``gt4py.cartesian.gtc.passes.oir_optimizations``: the steps by name.

They do nothing here: fieldstone has its own schedule, and ``oir_pipeline=`` has no effect on it.
"""

__all__ = [
    "AdjacentLoopMerging",
    "HorizontalExecutionMerging",
    "IJCacheDetection",
    "KCacheDetection",
    "LocalTemporariesToScalars",
    "MaskInlining",
    "MaskStmtMerging",
    "NoFieldAccessPruning",
    "OnTheFlyMerging",
    "PruneKCacheFills",
    "PruneKCacheFlushes",
    "UnreachableStmtPruning",
    "WriteBeforeReadTemporariesToScalars",
]


class Step:
    """A step of GT4Py's optimiser; the name of one that could be skipped."""


class AdjacentLoopMerging(Step):
    """Vertical loops that follow each other become one."""


class HorizontalExecutionMerging(Step):
    """Statements over one plane become one loop."""


class OnTheFlyMerging(Step):
    """Temporaries are computed again where they are read."""


class LocalTemporariesToScalars(Step):
    """Temporaries of one loop become numbers."""


class WriteBeforeReadTemporariesToScalars(Step):
    """Temporaries that are written first become numbers."""


class MaskStmtMerging(Step):
    """Neighbouring conditions become one."""


class MaskInlining(Step):
    """Conditions are written where they are used."""


class UnreachableStmtPruning(Step):
    """What is never reached goes."""


class NoFieldAccessPruning(Step):
    """What touches no field goes."""


class IJCacheDetection(Step):
    """Temporaries that fit a block are kept there."""


class KCacheDetection(Step):
    """Levels that are read again are kept."""


class PruneKCacheFills(Step):
    """Levels that are not needed are not loaded."""


class PruneKCacheFlushes(Step):
    """Levels that are not needed are not stored."""
