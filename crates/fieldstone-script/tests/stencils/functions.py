# externals: order = 4, with_limiter = True
alpha = 0.25


class constants:
    gravity = float32(9.81)


def difference(f):
    return f[1, 0, 0] - f


def gradient(f, scale=1.0):
    return scale * difference(f), scale * (f[0, 1, 0] - f)


def limited(flux, bound):
    if flux > bound:
        flux = bound
    return flux


def choose(f):
    from __externals__ import order

    if __INLINED(order == 2):
        return undefined_name + f
    else:
        return f * alpha


def sign(f):
    if f > 0.0:
        return 1.0
    elif f < 0.0:
        return -1.0
    else:
        return 0.0


def inlining(inp: Field[float32], mask: Field[bool], out: Field[float32]):
    from __externals__ import order, with_limiter

    with computation(PARALLEL), interval(...):
        # Offsets of plain arguments compose; expressions are stored once.
        a = difference(inp[-1, 0, 0])
        b = difference(2.0 * inp)
        dx, dy = gradient(a + b, scale=constants.gravity)
        if with_limiter and order > 2:
            dx = limited(dx, dy)
        # What a function computes under a condition is there at neighbours as well.
        if mask:
            out = difference(difference(inp))
        elif choose(inp) > sign(dy):
            out = dx
        a, b = b, a
        out += a * b
