def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(3):
        out = inp
    with computation(PARALLEL), interval(0.5, None):
        out = inp
