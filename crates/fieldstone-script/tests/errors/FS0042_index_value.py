def tracers(inp: Field[(float, (3,))], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[0, 0, 0][1.0] + inp[0, 0, 0][0:2] + inp[0, 0, 0][...]
