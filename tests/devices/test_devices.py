"""What `fieldstone.devices` lists, and simulated devices in place of the machine's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import fieldstone
from fieldstone.errors import ArgumentTypeError, ArgumentValueError


def run(code: str, **environment: str) -> str:
    """Output of a Python process with these variables in its environment."""
    whole = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=whole, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_the_host_comes_first() -> None:
    host = fieldstone.devices()[0]
    assert (host.id, host.kind, host.name) == ("cpu", "host", "host")
    assert 0 < host.free_memory <= host.total_memory
    assert host.compute_capability is None
    assert host.transfers.uploads == host.transfers.downloaded_bytes == 0
    host.transfers.reset()
    host.synchronize()


def test_a_simulated_device_says_so() -> None:
    with fieldstone.simulated_device() as gpu:
        assert fieldstone.devices()[1:] == [gpu]
        assert (gpu.id, gpu.kind) == ("gpu:0", "simulated")
        assert "simulated" in gpu.name
        assert repr(gpu) == "<Device gpu:0: simulated, no GPU>"
        assert 0 < gpu.free_memory <= gpu.total_memory
        assert repr(gpu.transfers) == "Transfers(uploads=0, uploaded_bytes=0, downloads=0, downloaded_bytes=0)"
        gpu.synchronize()


def test_simulations_nest() -> None:
    before = fieldstone.devices()
    with fieldstone.simulated_device() as outer:
        with fieldstone.simulated_device(2) as inner:
            assert fieldstone.devices()[1:] == inner
            assert [gpu.id for gpu in inner] == ["gpu:0", "gpu:1"]
            assert outer not in inner
        assert fieldstone.devices()[1:] == [outer]
    assert fieldstone.devices() == before


def test_a_simulation_ends_with_an_exception() -> None:
    before = fieldstone.devices()
    with pytest.raises(KeyError), fieldstone.simulated_device():
        raise KeyError
    assert fieldstone.devices() == before


@pytest.mark.parametrize(
    ("count", "error"),
    [(0, ArgumentValueError), (-1, ArgumentValueError), (65, ArgumentValueError), (10**30, ArgumentValueError)]
    + [(count, ArgumentTypeError) for count in ("2", 1.5, [], True)],
)
def test_a_wrong_count_is_refused(count: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"count: expected an integer from 1 to 64, got "):
        fieldstone.simulated_device(count)


@pytest.mark.parametrize(
    ("memory", "error"),
    [(-1, ArgumentValueError), (2**70, ArgumentValueError), ("1 GB", ArgumentTypeError), (True, ArgumentTypeError)],
)
def test_a_wrong_size_of_memory_is_refused(memory: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"memory: expected a number of bytes, got "):
        fieldstone.simulated_device(memory=memory)


def test_memory_can_have_an_end() -> None:
    with fieldstone.simulated_device(memory=1000) as gpu:
        assert (gpu.total_memory, gpu.free_memory) == (1000, 1000)


@pytest.mark.parametrize(("choice", "count"), [("sim", 1), ("sim:2", 2), (" sim ", 1)])
def test_the_environment_can_ask_for_simulated_devices(choice: str, count: int) -> None:
    code = "import fieldstone; print(*(gpu.kind for gpu in fieldstone.devices()[1:]))"
    assert run(code, FIELDSTONE_DEVICE=choice) == " ".join(["simulated"] * count)


@pytest.mark.parametrize("choice", ["simulated", "sim:0", "sim:65", "sim:two", "gpu"])
def test_an_environment_that_asks_for_nothing_known_is_an_error(choice: str) -> None:
    error = run("import fieldstone; fieldstone.devices()", FIELDSTONE_DEVICE=choice)
    assert error.startswith(f"fieldstone.errors.DeviceError: environment variable FIELDSTONE_DEVICE is '{choice}'")
    assert "'sim:N'" in error
    assert "'cuda'" in error
    assert run("import fieldstone; print('imported')", FIELDSTONE_DEVICE=choice) == "imported"


def test_devices_are_equal_to_themselves_only() -> None:
    with fieldstone.simulated_device() as first, fieldstone.simulated_device() as second:
        assert first != second
        assert hash(first) != hash(second)
        assert first != "gpu:0"
        assert fieldstone.devices()[0] == fieldstone.devices()[0]
        assert len({*fieldstone.devices(), second}) == 2
