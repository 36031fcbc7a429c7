"""``gt4py.cartesian.frontend.exceptions``: what a wrong definition raises."""

from fieldstone.errors import (
    GTScriptAssertionError,
    GTScriptDataTypeError,
    GTScriptDefinitionError,
    GTScriptSymbolError,
    GTScriptSyntaxError,
    GTScriptValueError,
)

__all__ = [
    "GTScriptAssertionError",
    "GTScriptDataTypeError",
    "GTScriptDefinitionError",
    "GTScriptSymbolError",
    "GTScriptSyntaxError",
    "GTScriptValueError",
]
