def iterate(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        while out > inp:
            out = 0.5 * out
