class constants:
    gravity = 9.81


def double(f):
    return 2.0 * f


def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = double + sqrt * inp
        out = inp(1, 0, 0)
        out = constants * inp + PARALLEL
        out = (inp + 1.0)(2)
        gamma = 2.0 * inp
        out = gamma(inp)
