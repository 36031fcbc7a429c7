def limited(flux, gradient):
    if flux * gradient > 0.0:
        flux = 0.0


def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = limited(inp, inp[1, 0, 0] - inp)
