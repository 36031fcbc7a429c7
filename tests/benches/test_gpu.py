"""The benchmarks of a GPU, on a simulated device: that they run, and compute what is right."""

from __future__ import annotations

import numpy as np
import pytest

import fieldstone
from benches import gpu
from benches.arguments import Arguments
from benches.cases import CASES
from fieldstone import storage

SIZE = (20, 12, 8)


@pytest.mark.parametrize("dtype", gpu.DTYPES)
@pytest.mark.parametrize("name", gpu.NAMES)
def test_a_case_on_a_device_is_the_case_of_numpy(name: str, dtype: str) -> None:
    case = CASES[name]
    arguments = Arguments(case, SIZE, dtype, "I")
    with fieldstone.simulated_device():
        fields = gpu.on_device(arguments)
        gpu.run_of(case, fields, SIZE, dtype)()
        found = {key: storage.storage(fields[key], device="cpu").to_numpy() for key in case.outputs}
    case.numpy(*arguments.kji(), *case.scalars.values())
    inside = (slice(3, -3), slice(3, -3))
    for key, values in found.items():
        expected = np.asarray(arguments.fields[key])[inside]
        close = case.tolerance[dtype] * np.abs(expected).max()
        np.testing.assert_allclose(values[inside], expected, rtol=0, atol=close)


def test_a_simulated_device_is_named_in_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "ROUND", 0.0)
    with fieldstone.simulated_device():
        (table,) = gpu.tables(1, (SIZE,), ("float64",))
    assert "simulated, no GPU" in table.as_text()
    assert [row[0] for row in table.rows] == list(gpu.NAMES)


def test_a_contender_that_computes_something_else_is_refused() -> None:
    arguments = Arguments(CASES["hdiff"], SIZE, "float64", "I")
    with fieldstone.simulated_device() as device:
        runs = gpu.contenders(device, arguments)
        call, fields = runs["fieldstone"]
        gpu.agree(arguments, runs | {"itself": (call, fields)})

        def off() -> None:
            call()
            fields["q_new"][...] = storage.storage(fields["q_new"], device="cpu").to_numpy() + 1e-9

        with pytest.raises(RuntimeError, match="slightly off: q_new of hdiff, float64, is off by 1"):
            gpu.agree(arguments, runs | {"slightly off": (off, fields)})


def test_without_a_device_nothing_is_measured() -> None:
    if len(fieldstone.devices()) > 1:
        pytest.skip("there is one")
    with pytest.raises(SystemExit, match="needs a GPU"):
        gpu.device()
