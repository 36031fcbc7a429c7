"""The demo's picture: one level's map before, after and their difference, and a vertical section over the terrain."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from fieldstone.demo.data import Case

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

VALUES = "viridis"
DIFFERENCES = "RdBu_r"
TERRAIN = "#8a8178"
STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "contour.linewidth": 0.6,
}


def draw(case: Case, before: xr.DataArray, after: xr.DataArray, title: str) -> Figure:
    """Draw `before`, `after` and their difference on the level and along the row where it is largest.

    Parameters
    ----------
    case : Case
        The grid: heights of the levels and altitude of the terrain.
    before, after : xarray.DataArray
        The variable at the start and at the end, NaN where it is missing.
    title : str
        Headline.
    """
    east, north, up = (case.dims[axis] for axis in "IJK")
    change = (after - before).astype(np.float64)
    level, row = _most_changed(change, up), _most_changed(change, north)
    quantity = _quantity(before)

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 6.4), layout="constrained")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10.5)
        panels = figure.subplot_mosaic(
            [["before", "after", "change"], ["section", "section", "section change"]], width_ratios=[1, 1, 1.08]
        )

        maps = [array.isel({up: level}).transpose(north, east) for array in (before, after, change)]
        scale, spread = _value_scale(*maps[:2]), _difference_scale(maps[2])
        for name, panel_title, values, colours, norm in (
            ("before", f"(a) before, {_level_name(case, level)}", maps[0], VALUES, scale),
            ("after", "(b) after", maps[1], VALUES, scale),
            ("change", "(c) after − before", maps[2], DIFFERENCES, spread),
        ):
            panel = panels[name]
            mesh = panel.pcolormesh(
                *_edges(values, east, north), values.values, cmap=colours, norm=norm, rasterized=True
            )
            _draw_terrain_contours(panel, case, values, east, north)
            panel.axhline(_position(values, north)[row], color="black", linewidth=0.7, linestyle=(0, (6, 4)))
            panel.set_title(panel_title)
            panel.set_xlabel(_axis_label(values, east))
            if name == "before":
                panel.set_ylabel(_axis_label(values, north))
            else:
                panel.tick_params(labelleft=False)
            if name == "after":
                figure.colorbar(mesh, ax=[panels["before"], panel], label=quantity, extend="both", aspect=30, pad=0.01)
            elif name == "change":
                figure.colorbar(mesh, ax=panel, label=f"change / {_units(before)}", extend="both", aspect=30, pad=0.02)

        _draw_section(figure, panels["section"], case, row, before, after, change=None)
        _draw_section(figure, panels["section change"], case, row, before, after, change=change)
    return figure


def _most_changed(change: xr.DataArray, dim: Hashable) -> int:
    """Index along `dim` where the change is largest, away from the ends where there are enough points."""
    others = [other for other in change.dims if other != dim]
    strength = (change**2).mean(dim=others).values
    margin = 2 if len(strength) > 4 else 0
    return margin + int(np.argmax(strength[margin : len(strength) - margin]))


def save(figure: Figure, path: Path) -> None:
    """Write the figure as a PNG."""
    figure.savefig(path, dpi=150)


def _draw_section(
    figure: Figure,
    panel: Axes,
    case: Case,
    row: int,
    before: xr.DataArray,
    after: xr.DataArray,
    change: xr.DataArray | None,
) -> None:
    """Draw one row of the grid, every level at its height over the terrain."""
    east, north, up = (case.dims[axis] for axis in "IJK")
    z = case.heights().isel({north: row}).transpose(up, east).values
    x = np.broadcast_to(_position(before, east), z.shape)
    old, new = (array.isel({north: row}).transpose(up, east) for array in (before, after))
    mesh: QuadMesh
    if change is None:
        norm = _value_scale(old, new)
        mesh = panel.pcolormesh(x, z, new.values, cmap=VALUES, norm=norm, shading="gouraud", rasterized=True)
        lines = np.linspace(norm.vmin or 0.0, norm.vmax or 1.0, 9)
        panel.contour(x, z, old.values, levels=lines, colors="white", linestyles="dashed", linewidths=0.7)
        panel.contour(x, z, new.values, levels=lines, colors="black", linewidths=0.7)
        panel.set_title("(d) along the dashed line: after (colour, black lines) and before (dashed lines)")
        panel.set_ylabel("height / m")
        figure.colorbar(mesh, ax=panel, label=_quantity(before), extend="both", aspect=30, pad=0.01)
    else:
        values = change.isel({north: row}).transpose(up, east)
        mesh = panel.pcolormesh(
            x, z, values.values, cmap=DIFFERENCES, norm=_difference_scale(values), shading="gouraud", rasterized=True
        )
        panel.set_title("(e) after − before")
        figure.colorbar(mesh, ax=panel, label=f"change / {_units(before)}", extend="both", aspect=30, pad=0.02)
    ground = case.surface_altitude.isel({north: row}).transpose(east).values
    if np.any(ground != 0):
        panel.plot(x[0], ground, color=TERRAIN, linewidth=2)
        panel.fill_between(x[0], ground, min(0.0, float(ground.min())), color=TERRAIN, linewidth=0)
        panel.set_ylim(float(ground.min()) - 0.06 * float(z.max() - ground.min()), float(z.max()))
    panel.set_xlabel(_axis_label(before, east))


def _draw_terrain_contours(panel: Axes, case: Case, values: xr.DataArray, east: Hashable, north: Hashable) -> None:
    ground = case.surface_altitude.transpose(north, east).values
    if np.ptp(ground) > 0:
        lines = panel.contour(
            _position(values, east),
            _position(values, north),
            ground,
            levels=4,
            colors="black",
            linewidths=0.5,
            alpha=0.7,
        )
        panel.clabel(lines, fontsize=6, fmt="%g")


def _value_scale(*arrays: xr.DataArray) -> Normalize:
    """Return one scale for all arrays that leaves out the most extreme 1 % at either end."""
    values = np.concatenate([array.values.ravel() for array in arrays])
    low, high = np.nanpercentile(values, [1, 99])
    return Normalize(low, high) if high > low else Normalize(low - 0.5, high + 0.5)


def _difference_scale(array: xr.DataArray) -> Normalize:
    """Return a scale symmetric about zero."""
    reach = float(np.nanpercentile(np.abs(array.values), 99.5)) or 1.0
    return Normalize(-reach, reach)


def _position(array: xr.DataArray, dim: Hashable) -> np.ndarray:
    """Coordinate of the points along `dim`; their index where the file has no numbers that rise or fall."""
    if dim in array.coords and array[dim].dtype.kind in "fiu":
        values = array[dim].values.astype(np.float64)
        if _in_degrees(array, dim) and values.min() > 180:
            values = values - 360
        steps = np.diff(values)
        if np.all(steps > 0) or np.all(steps < 0):
            return values
    return np.arange(array.sizes[dim], dtype=np.float64)


def _edges(array: xr.DataArray, east: Hashable, north: Hashable) -> tuple[np.ndarray, np.ndarray]:
    """Return the borders of the cells along both axes, halfway between points."""

    def between(values: np.ndarray) -> np.ndarray:
        middle = 0.5 * (values[1:] + values[:-1])
        return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])

    return between(_position(array, east)), between(_position(array, north))


def _in_degrees(array: xr.DataArray, dim: Hashable) -> bool:
    return str(array[dim].attrs.get("units", "")).startswith("degree")


def _axis_label(array: xr.DataArray, dim: Hashable) -> str:
    name = str(dim).replace("_", " ")
    if dim not in array.coords:
        return name
    units = "°" if _in_degrees(array, dim) else str(array[dim].attrs.get("units", ""))
    return f"{name} / {units}" if units not in ("", "1") else name


def _units(array: xr.DataArray) -> str:
    return str(array.attrs.get("units", "1"))


def _quantity(array: xr.DataArray) -> str:
    return f"{str(array.name).replace('_', ' ')} / {_units(array)}"


def _level_name(case: Case, level: int) -> str:
    return f"level {level + 1} at {float(case.level_height[level]):.0f} m" + (
        " a.g." if float(case.sigma[level]) > 0.5 else ""
    )
