"""Code for processors with narrower vector registers than this one has: tests in a process that does without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

ROOT = Path(__file__).parents[2]

# Where vectors are masked, stored past the caches, shared by rows, moved along K, and where numbers are compared.
PARTS = (
    "test_arithmetic.py::test_min_and_max_keep_nan_and_the_first_of_two_zeros",
    "test_arithmetic.py::test_extremes_of_several",
    "test_arithmetic.py::test_a_constant_that_is_nan_is_kept",
    "test_groups_of_levels.py",
    "test_padding.py",
    "test_past_the_caches.py",
    "test_rows_of_levels.py",
    "test_shared_vectors.py",
    "test_short_columns.py",
)

FEATURES = llvm.get_host_cpu_features()


@pytest.mark.skipif("FIELDSTONE_TEST_WITHOUT" in os.environ, reason="this is the process that does without")
@pytest.mark.skipif("avx" not in FEATURES, reason="the processor has no such registers")
@pytest.mark.parametrize("feature", ["avx512", "avx"])
def test_without(feature: str) -> None:
    if not FEATURES["avx512f" if feature == "avx512" else "avx"]:
        pytest.skip("the processor has no such registers, as all other tests show")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [f"tests/backends/{part}" for part in PARTS]
    # Among the machine code there is a note of what the processor has.
    code = os.environ["FIELDSTONE_CACHE_DIR"]
    without = f"{code}-without-{feature}" if code else ""
    environment = os.environ | {"FIELDSTONE_TEST_WITHOUT": feature, "FIELDSTONE_CACHE_DIR": without}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
