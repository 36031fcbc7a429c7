"""``schedule="tuned"`` on a device: measured on copies of the arguments, noted, and without influence on results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldstone
from benches.cases.fvt import fvt
from benches.cases.lap7 import lap7
from benches.cases.vadv import vadv
from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from tests.gpu.test_blocks import outcome

F64 = np.float64
SHAPE = (40, 24, 12)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", str(tmp_path))
    return tmp_path


def relax(phi: Field[F64], weight: Field[F64]):
    """Read and write one field, so that a second run on it would change it again."""
    with computation(PARALLEL), interval(...):
        phi = phi * weight


def fields() -> list[Any]:
    random = np.random.default_rng(3)
    return [storage.storage(0.5 + 0.4 * random.random(SHAPE), defaults="gpu") for _ in range(2)]


def notes(folder: Path) -> int:
    return len(list(folder.glob("*.host")))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("schedule", ["tuned", "tuned tile.J=4"])
@pytest.mark.parametrize("definition", [lap7, fvt, vadv], ids=lambda one: one.__name__)
def test_measuring_changes_no_result(definition: Any, schedule: str) -> None:
    expected, found = outcome(definition, "cpu_ifirst"), outcome(definition, "gpu", schedule)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name, strict=True)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_arguments_are_changed_by_the_call_alone(asynchronous: bool) -> None:
    with fieldstone.simulated_device(asynchronous=asynchronous):
        phi, weight = fields()
        expected = np.asarray(phi) * np.asarray(weight)
        gtscript.stencil("gpu", relax, schedule="tuned")(phi, weight)
        np.testing.assert_array_equal(np.asarray(phi), expected)


def test_one_array_may_be_both_arguments() -> None:
    with fieldstone.simulated_device():
        phi, _ = fields()
        expected = np.asarray(phi) ** 2
        gtscript.stencil("gpu", relax, schedule="tuned")(phi, phi)
        np.testing.assert_array_equal(np.asarray(phi), expected)


def test_choices_are_measured_once_for_a_size_and_a_device(own_cache: Path) -> None:
    with fieldstone.simulated_device():
        phi, weight = fields()
        stencil = gtscript.stencil("gpu", relax, schedule="tuned")
        stencil(phi, weight)
        assert notes(own_cache) == 1
        stencil(phi, weight, domain=(39, 24, 12))
        again = gtscript.stencil("gpu", relax, schedule="tuned")
        again(phi, weight)
        assert notes(own_cache) == 1
        assert again.explain().chosen == stencil.explain().chosen
        stencil(phi, weight, domain=(4, 4, 4))
        assert notes(own_cache) == 2


def test_code_that_is_only_tried_is_not_kept(own_cache: Path) -> None:
    with fieldstone.simulated_device():
        stencil = gtscript.stencil("gpu", relax, schedule="tuned")
        stencil(*fields())
        assert len(fieldstone.cache.entries()) == 1
        assert len(stencil._compilations) == 1


def test_calls_of_a_graph_are_not_measured_but_go_by_what_was(own_cache: Path) -> None:
    """What is recorded may have no values yet."""
    with fieldstone.simulated_device():
        phi, weight = fields()
        stencil = gtscript.stencil("gpu", relax, schedule="tuned")
        step = stencil.freeze(origin={"_all_": (0, 0, 0)}, domain=SHAPE)
        for measured in (0, 1):
            expected = np.asarray(phi) * np.asarray(weight) * np.asarray(weight)
            with fieldstone.Graph() as graph:
                step(phi, weight)
            assert notes(own_cache) == measured
            for _ in range(2):
                graph.launch()
            np.testing.assert_array_equal(np.asarray(phi), expected)
            stencil(phi, weight)
        assert len(stencil._compilations) <= 2


def test_a_call_that_fails_says_so() -> None:
    def far(phi: Field[F64], level: Field[gtscript.IJ, np.int32]):
        with computation(PARALLEL), interval(...):
            phi = phi[0, 0, level]

    with fieldstone.simulated_device():
        phi, _ = fields()
        level = storage.full(SHAPE[:2], 100, np.int32, dims="IJ", defaults="gpu")
        with pytest.raises(errors.FieldstoneError, match="level"):
            gtscript.stencil("gpu", far, schedule="tuned")(phi, level)
