def doubled(v):
    return 2.0 * v


def tracers(inp: Field[(float, (3,))], wind: Field[(float, (2,))], matrix: Field[(float, (2, 3))], out: Field[(float, (3,))], one: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp + one * wind
        out = matrix @ wind
        out = one @ inp
        out = one.T
        one = doubled(inp)
        kept = inp
        kept = matrix
        out[0, 0, 0][0] = inp
