# Used where the externals choose the other branch: no warning.
# externals: limited = 0
def damp(inp: Field[float], mask: Field[float], unused: float, out: Field[float]):
    from __externals__ import limited

    with computation(PARALLEL), interval(...):
        weight = 2.0 * mask
        if limited:
            out = weight * inp
        else:
            out = inp
