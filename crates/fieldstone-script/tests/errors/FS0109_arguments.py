def scale(f, factor=2.0, *, shift):
    return factor * f + shift


def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = scale(inp)
        out = scale(inp, 1.0, 2.0, shift=0.0)
        out = scale(inp, shfit=0.0)
        out = scale(inp, f=inp, shift=0.0)
        out = sqrt(inp, 2.0) + max(inp) + pow(inp, exponent=2.0)
