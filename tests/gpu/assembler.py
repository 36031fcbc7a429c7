"""Machine code of NVIDIA's GPUs, made of a stencil by the assembler in NVIDIA's package, without a GPU."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRIPLE = "nvptx64-nvidia-cuda"
PROCESSORS = ("sm_70", "sm_80", "sm_90")


@dataclass(frozen=True)
class Kernel:
    """What the assembler says of a kernel.

    Attributes
    ----------
    registers : int
        Registers of each thread.
    stack, stores, loads : int
        Bytes of memory of each thread, and bytes that it moves there and back for lack of registers.
    shared : int
        Bytes of shared memory of a block.
    """

    registers: int
    stack: int
    stores: int
    loads: int
    shared: int


def assembler() -> Path:
    """Return where the assembler is."""
    package = importlib.util.find_spec("nvidia.cuda_nvcc")
    folders = [] if package is None else list(package.submodule_search_locations or [])
    found = [Path(folder) / "bin" / "ptxas" for folder in folders]
    if not found:
        message = "no ptxas: install the package's test requirements (pip install -e '.[test]')"
        raise FileNotFoundError(message)
    return found[0]


def assembled(ptx: str, processor: str, folder: Path) -> dict[str, Kernel]:
    """Assemble a text; return its kernels."""
    source = folder / "stencil.ptx"
    source.write_text(ptx)
    command = [assembler(), "-v", f"-arch={processor}", source, "-o", folder / "stencil.cubin"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(kernels(done.stderr))


def kernels(said: str) -> list[tuple[str, Kernel]]:
    """Read what the assembler says of each kernel."""
    found = []
    for part in said.split("Compiling entry function ")[1:]:
        name = part.split("'")[1]
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        registers = re.search(r"Used (\d+) registers", part)
        assert frame is not None, part
        assert registers is not None, part
        shared = re.search(r"(\d+) bytes smem", part)
        stack, stores, loads = map(int, frame.groups())
        found.append((name, Kernel(int(registers[1]), stack, stores, loads, int(shared[1]) if shared else 0)))
    return found


def compiled(stencil: Any, processor: str) -> str:
    """Return a stencil as PTX."""
    ptx: bytes = stencil._compiled_for(TRIPLE, processor)
    return ptx.decode()


LOOSE = {
    "a sum, difference or product that may be contracted": r"\b(add|sub|mul)\.f(32|64)",
    "a contracted product": r"\bmad\.f(32|64)",
    "a quotient or function that is not rounded": r"\.(approx|full)\b",
    "numbers near zero that are flushed to it": r"\.ftz\b",
}


def loose_arithmetic(ptx: str) -> dict[str, str]:
    """Return each kind of instruction that does not compute what the text says, with the first one."""
    found = {what: re.search(rf".*{pattern}.*", ptx) for what, pattern in LOOSE.items()}
    return {what: match[0].strip() for what, match in found.items() if match}
