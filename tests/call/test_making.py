"""How stencils are made, and made again: keywords of the decorator, lazy stencils, pickles and copies."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from fieldstone.gtscript.lazy_stencil import LazyStencil
from fieldstone.gtscript.stencil_object import StencilObject

F64 = np.float64


@gtscript.function
def doubled(value):
    return 2.0 * value


def scale(inp: Field["number"], out: Field["number"], *, factor: float = 1.0):
    """Scale a field."""
    from __externals__ import shift, transform

    with computation(PARALLEL), interval(...):
        out = factor * transform(inp) + shift


KEYWORDS: dict[str, Any] = {"externals": {"transform": doubled, "shift": 0.5}, "dtypes": {"number": np.float64}}


@gtscript.stencil("debug", **KEYWORDS)
def decorated(inp: Field["number"], out: Field["number"], *, factor: float = 1.0):
    from __externals__ import shift, transform

    with computation(PARALLEL), interval(...):
        out = factor * transform(inp) + shift


@gtscript.lazy_stencil(backend="numpy", **KEYWORDS)
def lazy(inp: Field["number"], out: Field["number"], *, factor: float = 1.0):
    from __externals__ import shift, transform

    with computation(PARALLEL), interval(...):
        out = factor * transform(inp) + shift


def check(stencil: Any) -> None:
    out = np.zeros((2, 3, 4))
    stencil(np.full((2, 3, 4), 3.0), out, factor=2.0)
    assert (out == 12.5).all()


# Keywords -------------------------------------------------------------------------------------------------------------


def test_by_position_and_by_name() -> None:
    for stencil in (
        gtscript.stencil("numpy", scale, **KEYWORDS),
        gtscript.stencil("numpy", **KEYWORDS)(scale),
        gtscript.stencil(backend="numpy", definition=scale, **KEYWORDS),
        gtscript.stencil("numpy", gtscript.stencil("debug", scale, **KEYWORDS), **KEYWORDS),
        gtscript.stencil("numpy", lazy, **KEYWORDS),
    ):
        assert isinstance(stencil, StencilObject)
        assert stencil.backend == "numpy"
        check(stencil)


def test_all_keywords_are_told_again() -> None:
    stencil = gtscript.stencil(
        "numpy",
        scale,
        **KEYWORDS,
        name="model.physics.scaled",
        rebuild=True,
        build_info={},
        cache_settings=None,
        raise_if_not_cached=False,
        literal_int_precision=32,
        literal_float_precision=64,
        format_source=False,
        threads=2,
    )
    check(stencil)
    assert stencil.name == "scaled"
    assert stencil.options == {
        "name": "scaled",
        "module": "model.physics",
        "format_source": False,
        "backend_opts": {"threads": 2},
        "rebuild": True,
        "raise_if_not_cached": False,
        "cache_settings": {},
        "literal_int_precision": 32,
        "literal_float_precision": 64,
    }
    assert gtscript.stencil("numpy", scale, **KEYWORDS).options["module"] == __name__
    assert stencil.definition_func is scale
    assert type(stencil).__doc__ == "Scale a field."
    assert type(stencil).__module__ == "model.physics"


@pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_kfirst"])
def test_build_info_is_filled(backend: str) -> None:
    info: dict[str, Any] = {"mine": 1}
    stencil = gtscript.stencil(backend, scale, **KEYWORDS, build_info=info, rebuild=True)
    assert list(info) == ["mine", "parse_time", "module_time", "codegen_time", "build_time", "load_time"]
    assert info["parse_time"] > 0
    assert info["module_time"] > 0
    assert info["build_time"] == info["codegen_time"] == info["load_time"] == 0.0
    check(stencil)
    compiled = backend.startswith("cpu")
    assert (info["codegen_time"] > 0, info["build_time"] > 0, info["load_time"] > 0) == (compiled, compiled, False)
    again: dict[str, Any] = {}
    check(gtscript.stencil(backend, scale, **KEYWORDS, build_info=again))
    assert (again["build_time"] > 0, again["load_time"] > 0) == (False, compiled)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"build_info": 1}, "build_info is a dict to fill, not 1"),
        ({"format_source": "yes"}, "format_source is True or False, not 'yes'"),
        ({"rebuild": 1}, "rebuild is True or False, not 1"),
        ({"raise_if_not_cached": None}, "raise_if_not_cached is True or False, not None"),
        ({"cache_settings": "here"}, "cache_settings is a mapping, .* not 'here'"),
        ({"name": 3}, "name is a string, not 3"),
        ({"externals": [1]}, r"externals is a mapping from names to values, not \[1\]"),
        ({"dtypes": [1]}, r"dtypes is a mapping from names to values, not \[1\]"),
        ({"backend": None}, "backend is a string, .* not None"),
        ({"definition": 3}, "a stencil is made from a function defined with `def`, not from 3"),
    ],
)
def test_wrong_keywords(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ArgumentTypeError, match=message):
        gtscript.stencil(**{"backend": "debug", "definition": scale, **KEYWORDS, **keywords})


def test_the_class_of_a_stencil_tells_stencils_apart() -> None:
    one, same = (gtscript.stencil("debug", scale, **KEYWORDS) for _ in range(2))
    other = gtscript.stencil("debug", scale, **{**KEYWORDS, "externals": {"transform": doubled, "shift": 1.5}})
    elsewhere = gtscript.stencil("numpy", scale, **KEYWORDS)
    assert type(one).__name__.startswith("scale____debug_")
    assert type(one).__name__ == f"scale____debug_{one._gt_id_}"
    assert one == same
    assert hash(one) == hash(same)
    assert len({one, same, other, elsewhere}) == 3


def test_what_a_stencil_is_made_of_does_not_keep_its_place_alive() -> None:
    import gc
    import weakref

    class Large:
        pass

    def place() -> tuple[Any, Any]:
        large, number = Large(), float

        @gtscript.stencil("debug")
        def local(out: Field[number]):
            with computation(PARALLEL), interval(...):
                out = 1.0

        assert number
        return local, weakref.ref(large)

    stencil, large = place()
    gc.collect()
    assert large() is None
    assert gtscript.stencil("numpy", stencil).field_info["out"].dtype == F64


# Lazy stencils --------------------------------------------------------------------------------------------------------


def test_a_lazy_stencil_is_compiled_when_it_is_used() -> None:
    stencil = gtscript.lazy_stencil("cpu_ifirst", scale, **KEYWORDS)
    assert isinstance(stencil, LazyStencil)
    assert "not compiled yet" in repr(stencil)
    assert stencil.backend == stencil.backend.name == "cpu_ifirst"
    stencil.check_syntax()
    assert "not compiled yet" in repr(stencil)
    assert list(stencil.field_info) == ["inp", "out"]
    assert "not compiled" not in repr(stencil)
    assert stencil.implementation is stencil.implementation
    check(stencil)
    check(stencil.freeze(origin=(0, 0, 0), domain=(2, 3, 4)))
    out = np.zeros((2, 3, 4))
    stencil.run(_domain_=(2, 3, 4), _origin_=(0, 0, 0), inp=np.full((2, 3, 4), 3.0), out=out, factor=2.0)
    assert (out == 12.5).all()


def test_when_a_lazy_stencil_is_checked() -> None:
    def wrong(out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = missing

    with pytest.raises(errors.GTScriptSymbolError):
        gtscript.lazy_stencil("numpy")(wrong)
    stencil = gtscript.lazy_stencil(check_syntax=False)(wrong)
    assert stencil.backend == "numpy"
    for use in (stencil.check_syntax, lambda: stencil.implementation, lambda: stencil(np.zeros((1, 1, 1)))):
        with pytest.raises(errors.GTScriptSymbolError):
            use()
    assert isinstance(gtscript.lazy_stencil("numpy", scale, eager=True, **KEYWORDS), StencilObject)
    with pytest.raises(errors.BackendError, match=r"backend 'nunpy' is not known \(did you mean 'numpy'\?\)"):
        gtscript.lazy_stencil("nunpy", scale, **KEYWORDS)


def test_externals_of_a_lazy_stencil_are_those_of_its_definition() -> None:
    externals = dict(KEYWORDS["externals"])
    stencil = gtscript.lazy_stencil("debug", scale, externals=externals, dtypes=KEYWORDS["dtypes"], check_syntax=False)
    externals["shift"] = 7.0
    check(stencil)


def test_threads_that_use_a_lazy_stencil_at_once_compile_it_once() -> None:
    stencil = gtscript.lazy_stencil("debug", scale, **KEYWORDS)
    barrier = threading.Barrier(8)
    found: list[Any] = []

    def use() -> None:
        barrier.wait()
        found.append(stencil.implementation)
        check(stencil)

    threads = [threading.Thread(target=use) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 8
    assert len({id(entry) for entry in found}) == 1


def test_a_lazy_function_is_read_when_a_stencil_calls_it() -> None:
    names: dict[str, Any] = {"__name__": __name__}
    exec("def nowhere(x):\n    return x\n", names)
    with pytest.raises(errors.GTScriptDefinitionError, match="the text of `nowhere` is not to be found"):
        gtscript.function(names["nowhere"])
    late = gtscript.lazy_function(names["nowhere"])
    assert late(3) == 3

    def definition(out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = late(1.0)

    with pytest.raises(errors.GTScriptDefinitionError, match="the text of `nowhere` is not to be found"):
        gtscript.stencil("debug", definition)


# Pickles and copies ---------------------------------------------------------------------------------------------------

MADE = gtscript.stencil("cpu_kfirst", scale, **KEYWORDS, threads=1)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("stencil", [decorated, MADE], ids=["decorated", "made"])
def test_a_pickle_is_the_stencil(stencil: Any, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(stencil, protocol))
    assert again == stencil
    assert again.backend == stencil.backend
    assert again.options == stencil.options
    check(again)
    if stencil is decorated:
        assert again is decorated


def test_a_pickle_of_a_lazy_stencil() -> None:
    check(pickle.loads(pickle.dumps(lazy)))
    check(pickle.loads(pickle.dumps(lazy.implementation)))


def test_a_pickle_of_a_frozen_stencil() -> None:
    frozen = decorated.freeze(origin=(0, 0, 0), domain=(2, 3, 4))
    again = pickle.loads(pickle.dumps(frozen))
    assert (again.origin, again.domain) == (frozen.origin, frozen.domain)
    check(again)
    for twin in (copy.copy(frozen), copy.deepcopy(frozen)):
        check(twin)


def test_a_copy_is_the_stencil() -> None:
    for stencil in (decorated, MADE):
        assert copy.copy(stencil) is stencil
        assert copy.deepcopy([stencil])[0] is stencil
    assert pickle.loads(pickle.dumps(doubled)) is doubled


def test_what_cannot_be_pickled_says_why() -> None:
    @gtscript.stencil("debug")
    def local(out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = 1.0

    with pytest.raises(pickle.PicklingError, match=r"stencil 'local' cannot be pickled: .*<locals>.local is not it"):
        pickle.dumps(local)
    with pytest.raises((pickle.PicklingError, TypeError), match="module"):
        pickle.dumps(gtscript.stencil("debug", scale, **{**KEYWORDS, "externals": {**KEYWORDS["externals"], "np": np}}))
    moved = types.FunctionType(scale.__code__, globals(), "scale")
    moved.__annotations__ = scale.__annotations__
    with pytest.raises(pickle.PicklingError, match="there is another object of this name"):
        pickle.dumps(gtscript.stencil("debug", moved, **KEYWORDS))


PROGRAM = """
import multiprocessing
import numpy as np
from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval

@gtscript.stencil(backend="cpu_ifirst")
def double(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = 2.0 * inp

def plain(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = 3.0 * inp

def work(stencil, value):
    out = np.zeros((5, 5, 5))
    stencil(np.full((5, 5, 5), value), out)
    return float(out[0, 0, 0])

if __name__ == "__main__":
    triple = gtscript.stencil("cpu_kfirst", plain)
    work(triple, 1.0)
    for method in ("spawn", "forkserver", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            results = pool.starmap(work, [(double, 1.0), (triple, 1.0), (double, 2.0), (triple, 2.0)])
        assert results == [2.0, 3.0, 4.0, 6.0], (method, results)
    print("fine")
"""


def test_stencils_go_to_other_processes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
