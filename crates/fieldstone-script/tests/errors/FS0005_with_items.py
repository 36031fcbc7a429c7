def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), intervall(...):
        out = inp
    with open("file"):
        out = inp
    with computation, interval(...):
        out = inp
    with computation(PARALLEL) as c, interval(...):
        out = inp
