class state:
    total = 0.0


def copy(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        state.total = inp
