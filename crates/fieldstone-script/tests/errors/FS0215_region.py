def boundary(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        with horizontal(region[I[0] + 3 : I[0] + 1, :]):
            out = inp
        with horizontal(region[:, J[-1] : J[0] + 2]):
            out = inp
