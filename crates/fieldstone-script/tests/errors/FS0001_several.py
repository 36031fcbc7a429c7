def stencil(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp = 1.0:
            out = inp +
        out = (inp[1, 0, 0]
