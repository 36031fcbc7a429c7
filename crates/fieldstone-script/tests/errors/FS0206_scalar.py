gravity = 9.81


def difference(f):
    return f[1, 0, 0] - f


def copy(inp: Field[float], dt: float, out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp * dt[0, 0, -1] + gravity[1, 0, 0]
        out = difference(dt)
        out = (inp + out)[1, 0, 0]
