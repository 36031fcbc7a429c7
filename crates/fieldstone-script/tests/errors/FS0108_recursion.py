def even(n):
    return odd(n - 1.0)


def odd(n):
    return even(n - 1.0)


def count(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = even(inp)
