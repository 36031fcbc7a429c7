def scatter(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out[1, 0, 0] = inp
        out[I - 1] = inp
