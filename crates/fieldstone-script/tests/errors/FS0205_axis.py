def copy(orography: Field[IJ, float], profile: Field[K, float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = orography[K - 1] + profile[I + 1]
