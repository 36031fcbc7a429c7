# externals: order = 3


def diffuse(inp: Field[float], out: Field[float]):
    from __externals__ import order

    compile_assert(order == 2 or order == 4)
    with computation(PARALLEL), interval(...):
        out = inp
