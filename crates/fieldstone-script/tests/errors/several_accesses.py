def stencil(inp: Field[float], top: Field[IJ, float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = missing
        inp = inp[1, 0, 0]
        top = inp
