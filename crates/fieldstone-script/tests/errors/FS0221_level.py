def anomaly(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp - inp.at(0)
        out = inp - inp.at(J=0)
        out = inp.at
