def copy(inp: Field[float], dt: float, out: Field[float]):
    if dt > 0.0:
        with computation(PARALLEL), interval(...):
            out = inp
    with computation(PARALLEL), interval(...):
        if __INLINED(inp > 0.0):
            out = inp
