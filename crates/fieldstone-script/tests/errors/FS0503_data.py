def tracers(inp: Field[(float, (3,))], rates: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = rates[0, 0, 0][1] + rates @ out
