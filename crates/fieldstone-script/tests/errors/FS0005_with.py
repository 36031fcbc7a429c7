def copy(inp: Field[float], out: Field[float]):
    with interval(...):
        out = inp
    with computation(PARALLEL):
        with computation(FORWARD), interval(...):
            out = inp
    with computation(PARALLEL), interval(...), interval(0, 1):
        out = inp
    with computation(PARALLEL), interval(...):
        with interval(0, 1):
            out = inp
