def integrate(inp: Field[float], out: Field[float]):
    with computation(FORWARD):
        with interval(1, None):
            out = out[0, 0, -1] + inp
        with interval(0, 1):
            out = inp
    with computation(BACKWARD):
        with interval(0, -1):
            out = out[0, 0, 1] + inp
        with interval(-1, None):
            out = inp
