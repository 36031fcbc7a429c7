"""What GT4Py refuses for a reason of the language is refused with the same class of exception."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import fieldstone.gt4py

with fieldstone.gt4py.installed():
    from . import wrong


@pytest.mark.parametrize("name", wrong.WRONG)
def test_a_wrong_program_is_refused_as_by_gt4py(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = wrong.refusal(name, "debug")
    if wrong.WRONG[name].here == "nothing":
        assert error is None
        return
    assert wrong.WRONG[name].here in {base.__name__ for base in type(error).__mro__}, error


@pytest.mark.parametrize("name", wrong.WRONG)
def test_the_table_says_what_gt4py_raises(name: str, refusals_of_gt4py: dict[str, Any]) -> None:
    found = refusals_of_gt4py[name]
    assert (found and found[0]) == wrong.WRONG[name].gt4py, found
