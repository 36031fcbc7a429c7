# externals: order = 4


def double(f):
    return 2.0 * f


def copy(inp: Field[float], dt: float, out: Field[float]):
    from __externals__ import order

    with computation(PARALLEL), interval(...):
        dt = 0.5 * dt
        order = 2
        double = inp
        interval = inp
        dt[0, 0, 0] = inp
        out = inp
