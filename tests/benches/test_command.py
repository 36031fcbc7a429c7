"""``fieldstone bench``: what it shows, and what it answers to wrong use."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

import fieldstone
from fieldstone.cli import main
from fieldstone.commands import bench

MODEL = """\
    from fieldstone import gtscript
    from fieldstone.gtscript import IJ, PARALLEL, Field, GlobalTable, computation, interval

    @gtscript.stencil(backend="numpy")
    def smooth(a: Field[float], b: Field[float]):
        with computation(PARALLEL), interval(0, -1):
            b = a[1, 0, 0] + a[-2, 0, 0] + a[0, 0, 1]

    def mixed(
        a: Field[float],
        ground: Field[IJ, "real"],
        table: GlobalTable[float, (3,)],
        wind: Field[(float, (2,))],
        index: Field[int],
        *,
        dt: float,
        steps: int = 2,
    ):
        from __externals__ import FACTOR

        with computation(PARALLEL), interval(...):
            a = FACTOR * dt * ground + table.A[1] + wind[0, 0, 0][1] + steps + index

    def wrong(a: Field[float]):
        with computation(PARALLEL), interval(...):
            a = missing

    number = 3
"""


# Of `smooth` on 8 x 6 x 4 points: eleven columns and, on the last level, eight are read; three levels are written.
BYTES = (3 * 11 * 6 + 8 * 6 + 3 * 8 * 6) * 8


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.py").write_text(textwrap.dedent(MODEL))
    (tmp_path / "broken.py").write_text("raise ValueError('no')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "ROUNDS", 2)
    monkeypatch.setattr(bench, "WARM_UP", 0.0)
    monkeypatch.setattr(bench, "TURN", 0.0)


def test_a_table_of_backends(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "model.py:smooth", "--shape", "8x6x4", "--threads", "1"]) == 0
    out, problems = capfd.readouterr()
    assert not problems
    lines = out.splitlines()
    # Two additions on three of four levels.
    assert lines[0] == "smooth, 8 x 6 x 4, 1 thread: 16.25 bytes and 1.5 floating-point operations per point"
    assert lines[1].startswith("copy of an array of that size: ")
    assert [line.split()[0] for line in lines[3:]] == ["backend", "cpu_ifirst", "cpu_kfirst", "numpy"]
    assert [line.split()[1] for line in lines[4:]] == ["I", "K", "K"]


@pytest.mark.parametrize("layout", ["I", "J", "K"])
def test_json_has_everything(layout: str, capfd: pytest.CaptureFixture[str]) -> None:
    words = [
        "bench",
        "model.py:smooth",
        "--shape",
        "8x6x4",
        "--backend",
        "cpu_kfirst,debug",
        "--layout",
        layout,
        "--json",
    ]
    assert main(words) == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["stencil"] == "smooth"
    assert facts["shape"] == [8, 6, 4]
    assert facts["bytes"] == BYTES
    assert facts["floating"] == 2 * 8 * 6 * 3
    assert [one["backend"] for one in facts["backends"]] == ["cpu_kfirst", "debug"]
    for one in facts["backends"]:
        assert one["contiguous"] == layout
        assert len(one["times"]) == 2
        assert one["points_per_second"] == pytest.approx(8 * 6 * 4 / one["time"])
        assert one["bandwidth"] == pytest.approx(facts["bytes"] / one["time"])
        assert one["of_copy"] == pytest.approx(one["bandwidth"] / facts["copy_bandwidth"])


def test_fields_of_all_kinds_and_scalars(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "model.py:mixed", "--shape", "5x4x3", "--dtypes", "real=float32", "--externals", "FACTOR=2.0"]
    assert main([*words, "--scalars", "dt=0.5", "--halo", "2"]) == 0
    assert "mixed, 5 x 4 x 3" in capfd.readouterr().out


def test_the_number_of_threads_stays_what_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    before = fieldstone.num_threads()
    assert main(["bench", "model.py:smooth", "--shape", "8x6x4", "--threads", "3", "--backend", "cpu_ifirst"]) == 0
    assert "3 threads" in capfd.readouterr().out
    assert fieldstone.num_threads() == before


SHAPED = ["--shape", "8x8x8"]


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (["model.py:smooth"], 2, "the following arguments are required: --shape"),
        (["model.py:smooth", "--shape", "8x8"], 2, "expected three numbers of points such as 128x128x80, got '8x8'"),
        (["model.py:smooth", "--shape", "8x-1x8"], 2, "expected three numbers of points such as 128x128x80"),
        (["nowhere.py:smooth", *SHAPED], 2, "there is no file 'nowhere.py'"),
        (["model.py", *SHAPED], 2, "which stencil of the file? It has:\nmodel.py:smooth"),
        (["model.py:smoth", *SHAPED], 2, "has no stencil 'smoth' (did you mean 'smooth'?)"),
        (["model.py:number", *SHAPED], 2, "'number' is no stencil and no function, but of type 'int'"),
        (["broken.py:smooth", *SHAPED], 1, "fieldstone bench: 'broken.py' cannot be imported; see above"),
        (["model.py:wrong", *SHAPED], 2, "missing"),
        (["model.py:smooth", *SHAPED, "--backend", "cpu_jfirst"], 2, "cpu_jfirst"),
        (["model.py:smooth", *SHAPED, "--layout", "L"], 2, "invalid choice: 'L'"),
        (["model.py:smooth", "--shape", "1000000x1000000x4000"], 2, "choose a smaller --shape"),
        (["model.py:smooth", *SHAPED, "--halo", "-1"], 2, "expected a whole number from 0, got '-1'"),
        (["model.py:smooth", *SHAPED, "--threads", "0"], 2, "expected a whole number from 1, got '0'"),
        (["model.py:smooth", *SHAPED, "--scalars", "dt"], 2, "expected NAME=VALUE, got 'dt'"),
        (["model.py:smooth", *SHAPED, "--scalars", "dt=x"], 2, "dt is 'x', expected a number, True or False"),
        (["model.py:smooth", *SHAPED, "--scalars", "dt=1"], 2, "'dt' is no scalar parameter of 'smooth': it has none"),
    ],
)
def test_wrong_use(words: list[str], status: int, expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        found = main(["bench", *words])
    except SystemExit as stop:
        found = int(stop.code or 0)
    out, problems = capfd.readouterr()
    assert (found, out) == (status, "")
    assert expected in problems
    assert "fieldstone bench" in problems
