def copy(inp: Field[float], shift: int, out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[shift, 0, 0] + inp[0, 0.5, 0]
        out = inp[0:2, 0, 0] + inp[I + 1, 0, 0] + inp[K + 1, K - 1]
        out = inp[0, 0, 5000000]
