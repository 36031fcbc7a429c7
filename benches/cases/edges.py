"""From the middles of cells to their corners, with other formulas along the sides of the domain and at its corners."""

from __future__ import annotations

from benches.case import Argument, Case, uniform
from benches.dialect import Field, I, J
from benches.windows import window


def edges(q: Field["real"], corner: Field["real"]):
    with computation(PARALLEL), interval(...):
        west = 7.0 / 12.0 * (q[-1, 0, 0] + q) - 1.0 / 12.0 * (q[-2, 0, 0] + q[1, 0, 0])
        with horizontal(region[I[0], :]):
            west = 0.5 * (q[-1, 0, 0] + q)
        with horizontal(region[I[0] + 1, :]):
            west = 1.0 / 3.0 * q[-1, 0, 0] + 5.0 / 6.0 * q - 1.0 / 6.0 * q[1, 0, 0]
        with horizontal(region[I[-1], :]):
            west = 1.0 / 3.0 * q + 5.0 / 6.0 * q[-1, 0, 0] - 1.0 / 6.0 * q[-2, 0, 0]
        south = 7.0 / 12.0 * (q[0, -1, 0] + q) - 1.0 / 12.0 * (q[0, -2, 0] + q[0, 1, 0])
        with horizontal(region[:, J[0]]):
            south = 0.5 * (q[0, -1, 0] + q)
        with horizontal(region[:, J[0] + 1]):
            south = 1.0 / 3.0 * q[0, -1, 0] + 5.0 / 6.0 * q - 1.0 / 6.0 * q[0, 1, 0]
        with horizontal(region[:, J[-1]]):
            south = 1.0 / 3.0 * q + 5.0 / 6.0 * q[0, -1, 0] - 1.0 / 6.0 * q[0, -2, 0]
        along_j = 9.0 / 16.0 * (west[0, -1, 0] + west) - 1.0 / 16.0 * (west[0, -2, 0] + west[0, 1, 0])
        with horizontal(region[:, J[0]], region[:, J[-1]]):
            along_j = 0.5 * (west[0, -1, 0] + west)
        along_i = 9.0 / 16.0 * (south[-1, 0, 0] + south) - 1.0 / 16.0 * (south[-2, 0, 0] + south[1, 0, 0])
        with horizontal(region[I[0], :], region[I[-1], :]):
            along_i = 0.5 * (south[-1, 0, 0] + south)
        corner = 0.5 * (along_i + along_j)
        with horizontal(region[I[0], J[0]]):
            corner = (q + q[-1, 0, 0] + q[0, -1, 0]) / 3.0
        with horizontal(region[I[-1], J[0]]):
            corner = (q + q[-1, 0, 0] + q[-1, -1, 0]) / 3.0
        with horizontal(region[I[0], J[-1]]):
            corner = (q + q[0, -1, 0] + q[-1, -1, 0]) / 3.0
        with horizontal(region[I[-1], J[-1]]):
            corner = (q[-1, 0, 0] + q[0, -1, 0] + q[-1, -1, 0]) / 3.0


def with_numpy(q, corner):
    west = _sides(q[..., 1:-2, :], 7 / 12, 1 / 12)
    west[..., 0] = 0.5 * (q[..., 1:-2, 2] + q[..., 1:-2, 3])
    west[..., 1] = q[..., 1:-2, 3] / 3 + 5 / 6 * q[..., 1:-2, 4] - q[..., 1:-2, 5] / 6
    west[..., -1] = q[..., 1:-2, -4] / 3 + 5 / 6 * q[..., 1:-2, -5] - q[..., 1:-2, -6] / 6
    south = _sides(q[..., 1:-2].swapaxes(-1, -2), 7 / 12, 1 / 12)
    rows = q[..., 1:-2].swapaxes(-1, -2)
    south[..., 0] = 0.5 * (rows[..., 2] + rows[..., 3])
    south[..., 1] = rows[..., 3] / 3 + 5 / 6 * rows[..., 4] - rows[..., 5] / 6
    south[..., -1] = rows[..., -4] / 3 + 5 / 6 * rows[..., -5] - rows[..., -6] / 6
    along_j = _corners(west.swapaxes(-1, -2)).swapaxes(-1, -2)
    along_i = _corners(south.swapaxes(-1, -2))
    out = window(corner)
    out[...] = 0.5 * (along_i + along_j)
    here, west, south, across = window(q), window(q, -1), window(q, 0, -1), window(q, -1, -1)
    out[..., 0, 0] = (here + west + south)[..., 0, 0] / 3
    out[..., 0, -1] = (here + west + across)[..., 0, -1] / 3
    out[..., -1, 0] = (here + south + across)[..., -1, 0] / 3
    out[..., -1, -1] = (west + south + across)[..., -1, -1] / 3


def _sides(q, near, far):
    """Return the values between the points of the domain along the last axis and those before them."""
    return near * (q[..., 2:-4] + q[..., 3:-3]) - far * (q[..., 1:-5] + q[..., 4:-2])


def _corners(side):
    """Return the same along the last axis of what reaches from two before the domain to one behind."""
    found = 9 / 16 * (side[..., 1:-2] + side[..., 2:-1]) - 1 / 16 * (side[..., :-3] + side[..., 3:])
    found[..., 0] = 0.5 * (side[..., 1] + side[..., 2])
    found[..., -1] = 0.5 * (side[..., -3] + side[..., -2])
    return found


CASE = Case(
    name="edges",
    title="cells to corners, with formulas of their own along all sides",
    arguments=(Argument("q", "in", uniform(0, 1)), Argument("corner", "out")),
    steps=((edges, ("q", "corner")),),
    numpy=with_numpy,
    traffic=2,
    halo=2,
    tunings={"rows": (32, 64, 1024), "stream": (0, 1)},
)
