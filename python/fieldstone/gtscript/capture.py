"""From a function object to its text, and to where the values of its free names are."""

from __future__ import annotations

import builtins
import inspect
import os
import re
from collections.abc import Mapping
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from ..errors import ArgumentTypeError, GTScriptDefinitionError
from .annotations import ELEMENT_TYPES


class Source(NamedTuple):
    """The text of a function and where it stands.

    Attributes
    ----------
    text : str
        From the first decorator to the last statement, without common indentation.
    file : str
        File name, relative to the working directory where it lies in it.
    first_line : int
        Line number of the first line.
    indent : int
        Characters of indentation removed from every line.
    """

    text: str
    file: str
    first_line: int
    indent: int


def plain_function(definition: Any, role: str) -> FunctionType:
    """Check that `definition` is a function written in Python.

    Parameters
    ----------
    definition : object
        What was decorated.
    role : str
        What it shall become, as in "a stencil".
    """
    if isinstance(definition, MethodType):
        raise ArgumentTypeError(
            f"{role} is made from a function, and `{definition.__qualname__}` is a method of an object: define it "
            "outside of the class, without `self`, and give it what it needs of the object as parameters or externals"
        )
    if not isinstance(definition, FunctionType):
        raise ArgumentTypeError(f"{role} is made from a function defined with `def`, not from {definition!r}")
    if hasattr(definition, "__wrapped__"):
        raise ArgumentTypeError(
            f"{role} is made from the text of `{definition.__name__}`, but another decorator replaced the function: "
            "remove that decorator, or put it above"
        )
    if definition.__name__ == "<lambda>":
        raise ArgumentTypeError(f"{role} is made from a function defined with `def`, not from a lambda")
    return definition


def source(function: FunctionType) -> Source:
    """Find the text of a function; works in files, notebooks and wherever Python keeps the text of what was typed."""
    try:
        lines, first_line = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise GTScriptDefinitionError(
            f"the text of `{function.__name__}` is not to be found: a stencil is compiled from its text, so define "
            "it in a file or a notebook, not through `exec` or a plain interactive session"
        ) from error
    indent = len(lines[0]) - len(lines[0].lstrip())
    text = "".join(_dedent(line, indent) for line in lines)
    first_line = max(first_line, 1)
    if not _defines(text, function.__code__.co_name):
        raise GTScriptDefinitionError(
            f"the text of `{function.__name__}` is not to be found at line {first_line} of {_file(function)}, which "
            "was changed after it was imported: import it again"
        )
    return Source(text, _file(function), first_line, indent)


def _defines(text: str, name: str) -> bool:
    """Tell whether a text, from the first decorator on, may be that of the function of a name."""
    found = re.search(r"^(?:async\s+)?def\s+(\w+)", text, re.MULTILINE)
    if found is None or not text.lstrip().startswith(("@", "def", "async")):
        return False
    # Python writes names in other letters as their usual ones.
    return found[1] == name or not found[1].isascii()


def _dedent(line: str, indent: int) -> str:
    """Remove `indent` characters of white space, or as many as there are: a long string may stick out."""
    blank = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, blank) :]


def _file(function: FunctionType) -> str:
    file = function.__code__.co_filename
    try:
        relative = os.path.relpath(file)
    except (ValueError, OSError):  # on another drive; the working directory is gone
        return file
    return file if not os.path.isabs(file) or relative.startswith(os.pardir) else relative


def scopes(function: FunctionType) -> list[Mapping[str, Any]]:
    """Give the mappings in which Python itself would look the free names of a function up, innermost first."""
    enclosing: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            enclosing[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return [enclosing, function.__globals__]


def evaluated_annotations(
    function: FunctionType, namespace: Mapping[str, Any], externals: Mapping[str, Any], names: Mapping[Any, Any]
) -> dict[str, Any]:
    """Evaluate the annotations of a function.

    Parameters
    ----------
    function : function
        Whose.
    namespace : mapping
        Names of the place where it is defined, which postponed annotations may use.
    externals : mapping
        Names that postponed annotations may use where Python knows no other meaning of them, as sizes of data
        dimensions.
    names : mapping
        Names that stay as they are, because they are resolved by name later.

    Returns
    -------
    dict
        Annotations by parameter name; one that cannot be evaluated is an `Unknown`.
    """
    local: dict[str, Any] = {**namespace, **scopes(function)[0]}
    outside = {**externals, **vars(builtins), **function.__globals__} if externals else function.__globals__
    result = {}
    for name, annotation in inspect.get_annotations(function).items():
        value = annotation
        # Twice: a postponed annotation may be a string that was a string already.
        for _ in range(2):
            if isinstance(value, str) and not hasattr(value, "__gtscript_name__") and value not in names:
                evaluated = _evaluate(value, outside, local)
                # NumPy's name of a type is one where Python knows no other meaning of it.
                value = value if isinstance(evaluated, Unknown) and value in ELEMENT_TYPES else evaluated
        result[name] = value
    return result


class Unknown(NamedTuple):
    """An annotation that cannot be evaluated, and why.

    Attributes
    ----------
    reason : str
        A clause.
    word : str, optional
        The name in it that does not exist.
    known : tuple of str
        Names that do.
    """

    reason: str
    word: str | None = None
    known: tuple[str, ...] = ()


def _evaluate(annotation: str, global_names: dict[str, Any], local_names: dict[str, Any]) -> Any:
    try:
        return eval(annotation, global_names, local_names)
    except NameError as error:
        return Unknown(f"name `{error.name}` is not defined", error.name, (*global_names, *local_names))
    except AttributeError as error:
        return Unknown(str(error), error.name, tuple(dir(error.obj)))
    except Exception as error:
        return Unknown(str(error) or type(error).__name__)
