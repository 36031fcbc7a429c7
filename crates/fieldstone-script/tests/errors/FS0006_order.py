def copy(inp: Field[float], out: Field[float]):
    with computation(inp), interval(...):
        out = inp
    with computation(PARALLEL, FORWARD), interval(...):
        out = inp
    with computation("PARALLEL"), interval(...):
        out = inp
