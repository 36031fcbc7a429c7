# externals: coefficient = 0.25, order = 4


def scale(inp: Field[float], out: Field[float]):
    from __externals__ import coeficient, velocity

    with computation(PARALLEL), interval(...):
        out = coeficient * inp * velocity
