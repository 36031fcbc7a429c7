def iterate(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        while abs(inp) > 1.0:
            out = 0.5 * out
        while True:
            out = 0.5 * out
