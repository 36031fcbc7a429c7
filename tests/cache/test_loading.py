"""Code that is in the cache runs without LLVM being imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fieldstone import _processor

PROGRAM = """\
import sys
import numpy as np
from fieldstone import gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, PARALLEL, Field, computation, exp, interval, sin


def stencil({parameters}):
{body}


arrays = [np.asarray(np.random.default_rng(n).random((20, 19, 7)), order="{order}") for n in range(2)]
results = {{}}
for backend in ("numpy", "cpu_ifirst"):
    results[backend] = [array.copy(order="K") for array in arrays]
    gtscript.stencil(backend, stencil)(*results[backend], origin=(1, 1, 0), domain=(18, 17, 7))
for ours, theirs in zip(results["cpu_ifirst"], results["numpy"]):
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)
print("llvmlite.binding" in sys.modules)
"""

BODIES = {
    "neighbours": """\
    with computation(PARALLEL), interval(...):
        c = 0.25 * (a[1, 0, 0] + a[-1, 0, 0] + a[0, 1, 0] + a[0, -1, 0])
""",
    "constants": """\
    with computation(PARALLEL), interval(...):
        c = 1.5 if a > 0.5 else 0.1 * a + 3.25
""",
    "functions": """\
    with computation(PARALLEL), interval(...):
        c = exp(a) + sin(a) ** 3.5
""",
    "columns": """\
    with computation(FORWARD):
        with interval(0, 1):
            c = a
        with interval(1, None):
            c = a + 0.5 * c[0, 0, -1]
    with computation(BACKWARD), interval(0, -1):
        c = c + 0.25 * c[0, 0, 1]
""",
    "full temporaries": """\
    with computation(FORWARD), interval(1, None):
        c = a + c[0, 0, -1]
    with computation(PARALLEL), interval(...):
        t = c
    with computation(PARALLEL), interval(...):
        c = t[1, 0, 0] + t[-1, 0, 0] if a > 0.0 else 0.0
""",
}


def run(program: Path, directory: Path) -> str:
    command = [sys.executable, str(program)]
    environment = {"FIELDSTONE_CACHE_DIR": str(directory), "PATH": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", BODIES)
def test_no_llvm_without_compiling(tmp_path, name, order):
    program = tmp_path / "program.py"
    text = PROGRAM.format(parameters="a: Field[float], c: Field[float]", body=BODIES[name], order=order)
    program.write_text(text)
    assert run(program, tmp_path / "code") == "True"
    if Path("/proc/cpuinfo").exists() and sys.platform == "linux":
        assert run(program, tmp_path / "code") == "False"


def test_a_broken_note_on_the_processor_is_made_again(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        PROGRAM.format(parameters="a: Field[float], c: Field[float]", body=BODIES["neighbours"], order="F")
    )
    directory = tmp_path / "code"
    run(program, directory)
    (note,) = directory.glob("*.host")
    whole = note.read_bytes()
    for broken in (b"", whole[:-1], whole.replace(b"+", b"-", 1)):
        note.write_bytes(broken)
        assert run(program, directory) == "True"
        assert run(program, directory) == "False"
    assert len(list(directory.glob("*.code"))) == 1


def test_other_passes_are_another_processor(monkeypatch):
    with_all = _processor.identity()
    monkeypatch.setattr(_processor, "PASSES", _processor.PASSES[:1])
    assert _processor.identity() != with_all
