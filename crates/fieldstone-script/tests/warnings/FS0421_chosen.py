# Read where the externals choose the other branch: no warning. An element that is assigned is not read by that.
# externals: limited = 0
def damp(inp: Field[float], out: Field[float]):
    from __externals__ import limited

    with computation(PARALLEL), interval(...):
        weight = 2.0 * inp
        vector: Field[(float, (2,))] = 0.0
        vector[0, 0, 0][1] = inp
        out = weight * inp if limited else inp
