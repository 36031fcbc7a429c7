"""Where storages are computed with: the rules of GDP 3's first draft choose, and only what must be moved is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldstone
from fieldstone import errors, storage
from fieldstone.storage import CPUStorage, CUDAManagedGPUStorage, GPUStorage, SoftwareManagedGPUStorage, Storage

VALUES = np.arange(12.0).reshape(3, 4)


@pytest.fixture
def gpu() -> Iterator[Any]:
    with fieldstone.simulated_device() as device:
        yield device


def on_host() -> Storage:
    return storage.storage(VALUES, dims="IJ")


def on_device() -> Storage:
    return storage.storage(VALUES, dims="IJ", device="gpu", managed=None)


def by_driver() -> Storage:
    return storage.storage(VALUES, dims="IJ", device="gpu", managed="cuda")


def clean() -> Storage:
    field = storage.storage(VALUES, dims="IJ", device="gpu", managed="gt4py")
    field.synchronize()
    return field


def host_ahead() -> Storage:
    field = clean()
    field[...] = VALUES
    assert field.sync_state.state == field.sync_state.SYNC_HOST_DIRTY  # type: ignore[attr-defined]
    return field


def device_ahead() -> Storage:
    field = clean()
    field += 0.0
    assert field.sync_state.state == field.sync_state.SYNC_DEVICE_DIRTY  # type: ignore[attr-defined]
    return field


def values_of(field: Storage) -> np.ndarray:
    return storage.storage(field, device="cpu").to_numpy()


def moved(gpu: Any, call: Callable[[], Any]) -> tuple[Any, int, int]:
    uploads, downloads = gpu.transfers.uploads, gpu.transfers.downloads
    result = call()
    return result, gpu.transfers.uploads - uploads, gpu.transfers.downloads - downloads


# The operands, the class of the result, where it is computed, and how many transfers to and from the device that takes.
CHOICES = [
    ((on_host, on_host), CPUStorage, "host", 0, 0),
    ((on_device, on_device), GPUStorage, "device", 0, 0),
    ((clean, clean), SoftwareManagedGPUStorage, "device", 0, 0),
    ((device_ahead, device_ahead), SoftwareManagedGPUStorage, "device", 0, 0),
    ((host_ahead, host_ahead), SoftwareManagedGPUStorage, "host", 0, 0),
    ((host_ahead, clean), SoftwareManagedGPUStorage, "device", 1, 0),
    ((device_ahead, host_ahead), SoftwareManagedGPUStorage, "device", 1, 0),
    ((clean, on_host), SoftwareManagedGPUStorage, "device", 1, 0),
    ((on_host, host_ahead), SoftwareManagedGPUStorage, "host", 0, 0),
    ((on_device, clean), SoftwareManagedGPUStorage, "device", 0, 0),
    ((on_device, host_ahead), SoftwareManagedGPUStorage, "device", 1, 0),
    ((by_driver, by_driver), CUDAManagedGPUStorage, "either", 0, 0),
    ((by_driver, on_host), CUDAManagedGPUStorage, "either", 0, 0),
    ((by_driver, on_device), CUDAManagedGPUStorage, "either", 0, 0),
    ((by_driver, host_ahead), CUDAManagedGPUStorage, "either", 1, 0),
    ((host_ahead, by_driver), SoftwareManagedGPUStorage, "device", 1, 0),
]


@pytest.mark.parametrize(("operands", "kind", "where", "uploads", "downloads"), CHOICES)
def test_the_device_that_computes(
    gpu: Any, operands: Any, kind: type[Storage], where: str, uploads: int, downloads: int
) -> None:
    first, second = (make() for make in operands)
    result, up, down = moved(gpu, lambda: first + second * 1.0)
    assert type(result) is kind
    assert (up, down) == (uploads, downloads)
    if kind is SoftwareManagedGPUStorage:
        state = result.sync_state
        ahead = {"host": state.SYNC_HOST_DIRTY, "device": state.SYNC_DEVICE_DIRTY}[where]
        assert state.state == ahead
    assert (result.dims, result.device is None) == (("I", "J"), kind is CPUStorage)
    np.testing.assert_array_equal(values_of(result), VALUES * 2)
    assert result.__array_priority__ == (11 if "Managed" in kind.__name__ else 10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: on_host() + on_device(),
            r"add: a GPUStorage on simulated device 0 only and a CPUStorage in host memory",
        ),
        (
            lambda: on_device() * VALUES,
            "multiply: a GPUStorage on simulated device 0 only and a ndarray in host memory",
        ),
        (lambda: np.add(on_device(), 1, out=on_host()), "add: a GPUStorage .* and a CPUStorage in host memory have no"),
        (lambda: np.add(on_host(), 1, out=on_device()), "add: a GPUStorage .* and a CPUStorage in host memory have no"),
        (lambda: np.where(on_device() > 0, on_host(), 1), "where: a GPUStorage .* and a CPUStorage in host memory"),
        (lambda: np.concatenate([on_device(), on_host()]), "concatenate: a GPUStorage .* and a CPUStorage"),
    ],
)
def test_host_and_device_do_not_mix(gpu: Any, call: Callable[[], Any], message: str) -> None:
    with pytest.raises(errors.DeviceError, match=message):
        call()
    assert gpu.transfers.downloads == 0


NUMBERS: list[Callable[[Any], Any]] = [
    lambda field: field.sum(),
    lambda field: field.mean(),
    lambda field: field.argmax(),
    lambda field: np.quantile(field, 0.5),
    lambda field: np.add.reduce(field, axis=None),
    lambda field: np.allclose(field, VALUES[0, 0]),
    lambda field: np.einsum("ij->", field),
    lambda field: np.dot(field[0], field[1]),
    lambda field: np.matmul(field[0], field[1]),
]


@pytest.mark.parametrize("number", range(len(NUMBERS)))
@pytest.mark.parametrize("make", [on_device, clean, device_ahead])
def test_a_number_that_was_computed_there_is_downloaded(gpu: Any, make: Callable[[], Storage], number: int) -> None:
    field = make()
    gpu.transfers.reset()
    result = NUMBERS[number](field)
    assert result == NUMBERS[number](VALUES)
    assert (gpu.transfers.uploads, gpu.transfers.downloads) == (0, 1)
    assert gpu.transfers.downloaded_bytes == np.asarray(result).nbytes
    # What is computed on the host, or keeps axes, is not.
    assert moved(gpu, lambda: NUMBERS[number](host_ahead()))[2] == 0
    assert moved(gpu, lambda: field.sum(axis="I"))[2] == 0


def test_one_element_is_downloaded_alone(gpu: Any) -> None:
    field = on_device()
    assert moved(gpu, lambda: field.item(1, 2)) == (VALUES[1, 2], 0, 1)
    assert gpu.transfers.downloaded_bytes == field.itemsize


def test_storages_of_two_devices_do_not_mix() -> None:
    with fieldstone.simulated_device(2):
        first = storage.storage(VALUES, device=("gpu", 0), managed=None)
        second = storage.storage(VALUES, device=("gpu", 1), managed=None)
        with pytest.raises(
            errors.DeviceError, match=r"add: a GPUStorage .* and a GPUStorage .* are on different devices"
        ):
            first + second
        np.testing.assert_array_equal(values_of(second + second), 2 * VALUES)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sqrt": np.sqrt,
    "in place": lambda a: a.__iadd__(1),
    "slice in place": lambda a: a[1:].__imul__(2),
    "sum": lambda a: a.sum(0),
    "maximum": lambda a: np.max(a, axis="J"),  # type: ignore[call-overload]
    "mean": lambda a: np.mean(a, axis=1),
    "median": lambda a: np.median(a, axis=1),
    "where": lambda a: np.where(a > 3, a, -1.0),
    "clip": lambda a: np.clip(a, 2, 5),
    "round": lambda a: a.round(),
    "cumsum": lambda a: a.cumsum(0),
    "pad": lambda a: np.pad(a, 1),
    "concatenate": lambda a: np.concatenate([a, a], axis=1),
    "stack": lambda a: np.stack([a, a]),
    "astype": lambda a: a.astype("f4"),
    "transpose": lambda a: np.transpose(a),
    "moveaxis": lambda a: np.moveaxis(a, 0, 1),
    "flip": lambda a: np.flip(a, 0),
    "expand_dims": lambda a: np.expand_dims(a, 0),
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 3, 4)),
    "reshape": lambda a: a.reshape(4, 3),
    "ravel": lambda a: a.T.ravel(),
    "zeros_like": np.zeros_like,
    "full_like": lambda a: np.full_like(a, 3),
    "real": lambda a: a.real,
    "sliding": lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, axis=0),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "matmul": lambda a: a @ a.T,
    "accumulate": lambda a: np.add.accumulate(a, axis="J"),
    "outer": lambda a: np.add.outer(a[0], a[:, 0]),
    "divmod": lambda a: divmod(a, 3)[1],
    "out": lambda a: np.add(a, 1, out=a),
    "is none": lambda a: a == None,  # noqa: E711
}


def on_arrays(name: str) -> np.ndarray:
    return np.asarray(FUNCTIONS[name](storage.storage(VALUES, dims="IJ")))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("make", [on_device, clean, device_ahead, host_ahead, by_driver])
def test_functions_stay_where_the_elements_are(gpu: Any, name: str, make: Callable[[], Storage]) -> None:
    field = make()
    result, up, down = moved(gpu, lambda: FUNCTIONS[name](field))
    assert (up, down) == (0, 0)
    assert type(result) is type(field)
    np.testing.assert_array_equal(values_of(result), on_arrays(name))


def test_writing_on_one_side_leaves_the_other_behind(gpu: Any) -> None:
    target = clean()
    for make, state in ((on_host, "SYNC_HOST_DIRTY"), (clean, "SYNC_DEVICE_DIRTY")):
        source = make()
        _, up, down = moved(gpu, lambda source=source: np.add(source, 1, out=target))  # type: ignore[misc]
        assert (up, down) == (0, 0), "every element of the output is overwritten"
        assert target.sync_state.state == getattr(target.sync_state, state)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(target.to_numpy(), VALUES + 1)
        target.synchronize()
    target = device_ahead()
    source = on_host()
    condition = storage.storage(VALUES > 5, dims="IJ")
    _, up, down = moved(gpu, lambda: np.add(source, 1, out=target, where=condition))
    assert (up, down) == (0, 1), "what is not written has to be current"
    np.testing.assert_array_equal(target.to_numpy(), np.where(VALUES > 5, VALUES + 1, VALUES))


def test_a_refused_call_loses_nothing(gpu: Any) -> None:
    """Neither of two copies counts as written by a call that does not happen."""
    for call in (
        lambda target: np.add(on_host(), 1, out=target[:2]),
        lambda target: np.add(on_host() * 1j, 1, out=target),
        lambda target: np.add(on_host(), 1, out=target, casting="no", dtype=np.float32),
        lambda target: np.bitwise_and(on_host(), 1, out=target),
    ):
        target = device_ahead()
        with pytest.raises((TypeError, ValueError)):
            call(target)
        np.testing.assert_array_equal(target.to_numpy(), VALUES)


def test_arrays_that_are_held_follow(gpu: Any) -> None:
    field = clean()
    held = np.asarray(field)
    field += 1
    np.testing.assert_array_equal(held, VALUES + 1)
    held[...] = 5
    np.testing.assert_array_equal((field * 2).to_numpy(), np.full((3, 4), 10.0))


def test_functions_without_a_family_need_host_memory(gpu: Any) -> None:
    np.testing.assert_allclose(np.linalg.norm(device_ahead()), np.linalg.norm(VALUES))
    with pytest.raises(errors.GTNoSuchBufferError, match=r"on the device only .* storage\(data, device='cpu'\)"):
        np.linalg.norm(on_device())


def test_xarray_keeps_storages_on_the_device(gpu: Any) -> None:
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(on_device(), dims=("I", "J"))
    uploads = gpu.transfers.uploads
    results = [
        (array + 1).mean("I"),
        array.where(array > 3, 0.0),
        array.pad(I=1),
        array.transpose(),
        xr.concat([array, array], "I"),
        array.rolling(J=2).sum(),
        array.isel(I=slice(1, None)).fillna(0),
    ]
    assert (gpu.transfers.uploads, gpu.transfers.downloads) == (uploads, 0)
    assert {type(result.data) for result in results} == {GPUStorage}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "in place", "host write", "device write", "read", "sum", "where"]),
        st.integers(0, 2),
        st.integers(0, 2),
    ),
    max_size=8,
)


@given(STEPS)
def test_any_sequence_gives_what_arrays_give(steps: list[tuple[str, int, int]]) -> None:
    with fieldstone.simulated_device():
        fields = [clean(), host_ahead(), storage.storage(VALUES, dims="IJ", device="gpu", managed="gt4py")]
        arrays = [VALUES.copy() for _ in fields]
        for step, one, other in steps:
            if step == "add":
                fields[one] = fields[one] - fields[other]
                arrays[one] = arrays[one] - arrays[other]
            elif step == "in place":
                fields[one][1:] += fields[other][:-1]
                arrays[one][1:] += arrays[other][:-1]
            elif step == "host write":
                np.asarray(fields[one])[0, other] = 7
                arrays[one][0, other] = 7
            elif step == "device write":
                fields[one][:, other] = storage.full((3,), 9.0, dims="I", device="gpu", managed=None)
                arrays[one][:, other] = 9
            elif step == "sum":
                np.testing.assert_array_equal(fields[one].sum(0).to_numpy(), arrays[one].sum(0))
            elif step == "where":
                fields[one] = np.where(fields[one] > 4, fields[other], 0.0)
                arrays[one] = np.where(arrays[one] > 4, arrays[other], 0.0)
            else:
                np.testing.assert_array_equal(fields[one].to_numpy(), arrays[one])
        for field, array in zip(fields, arrays, strict=True):
            np.testing.assert_array_equal(field.to_numpy(), array)
