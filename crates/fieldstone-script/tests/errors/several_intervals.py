def stencil(inp: Field[float], out: Field[float]):
    with computation(PARALLEL):
        with interval(0, 3):
            out = inp + missing
        with interval(2, None):
            out = inp
    with computation(FORWARD):
        with interval(0, 1):
            out = inp
        with interval(1, -1):
            out = inp
        with interval(-2, None):
            out = inp
