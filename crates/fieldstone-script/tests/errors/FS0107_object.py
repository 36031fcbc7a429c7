weights = [0.25, 0.5, 0.25]


def smooth(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = weights * inp
        out = weights(inp)
