async def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
