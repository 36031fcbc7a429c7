def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[1, 0, 0
        out = 2.0 *
