def lookup(inp: Field[float], level: Field[IJ, int], out: Field[float]):
    with computation(FORWARD), interval(...):
        out = inp[0, 0, level] + inp[K + level]
