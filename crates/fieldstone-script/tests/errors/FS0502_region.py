def boundary(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        with horizontal(region[I[0], :]):
            out = inp
