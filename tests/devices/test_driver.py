"""Storages on the devices of a CUDA driver.

There is no GPU in these tests: they run in processes that find a double of the driver, which works over host memory, in
the place of its library. It says so in the names of its devices.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DOUBLE = Path(__file__).resolve().parents[2] / "crates/fieldstone-device/tests/driver/libcuda.c"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the double of the driver is one of Linux")


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the double of the driver's library."""
    folder = tmp_path_factory.mktemp("driver")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", folder / "libcuda.so.1", DOUBLE, "-lpthread"],
        check=True,
    )
    return folder


def run(library: Path, code: str, **settings: str) -> str:
    """What a Python process prints that finds a library in the place of the driver's."""
    code = f"import fieldstone, numpy as np\nfrom fieldstone import errors, storage\n{code}"
    environment = {name: value for name, value in os.environ.items() if name != "FIELDSTONE_DEVICE"}
    # What Python and the double print stands in the order in which it came, also where a process ends at once.
    environment |= {"LD_LIBRARY_PATH": str(library), "DOUBLE_REPORT": "1", "PYTHONUNBUFFERED": "1", **settings}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_devices_are_listed(double: Path) -> None:
    code = "print(*fieldstone.devices()[1:], sep='\\n'); print(fieldstone.devices()[2].multiprocessors)"
    assert run(double, code, DOUBLE_DEVICES="2").splitlines()[:3] == [
        "<Device gpu:0: Double of a GPU 0, cuda, compute capability 9.0>",
        "<Device gpu:1: Double of a GPU 1, cuda, compute capability 9.1>",
        "101",
    ]


@pytest.mark.parametrize("managed", ["'gt4py'", "'cuda'", "False"])
def test_values_survive_a_device(double: Path, managed: str) -> None:
    code = f"""
values = np.arange(240.0).reshape(6, 8, 5)
field = storage.storage(values, device=("gpu", 1), managed={managed}, dims="IJK")
target = storage.zeros(values.shape, device=("gpu", 1), managed={managed}, dims="IJK")
target[...] = field
target.synchronize()
assert (storage.storage(target, device="cpu").to_numpy() == values).all()
gpus = fieldstone.devices()[1:]
assert gpus[1].free_memory < gpus[1].total_memory and gpus[0].free_memory == gpus[0].total_memory
del field, target
assert gpus[1].free_memory == gpus[1].total_memory
"""
    left = "0 blocks, 0 streams, 0 events, 0 contexts, 0 modules, 0 graphs"
    assert run(double, code, DOUBLE_DEVICES="2") == f"left behind: {left}"


def test_transfers_are_counted(double: Path) -> None:
    code = """
gpu = fieldstone.devices()[1]
field = storage.zeros((10, 10), device="gpu")
field[...] = 1.0
gpu.transfers.reset()
field.host_to_device()
field.host_to_device()
print(gpu.transfers)
"""
    printed = run(double, code).splitlines()[0]
    assert printed == "Transfers(uploads=1, uploaded_bytes=800, downloads=0, downloaded_bytes=0)"


def test_reprs_name_the_gpu_and_move_nothing(double: Path) -> None:
    code = """
gpu = fieldstone.devices()[1]
for managed in ("gt4py", False, "cuda"):
    field = storage.full((2,), 5.0, device="gpu", managed=managed)
    gpu.transfers.reset()
    print(repr(field))
    assert gpu.name in field._repr_html_()
    assert gpu.transfers.uploads == gpu.transfers.downloads == 0
"""
    assert run(double, code).splitlines()[:6] == [
        "<SoftwareManagedGPUStorage (2) float64; host and GPU 0 (Double of a GPU 0), host newer>",
        "[5. 5.]",
        "<GPUStorage (2) float64; on GPU 0 (Double of a GPU 0)>",
        "values on GPU 0 (Double of a GPU 0); storage(field, device='cpu') copies them to the host",
        "<CUDAManagedGPUStorage (2) float64; host and GPU 0 (Double of a GPU 0), moved by the driver>",
        "[5. 5.]",
    ]


def test_storages_may_be_alive_when_the_process_ends(double: Path) -> None:
    run(double, "field = storage.zeros((10, 10), device='gpu'); field.host_to_device()")


def test_exhausted_memory_is_a_memory_error(double: Path) -> None:
    code = """
try:
    storage.zeros((1000, 1000), device="gpu", managed=False)
except MemoryError as error:
    print(error)
"""
    printed = run(double, code, DOUBLE_MEMORY="1000000").splitlines()[0]
    assert printed.startswith("cannot allocate 8000000 bytes")
    assert printed.endswith("on device 'cuda:0'")


def test_a_fault_of_the_device_is_told_and_survived(double: Path) -> None:
    code = """
field = storage.storage(np.ones(10), device="gpu", managed="gt4py")
try:
    field.host_to_device()
    fieldstone.devices()[1].synchronize()
except errors.DeviceError as error:
    print(error)
"""
    printed = run(double, code, DOUBLE_FAULT="1").splitlines()[0]
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in printed
    assert "has to be started anew" in printed


def test_storages_on_a_device_with_a_fault_can_be_looked_at(double: Path) -> None:
    code = """
shared = storage.full((2,), 5.0, device="gpu", managed="cuda")
alone = storage.empty((2,), device="gpu", managed=False)
other = storage.storage(np.ones(10), device="gpu", managed="gt4py")
try:
    other.host_to_device()
    fieldstone.devices()[1].synchronize()
except errors.DeviceError:
    pass
print(str(shared))
print(shared._repr_inline_(70))
assert "values unknown: " in shared._repr_html_()
with storage.set_repr(range=True):
    print(repr(alone).splitlines()[0])
"""
    values, line, facts = run(double, code, DOUBLE_FAULT="1").splitlines()[:3]
    assert values.startswith("values unknown: ")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in values
    assert line == "CUDAManagedGPUStorage: on device"
    assert "; range unknown: " in facts


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"DOUBLE_DEVICES": "0"}, "the CUDA driver reports no device"),
        ({"DOUBLE_INIT": "999"}, "the CUDA driver does not start"),
    ],
)
def test_a_driver_without_devices_is_told(double: Path, settings: dict[str, str], reason: str) -> None:
    code = """
assert [device.id for device in fieldstone.devices()] == ["cpu"]
try:
    storage.zeros((3,), device="gpu")
except errors.DeviceError as error:
    print(error)
"""
    printed = run(double, code, **settings).splitlines()[0]
    assert printed.startswith(f"device: there is no GPU 0: {reason} (cuInit: ")
    assert "FIELDSTONE_DEVICE=sim" in printed
    assert "`with fieldstone.simulated_device():`" in printed


def test_a_missing_driver_is_told(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("no library, but a text that is long enough not to count as cut off" * 9)
    code = """
assert [device.id for device in fieldstone.devices()] == ["cpu"]
try:
    storage.zeros((3,), device=("gpu", 2))
except errors.DeviceError as error:
    print(error)
"""
    printed = run(tmp_path, code)
    expected = "device: there is no GPU 2: the CUDA driver's library libcuda.so.1 cannot be loaded ("
    assert printed.startswith(expected)
    assert "FIELDSTONE_DEVICE=sim" in printed


def test_memory_is_exchanged_under_the_numbers_of_cuda(double: Path) -> None:
    code = """
from tests.storage.protocols.ctypes_dlpack import Producer, Taken

values = np.arange(24.0).reshape(2, 3, 4)
own = storage.storage(values, device=("gpu", 1), managed=False)
both = storage.storage(values, device=("gpu", 1))
managed = storage.storage(values, device=("gpu", 1), managed="cuda")
assert [field.__dlpack_device__() for field in (own, both, managed)] == [(2, 1), (1, 0), (13, 1)]
for field, devices in ((own, [(2, 1)]), (both, [(1, 0), (2, 1)]), (managed, [(1, 0), (2, 1), (13, 1)])):
    for device in devices:
        taken = Taken(field.__dlpack__(dl_device=device, stream=None if device == (1, 0) else 1))
        assert taken.facts["device"] == device
        taken.delete()

address = own.__cuda_array_interface__["data"][0]
interface = {**own.__cuda_array_interface__, "stream": 2}
producers = [
    Producer(address, (2, 3, 4), device=(2, 1)),
    type("Cuda", (), {"__cuda_array_interface__": interface})(),
]
for producer in producers:
    around = storage.as_storage(producer)
    assert around.__cuda_array_interface__["data"] == (address, False)
    around[0, 0, 0] = 42
    assert storage.storage(own, device="cpu")[0, 0, 0] == 42
    own[0, 0, 0] = 0
# Who lends memory is told on which stream we work, and whom to wait for.
assert producers[0].requests == [{"stream": 1, "max_version": (1, 0), "copy": False}]
shared = Producer(managed.__array_interface__["data"][0], (2, 3, 4), device=(13, 1))
assert np.shares_memory(storage.as_storage(shared).to_numpy(), managed.to_numpy())
"""
    run(double, code, DOUBLE_DEVICES="2")


def test_without_cupy_two_copies_compute_on_the_host(double: Path) -> None:
    code = """
import sys
sys.modules["cupy"] = None
field = storage.ones((4, 3), device="gpu")
field.host_to_device()
field.set_device_modified()
print(type(field + 1).__name__, float((field + 1).to_numpy().sum()), float(np.sum(field)))
try:
    storage.ones((4, 3), device="gpu", managed=None) + 1
except errors.DeviceError as error:
    print(error)
"""
    printed = run(double, code).splitlines()
    assert printed[0] == "SoftwareManagedGPUStorage 24.0 12.0"
    assert "CuPy is not installed; install it" in printed[1]


STENCIL = """
from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval

@gtscript.stencil(backend="gpu")
def smooth(inp: Field[np.float64], out: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        along = inp[-1, 0, 0] + inp[1, 0, 0]
        out = along[0, -1, 0] + along[0, 1, 0]

def fields(number=0, **keywords):
    return [storage.zeros((12, 10, 4), device=("gpu", number), halo=(1, 1, 0), **keywords) for _ in range(2)]
"""


def run_stencil(library: Path, tmp_path: Path, code: str, **settings: str) -> list[str]:
    """What a process prints whose kernels do nothing; the text of a stencil must be in a file."""
    path = tmp_path / "model.py"
    path.write_text(f"import fieldstone, numpy as np\nfrom fieldstone import errors, storage\n{STENCIL}{code}")
    settings = {"DOUBLE_IDLE": "1", "FIELDSTONE_CACHE_DIR": str(tmp_path / "cache"), **settings}
    return run(library, f"import runpy; runpy.run_path({str(path)!r}, run_name='model')", **settings).splitlines()


def test_transfers_go_beside_kernels(double: Path, tmp_path: Path) -> None:
    code = """
a, b = fields()
c, d = fields()
smooth(a, b)
smooth(c, d)
fieldstone.devices()[1].synchronize()
print("begin", flush=True)
smooth(a, b)
c[...] = 3.0
c.host_to_device()
c.set_device_modified()
assert c.to_numpy()[5, 5, 2] == 3.0
smooth(c, d)
smooth(a, b)
d.to_numpy()
"""
    printed = run_stencil(double, tmp_path, code, DOUBLE_TRACE="1")
    done = [line for line in printed[printed.index("begin") + 1 :] if line.startswith("done: ")]
    copy, kernel = "done: copy beside the default stream", "done: kernel"
    # Up and down beside the first kernel; up again, as the array of the host may have been written to; the first two
    # kernels, for they share a stream, and down. The third was not waited for.
    assert done == [copy, copy, kernel, copy, kernel, copy, kernel]


def test_kernels_are_assembled_loaded_and_launched(double: Path, tmp_path: Path) -> None:
    code = """
a, b = fields()
gpu = fieldstone.devices()[1]
for _ in range(3):
    smooth(a, b)
    smooth(b, a)
print(gpu.transfers, smooth._compilations[0][0])
print(smooth.inspect("ptx").count(".target sm_90"), b.sync_state.state == b.SyncState.SYNC_DEVICE_DIRTY)
"""
    nothing = "Transfers(uploads=0, uploaded_bytes=0, downloads=0, downloaded_bytes=0)"
    first, again = (run_stencil(double, tmp_path, code) for _ in range(2))
    assert first[:2] == [f"{nothing} False", "1 True"]
    assert again[:2] == [f"{nothing} True", "1 True"]
    assert first[-1] == "left behind: 0 blocks, 0 streams, 0 events, 0 contexts, 0 modules, 0 graphs"


def test_code_for_another_driver_is_assembled_anew(double: Path, tmp_path: Path) -> None:
    code = "smooth(*fields()); print(smooth._compilations[0][0], len(fieldstone.cache.entries()))"
    assert run_stencil(double, tmp_path, code)[0] == "False 2"
    assert run_stencil(double, tmp_path, code)[0] == "True 2"
    assert run_stencil(double, tmp_path, code, DOUBLE_VERSION="13000")[0] == "False 3"


def test_blocks_follow_the_device(double: Path, tmp_path: Path) -> None:
    code = """
smooth(*fields())
for domain in ((8, 8, 4), (64, 64, 8), (1024, 1024, 8)):
    print([one.threads for one in smooth.explain(domain=domain).kernels])
"""
    assert run_stencil(double, tmp_path, code)[:3] == ["[32]", "[128]", "[256]"]


# Stages whose blocks share memory; what they compute does not matter.
CHAIN = """
from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval

@gtscript.stencil(backend="gpu", schedule={schedule!r})
def chain(inp: Field[np.float64], out: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        a = inp[-1, 0, 0] * inp[1, 0, 0] / inp[0, 1, 0] / inp[0, -1, 0]
        b = a[-1, 0, 0] * a[1, 0, 0] / a[0, 1, 0] / a[0, -1, 0]
        c = b[-1, 0, 0] * b[1, 0, 0] / b[0, 1, 0] / b[0, -1, 0]
        d = c[-1, 0, 0] * c[1, 0, 0] / c[0, 1, 0] / c[0, -1, 0]
        e = d[-1, 0, 0] * d[1, 0, 0] / d[0, 1, 0] / d[0, -1, 0]
        f = e[-1, 0, 0] * e[1, 0, 0] / e[0, 1, 0] / e[0, -1, 0]
        out = a[1, 0, 0] / b[1, 0, 0] / c[1, 0, 0] / d[1, 0, 0] / e[1, 0, 0] / f[1, 0, 0]

chain(*[storage.zeros((1024, 1024, 4), defaults="gpu", halo=(8, 8, 0)) for _ in range(2)])
(kernel,) = chain.explain(domain=(1008, 1008, 4)).kernels
"""


def test_blocks_with_too_few_registers_are_made_smaller(double: Path, tmp_path: Path) -> None:
    code = f"""{CHAIN.format(schedule=None)}
print(kernel.threads, kernel.wanted_threads, kernel.registers, kernel.spilled_bytes)
print(" ".join(str(chain.explain(domain=(1008, 1008, 4))).split()))
"""
    found = [run_stencil(double, tmp_path, code, DOUBLE_SPILLING=most) for most in ("512", "256", "8")]
    assert [lines[0] for lines in found] == ["512 512 16 0", "256 512 16 0", "256 512 16 8"]
    assert "blocks of 256 threads of 16 registers, as 512 would have too few" in found[1][1]
    assert "8 B of each thread in memory for lack of registers" in found[2][1]


def test_memory_beyond_what_every_device_has_is_asked_for(double: Path, tmp_path: Path) -> None:
    """The double refuses launches with more than was allowed."""
    code = f"{CHAIN.format(schedule='tile.I=64 tile.J=16')}\nprint(kernel.shared_bytes > 48 << 10)"
    assert run_stencil(double, tmp_path, code)[0] == "True"


def test_columns_of_small_domains_are_kept_in_shared_memory(double: Path, tmp_path: Path) -> None:
    """The double refuses launches with more than was allowed."""
    code = """
from fieldstone import gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, Field, computation, interval

@gtscript.stencil(backend="gpu")
def solve(rest: Field[np.float64], out: Field[np.float64]):
    with computation(FORWARD):
        with interval(0, 1):
            part = rest
        with interval(1, None):
            part = rest - 0.5 * part[0, 0, -1]
    with computation(BACKWARD):
        with interval(-1, None):
            out = part
        with interval(0, -1):
            out = part - 0.5 * out[0, 0, 1]

for domain in ((64, 64, 400), (256, 256, 400), (64, 64, 2000)):
    solve(*[storage.empty(domain, defaults="gpu") for _ in range(2)])
    explanation = solve.explain(domain=domain)
    places = {one.lives_in for one in explanation.temporaries}
    print(*places & {"shared", "array"}, *[one.shared_bytes > 48 << 10 for one in explanation.kernels])
"""
    found = run_stencil(double, tmp_path, code)
    assert found[:3] == ["shared True", "array False", "array False"]


def test_a_fault_names_the_stencil(double: Path, tmp_path: Path) -> None:
    code = """
a, b = fields(managed=False)
smooth(a, b)
try:
    fieldstone.devices()[1].synchronize()
except errors.DeviceError as error:
    print(error)
import os; os._exit(0)
"""
    text = run_stencil(double, tmp_path, code, DOUBLE_FAULT="3")[0]
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text
    assert text.endswith("; launched last: 'fieldstone_kernel_0' of stencil 'smooth'")


# What CuPy and PyTorch tell of the stream that they work in.
LIBRARIES = {
    "cupy": "types.SimpleNamespace(cuda=types.SimpleNamespace("
    "get_current_stream=lambda: types.SimpleNamespace(ptr={ptr})))",
    "torch": "types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: True, "
    "current_stream=lambda index: types.SimpleNamespace(cuda_stream={ptr})))",
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_current_stream_of_a_library_is_used(double: Path, tmp_path: Path, library: str) -> None:
    """The double ends the process where a stream is none."""
    current = LIBRARIES[library].format(ptr="stream.ptr")
    code = f"""
import sys, types
stream = fieldstone.devices()[1].create_stream()
sys.modules[{library!r}] = {current}
a, b = fields(managed=False)
smooth(a, b)
smooth(a, b)
stream.synchronize()
sys.modules[{library!r}] = {LIBRARIES[library].format(ptr=0x1234)}
print("no stream", flush=True)
smooth(a, b)
"""
    with pytest.raises(AssertionError, match="stream 0x1234 is none"):
        run_stencil(double, tmp_path, code)


def test_arguments_with_streams_of_their_own_are_waited_for(double: Path, tmp_path: Path) -> None:
    code = """
a, b = fields(managed=False)
device = fieldstone.devices()[1]
theirs, ours = device.create_stream(), device.create_stream()

class Array:
    def __init__(self, field, stream):
        self.field, self.stream = field, stream
    @property
    def __cuda_array_interface__(self):
        return dict(self.field.__cuda_array_interface__, stream=self.stream)

for stream in (theirs.ptr, ours.ptr, 1, 2):
    smooth(Array(a, stream), Array(b, stream), stream=ours, origin=(1, 1, 0))
ours.synchronize()
print("done")
"""
    assert run_stencil(double, tmp_path, code)[0] == "done"
