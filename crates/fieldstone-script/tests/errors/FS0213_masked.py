def second_difference(f):
    difference = f[1, 0, 0] - f
    return difference - difference[-1, 0, 0]


def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            root = sqrt(inp)
            out = second_difference(root)
