# externals: top = 3, bottom = 1


def everything(
    f: Field[float],
    orography: Field[IJ, float],
    profile: Field[K, float],
    n: Field[int],
    dt: float,
    out: Field[float],
):
    """All that is not a function."""
    from __externals__ import bottom, top
    from __gtscript__ import FORWARD, PARALLEL, computation, interval

    compile_assert(top > bottom)
    with computation(PARALLEL), interval(...):
        x = -f + +f[...] * 2**3 - 7 // 2 + 1 / 4 + f**-2
        y: float32 = f[I - 1] + f[J + 1, K] + orography[0, 1] + profile[-1] + profile[K + 1]
        z: Field[IJK, float] = 0
        z += min(x, y, 3.0, dt) + max(1, 2) + abs(-3) + round(f) + mod(f, 2.0)
        i = n % 3 + (n << 2) + (n & 1 | 4) ^ ~n
        inside = 0.0 < f <= 1.0 and not f == 0.5 or n != 3
        w = x if inside else (y if dt > 0 else float32(z))
        p = q = sin(f) * exp(f)
        if inside and (f > 0.0 or True):
            w = int(f) + float(i)
        elif n > 3:
            w = 1
        else:
            if not inside:
                w = 2
        if top - bottom == 2:
            w = w + 1 if top == 3 else missing
        else:
            missing = missing
        out = w + p + q
    with computation(FORWARD):
        with interval(0, bottom):
            out = f
        with interval(bottom, -top):
            out = out[0, 0, -1] + f[0, 0, 1]
    with computation(PARALLEL):
        with interval(-1, None):
            out[0, 0, 0] = f
        with interval(0, -1):
            out = f
    if top > 5:
        with computation(PARALLEL), interval(...):
            missing = 1
    elif top == 3:
        with interval(-2, -1), computation(BACKWARD):
            out = f[0, 0, 1]
