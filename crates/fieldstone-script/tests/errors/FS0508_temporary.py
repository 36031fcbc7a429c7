def column(inp: Field[float], out: Field[float]):
    with computation(FORWARD), interval(...):
        total: Field[IJ, float] = inp
        out = total
