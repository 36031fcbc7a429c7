def smooth(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = 0.0
        for n in range(3):
            out += inp
        out == inp
        assert out > 0.0
