"""Fields of float16: values are read as float32, computed as float32 and rounded where they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import FORWARD, PARALLEL, Field, computation, interval

BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gpu"]
F16, F32, F64 = np.float16, np.float32, np.float64


def mixed_definition(half: Field[F16], real: Field[F64], out: Field[F16], wide: Field[F32], *, factor: F32):
    with computation(PARALLEL), interval(...):
        rough: Field[F16] = half[1, 0, 0] * factor + half
        out = rough[0, 1, 0] / 3.0 + real
        wide = rough
    with computation(FORWARD), interval(1, None):
        out = out[0, 0, -1] + half


def mixed_oracle(half: Any, real: Any, factor: float) -> tuple[Any, Any]:
    wide = half.astype(F32)
    rough = (wide[1:] * F32(factor) + wide[:-1]).astype(F16).astype(F32)
    first = (rough[:, 1:] / F32(3.0)).astype(F64) + real[:-1, :-1]
    out = first.astype(F32).astype(F16)
    for k in range(1, out.shape[2]):
        out[:, :, k] = (out[:, :, k - 1].astype(F32) + wide[:-1, :-1, k]).astype(F16)
    return out, rough[:, :-1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_values_are_rounded_where_they_are_stored(backend: str, layout: Any) -> None:
    random = np.random.default_rng(7)
    shape = (21, 9, 6)
    half = storage.storage(random.normal(size=shape), dtype=F16, layout=layout)
    real = random.normal(size=shape)
    out, wide = storage.zeros(shape, dtype=F16, layout=layout), np.zeros(shape, F32)
    stencil = gtscript.stencil(backend, mixed_definition)
    stencil(half, real, out, wide, factor=1.7, domain=(20, 8, 6))
    expected, rough = mixed_oracle(np.asarray(half), real, 1.7)
    assert (np.asarray(out)[:20, :8] == expected).all()
    assert (wide[:20, :8] == rough).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_value_survives_a_copy(backend: str) -> None:
    def copy(inp: Field[F16], out: Field[F16]):
        with computation(PARALLEL), interval(...):
            out = inp

    every = np.arange(1 << 16, dtype=np.uint16).view(F16).reshape(64, 64, 16)
    copied = np.zeros_like(every)
    gtscript.stencil(backend, copy)(every, copied)
    np.testing.assert_array_equal(copied, every)


def doubled_where_positive(inp: Field[F16], out: Field[F16]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            rough: Field[F16] = inp * 2.0
        out = rough  # fieldstone: ignore[FS0423]


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_what_is_not_assigned_is_zero(backend: str) -> None:
    inp = np.random.default_rng(7).uniform(-1.0, 1.0, (21, 9, 6)).astype(F16)
    out = np.ones_like(inp)
    gtscript.stencil(backend, doubled_where_positive)(inp, out)
    np.testing.assert_array_equal(out, np.where(inp > 0, 2 * inp, F16(0)))


def test_a_number_is_no_float16() -> None:
    def scale(out: Field[F16], factor: F16):
        with computation(PARALLEL), interval(...):
            out = factor * out

    with pytest.raises(errors.GTScriptError, match="`float16` is a type of arrays only"):
        gtscript.stencil("numpy", scale)
