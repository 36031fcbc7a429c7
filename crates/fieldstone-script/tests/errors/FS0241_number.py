def tracers(inp: Field[(float, (3,))], index: Field[(int, (3,))], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            out = 1.0
        out = inp[0, 0, 0][index]
