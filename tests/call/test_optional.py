"""Arguments that may be left out, because the stencil does not use them."""

from __future__ import annotations

import enum
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.gtscript.info import AccessKind

BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gpu"]
F64 = np.float64
Array = npt.NDArray[Any]


def with_default(inp: Field[F64], out: Field[F64], more: Field[F64] = None, factor: float = None, *, n: int = 2):  # noqa: RUF013
    from __externals__ import MORE

    with computation(PARALLEL), interval(...):
        if __INLINED(MORE):  # noqa: SIM108
            out = inp + factor * more * n / n
        else:
            out = n * inp


def with_optional(
    inp: Field[F64],
    out: Field[F64],
    more: Optional[Field[F64]] = None,  # noqa: UP045
    factor: Optional[float] = None,  # noqa: UP045
    *,
    n: int = 2,
):
    from __externals__ import MORE

    with computation(PARALLEL), interval(...):
        if __INLINED(MORE):  # noqa: SIM108
            out = inp + factor * more * n / n
        else:
            out = n * inp


def with_bar(
    inp: Field[F64], out: Field[F64], more: Field[F64] | None = None, factor: float | None = None, *, n: int = 2
):
    from __externals__ import MORE

    with computation(PARALLEL), interval(...):
        if __INLINED(MORE):  # noqa: SIM108
            out = inp + factor * more * n / n
        else:
            out = n * inp


def with_text(
    inp: Field[F64], out: Field[F64], more: "Field[F64] | None" = None, factor: "float | None" = None, *, n: "int" = 2
):
    from __externals__ import MORE

    with computation(PARALLEL), interval(...):
        if __INLINED(MORE):  # noqa: SIM108
            out = inp + factor * more * n / n
        else:
            out = n * inp


DEFINITIONS = [with_default, with_optional, with_bar, with_text]


def arrays() -> tuple[Array, Array, Array]:
    return np.full((3, 4, 2), 3.0), np.zeros((3, 4, 2)), np.full((3, 4, 2), 0.5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_what_is_not_used_may_be_left_out(definition: Any, backend: str) -> None:
    stencil = gtscript.stencil(backend, definition, externals={"MORE": False})
    inp, out, more = arrays()
    for arguments, keywords in [
        ((), {}),
        ((None,), {}),
        ((None, None), {}),
        ((), {"factor": None, "more": None}),
        ((more, 2.0), {}),
        # What is not used is not looked at.
        ((more[0].astype("f4"), "two"), {}),
        ((), {"origin": {"more": (9, 9, 9), "_all_": (0, 0, 0)}}),
    ]:
        out[...] = 0.0
        stencil(inp, out, *arguments, **keywords)
        assert (out == 6.0).all()
    stencil.freeze(origin=(0, 0, 0), domain=(3, 4, 2))(inp, out, n=1)
    assert (out == 3.0).all()
    assert stencil.field_info["more"].access == AccessKind.NONE
    assert stencil.parameter_info["factor"].access == AccessKind.NONE
    assert stencil.parameter_info["n"].access == AccessKind.READ


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_what_is_used_must_be_there(definition: Any, backend: str) -> None:
    stencil = gtscript.stencil(backend, definition, externals={"MORE": True})
    inp, out, more = arrays()
    stencil(inp, out, more, 4.0)
    assert (out == 5.0).all()
    line = definition.__code__.co_firstlineno
    uses = [n for n in range(line, line + 20) if "factor * more" in lines()[n - 1]]
    with pytest.raises(errors.ArgumentTypeError, match=rf"argument 'more' is None, expected an array: .*:{uses[0]}\)"):
        stencil(inp, out, factor=4.0)
    with pytest.raises(
        errors.ArgumentTypeError, match=rf"'factor' is None, expected a number of type float64: .*:{uses[0]}"
    ):
        stencil(inp, out, more)
    assert (out == 5.0).all()


def lines() -> list[str]:
    with open(__file__, encoding="utf-8") as text:
        return text.readlines()


def test_a_parameter_without_default_must_be_given_but_may_be_none() -> None:
    def definition(inp: Field[F64], mask: Field[F64] | None, out: Field[F64]):
        with computation(PARALLEL), interval(...):
            out = inp

    with pytest.warns(UserWarning, match="the parameter `mask` is not used"):
        stencil = gtscript.stencil("numpy", definition)
    inp, out, _ = arrays()
    stencil(inp, None, out)
    assert (out == 3.0).all()
    with pytest.raises(errors.ArgumentTypeError, match="got no value for 'mask'"):
        stencil(inp, out=out)


def test_an_array_that_is_not_used_is_told_of_the_call() -> None:
    log: list[str] = []

    class Told:
        @property
        def __gt_data_interface__(self) -> Any:
            hooks = {what: (lambda what=what: log.append(what)) for what in ("acquire", "touch", "release")}
            return {None: {**np.zeros((1, 1)).__array_interface__, **hooks}}

    stencil = gtscript.stencil("debug", with_default, externals={"MORE": False})
    inp, out, _ = arrays()
    stencil(inp, out, Told())
    assert log == ["acquire", "release"]


class Scheme(enum.IntEnum):
    FIRST = 1
    SECOND = 2


@gtscript.enum
class Method(enum.IntEnum):
    UPWIND = -3
    CENTRED = 40


@pytest.mark.parametrize("backend", BACKENDS)
def test_members_of_enumerations_are_their_values(backend: str) -> None:
    def definition(out: Field[int], method: Method):
        from __externals__ import DEFAULT, schemes

        with computation(PARALLEL), interval(...):
            if method == Method.CENTRED:
                out = Method.CENTRED + DEFAULT
            elif method == Method.UPWIND:
                out = Method.UPWIND + schemes.SECOND
            else:
                out = Scheme.FIRST

    stencil = gtscript.stencil(backend, definition, externals={"DEFAULT": Scheme.SECOND, "schemes": Scheme})
    assert stencil.parameter_info["method"].dtype == np.int64
    for method, expected in ((Method.CENTRED, 42), (Method.UPWIND, -1), (7, 1)):
        out = np.zeros((2, 2, 2), dtype=int)
        stencil(out, method)
        assert (out == expected).all()


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        (enum.Enum("Plain", "A B"), errors.ArgumentTypeError, "a subclass of enum.IntEnum, not 'Plain'"),
        (int, errors.ArgumentTypeError, "a subclass of enum.IntEnum, not 'int'"),
        (3, errors.ArgumentTypeError, "a subclass of enum.IntEnum, not 3"),
        (enum.IntEnum("Large", {"A": 2**63}), errors.ArgumentValueError, "Large.A is 9223372036854775808"),
    ],
)
def test_what_is_no_enumeration(members: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gtscript.enum(members)
