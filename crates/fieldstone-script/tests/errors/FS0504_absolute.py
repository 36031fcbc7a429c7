def surface(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.at(K=0)
