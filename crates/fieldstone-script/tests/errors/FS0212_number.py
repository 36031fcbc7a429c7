def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp + 9223372036854775808
