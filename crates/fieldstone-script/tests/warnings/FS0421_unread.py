def difference(f, _unused):
    twice = 2.0 * f
    return f[1, 0, 0] - f


def stencil(inp: Field[float], result: Field[float]):
    with computation(PARALLEL), interval(...):
        result = difference(inp, 1.0) + difference(inp, 2.0)
        _meant = result
        resutl = 2.0 * inp
