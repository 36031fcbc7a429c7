"""What LLVM's description of this machine follows from, found without importing LLVM."""

from __future__ import annotations

import os

# Lines of /proc/cpuinfo that say which processor it is and what it can do, on x86-64 and on AArch64.
_TELLING = frozenset(
    (
        "vendor_id",
        "cpu family",
        "model",
        "model name",
        "stepping",
        "flags",
        "Features",
        "CPU implementer",
        "CPU architecture",
        "CPU variant",
        "CPU part",
    )
)


def identity() -> str | None:
    """Describe the processor and the build of LLVM.

    Returns
    -------
    str or None
        A text that is another one for another processor or another LLVM; None where there is no telling.
    """
    import llvmlite

    library = os.path.join(os.path.dirname(llvmlite.__file__), "binding", "libllvmlite.so")
    try:
        built = os.stat(library)
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            processor = file.read(1 << 14).partition("\n\n")[0]
    except OSError:
        return None
    lines = [line for line in processor.splitlines() if line.partition(":")[0].strip() in _TELLING]
    if not lines:
        return None
    return "\n".join(
        [f"llvmlite {llvmlite.__version__} {built.st_size} {built.st_mtime_ns}", os.uname().machine, *lines]
    )
