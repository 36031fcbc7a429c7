def stencil(inp: Field[float]):
    with computation(PARALLEL), interval(...):
        first = inp
        second = first  # fieldstone: ignore[FS0421]
