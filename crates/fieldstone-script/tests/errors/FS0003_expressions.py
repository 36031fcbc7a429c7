def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp if inp is not None else 0.0
        out = [inp, out]
        out = (lambda x: x + 1)
        out = "ä string" + 2j
        out = (twice := inp + inp)
