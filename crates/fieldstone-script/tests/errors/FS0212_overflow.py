def mole(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp * 6.022 * 10**23
        out = out + pow(10, 19)
