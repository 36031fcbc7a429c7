"""The CUDA C that stencils on a GPU are compared with: it compiles for GPUs, and computes what the cases say."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benches.arguments import Arguments
from benches.case import HALO, Case
from benches.cases import CASES
from benches.contenders import cuda
from benches.gpu import DTYPES, NAMES
from tests.gpu.assembler import PROCESSORS, assembled

SHIM = Path(__file__).parent / "blocks.h"
# Neither a multiple of a block's points along any axis, nor less than them.
SIZE = (37, 13, 11)
LENGTHS = ("ni", "nj", "nk", "row", "level")


def compiler() -> ctypes.CDLL:
    """Load the compiler of NVIDIA's package, which needs no GPU."""
    package = importlib.util.find_spec("nvidia.cuda_nvrtc")
    folders = [] if package is None else list(package.submodule_search_locations or [])
    if not folders:
        message = "no NVRTC: install the package's test requirements (pip install -e '.[test]')"
        raise FileNotFoundError(message)
    return ctypes.CDLL(str(Path(folders[0]) / "lib" / "libnvrtc.so.12"))


def ptx_of(text: str, processor: str) -> str:
    """Compile CUDA C."""
    library, program, size = compiler(), ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    architecture = f"--gpu-architecture=compute_{processor.removeprefix('sm_')}".encode()
    options = (ctypes.c_char_p * 2)(architecture, b"-std=c++14")
    code = library.nvrtcCompileProgram(program, 2, options)
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    assert code == 0, log.value.decode()
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    assert library.nvrtcGetPTX(program, ptx) == 0
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value.decode()


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_kernels_compile_for_gpus(name: str, dtype: str, processor: str, tmp_path: Path) -> None:
    ptx = ptx_of(cuda.source(name, dtype), processor)
    (kernel,) = assembled(ptx, processor, tmp_path).values()
    # Few enough for half of the threads that a multiprocessor can have, and none in memory for lack of them.
    assert kernel.registers <= 64
    assert (kernel.stores, kernel.loads) == (0, 0)


def on_the_host(case: Case, dtype: str, arguments: Arguments, folder: Path) -> None:
    """Run the kernel of a case on fields of the host."""
    how = cuda.KERNELS[case.name]
    fields = [np.asarray(arguments.fields[argument.name]) for argument in case.arguments]
    scratch = [np.empty(int(np.prod(SIZE)), dtype) for _ in range(how.scratch)]
    arrays = [f"a{n}" for n in range(len(fields) + len(scratch))]
    parameters = [*(f"real *{array}" for array in arrays), *(f"int {name}" for name in LENGTHS)]
    parameters += [f"real {name}" for name in case.scalars]
    given = ", ".join([*arrays, *LENGTHS, *case.scalars])
    file = folder / "kernel.cpp"
    file.write_text(f"""#include "{SHIM}"
{cuda.source(case.name, dtype)}
extern "C" void run(const int *grid, const int *block, {", ".join(parameters)}) {{
    launch({{grid[0], grid[1], grid[2]}}, {{block[0], block[1], block[2]}}, [&] {{ {case.name}({given}); }});
}}
""")
    command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", file, "-o", folder / "kernel.so"]
    subprocess.run(command, check=True)
    shape = [(ctypes.c_int * 3)(*numbers) for numbers in (how.grid(SIZE), how.block)]
    inside = [field[HALO:, HALO:].ctypes for field in fields]
    pointers = [ctypes.c_void_p(one.data) for one in [*inside, *(block.ctypes for block in scratch)]]
    lengths = cuda.numbers(case, SIZE, fields[0].strides, dtype)
    values: list[Any] = [np.ctypeslib.as_ctypes(np.asarray(number)) for number in lengths]
    ctypes.CDLL(str(folder / "kernel.so")).run(*shape, *pointers, *values)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_kernels_compute_what_the_cases_say(name: str, dtype: str, tmp_path: Path) -> None:
    case = CASES[name]
    arguments = Arguments(case, SIZE, dtype, "I")
    case.numpy(*arguments.kji(), *case.scalars.values())
    expected = {key: np.asarray(arguments.fields[key]).copy() for key in case.outputs}
    arguments.reset()
    on_the_host(case, dtype, arguments, tmp_path)
    for key, values in expected.items():
        close = case.tolerance[dtype] * np.abs(values).max()
        np.testing.assert_allclose(np.asarray(arguments.fields[key]), values, rtol=0, atol=close)


def test_fields_of_other_layouts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class CuPy:
        RawKernel = staticmethod(lambda *_, **__: None)

    class OnDevice:
        def to_cupy(self) -> Any:
            return np.zeros((9, 9, 9))

    monkeypatch.setitem(__import__("sys").modules, "cupy", CuPy)
    with pytest.raises(RuntimeError, match="expected the same with I contiguous"):
        cuda.with_cupy(CASES["copy"], {"q": OnDevice(), "q_new": OnDevice()}, (3, 3, 9), "float64")
