"""``gt4py.cartesian.lazy_stencil``: stencils that are made when they are needed."""

from fieldstone.gtscript.lazy_stencil import LazyStencil

__all__ = ["LazyStencil"]
