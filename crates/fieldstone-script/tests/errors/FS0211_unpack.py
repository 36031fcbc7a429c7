def gradient(f):
    return f[1, 0, 0] - f, f[0, 1, 0] - f


def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = 2.0 * gradient(inp)
        dx, dy, dz = gradient(inp)
        dx, dy = inp
        out = gradient(inp)
