def copy(inp: Field[float], out: Field[float], *more, **options):
    with computation(PARALLEL), interval(...):
        out = inp
