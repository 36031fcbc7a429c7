"""gtscript: stencils on structured grids, written as Python functions.

A definition is a Python function whose text is compiled, never run::

    from fieldstone import gtscript
    from fieldstone.gtscript import PARALLEL, Field, computation, interval

    @gtscript.stencil(backend="cpu_ifirst")
    def average(inp: Field[float], out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = 0.25 * (inp[-1, 0, 0] + inp[1, 0, 0] + inp[0, -1, 0] + inp[0, 1, 0])

===============  ================================================================================
``words``        the words of the language: ``computation``, ``interval``, maths functions, …
``annotations``  what parameters are annotated with: ``Field[IJ, float]``, …
``capture``      from a function object to its text and the values of its free names
``function``     functions that stencils call
``stencil``      the decorator
===============  ================================================================================
"""

from builtins import abs, bool, float, int, max, min, pow, round  # noqa: UP029 - names of gtscript as well

from .annotations import (
    IJ,
    IJK,
    IK,
    JK,
    Alignment,
    Axes,
    Axis,
    DefaultParameters,
    DType,
    Field,
    I,
    J,
    K,
    LayoutMap,
)
from .function import Function, function
from .stencil import stencil
from .words import (
    __INLINED,
    BACKWARD,
    FORWARD,
    PARALLEL,
    __externals__,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cbrt,
    ceil,
    compile_assert,
    computation,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    float32,
    float64,
    floor,
    gamma,
    horizontal,
    int32,
    int64,
    interval,
    isfinite,
    isinf,
    isnan,
    log,
    log10,
    mod,
    region,
    round_away_from_zero,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)

__all__ = [
    "BACKWARD",
    "FORWARD",
    "IJ",
    "IJK",
    "IK",
    "JK",
    "PARALLEL",
    "__INLINED",
    "Alignment",
    "Axes",
    "Axis",
    "DType",
    "DefaultParameters",
    "Field",
    "Function",
    "I",
    "J",
    "K",
    "LayoutMap",
    "__externals__",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bool",
    "cbrt",
    "ceil",
    "compile_assert",
    "computation",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "float",
    "float32",
    "float64",
    "floor",
    "function",
    "gamma",
    "horizontal",
    "int",
    "int32",
    "int64",
    "interval",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "max",
    "min",
    "mod",
    "pow",
    "region",
    "round",
    "round_away_from_zero",
    "sin",
    "sinh",
    "sqrt",
    "stencil",
    "tan",
    "tanh",
    "trunc",
]
