def copy(inp: Field[float], coefficient: Field[float], dt: float, out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
