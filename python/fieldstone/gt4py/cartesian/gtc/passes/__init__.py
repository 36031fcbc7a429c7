"""``gt4py.cartesian.gtc.passes``: names of the steps of GT4Py's optimiser, which options choose from."""

from . import oir_optimizations, oir_pipeline
from .oir_pipeline import DefaultPipeline, OirPipeline

__all__ = ["DefaultPipeline", "OirPipeline", "oir_optimizations", "oir_pipeline"]
