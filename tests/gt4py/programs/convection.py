"""Pieces of a convection scheme: column quantities in planes, searches for levels, flags, mixed sizes of integers.

Planes of 32-bit integers are assigned what 64-bit literals and reals give; a function is annotated, and assigns to
its own name.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import FORWARD, IJ, IJK, PARALLEL, K, computation, exp, floor, function, interval, log
from gt4py.storage import from_array, zeros

Float = np.float64
FloatField = gtscript.Field[IJK, Float]
FloatFieldIJ = gtscript.Field[IJ, Float]
IntFieldIJ = gtscript.Field[IJ, np.int32]
IntFieldK = gtscript.Field[K, np.int32]
BoolFieldIJ = gtscript.Field[IJ, np.bool_]

SHAPE = (6, 5, 9)
constants = SimpleNamespace(CP=1004.0, LV=2.5e6, G=9.81, BACKGROUND=0.05, TINY=1e-12)


@function
def vapour(temperature: FloatField) -> FloatField:
    """Saturation pressure over ice or water, in hPa."""
    celsius = temperature - 273.15
    if celsius < -20.0:
        ratio = 273.16 / temperature
        exponent = -9.09718 * (ratio - 1.0) - 3.56654 * (log(ratio) / log(10.0)) + 0.876793 * (1.0 - 1.0 / ratio)
        vapour = 6.1071 * 10.0**exponent
    else:
        exponent = 17.27 * celsius / (celsius + 237.3)
        vapour = 6.1078 * exp(exponent)
    return vapour


def prepare(
    aerosol: FloatFieldIJ,
    nuclei: FloatFieldIJ,
    active: IntFieldIJ,
    geopotential: FloatField,
    height: FloatField,
    thickness_of_layer: FloatFieldIJ,
    layer: IntFieldIJ,
    level: IntFieldK,
    searching: BoolFieldIJ,
    surface: FloatFieldIJ,
    top: IntFieldIJ,
    land: IntFieldIJ,
    land_rounded: IntFieldIJ,
):
    from __externals__ import k_end, k_start, restart, start

    with computation(FORWARD), interval(0, 1):
        surface = max(geopotential / constants.G, 0.0)
        top = k_end if k_start == 0 else k_start
        land_rounded = int(land + 0.001)

    with computation(FORWARD), interval(...):
        if start and not restart:
            aerosol = constants.BACKGROUND
        elif active == 0:
            if constants.BACKGROUND > aerosol:
                aerosol += (constants.BACKGROUND - aerosol) * (300.0 / (60.0 * 60))
            if aerosol > constants.BACKGROUND:
                aerosol = constants.BACKGROUND
        nuclei = max(5.0, (aerosol / 0.0027) ** (1 / 0.640))

    with computation(PARALLEL), interval(...):
        height = geopotential / constants.G

    with computation(FORWARD), interval(0, 1):
        depth = height[0, 0, 1] - height
        reached = 0.0
    with computation(FORWARD), interval(1, -1):
        depth = height[0, 0, 1] - height
        reached = reached[0, 0, -1] + depth[0, 0, -1]
        if searching:
            if reached > thickness_of_layer:
                layer = max(1, level)
                searching = False


def environment(
    t: FloatField,
    q: FloatField,
    p: FloatField,
    z: FloatField,
    saturated: FloatField,
    energy: FloatField,
    between: FloatField,
    surface: FloatFieldIJ,
    surface_pressure: FloatFieldIJ,
    failed: IntFieldIJ,
    variant: int,
):
    with computation(PARALLEL), interval(...):
        virtual = 0.0
        e = 0.0
    with computation(PARALLEL), interval(...):
        if failed == 0:
            e = vapour(t)
            saturated = 0.622 * e / max(1.0e-8, (p - e))
            if saturated <= 1.0e-16:
                saturated = 1.0e-16
            if saturated < q:
                saturated = q
            virtual = t + 0.608 * q * t
    with computation(FORWARD), interval(0, 1):
        if variant == 1 or variant == 0:
            if failed == 0:
                z = max(0.0, surface) - (log(p) - log(surface_pressure)) * 287.0 * virtual / 9.81
    with computation(FORWARD), interval(1, None):
        if variant == 1 or variant == 0:
            if failed == 0:
                mean = 0.5 * virtual + 0.5 * virtual[0, 0, -1]
                z = z[0, 0, -1] - (log(p) - log(p[0, 0, -1])) * 287.0 * mean / 9.81
    with computation(PARALLEL), interval(...):
        if variant == 2:
            z = max(1.0e-3, surface)
    with computation(PARALLEL), interval(...):
        if failed == 0:
            energy = constants.G * z + constants.CP * t + constants.LV * q
            if energy >= constants.G * z + constants.CP * t + constants.LV * saturated:
                energy = constants.G * z + constants.CP * t + constants.LV * saturated
    with computation(FORWARD), interval(1, None):
        if failed == 0:
            between = 0.5 * (energy[0, 0, -1] + energy)
            if between > energy:
                between = energy
    with computation(FORWARD), interval(0, 1):
        if failed == 0:
            between = constants.G * surface + constants.CP * t + constants.LV * q


def base(
    between: FloatField,
    z: FloatField,
    level: IntFieldK,
    highest: IntFieldIJ,
    searching: BoolFieldIJ,
    at_base: IntFieldIJ,
    largest: FloatFieldIJ,
    failed: IntFieldIJ,
):
    from __externals__ import k_end

    with computation(FORWARD), interval(...):
        if failed == 0:
            if searching:
                if z > 4000.0:
                    highest = level
                    searching = False
    with computation(FORWARD), interval(0, 1):
        if failed == 0:
            highest = min(highest, floor(float(k_end) / 2.0))
            at_base = 1
            largest = between
    with computation(FORWARD), interval(1, None):
        if level <= highest:
            if failed == 0:
                if between > largest:
                    largest = between
                    at_base = level
    with computation(FORWARD), interval(0, 1):
        if failed == 0:
            at_base -= 1
            at_base = max(1, at_base)
            if at_base > highest:
                failed = 2
                at_base = -1


def run(backend: str) -> dict[str, np.ndarray]:
    random = np.random.default_rng(11)
    make = {"backend": backend}
    nk = SHAPE[2]

    def volume(low: float, high: float) -> np.ndarray:
        return from_array(random.uniform(low, high, SHAPE), **make)

    def plane(low: float, high: float) -> np.ndarray:
        return from_array(random.uniform(low, high, SHAPE[:2]), **make)

    def flags(high: int) -> np.ndarray:
        return from_array(random.integers(0, high, SHAPE[:2]), np.int32, **make)

    level = from_array(np.arange(nk), np.int32, dimensions=("K",), **make)
    externals = {"k_start": 0, "k_end": nk - 1, "start": False, "restart": True}
    layer, top, rounded, highest, at_base = (zeros(SHAPE[:2], np.int32, **make) for _ in range(5))
    highest[...] = nk - 1
    searching, still = (from_array(np.ones(SHAPE[:2], bool), bool, **make) for _ in range(2))
    aerosol, nuclei, surface = plane(0.0, 0.1), plane(0.0, 1.0), plane(0.0, 0.0)
    geopotential = from_array(np.cumsum(random.uniform(2.0e3, 1.5e4, SHAPE), axis=2), **make)
    height, z, saturated, energy, between = (zeros(SHAPE, **make) for _ in range(5))
    failed = flags(2)
    active, land = flags(2), flags(3)

    stencil = gtscript.stencil(backend, prepare, externals=externals)
    stencil(
        *(aerosol, nuclei, active, geopotential, height, plane(500.0, 4000.0), layer, level, searching, surface, top),
        *(land, rounded),
    )
    t = from_array(300.0 - 7.0 * np.arange(nk) + random.uniform(-3.0, 3.0, SHAPE), **make)
    p = from_array(1000.0 * np.exp(-0.12 * np.arange(nk)) + random.uniform(-3.0, 3.0, SHAPE), **make)
    pressure = plane(1000.0, 1020.0)
    stencil = gtscript.stencil(backend, environment)
    stencil(t, volume(0.0, 0.03), p, z, saturated, energy, between, surface, pressure, failed, variant=1)
    largest = plane(0.0, 0.0)
    stencil = gtscript.stencil(backend, base, externals={"k_end": nk - 1})
    stencil(between, z, level, highest, still, at_base, largest, failed)
    fields = {"aerosol": aerosol, "nuclei": nuclei, "height": height, "layer": layer, "searching": searching}
    fields |= {"surface": surface, "top": top, "rounded": rounded, "saturated": saturated, "z": z, "energy": energy}
    fields |= {"between": between, "highest": highest, "at_base": at_base, "largest": largest, "failed": failed}
    return {name: np.asarray(values) for name, values in fields.items()}
