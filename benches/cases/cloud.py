"""Warm rain: saturation adjustment, autoconversion, accretion, evaporation, falling rain; columns with branches."""

from __future__ import annotations

import numpy as np

from benches.case import HALO, Argument, Case, by_level, uniform
from benches.dialect import IJ, Field, K
from benches.loops import domain, prange, row
from benches.windows import placed, window


def cloud(
    t: Field["real"],
    vapour: Field["real"],
    water: Field["real"],
    rain: Field["real"],
    p: Field["real"],
    density: Field["real"],
    thickness: Field[K, "real"],
    t_new: Field["real"],
    vapour_new: Field["real"],
    water_new: Field["real"],
    rain_new: Field["real"],
    precipitation: Field[IJ, "real"],
    *,
    dt: "real",
):
    with computation(PARALLEL), interval(...):
        pressure = 611.2 * exp(17.67 * (t - 273.15) / (t - 29.65))
        saturated = 0.622 * pressure / (p - 0.378 * pressure)
        steepness = 4302.645 * saturated / ((t - 29.65) * (t - 29.65))
        excess = (vapour - saturated) / (1.0 + 2488.0 * steepness)
        if excess > 0.0:
            condensed = excess
        else:
            condensed = max(excess, -water)
        moist = vapour - condensed
        liquid = water + condensed
        if liquid > 0.0005:
            formed = 0.001 * dt * (liquid - 0.0005)
        else:
            formed = 0.0
        if rain > 0.000001:
            collected = 2.2 * dt * liquid * rain**0.875
            missing = max(saturated - moist, 0.0)
            evaporated = min(0.01 * dt * missing * sqrt(rain), rain)
        else:
            collected = 0.0
            evaporated = 0.0
        moved = min(formed + collected, liquid)
        water_new = liquid - moved
        vapour_new = moist + evaporated
        t_new = t + 2488.0 * (condensed - evaporated)
        falling = max(rain + moved - evaporated, 0.0)
        speed = 36.34 * (0.001 * density * falling) ** 0.1364 * sqrt(1.2 / density)
    with computation(BACKWARD):
        with interval(-1, None):
            left = falling / (1.0 + dt * speed / thickness)
            flux = density * speed * left
            rain_new = left
        with interval(0, -1):
            left = (falling + dt * flux[0, 0, 1] / (density * thickness)) / (1.0 + dt * speed / thickness)
            flux = density * speed * left
            rain_new = left
    with computation(FORWARD), interval(0, 1):
        precipitation = dt * flux


def with_numpy(
    t,
    vapour,
    water,
    rain,
    p,
    density,
    thickness,
    t_new,
    vapour_new,
    water_new,
    rain_new,
    precipitation,
    dt,
):
    density = window(density)
    *adjusted, falling, speed = rained(np, *map(window, (t, vapour, water, rain, p)), density, dt)
    for field, values in zip((t_new, vapour_new, water_new), adjusted, strict=True):
        window(field)[...] = values
    flux = np.zeros_like(falling[0])
    for k in range(len(falling) - 1, -1, -1):
        left = (falling[k] + dt * flux / (density[k] * thickness[k])) / (1 + dt * speed[k] / thickness[k])
        flux = density[k] * speed[k] * left
        window(rain_new)[k] = left
    window(precipitation)[...] = dt * flux


def rained(xp, t, vapour, water, rain, p, density, dt):
    """Return new temperature, vapour and cloud water, rain, and the speed it falls with."""
    pressure = 611.2 * xp.exp(17.67 * (t - 273.15) / (t - 29.65))
    saturated = 0.622 * pressure / (p - 0.378 * pressure)
    steepness = 4302.645 * saturated / ((t - 29.65) * (t - 29.65))
    excess = (vapour - saturated) / (1 + 2488 * steepness)
    condensed = xp.where(excess > 0, excess, xp.maximum(excess, -water))
    moist, liquid = vapour - condensed, water + condensed
    formed = xp.where(liquid > 0.0005, 0.001 * dt * (liquid - 0.0005), 0)
    collected = xp.where(rain > 0.000001, 2.2 * dt * liquid * rain**0.875, 0)
    missing = xp.maximum(saturated - moist, 0)
    evaporated = xp.where(rain > 0.000001, xp.minimum(0.01 * dt * missing * xp.sqrt(rain), rain), 0)
    moved = xp.minimum(formed + collected, liquid)
    falling = xp.maximum(rain + moved - evaporated, 0)
    speed = 36.34 * (0.001 * density * falling) ** 0.1364 * xp.sqrt(1.2 / density)
    return t + 2488 * (condensed - evaporated), moist + evaporated, liquid - moved, falling, speed


def with_numba(
    t,
    vapour,
    water,
    rain,
    p,
    density,
    thickness,
    t_new,
    vapour_new,
    water_new,
    rain_new,
    precipitation,
    dt_,
):
    nk, nj, ni = domain(t)
    real = t.dtype.type
    dt, zero, one = real(dt_), real(0), real(1)
    for j in prange(nj):
        flux = np.zeros(ni, t.dtype)
        for k in range(nk - 1, -1, -1):
            ts, vs, ws, rs = row(t, k, j, 0), row(vapour, k, j, 0), row(water, k, j, 0), row(rain, k, j, 0)
            ps, ds, height = row(p, k, j, 0), row(density, k, j, 0), thickness[k]
            to_t, to_v = row(t_new, k, j, 0), row(vapour_new, k, j, 0)
            to_w, to_r = row(water_new, k, j, 0), row(rain_new, k, j, 0)
            for i in range(ni):
                off = ts[i] - real(29.65)
                pressure = real(611.2) * np.exp(real(17.67) * (ts[i] - real(273.15)) / off)
                saturated = real(0.622) * pressure / (ps[i] - real(0.378) * pressure)
                steepness = real(4302.645) * saturated / (off * off)
                excess = (vs[i] - saturated) / (one + real(2488) * steepness)
                condensed = excess if excess > zero else max(excess, -ws[i])
                moist, liquid = vs[i] - condensed, ws[i] + condensed
                formed, collected, evaporated = zero, zero, zero
                if liquid > real(0.0005):
                    formed = real(0.001) * dt * (liquid - real(0.0005))
                if rs[i] > real(0.000001):
                    collected = real(2.2) * dt * liquid * rs[i] ** real(0.875)
                    missing = max(saturated - moist, zero)
                    evaporated = min(real(0.01) * dt * missing * np.sqrt(rs[i]), rs[i])
                moved = min(formed + collected, liquid)
                to_w[i] = liquid - moved
                to_v[i] = moist + evaporated
                to_t[i] = ts[i] + real(2488) * (condensed - evaporated)
                falling = max(rs[i] + moved - evaporated, zero)
                speed = real(36.34) * (real(0.001) * ds[i] * falling) ** real(0.1364) * np.sqrt(real(1.2) / ds[i])
                left = (falling + dt * flux[i] / (ds[i] * height)) / (one + dt * speed / height)
                flux[i] = ds[i] * speed * left
                to_r[i] = left
        for i in range(ni):
            precipitation[HALO + j, HALO + i] = dt * flux[i]


def with_jax(
    xp,
    t,
    vapour,
    water,
    rain,
    p,
    density,
    thickness,
    t_new,
    vapour_new,
    water_new,
    rain_new,
    precipitation,
    dt,
):
    from jax import lax

    density = window(density)
    *adjusted, falling, speed = rained(xp, *map(window, (t, vapour, water, rain, p)), density, dt)

    def fall(flux, level):
        amount, fast, dense, height = level
        left = (amount + dt * flux / (dense * height)) / (1 + dt * fast / height)
        return dense * fast * left, left

    start = xp.zeros_like(falling[0])
    flux, left = lax.scan(fall, start, (falling, speed, density, thickness), reverse=True)
    fields = (t_new, vapour_new, water_new, rain_new, precipitation)
    return tuple(map(placed, fields, (*adjusted, left, dt * flux)))


def some_rain(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Rain at every other point or so."""
    return np.maximum(random.uniform(-0.001, 0.001, shape), 0)


NAMES = (
    *("t", "vapour", "water", "rain", "p", "density", "thickness"),
    *("t_new", "vapour_new", "water_new", "rain_new", "precipitation"),
)

CASE = Case(
    name="cloud",
    title="warm rain: branches, exp, pow, and a sweep down the columns",
    arguments=(
        Argument("t", "in", uniform(260, 300)),
        Argument("vapour", "in", uniform(0.001, 0.02)),
        Argument("water", "in", uniform(0, 0.002)),
        Argument("rain", "in", some_rain),
        Argument("p", "in", uniform(5e4, 1e5)),
        Argument("density", "in", uniform(0.6, 1.2)),
        Argument("thickness", "in", by_level(lambda s: 50 + 400 * s), "K"),
        Argument("t_new", "out"),
        Argument("vapour_new", "out"),
        Argument("water_new", "out"),
        Argument("rain_new", "out"),
        Argument("precipitation", "out", axes="IJ"),
    ),
    steps=((cloud, NAMES),),
    numpy=with_numpy,
    numba=with_numba,
    jax=with_jax,
    scalars={"dt": 10.0},
    traffic=10,
    halo=0,
    tunings={"columns": (64, 128, 1024), "stream": (0, 1)},
    tolerance={"float64": 1e-11, "float32": 2e-4},
)
