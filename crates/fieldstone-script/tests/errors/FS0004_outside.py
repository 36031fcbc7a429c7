def copy(inp: Field[float], out: Field[float]):
    factor = 2.0
    with computation(PARALLEL):
        scale = 3.0
        with interval(...):
            out = inp
