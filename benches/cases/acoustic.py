"""A short step of sound and gravity waves as models write it: eight small stencils, called one after another."""

from __future__ import annotations

from benches.case import Argument, Case, by_level, uniform
from benches.dialect import Field, K
from benches.loops import domain, inlined, prange, row
from benches.windows import placed, window

# Levels below the top in which winds are damped.
SPONGE = 4


def divergence(u: Field["real"], v: Field["real"], w: Field["real"], div: Field["real"]):
    with computation(PARALLEL):
        with interval(0, -1):
            div = 0.1 * (u[1, 0, 0] - u) + 0.2 * (v[0, 1, 0] - v) + 0.5 * (w[0, 0, 1] - w)
        with interval(-1, None):
            div = 0.1 * (u[1, 0, 0] - u) + 0.2 * (v[0, 1, 0] - v) - 0.5 * w


def pressure(p: Field["real"], div: Field["real"], p_new: Field["real"], *, dt: "real"):
    with computation(PARALLEL), interval(...):
        p_new = p - dt * 1.4 * p * div


def buoyancy(theta: Field["real"], theta_mean: Field[K, "real"], lift: Field["real"]):
    with computation(PARALLEL), interval(...):
        lift = 9.81 * (theta - theta_mean) / theta_mean


def momentum_i(u: Field["real"], p_new: Field["real"], u_new: Field["real"], *, dt: "real"):
    with computation(PARALLEL), interval(...):
        u_new = u - dt * 0.1 * (p_new - p_new[-1, 0, 0])


def momentum_j(v: Field["real"], p_new: Field["real"], v_new: Field["real"], *, dt: "real"):
    with computation(PARALLEL), interval(...):
        v_new = v - dt * 0.2 * (p_new - p_new[0, -1, 0])


def momentum_k(w: Field["real"], p_new: Field["real"], lift: Field["real"], w_new: Field["real"], *, dt: "real"):
    with computation(PARALLEL):
        with interval(0, 1):
            w_new = 0.0
        with interval(1, None):
            w_new = w - dt * (0.5 * (p_new - p_new[0, 0, -1]) - 0.5 * (lift + lift[0, 0, -1]))


def heat(theta: Field["real"], w_new: Field["real"], theta_new: Field["real"], *, dt: "real"):
    with computation(PARALLEL):
        with interval(0, 1):
            theta_new = theta
        with interval(1, -1):
            theta_new = theta - 0.25 * dt * w_new * (theta[0, 0, 1] - theta[0, 0, -1])
        with interval(-1, None):
            theta_new = theta


def sponge(u_new: Field["real"], v_new: Field["real"], damping: Field[K, "real"]):
    with computation(PARALLEL), interval(-4, None):
        u_new = damping * u_new
        v_new = damping * v_new


def with_numpy(u, v, w, p, theta, theta_mean, damping, div, lift, p_new, u_new, v_new, w_new, theta_new, dt):
    top = window(w, 0, 0)
    change = window(div)
    change[...] = 0.1 * (window(u, 1) - window(u)) + 0.2 * (window(v, 0, 1) - window(v))
    change[:-1] += 0.5 * (top[1:] - top[:-1])
    change[-1] -= 0.5 * top[-1]
    here = window(p_new)
    here[...] = window(p) - dt * 1.4 * window(p) * change
    mean = theta_mean[:, None, None]
    rise = window(lift)
    rise[...] = 9.81 * (window(theta) - mean) / mean
    window(u_new)[...] = window(u) - dt * 0.1 * (here - window(p_new, -1))
    window(v_new)[...] = window(v) - dt * 0.2 * (here - window(p_new, 0, -1))
    up = window(w_new)
    up[0] = 0
    up[1:] = top[1:] - dt * (0.5 * (here[1:] - here[:-1]) - 0.5 * (rise[1:] + rise[:-1]))
    warm = window(theta)
    window(theta_new)[...] = warm
    window(theta_new)[1:-1] -= 0.25 * dt * up[1:-1] * (warm[2:] - warm[:-2])
    for wind in (u_new, v_new):
        window(wind)[-SPONGE:] *= damping[-SPONGE:, None, None]


@inlined
def _divergence(u, v, w, div):
    nk, nj, ni = domain(u)
    real = u.dtype.type
    a, b, c = real(0.1), real(0.2), real(0.5)
    for k in prange(nk):
        for j in range(nj):
            to, west, east = row(div, k, j, 0), row(u, k, j, 0), row(u, k, j, 1)
            south, north, down = row(v, k, j, 0), row(v, k, j + 1, 0), row(w, k, j, 0)
            if k < nk - 1:
                up = row(w, k + 1, j, 0)
                for i in range(ni):
                    to[i] = a * (east[i] - west[i]) + b * (north[i] - south[i]) + c * (up[i] - down[i])
            else:
                for i in range(ni):
                    to[i] = a * (east[i] - west[i]) + b * (north[i] - south[i]) - c * down[i]


@inlined
def _pressure(p, div, p_new, stiff):
    nk, nj, ni = domain(p)
    for k in prange(nk):
        for j in range(nj):
            to, here, change = row(p_new, k, j, 0), row(p, k, j, 0), row(div, k, j, 0)
            for i in range(ni):
                to[i] = here[i] - stiff * here[i] * change[i]


@inlined
def _buoyancy(theta, theta_mean, lift):
    nk, nj, ni = domain(theta)
    gravity = theta.dtype.type(9.81)
    for k in prange(nk):
        mean = theta_mean[k]
        for j in range(nj):
            to, here = row(lift, k, j, 0), row(theta, k, j, 0)
            for i in range(ni):
                to[i] = gravity * (here[i] - mean) / mean


@inlined
def _momentum(u, p_new, u_new, step, di, dj):
    nk, nj, ni = domain(u)
    for k in prange(nk):
        for j in range(nj):
            to, here = row(u_new, k, j, 0), row(u, k, j, 0)
            after, before = row(p_new, k, j, 0), row(p_new, k, j - dj, -di)
            for i in range(ni):
                to[i] = here[i] - step * (after[i] - before[i])


@inlined
def _momentum_k(w, p_new, lift, w_new, step):
    nk, nj, ni = domain(w)
    for k in prange(nk):
        for j in range(nj):
            to = row(w_new, k, j, 0)
            if k == 0:
                to[:] = 0
            else:
                here, p, q = row(w, k, j, 0), row(p_new, k, j, 0), row(p_new, k - 1, j, 0)
                up, down = row(lift, k, j, 0), row(lift, k - 1, j, 0)
                for i in range(ni):
                    to[i] = here[i] - step * ((p[i] - q[i]) - (up[i] + down[i]))


@inlined
def _heat(theta, w_new, theta_new, step):
    nk, nj, ni = domain(theta)
    for k in prange(nk):
        for j in range(nj):
            to, here = row(theta_new, k, j, 0), row(theta, k, j, 0)
            if k == 0 or k == nk - 1:
                to[:] = here
            else:
                wind, above, below = row(w_new, k, j, 0), row(theta, k + 1, j, 0), row(theta, k - 1, j, 0)
                for i in range(ni):
                    to[i] = here[i] - step * wind[i] * (above[i] - below[i])


@inlined
def _sponge(u_new, v_new, damping):
    nk, nj, ni = domain(u_new)
    for k in range(nk - SPONGE, nk):
        for j in range(nj):
            u, v = row(u_new, k, j, 0), row(v_new, k, j, 0)
            for i in range(ni):
                u[i] *= damping[k]
                v[i] *= damping[k]


def with_numba(u, v, w, p, theta, theta_mean, damping, div, lift, p_new, u_new, v_new, w_new, theta_new, dt):
    real = u.dtype.type
    _divergence(u, v, w, div)
    _pressure(p, div, p_new, real(1.4 * dt))
    _buoyancy(theta, theta_mean, lift)
    _momentum(u, p_new, u_new, real(0.1 * dt), 1, 0)
    _momentum(v, p_new, v_new, real(0.2 * dt), 0, 1)
    _momentum_k(w, p_new, lift, w_new, real(0.5 * dt))
    _heat(theta, w_new, theta_new, real(0.25 * dt))
    _sponge(u_new, v_new, damping)


def with_jax(xp, u, v, w, p, theta, theta_mean, damping, div, lift, p_new, u_new, v_new, w_new, theta_new, dt):
    level, warm, mean = window(w), window(theta), theta_mean[:, None, None]
    change = 0.1 * (window(u, 1) - window(u)) + 0.2 * (window(v, 0, 1) - window(v))
    change += 0.5 * (xp.concatenate([level[1:], xp.zeros_like(level[:1])]) - level)
    p_new = placed(p_new, window(p) - dt * 1.4 * window(p) * change)
    here = window(p_new)
    rise = 9.81 * (warm - mean) / mean
    u_after = window(u) - dt * 0.1 * (here - window(p_new, -1))
    v_after = window(v) - dt * 0.2 * (here - window(p_new, 0, -1))
    up = level[1:] - dt * (0.5 * (here[1:] - here[:-1]) - 0.5 * (rise[1:] + rise[:-1]))
    w_after = xp.concatenate([xp.zeros_like(up[:1]), up])
    warmer = warm.at[1:-1].add(-0.25 * dt * w_after[1:-1] * (warm[2:] - warm[:-2]))
    damped = damping[-SPONGE:, None, None]
    winds = (field.at[-SPONGE:].multiply(damped) for field in (u_after, v_after))
    fields = (u_new, v_new, w_new, theta_new)
    return placed(div, change), placed(lift, rise), p_new, *map(placed, fields, (*winds, w_after, warmer))


CASE = Case(
    name="acoustic",
    title="eight small stencils of an acoustic step",
    arguments=(
        Argument("u", "in", uniform(-10, 10)),
        Argument("v", "in", uniform(-10, 10)),
        Argument("w", "in", uniform(-1, 1)),
        Argument("p", "in", uniform(0.9, 1.1)),
        Argument("theta", "in", uniform(290, 310)),
        Argument("theta_mean", "in", by_level(lambda s: 300 + 50 * s), "K"),
        Argument("damping", "in", by_level(lambda s: 1 - 0.2 * s), "K"),
        Argument("div", "out"),
        Argument("lift", "out"),
        Argument("p_new", "out"),
        Argument("u_new", "out"),
        Argument("v_new", "out"),
        Argument("w_new", "out"),
        Argument("theta_new", "out"),
    ),
    steps=(
        (divergence, ("u", "v", "w", "div")),
        (pressure, ("p", "div", "p_new")),
        (buoyancy, ("theta", "theta_mean", "lift")),
        (momentum_i, ("u", "p_new", "u_new")),
        (momentum_j, ("v", "p_new", "v_new")),
        (momentum_k, ("w", "p_new", "lift", "w_new")),
        (heat, ("theta", "w_new", "theta_new")),
        (sponge, ("u_new", "v_new", "damping")),
    ),
    numpy=with_numpy,
    numba=with_numba,
    jax=with_jax,
    scalars={"dt": 0.01},
    traffic=22,
    halo=1,
    tunings={"stream": (0, 1, 2)},
)
