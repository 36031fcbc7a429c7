"""``fieldstone explain``: what it shows, and what it answers to wrong use."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from fieldstone.cli import main

MODEL = """\
    from fieldstone import gtscript
    from fieldstone.gtscript import PARALLEL, Field, computation, interval
    import constants

    @gtscript.function
    def twice(f):
        return 2.0 * f

    @gtscript.stencil(backend="numpy")
    def doubled(a: Field[float], b: Field[float]):
        with computation(PARALLEL), interval(...):
            b = twice(a) * constants.UNIT

    @gtscript.lazy_stencil(backend="cpu_kfirst")
    def lazy(a: Field[float], b: Field[float]):
        with computation(PARALLEL), interval(...):
            b = a[1, 0, 0]

    def scaled(a: Field[float], b: Field[float]):
        from __externals__ import FACTOR
        with computation(PARALLEL), interval(...):
            b = FACTOR * a

    def single(a: Field["real"], b: Field["real"]):
        with computation(PARALLEL), interval(...):
            b = a

    def other(x):
        return x

    class Group:
        inner = doubled

    number = 3
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "model.py").write_text(textwrap.dedent(MODEL))
    (tmp_path / "constants.py").write_text("UNIT = 1.5\n")
    (tmp_path / "broken.py").write_text("def f():\n    return missing\nf()\n")
    (tmp_path / "stops.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "notes.txt").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return "model.py"


def shown(words: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    assert main(["explain", *words]) == 0
    out, problems = capfd.readouterr()
    assert not problems
    return out


def test_a_list_of_stencils(model: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert shown([model], capfd).splitlines() == [
        "model.py:doubled  stencil, backend numpy",
        "model.py:lazy     stencil, backend cpu_kfirst",
        "model.py:scaled   definition",
        "model.py:single   definition",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["model.py:doubled"], "doubled, backend numpy (model.py:"),
        (["model.py:Group.inner"], "doubled, backend numpy"),
        (["model.py:doubled", "--backend", "cpu_ifirst"], "slide along J"),
        (["model.py:lazy"], "lazy, backend cpu_kfirst"),
        (["model.py:lazy", "--layout", "I"], "vectors along I"),
        (["model.py:lazy", "--domain", "8,4,2", "--threads", "3"], "costs per point of the domain 8 × 4 × 2"),
        (["model.py:lazy", "--domain", "100x100x100", "--bandwidth", "16"], "at least 1 ms with the given bandwidth"),
        (["model.py:scaled", "--externals", "FACTOR=0.5"], "FACTOR  0.5"),
        (["model.py:single", "--dtypes", "real=float32", "--form", "ir"], "field a: float32[IJK]"),
        (["model.py:doubled", "--form", "source"], "b = twice(a) * constants.UNIT"),
        (["model.py:doubled", "--form", "ir"], "1.5"),
        (["model.py:doubled", "--form", "numpy"], "import numpy"),
        (["model.py:lazy", "--form", "schedule"], "contiguous along K"),
        (["model.py:lazy", "--form", "llvm", "--layout", "J"], "; a=J b=J"),
        (["model.py:lazy", "--form", "asm"], "# a=K b=K"),
        (["model.py:lazy", "--form", "html"], "<svg"),
    ],
)
def test_forms(model: str, words: list[str], expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert model == "model.py"
    assert expected in shown(words, capfd)


def test_json_and_output(model: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lazy.json"
    assert shown([f"{model}:lazy", "--form", "json", "-o", str(file)], capfd) == ""
    assert json.loads(file.read_text())["name"] == "lazy"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.py"], "there is no file 'absent.py'"),
        (["absent.py:doubled"], "there is no file 'absent.py'"),
        (["."], "'.' is no file"),
        (["notes.txt"], "'notes.txt' is no Python file: its name does not end in .py"),
        (["empty.py"], "'empty.py' has no stencils"),
        (["model.py:double"], "no stencil 'double' (did you mean 'doubled'?); its stencils are: doubled, lazy, scaled"),
        (["empty.py:double"], "'empty.py' has no stencil 'double'; it has no stencils"),
        (["model.py:number"], "'number' is no stencil and no function, but of type 'int'"),
        (["model.py:lazy", "--backend", "abacus"], "backend 'abacus' is not known"),
        (["model.py:lazy", "--layout", "x"], "layout: "),
        (["model.py:lazy", "--domain", "8,4"], "expected three numbers of points such as 128x128x80, got '8,4'"),
        (["model.py:lazy", "--domain", "8,4,0"], "expected three numbers of points"),
        (["model.py:lazy", "--threads", "none"], "expected a whole number from 1, got 'none'"),
        (["model.py:lazy", "--bandwidth", "-1"], "expected a positive number, got '-1'"),
        (["model.py:lazy", "--form", "pdf"], "invalid choice: 'pdf'"),
        (["model.py:scaled", "--externals", "FACTOR"], "expected NAME=VALUE, got 'FACTOR'"),
        (["model.py:single"], 'say what it stands for: `dtypes={"real": float}`'),
        (["model.py:single", "--dtypes", "float32"], "expected NAME=TYPE, got 'float32'"),
        (["model.py:single", "--dtypes", "real=fl32"], "real is 'fl32', expected a type such as float32"),
        (["model.py:scaled", "--externals", "FACTOR=half"], "FACTOR is 'half', expected a number, True or False"),
        (["model.py:scaled"], "FACTOR"),
        (["model.py:other"], "FS0"),
        (["model.py:doubled", "--form", "asm"], "form 'asm' exists for the backends cpu_kfirst, cpu_ifirst and gpu"),
        (["model.py:lazy", "-o", "nowhere/x"], "cannot write to 'nowhere/x': No such file or directory"),
        ([], "the following arguments are required: FILE[:STENCIL]"),
    ],
)
def test_wrong_use(model: str, words: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert model == "model.py"
    try:
        status: object = main(["explain", *words])
    except SystemExit as stop:
        status = stop.code
    assert status == 2
    out, problems = capfd.readouterr()
    assert not out
    assert problems.startswith("fieldstone explain: ")
    assert message in problems
    assert "Traceback" not in problems


@pytest.mark.parametrize(
    ("file", "last"),
    [("broken.py", "NameError: name 'missing' is not defined"), ("stops.py", "SystemExit: 3")],
)
def test_files_that_cannot_be_imported(model: str, file: str, last: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert model == "model.py"
    assert main(["explain", f"{file}:x"]) == 1
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert file in lines[1]
    assert lines[-2:] == [last, f"fieldstone explain: '{file}' cannot be imported; see above"]
