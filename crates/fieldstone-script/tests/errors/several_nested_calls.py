def difference(f):
    left = f[-1, 0]
    return f - left


def curvature(f):
    return difference(difference(f) + slope)


def diffuse(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp + curvature(inp)
        out = out + curvature(out)
