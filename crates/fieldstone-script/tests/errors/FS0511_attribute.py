def transpose(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.T + inp.A[0]
