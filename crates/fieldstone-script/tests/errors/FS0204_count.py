def copy(inp: Field[float], orography: Field[IJ, float], profile: Field[K, float], table: GlobalTable[float, (3,)], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[1, 0] + orography[0, 0, 0] + profile[0, 1]
        out[0] = inp
        out = table[0]
