def copy(inp: Field[float], top: float, level: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(0, top):
        out = inp
    with computation(PARALLEL), interval(level, None):
        out = inp
    with computation(PARALLEL), interval(0, K):
        out = inp
