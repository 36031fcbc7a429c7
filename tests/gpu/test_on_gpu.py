"""`make test-gpu` as far as no GPU is needed: which steps it takes, and what it says of them at the end."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "on_gpu.sh"
DEVICE = "<Device gpu:0: some GPU, cuda, compute capability 9.0>"


class Machine:
    """A machine whose commands note that they were called, and do nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        for name in ("cargo", "pytest", "compute-sanitizer"):
            self.has(name, f'echo "{name} $*" >> {self.log}')
        self.has("python", f'case "$2" in *fieldstone*) echo "{DEVICE}";; *torch*) exit 1;; esac')

    def has(self, name: str, body: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def run(self) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder}:{os.environ['PATH']}"
        return subprocess.run(
            ["sh", SCRIPT, "-x"], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_every_step_is_told_of(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 0, done.stderr
    summary = done.stdout[done.stdout.rindex(DEVICE) :].splitlines()[1:]
    assert {line[:34].strip(): line[34:].strip() for line in summary} == {
        "driver": "passed",
        "stencils": "passed",
        "overlap of transfers and kernels": "passed",
        "cupy": "passed",
        "torch": "not run: it is not installed",
        "compute-sanitizer memcheck": "passed",
        "compute-sanitizer racecheck": "passed",
        "compute-sanitizer synccheck": "passed",
        "compute-sanitizer initcheck": "passed",
    }
    calls = machine.log.read_text().splitlines()
    assert sum(call.startswith("compute-sanitizer --tool") for call in calls) == 4
    assert "pytest tests -m gpu -k cupy -x" in calls


def test_a_step_that_fails_does_not_stop_the_others(machine: Machine) -> None:
    machine.has("cargo", "exit 3")
    done = machine.run()
    assert done.returncode == 1
    assert "driver                             FAILED\nstencils                           passed" in done.stdout


def test_without_a_sanitizer_that_is_said(machine: Machine) -> None:
    (machine.folder / "compute-sanitizer").unlink()
    assert "not run: it is not installed (pip install nvidia-cuda-sanitizer-api-cu12)" in machine.run().stdout


def test_without_a_gpu_it_fails(machine: Machine) -> None:
    machine.has("python", "true")
    done = machine.run()
    assert done.returncode == 1
    assert "needs an NVIDIA GPU and its driver, and there is none" in done.stderr
