def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = lap + 1.0
        lap = inp[1, 0, 0] - inp
        sum += inp
