def distance(out: Field[float]):
    with computation(FORWARD), interval(...):
        out = 100.0 * I
