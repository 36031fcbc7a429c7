"""``gt4py.cartesian.frontend.gtscript_frontend``: the errors' older home, and the name of the front end."""

from .base import Frontend as GTScriptFrontend
from .exceptions import (
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
    "GTScriptFrontend",
    "GTScriptSymbolError",
    "GTScriptSyntaxError",
    "GTScriptValueError",
]
