"""The same kernels become objects for AMD's GPUs."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from benches.cases import CASES
from fieldstone import gtscript
from tests.gpu.constructs import CONSTRUCTS, TYPED

TRIPLE = "amdgcn-amd-amdhsa"
PROCESSORS = ("gfx906", "gfx90a", "gfx942")
AMDGPU = 224  # in ELF's list of machines

GENERIC = {definition.__name__: definition for case in CASES.values() for definition, _ in case.steps} | CONSTRUCTS


def is_kernel(code: bytes) -> bool:
    """Whether an object file is one of AMD's GPUs, and has a kernel with its descriptor and its description."""
    magic, machine = code[:4], struct.unpack_from("<H", code, 18)[0]
    parts = (b"fieldstone_kernel_0.kd\0", b"amdhsa.kernels")
    return magic == b"\x7fELF" and machine == AMDGPU and all(part in code for part in parts)


@pytest.mark.parametrize("definition", [pytest.param(one, id=name) for name, one in GENERIC.items()])
def test_every_construct(definition: Any) -> None:
    for real, processor in zip((np.float64, np.float32, np.float64), PROCESSORS, strict=True):
        stencil = gtscript.stencil("cpu_ifirst", definition, dtypes={"real": real})
        assert is_kernel(stencil._compiled_for(TRIPLE, processor))


@pytest.mark.parametrize("definition", [pytest.param(one, id=name) for name, one in TYPED.items()])
def test_other_types(definition: Any) -> None:
    stencil = gtscript.stencil("cpu_ifirst", definition)
    assert all(is_kernel(stencil._compiled_for(TRIPLE, processor)) for processor in PROCESSORS)
