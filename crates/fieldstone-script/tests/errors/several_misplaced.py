def copy(inp: Field[float], out: Field[float]):
    for n in range(3):
        with computation(PARALLEL), interval(...):
            out = inp
    with computation(PARALLEL):
        while inp > 0.0:
            out = inp
        with interval(...):
            out = min(*inp) + inp[1:2]
    return out
