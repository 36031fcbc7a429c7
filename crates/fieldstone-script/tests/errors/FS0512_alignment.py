def copy(inp: Field[float, Alignment[8]], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
