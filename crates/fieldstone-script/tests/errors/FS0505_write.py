def shift(inp: Field[float], out: Field[float]):
    with computation(FORWARD), interval(1, None):
        out[0, 0, -1] = inp
