"""What tests have to know of the machine they run on."""

from __future__ import annotations

from pathlib import Path


def second_level_cache() -> int:
    """Return the bytes of a core's second-level cache, 1 MiB where the system does not tell."""
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        if (index / "level").read_text().strip() == "2":
            return int((index / "size").read_text().strip().removesuffix("K")) << 10
    return 1 << 20
