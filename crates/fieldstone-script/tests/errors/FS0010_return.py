def nothing(f):
    return


def sign(f):
    if f < 0.0:
        return -1.0
    return 1.0


def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = nothing(inp) + sign(inp)
        return out
