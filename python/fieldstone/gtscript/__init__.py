"""gtscript: stencils on structured grids, written as Python functions.

A definition is a Python function whose text is compiled, never run::

    from fieldstone import gtscript
    from fieldstone.gtscript import PARALLEL, Field, computation, interval

    @gtscript.stencil(backend="cpu_ifirst")
    def average(inp: Field[float], out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = 0.25 * (inp[-1, 0, 0] + inp[1, 0, 0] + inp[0, -1, 0] + inp[0, 1, 0])

==================  =============================================================================
``words``           the words of the language: ``computation``, ``interval``, maths functions, …
``annotations``     what parameters are annotated with: ``Field[IJ, float]``, …
``memory``          what annotations say of the memory of an array
``capture``         from a function object to its text and the values of its free names
``function``        functions that stencils call
``enumeration``     enumerations whose members stencils name
``recipe``          what a stencil is made of, by which it can be made again
``stencil``         the decorator
``lazy_stencil``    the decorator of stencils that are compiled when they are first used
``stencil_object``  what is called
``info``            what is known of its parameters and domains
``exec_info``       what a call tells of its times
``explanation``     what a stencil does, how, and what that costs, made from ``facts`` and judged by ``hints``
==================  =============================================================================
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
    AxisIndex,
    DefaultParameters,
    DType,
    Field,
    GlobalTable,
    I,
    J,
    K,
    LayoutMap,
)
from .enumeration import enum
from .function import Function, function, lazy_function
from .lazy_stencil import LazyStencil, lazy_stencil
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
    "AxisIndex",
    "DType",
    "DefaultParameters",
    "Field",
    "Function",
    "GlobalTable",
    "I",
    "J",
    "K",
    "LayoutMap",
    "LazyStencil",
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
    "enum",
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
    "lazy_function",
    "lazy_stencil",
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
