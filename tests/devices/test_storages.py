"""Storages on devices: the life of one beyond its simulation, work that is done late, memory that ends."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import fieldstone
from fieldstone import storage

Managed = Literal["gt4py", "cuda", False]
MANAGED: list[Managed] = ["gt4py", "cuda", False]


def through(values: np.ndarray, managed: Managed) -> np.ndarray:
    """The values after a journey: to a device, into every second row there, and back."""
    field = storage.storage(values, device="gpu", managed=managed, dims="IJK")
    target = storage.zeros(values.shape, device="gpu", managed=managed, dims="IJK")
    target[::2] = field[::2]
    return storage.storage(target, device="cpu").to_numpy()


@pytest.mark.parametrize("managed", MANAGED)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_values_survive_a_device_that_works_late(managed: Managed, asynchronous: bool) -> None:
    values = np.arange(240.0).reshape(6, 8, 5)
    expected = values.copy()
    expected[1::2] = 0.0
    with fieldstone.simulated_device(asynchronous=asynchronous):
        np.testing.assert_array_equal(through(values, managed), expected)


@pytest.mark.parametrize("managed", MANAGED)
def test_a_storage_outlives_the_simulation_of_its_device(managed: Managed) -> None:
    with fieldstone.simulated_device() as gpu:
        field = storage.storage(np.ones((3, 4)), device="gpu", managed=managed)
    with fieldstone.simulated_device() as other:
        field[1] = 2.0
        assert storage.storage(field, device="cpu").to_numpy().sum() == 16.0
        assert other.transfers.uploads == other.transfers.downloads == 0
    assert gpu.free_memory < gpu.total_memory
    del field
    assert gpu.free_memory == gpu.total_memory


@pytest.mark.parametrize("managed", MANAGED)
def test_memory_that_ends_is_a_memory_error(managed: Managed) -> None:
    with fieldstone.simulated_device(memory=10_000) as gpu:
        kept = storage.zeros((100,), device="gpu", managed=managed)
        with pytest.raises(MemoryError, match=r"cannot allocate \d+ bytes"):
            storage.zeros((2000,), device="gpu", managed=managed)
        assert gpu.free_memory <= 10_000 - kept.nbytes
        storage.zeros((100,), device="gpu", managed=managed)
