def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(3, 3):
        out = inp
    with computation(PARALLEL), interval(1, 0):
        out = inp
    with computation(PARALLEL), interval(-1, 2):
        out = inp
