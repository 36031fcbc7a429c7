def boundary(inp: Field[float], out: Field[float], n: int):
    with computation(PARALLEL), interval(...):
        with horizontal(region[I[0] + n, :], region[:, n:]):
            out = inp
