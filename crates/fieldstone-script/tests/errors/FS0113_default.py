def damp(inp: Field[float], out: Field[float], mask: Field[float] = None, factor: float = "half", n: int = 1):
    with computation(PARALLEL), interval(...):
        out = inp * n
