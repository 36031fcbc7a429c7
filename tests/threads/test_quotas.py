"""No more threads than the quota of a cgroup has cores for.

Each tree of cgroups is made of files, and shown in the place of the system's to one process, in a mount namespace of
its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NAMESPACE = ["unshare", "--mount", "--map-root-user"]
# Both are mounted over for this process only: which group it is in, and the groups.
SHOWN = 'mount --bind "$1" /proc/$$/cgroup && mount --bind "$2" /sys/fs/cgroup && exec "$3" -c "$4"'
CODE = "import fieldstone; print(fieldstone.num_threads())"


def _cores() -> int:
    return len(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    if (
        shutil.which("unshare") is None
        or subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("this system has no mount namespaces for this user")


@pytest.mark.parametrize(
    ("job", "step", "cores"),
    [
        ("max 100000", "max 100000", None),
        ("max 100000", "100000 100000", 1),
        ("200000 200000", "max 100000", 1),
        ("150000 100000", "max 100000", 1),
        ("50000 100000", "max 100000", 1),
        ("100000 100000", "400000 100000", 1),
        ("200000 100000", "6400000 100000", 2),
    ],
)
def test_a_quota_of_the_second_version(tmp_path: Path, job: str, step: str, cores: int | None) -> None:
    groups = tmp_path / "groups"
    for group, quota in {"job": job, "job/step": step}.items():
        (groups / group).mkdir(parents=True)
        (groups / group / "cgroup.controllers").write_text("cpu\n")
        (groups / group / "cpu.max").write_text(f"{quota}\n")
    _check(tmp_path, groups, "0::/job/step\n", cores)


@pytest.mark.parametrize(("quota", "cores"), [(-1, None), (100_000, 1), (150_000, 1), (200_000, 2)])
def test_a_quota_of_the_first_version(tmp_path: Path, quota: int, cores: int | None) -> None:
    groups = tmp_path / "groups"
    group = groups / "cpu" / "job"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    _check(tmp_path, groups, "4:memory:/job\n1:cpu:/job\n0::/\n", cores)


def _check(place: Path, groups: Path, own: str, cores: int | None) -> None:
    """Compare the number of threads in a group with the cores that it has a quota for; with ``None``, it has none."""
    (place / "own").write_text(own)
    arguments = [str(place / "own"), str(groups), sys.executable, CODE]
    command = [*NAMESPACE, "sh", "-c", SHOWN, "sh", *arguments]
    said = {name: value for name, value in os.environ.items() if name != "FIELDSTONE_NUM_THREADS"}
    run = subprocess.run(command, env=said, capture_output=True, text=True, check=True)
    assert int(run.stdout) == min(_cores(), cores or _cores())
