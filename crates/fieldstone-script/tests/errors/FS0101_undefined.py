gravity = 9.81


def laplacian(field):
    return field[1, 0, 0] + field[-1, 0, 0] + field[0, 1, 0] + field[0, -1, 0] - 4.0 * feild


def diffuse(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        lap = laplacian(inp)
        out = inp - lpa * gravitiy
        out = sqrtt(inp) + velocity
    with computation(FORWARDS), interval(...):
        out = sum(inp)
    with computation(sideways), interval(...):
        out = inp
