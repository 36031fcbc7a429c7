def copy(inp: Field[float], out: Field[float], mask: Field[bool] = None):
    with computation(PARALLEL), interval(...):
        out = inp
