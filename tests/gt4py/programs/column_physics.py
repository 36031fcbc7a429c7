"""Cloud physics of columns: many fields, externals and functions, sweeps with conditions nested in conditions.

Levels are numbered from the top; interface fields have one level more. A bisection finds the freezing level by a
`while` loop; a table of coefficients is a field without a horizontal extent.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from gt4py import storage
from gt4py.cartesian.gtscript import (
    BACKWARD,
    FORWARD,
    IJ,
    PARALLEL,
    Field,
    GlobalTable,
    K,
    computation,
    exp,
    function,
    interval,
    log,
    sqrt,
    stencil,
)

NX, NY, NZ = 6, 5, 10

CONSTANTS: dict[str, Any] = {
    "R2ES": 380.16,
    "R3LES": 17.502,
    "R3IES": 22.587,
    "R4LES": 32.19,
    "R4IES": -0.7,
    "RTT": 273.16,
    "RTICE": 250.16,
    "RLVTT": 2.5008e6,
    "RLSTT": 2.8345e6,
    "RCPD": 1004.7,
    "RG": 9.80665,
    "RAMID": 0.8,
    "LDRAIN1D": True,
    "NSTEPS": 4,
    "USE_ICE": True,
}


@function
def liquid_fraction(t):
    from __externals__ import RTICE, RTT

    return min(1.0, ((max(RTICE, min(RTT, t)) - RTICE) / (RTT - RTICE)) ** 2)


@function
def saturation(t):
    from __externals__ import R2ES, R3IES, R3LES, R4IES, R4LES, RTT

    alpha = liquid_fraction(t)
    return R2ES * (alpha * exp(R3LES * (t - RTT) / (t - R4LES)) + (1.0 - alpha) * exp(R3IES * (t - RTT) / (t - R4IES)))


@function
def heating(t, amount):
    from __externals__ import RCPD, RLSTT, RLVTT

    alpha = liquid_fraction(t)
    return (alpha * RLVTT + (1.0 - alpha) * RLSTT) / RCPD * amount


@function
def adjust(t, q, ap):
    """One step of Newton's method towards saturation, and what condenses."""
    qs = min(0.5, saturation(t) / ap)
    excess = (q - qs) / (1.0 + 5.0e3 * qs / t)
    amount = excess if excess > 0.0 else 0.0
    t_new = t + heating(t, amount)
    return t_new, q - amount, amount


def cloud_scheme(
    ap: Field["float"],
    aph: Field["float"],
    t: Field["float"],
    q: Field["float"],
    ql: Field["float"],
    a: Field["float"],
    fplsl: Field["float"],
    covptot: Field["float"],
    tend_t: Field["float"],
    tend_q: Field["float"],
    klevel: Field[K, "int"],
    surface_rain: Field[IJ, "float"],
    freezing_level: Field[IJ, "int"],
    *,
    dt: "float",
    ldphylin: "bool",
):
    from __externals__ import LDRAIN1D, NSTEPS, RAMID, RG, RTT, USE_ICE

    with computation(PARALLEL), interval(0, -1):
        t_up = t + dt * tend_t
        q_up = q + dt * tend_q
        dp = aph[0, 0, 1] - aph[0, 0, 0]
        t_up, q_up, condensed = adjust(t_up, q_up, ap)
        if __INLINED(NSTEPS > 1):
            t_up, q_up, more = adjust(t_up, q_up, ap)
            condensed = condensed + more
        qs = min(0.5, saturation(t_up) / ap)
        rh = q_up / qs
        if ldphylin and rh > RAMID:
            a = 1.0 - sqrt((1.0 - min(rh, 1.0)) / (1.0 - RAMID))
        elif rh > RAMID:
            a = 1.0
        else:
            a = 0.0
        ql = ql + condensed
    with computation(FORWARD):
        with interval(0, 1):
            fplsl = 0.0
            covptot = 0.0
        with interval(1, None):
            if a[0, 0, -1] > 0.01 and ql[0, 0, -1] > 1e-7:
                in_cloud = ql[0, 0, -1] / a[0, 0, -1]
                rate = 1e-3 * (1.0 - exp(-((in_cloud / 5e-4) ** 2)))
                produced = min(rate * dt, 1.0) * ql[0, 0, -1]
                if __INLINED(USE_ICE):
                    if t_up[0, 0, -1] < RTT:
                        produced = 0.5 * produced
            else:
                produced = 0.0
            fplsl = fplsl[0, 0, -1] + produced * dp[0, 0, -1] / (RG * dt)
            if fplsl > 0.0:
                covptot = 1.0 - (1.0 - covptot[0, 0, -1]) * (1.0 - max(a[0, 0, -1], 0.1))
                if __INLINED(LDRAIN1D):
                    if covptot > 0.0 and rh[0, 0, -1] < 0.9:
                        evaporated = fplsl * 0.05 * (0.9 - rh[0, 0, -1]) * covptot
                        fplsl = fplsl - evaporated
            else:
                covptot = 0.0
    with computation(FORWARD), interval(-1, None):
        surface_rain = fplsl
    with computation(FORWARD):
        with interval(0, 1):
            freezing_level = 0
        with interval(1, -1):
            if t_up < RTT:
                freezing_level = klevel
    with computation(PARALLEL), interval(0, -1):
        tend_t = (t_up - t) / dt
        tend_q = (q_up - q) / dt


def wet_bulb(
    t: Field["float"],
    q: Field["float"],
    ap: Field["float"],
    coefficients: GlobalTable["float", (3,)],
    tw: Field["float"],
):
    with computation(PARALLEL), interval(...):
        low = t - 60.0
        high = t + 1.0
        count = 0
        while high - low > 1e-6 and count < 60:
            middle = 0.5 * (low + high)
            balance = t - middle - coefficients.A[1] * (saturation(middle) / ap - q)
            if balance > 0.0:
                low = middle
            else:
                high = middle
            count = count + 1
        tw = coefficients.A[0] * low + coefficients.A[2]


def geopotential(t: Field["float"], aph: Field["float"], phi: Field["float"]):
    with computation(BACKWARD):
        with interval(-1, None):
            phi = 0.0
        with interval(0, -1):
            phi = phi[0, 0, 1] + 287.0 * t * log(aph[0, 0, 1] / aph)


@cache
def compiled(name: str, backend: str) -> Any:
    definition = {"cloud_scheme": cloud_scheme, "wet_bulb": wet_bulb, "geopotential": geopotential}[name]
    return stencil(
        backend,
        definition,
        name=f"physics.{name}",
        externals=CONSTANTS,
        dtypes={"float": np.float64, "int": np.int64, "bool": bool},
        rebuild=False,
    )


def run(backend: str) -> dict[str, np.ndarray]:
    random = np.random.default_rng(9)
    shape = (NX, NY, NZ + 1)

    def column(values: np.ndarray, noise: float) -> np.ndarray:
        return storage.from_array(values * (1.0 + noise * random.uniform(-1.0, 1.0, shape)), backend=backend)

    eta = np.linspace(0.15, 1.0, NZ + 1)
    f = {
        "aph": column(1.0e5 * eta, 0.0),
        "ap": column(1.0e5 * (eta + 0.04), 0.0),
        "t": column(220.0 + 75.0 * eta, 0.01),
        "q": column(0.018 * eta**3, 0.4),
        "tend_t": column(1e-4 * np.ones(NZ + 1), 1.0),
        "tend_q": column(1e-8 * np.ones(NZ + 1), 1.0),
    }
    for name in ("ql", "a", "fplsl", "covptot"):
        f[name] = storage.zeros(shape, backend=backend)
    klevel = storage.from_array(np.arange(NZ + 1), np.int64, backend=backend, dimensions=("K",))
    rain = storage.zeros(shape[:2], backend=backend)
    freezing = storage.zeros(shape[:2], np.int64, backend=backend)
    call = {"origin": {"_all_": (0, 0, 0)}, "domain": shape, "validate_args": True, "exec_info": {}}
    compiled("cloud_scheme", backend)(
        **f, klevel=klevel, surface_rain=rain, freezing_level=freezing, dt=600.0, ldphylin=True, **call
    )
    tw, phi = (storage.zeros(shape, backend=backend) for _ in range(2))
    coefficients = np.array([1.0, 1500.0, 0.0])
    compiled("wet_bulb", backend)(
        f["t"], f["q"], f["ap"], coefficients, tw, origin={"_all_": (0, 0, 0), "coefficients": (0,)}, domain=shape
    )
    compiled("geopotential", backend)(f["t"], f["aph"], phi, origin=(0, 0, 0), domain=shape)
    results = {**f, "rain": rain, "freezing": freezing, "tw": tw, "phi": phi}
    return {name: np.asarray(array) for name, array in results.items()}
