def copy(inp, out: Field[float], *, dt):
    with computation(PARALLEL), interval(...):
        out = inp * dt
