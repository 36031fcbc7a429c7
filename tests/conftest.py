"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import llvmlite.binding as llvm
import pytest
from hypothesis import settings

from tests.gpu.suite import Suite

# How long an example takes says more of the machine and its other users than of the code.
settings.register_profile("fieldstone", deadline=None)
settings.load_profile("fieldstone")

# Machine code of the tests stays in the tree.
CODE = Path(__file__).resolve().parents[1] / ".pytest_cache" / "code"
os.environ.setdefault("FIELDSTONE_CACHE_DIR", str(CODE))


# Features that the processor is not to have begin so: tests/backends/test_narrower_registers.py asks for that.
WITHOUT = os.environ.get("FIELDSTONE_TEST_WITHOUT")
if WITHOUT:
    FEATURES = llvm.get_host_cpu_features()
    FEATURES.update({name: False for name in FEATURES if name.startswith(WITHOUT)})
    llvm.get_host_cpu_features = lambda: FEATURES

# Folders whose tests run on all backends, that of devices among them.
ON_DEVICE = ("backends", "call", "gpu", "language")


def _is_on_device(path: Path) -> bool:
    return path.relative_to(Path(__file__).parent).parts[0] in ON_DEVICE


# Stencils of all tests, and the test that looks at their code for GPUs.
SUITE = Suite()
LOOKS_AT_ALL = "test_every_stencil_of_the_tests_assembles"


def pytest_configure() -> None:
    """Note stencils from the first one on."""
    SUITE.watch()


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Compile the stencils of a test for GPUs."""
    SUITE.compile(nodeid)


@pytest.fixture(scope="session", autouse=True)
def _stencils_of_this_process_assemble() -> Iterator[None]:
    """Look at what the test that looks at all has not seen: it runs in one of the processes that share the tests."""
    yield
    SUITE.compile(os.environ.get("PYTEST_CURRENT_TEST", "the last test"))
    assert SUITE.finish() == []


@pytest.fixture(scope="session")
def suite() -> Suite:
    """The stencils of all tests before."""
    return SUITE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let NumPy's arrays be arguments of stencils on a device, which are copied there with a warning."""
    # It comes after all others.
    items.sort(key=lambda item: item.name == LOOKS_AT_ALL)
    SUITE.begin(wanted=bool(items) and items[-1].name == LOOKS_AT_ALL)
    for item in items:
        if _is_on_device(item.path):
            item.add_marker(pytest.mark.filterwarnings("ignore::fieldstone.errors.TransferWarning"))


@pytest.fixture(scope="module", autouse=True)
def _simulated_device(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have a device, on machines without one as well, unless those of the machine are asked for."""
    if not _is_on_device(request.path) or os.environ.get("FIELDSTONE_TEST_DEVICE") == "cuda":
        yield
        return
    import fieldstone

    with fieldstone.simulated_device():
        yield


@pytest.fixture(scope="session", autouse=True)
def _threads_for_small_domains() -> Iterator[None]:
    """Cut the small domains of tests into parts for all threads, as only large ones are otherwise."""
    from fieldstone import _core

    before = _core._set_work_per_thread(0)
    yield
    _core._set_work_per_thread(before)


@pytest.fixture
def has_gpu() -> None:
    """Leave a test out where there is no GPU."""
    import fieldstone

    if not any(device.kind == "cuda" for device in fieldstone.devices()):
        pytest.skip("no GPU")


@pytest.fixture
def cupy() -> ModuleType:
    """CuPy, where it is installed."""
    return pytest.importorskip("cupy")


@pytest.fixture
def torch() -> ModuleType:
    """PyTorch, where it is installed and has found a GPU."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch without CUDA")
    return torch
