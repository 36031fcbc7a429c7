"""``gt4py.cartesian.__gtscript__``: what definitions import the words of gtscript from."""

import sys

from .gtscript import *  # noqa: F403 - the module is another name of that one

sys.modules.setdefault("__gtscript__", sys.modules[__name__])
