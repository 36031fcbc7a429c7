"""A roofline and a bar chart of what ``python -m benches stencils`` has written: ``python -m benches figures``."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# Colours that people who see fewer colours tell apart as well (Okabe and Ito, 2008), and a mark for each.
STYLES = {
    "C": ("#000000", "o"),
    "strict C": ("#666666", "d"),
    "fieldstone I": ("#0072B2", "s"),
    "fieldstone J": ("#56B4E9", "D"),
    "fieldstone K": ("#009E73", "^"),
    "Numba": ("#E69F00", "v"),
    "JAX": ("#D55E00", "P"),
    "GT4Py gt:cpu_ifirst": ("#CC79A7", "X"),
    "GT4Py gt:cpu_kfirst": ("#882255", "*"),
    "NumPy": ("#999999", "<"),
}
ROOFLINE = ("C", "fieldstone I", "fieldstone K")


def draw(file: Path, folder: Path) -> Iterator[Path]:
    """Draw a bar chart and a roofline for each table of the file: what was compared with C, and what computes."""
    results = json.loads(file.read_text())["results"]
    for number, table in enumerate(results):
        comparisons = table["comparisons"]
        setting = comparisons[0]["setting"]
        cached = "cold" if setting["cold"] else "warm"
        size = "x".join(map(str, setting["size"]))
        stem = f"{size}-{setting['dtype']}-{setting['threads']}-{cached}"
        memories = {name for one in comparisons for name in one["times"]} - set(STYLES)
        stem += f"-{number}" if any(name.startswith("fieldstone") for name in memories) else ""
        compared = [one for one in comparisons if one["ratios"]]
        computing = [one for one in comparisons if one["floating"] > 0 and _rates(one)]
        for kind, plot, shown in (("bars", _bars, compared), ("roofline", _roofline, computing)):
            if shown:
                path = folder / f"{kind}-{stem}.png"
                plot(shown, _title(setting), path)
                yield path


def _title(setting: dict[str, Any]) -> str:
    size = " × ".join(map(str, setting["size"]))
    cached = "caches swept before each call" if setting["cold"] else "repeated on the same arrays"
    return f"{size}, {setting['dtype']}, {setting['threads']} threads, {cached}"


def _time(comparison: dict[str, Any], name: str) -> float:
    return statistics.median(time for time in comparison["times"][name] if time is not None)


def _bars(comparisons: list[dict[str, Any]], title: str, path: Path) -> None:
    import matplotlib.pyplot as plt

    present = [name for name in STYLES if any(name in one["ratios"] for one in comparisons)]
    figure, axes = plt.subplots(figsize=(11, 4.2), layout="constrained")
    width = 0.84 / len(present)
    for number, name in enumerate(present):
        middles, heights, below, above = [], [], [], []
        for place, one in enumerate(comparisons):
            if name in one["ratios"]:
                spread = one["ratios"][name]
                middles.append(place + (number - (len(present) - 1) / 2) * width)
                heights.append(spread["median"])
                below.append(spread["median"] - spread["low"])
                above.append(spread["high"] - spread["median"])
        # From one, as what is faster than C goes down.
        lengths = [height - 1 for height in heights]
        axes.bar(middles, lengths, width, 1, color=STYLES[name][0], label=name, zorder=2)
        # Seen also where a bar has hardly any length.
        axes.scatter(middles, heights, 9, color=STYLES[name][0], edgecolors="black", linewidths=0.4, zorder=5)
        axes.errorbar(middles, heights, (below, above), fmt="none", ecolor="#444444", elinewidth=0.8, zorder=3)
    axes.axhline(1, color="black", linewidth=1.2, zorder=4)
    axes.annotate("C", (1.004, 1), xycoords=("axes fraction", "data"), va="center", fontsize=10)
    axes.set_yscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100, 200]
    tallest = max(spread["high"] for one in comparisons for spread in one["ratios"].values())
    least = min(spread["low"] for one in comparisons for spread in one["ratios"].values())
    axes.set_ylim(min(0.5, least * 0.9), tallest * 1.25)
    axes.set_yticks(
        [tick for tick in ticks if tick <= tallest * 1.25], [f"{tick:g}" for tick in ticks if tick <= tallest * 1.25]
    )
    axes.minorticks_off()
    axes.set_xticks(range(len(comparisons)), [one["setting"]["case"] for one in comparisons])
    axes.set_xlim(-0.55, len(comparisons) - 0.45)
    axes.set_ylabel("time relative to the best C")
    axes.set_title(f"{title}; lower is better", fontsize=10)
    axes.grid(axis="y", color="#dddddd", zorder=0)
    figure.legend(
        loc="outside lower center", ncols=len(present) if len(present) <= 6 else (len(present) + 1) // 2, frameon=False
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _roofline(comparisons: list[dict[str, Any]], title: str, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5.4), layout="constrained")
    bandwidth = statistics.median(one["copy_bandwidth"] for one in comparisons)
    peak = comparisons[0]["peak"]
    intensities = [one["floating"] / one["traffic"] for one in comparisons]
    rates = [_rates(one) for one in comparisons]
    left, right = min(intensities) / 2, max(intensities) * 4
    line = np.geomspace(left, max(right, 2 * peak / bandwidth if peak else right), 200)
    roof = (line * bandwidth if peak is None else np.minimum(line * bandwidth, peak)) / 1e9
    axes.plot(line, roof, color="black", linewidth=1.5, zorder=2)
    for name in ROOFLINE:
        colour, mark = STYLES[name]
        points = [(x, each[name]) for x, each in zip(intensities, rates, strict=True) if name in each]
        if not points:
            continue
        faces = "none" if name == "C" else colour
        axes.scatter(
            *zip(*points, strict=True), 60, facecolors=faces, edgecolors=colour, marker=mark, label=name, zorder=3
        )
    feet = [(x, min(each.values())) for x, each in zip(intensities, rates, strict=True)]
    for one, (x, low), each in zip(comparisons, feet, rates, strict=True):
        axes.vlines(x, low, max(each.values()), color="#bbbbbb", linewidth=1, zorder=1)
        # Another name close by on the right has the room there.
        close = any(1 < other / x < 1.25 and 0.8 < foot / low < 1.25 for other, foot in feet)
        place = {"xytext": (-6, -1), "ha": "right"} if close else {"xytext": (6, -1)}
        name = one["setting"]["case"]
        axes.annotate(name, (x, low), textcoords="offset points", va="center", fontsize=8.5, zorder=4, **place)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, line[-1])
    axes.set_ylim(min(min(each.values()) for each in rates) / 2, max(roof) * 1.7)
    axes.set_xlabel("floating-point operations per byte that has to be moved (FLOP/B)")
    axes.set_ylabel("floating-point operations per second (GFLOP/s)")
    axes.set_title(title, fontsize=10)
    axes.grid(which="major", color="#dddddd", zorder=0)
    axes.legend(loc="lower right", frameon=False)
    if peak:
        axes.annotate(
            f"multiply-add, {peak / 1e9:.0f} GFLOP/s",
            (line[-1], peak / 1e9),
            xytext=(-6, 4),
            textcoords="offset points",
            ha="right",
            fontsize=9,
        )
    # Points are at its lower end.
    begin = (peak / bandwidth if peak else right) / 4
    _beside_slope(figure, axes, (begin, begin * bandwidth / 1e9), f"copy bandwidth, {bandwidth / 1e9:.0f} GB/s")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _rates(comparison: dict[str, Any]) -> dict[str, float]:
    """Return operations per second of the contenders of the roofline (10^9/s)."""
    found = {}
    for key in comparison["times"]:
        name = "C" if key.startswith("C ") else key
        if name in ROOFLINE:
            found[name] = comparison["floating"] / _time(comparison, key) / 1e9
    return found


def _beside_slope(figure: Any, axes: Any, begin: tuple[float, float], text: str) -> None:
    """Write along the line through a point on which both axes grow alike."""
    figure.canvas.draw()
    x, y = begin
    (x0, y0), (x1, y1) = axes.transData.transform([(x, y), (2 * x, 2 * y)])
    angle = np.degrees(np.arctan2(y1 - y0, x1 - x0))
    axes.annotate(
        text, begin, xytext=(12, 14), textcoords="offset points", rotation=angle, rotation_mode="anchor", fontsize=9
    )
