def copy(inp: Field[float], top: int, out: Field[float]):
    with computation(PARALLEL), interval(0, top):
        out = inp
