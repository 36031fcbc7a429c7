# externals: order = 2
def stencil(inp: Field[float], out: Field[float]):
    from __externals__ import order

    if 1 == 1:
        with computation(PARALLEL), interval(...):
            out = inp
    with computation(PARALLEL), interval(...):
        if order == 3:
            out = missing
        if inp > 0.0 and not (3 > 2):
            out = 1.0 if inp != inp else 2.0
        elif False or inp < -1.0:
            out = 3.0 if inp[1, 0, 0] <= inp[1, 0, 0] <= 4.0 else 4.0
