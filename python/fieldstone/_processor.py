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

# What LLVM does to code for processors. Loops are vectorised and blocked when the text is written; nothing stands in
# it twice, and nothing in a loop that could stand in front of it. What is left are the conditions of loops, which are
# moved to their ends, and the shape of single instructions. All that LLVM does for single functions takes four to five
# times as long, and code is no faster for it.
PASSES = ("loop_rotate", "instruction_combine")


def identity() -> str | None:
    """Describe the processor, the build of LLVM, and what it is asked to do.

    Returns
    -------
    str or None
        A text that is another one for another processor, another LLVM or other passes; None where there is no telling.
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
        [
            f"llvmlite {llvmlite.__version__} {built.st_size} {built.st_mtime_ns}",
            "+".join(PASSES),
            os.uname().machine,
            *lines,
        ]
    )
