def tracers(inp: Field[(float, (3,))], matrix: Field[(float, (2, 3))], rate: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[0, 0, 0][1, 2] + matrix[0, 0, 0][1] + rate[0, 0, 0][0] + inp.A
        out[0, 0, 0][1] = rate
