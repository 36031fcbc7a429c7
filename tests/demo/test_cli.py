"""What the command line answers to wrong use: one sentence, exit status 2, no traceback."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import fieldstone
from fieldstone.cli import main
from fieldstone.demo import data, run
from tests.demo import reference


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "fieldstone: the following arguments are required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["demo", "--colour", "red"], "unrecognized arguments: --colour red"),
        (["demo", "--steps", "0"], "argument --steps: expected a whole number from 1, got '0'"),
        (["demo", "--steps", "many"], "argument --steps: expected a whole number from 1, got 'many'"),
        (["demo", "--threads", "-1"], "argument --threads: expected a whole number from 1"),
        (["demo", "--threads", "100000"], "'threads' is 100000, but .* must be an integer from 1 to 1024"),
        (["demo", "--dtype", "float16"], "argument --dtype: invalid choice: 'float16'"),
        (["demo", "--input", "absent.nc"], "there is no file 'absent.nc'"),
        (["demo", "--input", __file__], "cannot read '.*' as a NetCDF file"),
        (["demo", "--variable", "humidity"], "no variable 'humidity' .* it has 'air_potential_temperature'"),
        (["demo", "--backend", "abacus"], "abacus"),
        (["demo", "--steps", "1", "--output", __file__], "cannot write to '.*test_cli.py'"),
    ],
)
def test_wrong_use(words: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(words)
    except SystemExit as stop:
        status = stop.code
    error = capfd.readouterr().err
    assert status == 2
    assert error.startswith("fieldstone")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert re.search(message, error), error


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["demo", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
    assert "--backend" in capsys.readouterr().out


def test_the_result_is_what_the_equations_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--steps", "2", "--output", str(tmp_path / "out")]) == 0
    assert "all backends agree" in capsys.readouterr().out
    assert (tmp_path / "out" / "air_potential_temperature.png").read_bytes().startswith(b"\x89PNG")

    case = data.read()
    z = reference.heights(*(array.values for array in (case.level_height, case.sigma, case.surface_altitude)))
    phi, inner = case.phi.values.astype(np.float64), np.s_[:, run.HALO : -run.HALO, run.HALO : -run.HALO]
    for _ in range(2):
        between = phi.copy()
        reference.horizontal_diffusion(phi, np.full_like(phi, run.DIFFUSION_NUMBER), between)
        phi[inner] = reference.vertical_diffusion(between, z, run.TIME_STEP, run.DIFFUSIVITY)[inner]
    with xr.open_dataset(tmp_path / "out" / "air_potential_temperature.nc", engine="netcdf4") as result:
        after = result.air_potential_temperature
        assert after.dims == case.phi.dims
        assert after.attrs["units"] == "K"
        np.testing.assert_allclose(after.values, phi, rtol=5e-6)
        change = result.air_potential_temperature_change
        np.testing.assert_allclose(change.values, phi - case.phi.values, atol=1.5e-3)
        assert abs(change.values).max() > 0.01


def test_a_device_gives_the_same_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fieldstone.simulated_device():
        assert main(["demo", "--steps", "2", "--backend", "gpu", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "Device gpu:0: simulated, no GPU" in printed
    assert "all backends agree" in printed


def test_a_device_that_is_not_there_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if len(fieldstone.devices()) > 1:
        pytest.skip("there is one")
    assert main(["demo", "--backend", "gpu", "--output", str(tmp_path)]) == 2
    assert "FIELDSTONE_DEVICE" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "by", "status"), [("cpu_ifirst", 1e-4, 1), ("debug", 1e-4, 1), ("numpy", 1.0, 1), ("numpy", 0.0, 0)]
)
def test_disagreement_is_a_failure(
    wrong: str, by: float, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run.diffuse

    def diffuse(case: data.Case, backend: str, *arguments: Any) -> run.Run:
        one = right(case, backend, *arguments)
        if backend == wrong:
            one.result[3, 4, 5] += by
        return one

    monkeypatch.setattr(run, "diffuse", diffuse)
    assert main(["demo", "--steps", "1", "--output", str(tmp_path)]) == status
