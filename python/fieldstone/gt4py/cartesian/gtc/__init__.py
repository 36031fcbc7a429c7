"""``gt4py.cartesian.gtc``: of GT4Py's compiler, the few names that models import."""
