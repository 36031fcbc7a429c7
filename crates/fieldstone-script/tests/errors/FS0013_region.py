# externals: points = 2
def boundary(inp: Field[float], out: Field[float]):
    from __externals__ import points

    with computation(PARALLEL), interval(...):
        with horizontal(region[I[0:points], :]):
            out = inp
        with horizontal(region[I[0], J[1]]):
            out = inp
        with horizontal(region[J[0], I[0]]):
            out = inp
        with horizontal(region[I[0]], region[:, :, K[0]]):
            out = inp
        with horizontal(region[I[0] : I[-1] : 2, :]):
            out = inp
        with horizontal():
            out = inp
        with horizontal(I[0]):
            out = inp
        with horizontal(region[0.5, :]):
            out = inp
        with horizontal(region[...]):
            out = inp
