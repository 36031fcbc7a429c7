"""When compiled code is used again, and when it is not."""

from __future__ import annotations

import os

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.errors import ArgumentTypeError, ArgumentValueError, CacheError
from tests.cache import scheme


def count(directory):
    return len(list(directory.glob("*.code")))


def test_code_is_used_again(directory):
    assert not scheme.reused(directory)
    assert scheme.reused(directory)
    assert count(directory) == 1


def test_each_layout_has_code_of_its_own(directory):
    stencil = scheme.make(directory=directory)
    assert [scheme.run(stencil, order) for order in "FC"] == [False, False]
    assert count(directory) == 2
    again = scheme.make(directory=directory)
    assert [scheme.run(again, order) for order in "CF"] == [True, True]


@pytest.mark.parametrize(
    "change",
    [
        {"definition": scheme.doubled},
        {"literal_float_precision": 32},
        {"name": "mean"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_code_of_another_stencil_is_not_used(directory, entry, change):
    stencil = scheme.make(directory=directory, **change)
    inp = np.ones((5, 5, 2), order="F")
    stencil(inp, np.zeros_like(inp))
    assert not stencil._compilations[0][0]


def test_code_for_another_backend_is_another_entry(directory, entry):
    settings = {"root_path": directory.parent, "dir_name": directory.name}
    other = gtscript.stencil("cpu_kfirst", scheme.average, cache_settings=settings)
    assert not scheme.run(other)
    assert count(directory) == 2


def test_externals_are_part_of_the_stencil(directory):
    def scaled(inp: gtscript.Field[np.float64], out: gtscript.Field[np.float64]):
        from __externals__ import FACTOR

        with computation(PARALLEL), interval(...):
            out = FACTOR * inp

    scaled.__globals__.update({word: getattr(gtscript, word) for word in ("computation", "interval", "PARALLEL")})
    for factor, cached in ((2.0, False), (3.0, False), (2.0, True)):
        stencil = scheme.make(scaled, directory, externals={"FACTOR": factor})
        inp, out = np.ones((2, 2, 2)), np.zeros((2, 2, 2))
        stencil(inp, out)
        assert (out == factor).all()
        assert stencil._compilations[0][0] is cached


def test_rebuild_compiles_and_keeps(directory, entry):
    entry.write_bytes(b"")
    assert not scheme.reused(directory, rebuild=True)
    assert not scheme.reused(directory, rebuild=True)
    assert scheme.reused(directory)


def test_the_directory_is_the_one_of_the_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", str(tmp_path / "usual" / "name"))
    for settings, place in (
        ({"root_path": tmp_path / "root", "dir_name": "dir"}, "root/dir"),
        ({"root_path": str(tmp_path / "root")}, "root/name"),
        ({"dir_name": ".gt_cache"}, "usual/.gt_cache"),
        ({}, "usual/name"),
        (None, "usual/name"),
    ):
        scheme.run(gtscript.stencil("cpu_ifirst", scheme.average, cache_settings=settings))
        assert count(tmp_path / place) == 1, settings


def test_an_empty_variable_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert not scheme.run(scheme.make())
    assert not scheme.run(scheme.make())
    assert not os.listdir(tmp_path)
    directory = tmp_path / "asked for"
    assert not scheme.reused(directory)
    assert scheme.reused(directory)


def test_a_tilde_is_the_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", "~/code")
    scheme.run(scheme.make())
    assert count(tmp_path / "home" / "code") == 1


def test_without_a_variable_it_is_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("FIELDSTONE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    scheme.run(scheme.make())
    assert count(tmp_path / "xdg" / "fieldstone") == 1
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    scheme.run(scheme.make())
    assert count(tmp_path / "home" / ".cache" / "fieldstone") == 1


def test_code_that_must_be_there_is_not_compiled(directory):
    with pytest.raises(
        CacheError, match=r"'average' was made with raise_if_not_cached=True, and the cache .* has no code"
    ):
        scheme.make(directory=directory, raise_if_not_cached=True)
    assert not directory.exists()
    scheme.reused(directory)
    assert scheme.reused(directory, raise_if_not_cached=True)


def test_a_layout_that_must_be_there_is_an_error_in_the_call(directory, entry):
    stencil = scheme.make(directory=directory, raise_if_not_cached=True)
    with pytest.raises(CacheError, match="arrays contiguous along inp=K out=K"):
        scheme.run(stencil, "C")
    assert scheme.run(stencil, "F")


def test_broken_code_that_must_be_there_is_an_error(directory, entry):
    entry.write_bytes(entry.read_bytes()[:-1])
    stencil = scheme.make(directory=directory, raise_if_not_cached=True)
    with pytest.raises(CacheError, match="run it once without that option"):
        scheme.run(stencil)


def test_the_error_is_the_one_of_gt4py(directory):
    with pytest.raises(ValueError, match="raise_if_not_cached"):
        scheme.make(directory=directory, raise_if_not_cached=True)


@pytest.mark.parametrize("backend", ["debug", "numpy"])
def test_backends_that_compile_nothing_need_nothing(directory, backend):
    settings = {"root_path": directory.parent, "dir_name": directory.name}
    stencil = gtscript.stencil(backend, scheme.average, raise_if_not_cached=True, cache_settings=settings)
    inp = np.ones((4, 4, 1))
    stencil(inp, np.zeros_like(inp))
    assert not directory.exists()


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"rebuild": "yes"}, ArgumentTypeError, "rebuild is True or False, not 'yes'"),
        ({"raise_if_not_cached": 1}, ArgumentTypeError, "raise_if_not_cached is True or False, not 1"),
        (
            {"rebuild": True, "raise_if_not_cached": True},
            ArgumentValueError,
            "rebuild=True compiles and raise_if_not_cached=True forbids it; give one of them",
        ),
        ({"cache_settings": "/scratch"}, ArgumentTypeError, "cache_settings is a mapping, .* not '/scratch'"),
        ({"cache_settings": {"root": "/"}}, ArgumentValueError, "has 'root', expected 'root_path' or 'dir_name'"),
        ({"cache_settings": {"root_path": 3}}, ArgumentTypeError, "root_path is a path, not 3"),
    ],
    ids=str,
)
def test_wrong_options_are_errors(keywords, error, message):
    with pytest.raises(error, match=message):
        gtscript.stencil("cpu_ifirst", scheme.average, **keywords)


def test_a_wrong_size_is_warned_of(directory, monkeypatch):
    monkeypatch.setenv("FIELDSTONE_CACHE_SIZE", "plenty")
    with pytest.warns(UserWarning, match="FIELDSTONE_CACHE_SIZE is 'plenty', expected a number of bytes"):
        scheme.make(directory=directory)


def test_the_cache_stays_within_its_size(directory, entry, monkeypatch):
    size = entry.stat().st_size
    os.utime(entry, (0, 0))
    # There is room for one of them, which need not be of the same size.
    monkeypatch.setenv("FIELDSTONE_CACHE_SIZE", str(size * 3 // 2))
    scheme.run(scheme.make(scheme.doubled, directory))
    (left,) = directory.glob("*.code")
    assert left != entry


def test_a_size_of_nothing_keeps_nothing(directory, monkeypatch):
    monkeypatch.setenv("FIELDSTONE_CACHE_SIZE", "0")
    assert not scheme.reused(directory)
    assert count(directory) == 0
