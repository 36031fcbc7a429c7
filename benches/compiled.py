"""Builds C sources of this folder with the system's compiler."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp", "-shared", "-fPIC"]
# What keeps loops from vectorising and nobody asks for; results stay the same.
FLAGS += ["-fno-math-errno", "-fno-trapping-math"]
LIBRARIES = ["-lmvec", "-lm"]


# What gcc does to arithmetic where nobody forbids it, and what the sources do if they are not told.
STRICT = ["-ffp-contract=off", "-DSTRICT"]


def library(*patterns: str, strict: bool = False) -> ctypes.CDLL | None:
    """Return the library of the first source, built anew if any is newer; None where there is no C compiler."""
    sources = [path for pattern in patterns for path in sorted(HERE.glob(pattern))]
    built = HERE / "results" / f"lib{sources[0].stem}{'-strict' if strict else ''}.so"
    newest = max(source.stat().st_mtime for source in sources)
    if not built.exists() or built.stat().st_mtime < newest:
        built.parent.mkdir(parents=True, exist_ok=True)
        fresh = built.with_suffix(f".{os.getpid()}")
        command = [
            os.environ.get("CC", "gcc"),
            *FLAGS,
            *(STRICT if strict else ()),
            str(sources[0]),
            "-o",
            str(fresh),
            *LIBRARIES,
        ]
        try:
            subprocess.run(command, check=True)
        except FileNotFoundError:
            return None
        fresh.replace(built)
    return ctypes.CDLL(str(built))
