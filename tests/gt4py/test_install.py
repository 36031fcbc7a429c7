"""How ``import gt4py`` comes to find fieldstone."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import fieldstone.gt4py

MODULES = [
    "gt4py",
    "gt4py.storage",
    "gt4py.storage.cartesian",
    "gt4py.storage.cartesian.interface",
    "gt4py.storage.cartesian.layout",
    "gt4py.storage.cartesian.layout_registry",
    "gt4py.storage.cartesian.utils",
    "gt4py.cartesian",
    "gt4py.cartesian.backend",
    "gt4py.cartesian.backend.base",
    "gt4py.cartesian.config",
    "gt4py.cartesian.definitions",
    "gt4py.cartesian.frontend",
    "gt4py.cartesian.frontend.base",
    "gt4py.cartesian.frontend.exceptions",
    "gt4py.cartesian.frontend.gtscript_frontend",
    "gt4py.cartesian.gt_cache_manager",
    "gt4py.cartesian.gtc.definitions",
    "gt4py.cartesian.gtc.passes.oir_pipeline",
    "gt4py.cartesian.gtscript",
    "gt4py.cartesian.gtscript_imports",
    "gt4py.cartesian.lazy_stencil",
    "gt4py.cartesian.stencil_object",
    "gt4py.cartesian.type_hints",
    "gt4py.cartesian.utils",
    "gt4py.cartesian.__externals__",
    "gt4py.cartesian.__gtscript__",
]
OLDER = {
    "gt4py.gtscript": "gt4py.cartesian.gtscript",
    "gt4py.definitions": "gt4py.cartesian.definitions",
    "gt4py.backend": "gt4py.cartesian.backend",
    "gt4py.config": "gt4py.cartesian.config",
    "gt4py.frontend.gtscript_frontend": "gt4py.cartesian.frontend.gtscript_frontend",
    "gt4py.stencil_object": "gt4py.cartesian.stencil_object",
    "gt4py.utils": "gt4py.cartesian.utils",
    "gtc": "gt4py.cartesian.gtc",
    "gtc.passes.oir_pipeline": "gt4py.cartesian.gtc.passes.oir_pipeline",
}

# What models import, by module. Names of GT4Py 1.1 that are missing here would be found by a model first.
NAMES = {
    "gt4py": "__version__ storage",
    "gt4py.storage": "cartesian empty from_array from_name full layout layout_registry ones register zeros",
    "gt4py.storage.cartesian.layout": "LayoutInfo layout_checker_factory layout_maker_factory",
    "gt4py.storage.cartesian.layout_registry": "REGISTRY from_name register",
    "gt4py.storage.cartesian.utils": "asarray cpu_copy dimensions_to_mask get_dims get_origin",
    "gt4py.cartesian": "StencilObject backend config definitions frontend gt_cache_manager gtscript stencil_object",
    "gt4py.cartesian.backend": (
        "REGISTRY Backend BaseBackend DebugBackend NumpyBackend GTCpuIfirstBackend GTCpuKfirstBackend GTGpuBackend "
        "DaceCPUBackend DaceCPUKFirstBackend DaceGPUBackend from_name register"
    ),
    "gt4py.cartesian.config": "build_settings cache_settings code_settings GT4PY_INSTALLATION_PATH",
    "gt4py.cartesian.definitions": (
        "AccessKind Boundary CartesianSpace DomainInfo FieldInfo ParameterInfo GTError GTSemanticError "
        "GTSpecificationError GTSyntaxError LITERAL_FLOAT_PRECISION LITERAL_INT_PRECISION"
    ),
    "gt4py.cartesian.frontend.exceptions": (
        "GTScriptAssertionError GTScriptDataTypeError GTScriptDefinitionError GTScriptSymbolError "
        "GTScriptSyntaxError GTScriptValueError"
    ),
    "gt4py.cartesian.gt_cache_manager": "clean_caches find_caches",
    "gt4py.cartesian.gtc.definitions": "Boundary CartesianSpace Index Shape",
    "gt4py.cartesian.gtc.passes.oir_pipeline": "DefaultPipeline OirPipeline",
    "gt4py.cartesian.gtscript": (
        "I J K IJ IK JK IJK FORWARD BACKWARD PARALLEL Field GlobalTable computation interval horizontal region "
        "__INLINED compile_assert function stencil lazy_stencil Axis int32 int64 float32 float64 abs min max mod sin "
        "cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt exp log log10 gamma cbrt isfinite isinf isnan "
        "floor ceil trunc erf erfc round round_away_from_zero"
    ),
    "gt4py.cartesian.gtscript_imports": "GTS_EXTENSIONS enable enabled",
    "gt4py.cartesian.lazy_stencil": "LazyStencil",
    "gt4py.cartesian.stencil_object": "FrozenStencil StencilObject AccessKind DomainInfo FieldInfo ParameterInfo",
}


def python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, *arguments, "-c", textwrap.dedent(code)] if code else [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_found_under_both_names(module: str) -> None:
    with fieldstone.gt4py.installed():
        found = importlib.import_module(module)
        assert found is importlib.import_module(f"fieldstone.{module}")
        assert found.__name__ == found.__spec__.name == f"fieldstone.{module}"
        assert found.__doc__ is not None
        assert module in found.__doc__ or module == "gt4py"


@pytest.mark.parametrize("older", OLDER)
def test_modules_are_found_where_they_were_before_gt4py_1(older: str) -> None:
    with fieldstone.gt4py.installed():
        assert importlib.import_module(older) is importlib.import_module(OLDER[older])


@pytest.mark.parametrize("module", NAMES)
def test_modules_have_the_names_that_models_import(module: str) -> None:
    with fieldstone.gt4py.installed():
        found = importlib.import_module(module)
        missing = [name for name in NAMES[module].split() if not hasattr(found, name)]
        assert missing == []


@pytest.mark.parametrize(
    "module",
    [
        "gt4py.next",
        "gt4py.eve",
        "gt4py.no_such_module",
        "gt4py.backend.gtc_backend",
        "gt4py.cartesian.stencil_builder",
        "gt4py.cartesian.gtc.gtir",
    ],
)
def test_what_is_not_offered_is_an_import_error_that_names_it(module: str) -> None:
    with (
        fieldstone.gt4py.installed(),
        pytest.raises(ModuleNotFoundError, match=f"No module named '{module}'") as caught,
    ):
        importlib.import_module(module)
    assert caught.value.name == module
    assert "gt4py.cartesian" in str(caught.value)


def test_attributes_that_are_not_offered_are_named() -> None:
    with fieldstone.gt4py.installed():
        import gt4py

        with pytest.raises(AttributeError, match=r"'gt4py' has no attribute 'next' \(the other language of GT4Py"):
            _ = gt4py.next
        with pytest.raises(AttributeError, match=r"'gt4py\.cartesian\.gtscript' has no attribute 'no_such_word'"):
            _ = gt4py.cartesian.gtscript.no_such_word
        with pytest.raises(ImportError, match="no_such_word"):
            exec("from gt4py.cartesian.gtscript import no_such_word")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("from gt4py import next", r"'gt4py\.next' \(the other language of GT4Py"),
        ("from gt4py import eve", r"'gt4py\.eve' \(the library that GT4Py's compiler is made of\)"),
        (
            "from gt4py.cartesian import stencil_builder",
            r"'gt4py\.cartesian\.stencil_builder' \(a part of GT4Py's comp",
        ),
        ("from gt4py.cartesian.stencil_builder import StencilBuilder", r"'gt4py\.cartesian\.stencil_builder'"),
        ("from gt4py.cartesian.utils import attrib", r"'gt4py\.cartesian\.utils\.attrib'"),
        ("from gt4py.cartesian.definitions import BuildOptions", r"'BuildOptions' from 'fieldstone\.gt4py\.cartesian"),
    ],
)
def test_names_that_are_not_offered_are_import_errors_that_name_them(statement: str, words: str) -> None:
    with fieldstone.gt4py.installed(), pytest.raises(ImportError, match=words):
        exec(statement)


def test_another_package_may_be_called_gtc(tmp_path: Path) -> None:
    (tmp_path / "gtc.py").write_text("MINE = True\n")
    result = python(
        """
        import fieldstone.gt4py
        with fieldstone.gt4py.installed():
            import gtc
            assert gtc.MINE
        import gtc as again
        assert again is gtc
        """,
        PYTHONPATH=str(tmp_path),
    )
    assert result.returncode == 0, result.stderr


def test_it_lasts_as_long_as_it_is_installed() -> None:
    assert not fieldstone.gt4py.is_installed()
    with fieldstone.gt4py.installed():
        assert fieldstone.gt4py.is_installed()
        fieldstone.gt4py.install()
        assert sum(type(finder).__module__ == "fieldstone.gt4py._importing" for finder in sys.meta_path) == 1
    assert not fieldstone.gt4py.is_installed()
    assert "gt4py.cartesian" not in sys.modules
    fieldstone.gt4py.uninstall()


def test_it_wins_over_gt4py_and_says_what_was_imported_before(tmp_path: Path) -> None:
    (tmp_path / "gt4py").mkdir()
    (tmp_path / "gt4py" / "__init__.py").write_text("ORIGINAL = True\n")
    (tmp_path / "gt4py" / "storage.py").write_text("ORIGINAL = True\n")
    result = python(
        """
        import warnings
        import gt4py.storage
        original = gt4py
        import fieldstone.gt4py
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fieldstone.gt4py.install()
        assert "GT4Py has been imported before" in str(caught[0].message)
        assert caught[0].filename == "<string>"
        import gt4py.storage
        assert gt4py is fieldstone.gt4py and gt4py.storage is fieldstone.gt4py.storage
        fieldstone.gt4py.uninstall()
        import gt4py.storage
        assert gt4py is original and gt4py.storage.ORIGINAL
        """,
        PYTHONPATH=str(tmp_path),
    )
    assert result.returncode == 0, result.stderr


def test_a_program_runs_by_one_word_more(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("WEIGHT = 2.0\n")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import sys
            import gt4py.storage
            from beside import WEIGHT
            from gt4py.cartesian import gtscript
            from gt4py.cartesian.gtscript import PARALLEL, computation, interval

            @gtscript.stencil(backend=sys.argv[1])
            def double(inp: gtscript.Field[float], out: gtscript.Field[float]):
                with computation(PARALLEL), interval(...):
                    out = WEIGHT * inp

            if __name__ == "__main__":
                inp, out = (gt4py.storage.ones((2, 2, 2), backend=sys.argv[1]) for _ in range(2))
                double(inp, out)
                print(sys.argv, out.sum(), double.backend)
                raise SystemExit(5)
            """
        )
    )
    result = python("", "-m", "fieldstone.gt4py", str(program), "dace:cpu", "--more")
    assert result.returncode == 5, result.stderr
    assert result.stdout == f"[{str(program)!r}, 'dace:cpu', '--more'] 16.0 dace:cpu\n"
    as_module = subprocess.run(
        [sys.executable, "-m", "fieldstone.gt4py", "-m", "program", "numpy"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert as_module.returncode == 5, as_module.stderr
    assert "16.0 numpy" in as_module.stdout


def test_a_program_may_be_a_line_of_the_shell() -> None:
    code = textwrap.dedent(
        """
        import sys, numpy
        from gt4py.cartesian.gtscript import *
        @stencil("numpy")
        def double(inp: Field[float], out: Field[float]):
            with computation(PARALLEL), interval(...):
                out = 2.0 * inp
        out = numpy.zeros((2, 2, 2))
        double(numpy.ones((2, 2, 2)), out)
        print(out.sum(), sys.argv, __name__, "main" in globals())
        """
    )
    result = python("", "-m", "fieldstone.gt4py", "-c", code, "-v")
    assert (result.returncode, result.stdout) == (0, "16.0 ['-c', '-v'] __main__ False\n"), result.stderr


@pytest.mark.parametrize(
    ("text", "frames", "last"),
    [
        ("import gt4py\n\ndef fail():\n    return 1 / 0\n\nfail()\n", 2, "ZeroDivisionError: division by zero"),
        ("def wrong(:\n", 1, "SyntaxError: invalid syntax"),
        ("import sys\nsys.exit('enough')\n", 0, "enough"),
        ("raise KeyboardInterrupt\n", 1, "KeyboardInterrupt"),
    ],
)
def test_a_program_that_fails_fails_as_by_itself(text: str, frames: int, last: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(text)
    results = [python("", "-m", "fieldstone.gt4py", str(program))]
    if "gt4py" not in text:
        results.append(python("", str(program)))
        assert (results[0].returncode, results[0].stderr) == (results[1].returncode, results[1].stderr)
    assert results[0].stderr.splitlines()[-1] == last
    assert results[0].stderr.count('  File "') == results[0].stderr.count(f'  File "{program}", line ') == frames


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 2, "usage: python -m fieldstone.gt4py PROGRAM"),
        (["--help"], 0, "usage: python -m fieldstone.gt4py PROGRAM"),
        (["-m"], 2, "usage"),
        (["-c"], 2, "usage"),
        (["-"], 2, "usage"),
        (["no_such_file.py"], 2, "there is no file 'no_such_file.py'"),
        (["-m", "no_such_module"], 1, "python -m fieldstone.gt4py: No module named no_such_module\n"),
    ],
)
def test_wrong_use_is_told(arguments: list[str], status: int, words: str) -> None:
    result = python("", "-m", "fieldstone.gt4py", *arguments)
    assert (result.returncode, words in result.stdout + result.stderr) == (status, True)
