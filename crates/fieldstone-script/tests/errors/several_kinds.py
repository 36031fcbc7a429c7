# Errors of names, types and accesses at once; nothing is said of what follows from a missing statement.
def stencil(inp: Field[float], flag: Field[bool], out: Field[float]):
    with computation(PARALLEL), interval(...):
        half = missing * inp
        out = half + ~half
        mask = half > 0.0
        if mask:
            out = inp & 1
        if inp:
            out = 1.0
        inp = inp[1, 0, 0] + flag + flag
    with computation(PARALLEL), interval(0, 1, 2):
        later = 1.0
    with computation(PARALLEL), interval(...):
        out = later + flag * flag
